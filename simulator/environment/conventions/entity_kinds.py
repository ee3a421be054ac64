"""Tells from names which kind of thing is meant: `orderIds` names orders, `categories` are of the kind `category`."""

from __future__ import annotations

import re
from functools import lru_cache

_IRREGULAR = {
    "person": "people",
    "child": "children",
    "man": "men",
    "woman": "women",
    "mouse": "mice",
    "foot": "feet",
    "tooth": "teeth",
    "leaf": "leaves",
    "shelf": "shelves",
    "half": "halves",
    "life": "lives",
    "knife": "knives",
    "wife": "wives",
    "loaf": "loaves",
    "criterion": "criteria",
    "index": "indices",
    "vertex": "vertices",
    "matrix": "matrices",
    "analysis": "analyses",
    "diagnosis": "diagnoses",
    "basis": "bases",
    "crisis": "crises",
    "hypothesis": "hypotheses",
    "thesis": "theses",
    "quiz": "quizzes",
    "bonus": "bonuses",
    "bus": "buses",
    "campus": "campuses",
    "status": "statuses",
    "virus": "viruses",
    "surplus": "surpluses",
    "census": "censuses",
    "corpus": "corpora",
    "lens": "lenses",
    "gas": "gases",
    "atlas": "atlases",
    "alias": "aliases",
    "canvas": "canvases",
    "bias": "biases",
    "hero": "heroes",
    "potato": "potatoes",
    "tomato": "tomatoes",
    "echo": "echoes",
    "cache": "caches",
    "niche": "niches",
    "axe": "axes",
    "movie": "movies",
    "cookie": "cookies",
    "calorie": "calories",
    "pie": "pies",
    "tie": "ties",
    "shoe": "shoes",
}
_SINGULARS = {plural: singular for singular, plural in _IRREGULAR.items()}
_UNCOUNTED = frozenset(
    {"series", "species", "equipment", "information", "news", "weather", "staff", "money", "luggage", "data"}
    | {"metadata", "feedback", "software", "hardware", "stock", "history", "chaos"}
)
_SINGULAR_ENDS = ("ss", "us", "is")
_ES_ENDS = ("sses", "shes", "ches", "xes", "zzes")

_SEVERAL = frozenset({"ids", "uuids", "guids", "identifiers", "skus"})
_BARE = frozenset({"id", "uuid", "guid", "identifier", "reference", "ref", "key", "sku", "tracking"})
_WEAK = frozenset({"number", "no", "code"})
"""Words that end the name of an id only behind a kind: `order_number`."""
_ENDS = _BARE | _WEAK | _SEVERAL
_SKUS = frozenset({"sku", "skus"})

_NO_THINGS = frozenset({"request", "trace", "correlation", "span", "idempotency", "invocation", "cursor"})
"""What has ids that say nothing of the world."""

_NO_KEYS = frozenset(
    {"api", "sort", "partition", "cache", "encryption", "secret", "private", "public", "ssh"}
)
_VALUES = frozenset(
    {"phone", "fax", "mobile", "telephone", "error", "status", "http", "response", "exit", "zip", "postal"}
    | {"post", "area", "country", "currency", "language", "lang", "locale", "time", "color", "colour"}
    | {"line", "page", "house", "street", "floor", "room", "version", "build", "tax", "vat", "routing"}
    | {"security", "access", "verification", "auth", "pin", "dial", "iso", "source"}
)
"""What has numbers and codes that describe a thing and name none."""

_GENERIC = frozenset(
    {"tracking", "confirmation", "serial", "parent", "record", "object", "entity", "resource"}
)
"""Whose id it is, the tool or what stands around must say."""

_QUALIFIERS = frozenset(
    {"new", "old", "own", "current", "existing", "target", "original", "given", "from", "to", "the", "my"}
    | {"external", "internal", "unique", "remote", "local", "legacy", "primary", "source", "destination"}
    | {"related", "selected", "linked"}
)
_OTHERS = frozenset(
    {"old", "original", "from", "to", "source", "destination", "target", "related", "linked", "parent"}
    | {"previous", "next", "root", "child", "duplicate", "replaced"}
)
"""Words of ids that belong to another thing of the same kind: `parent_id`, `original_order_id`."""
_LONGEST_ID = 200


def singular(word: str) -> str:
    """Return the singular of a word in lower case; a singular stays as it is."""
    if word in _SINGULARS:
        return _SINGULARS[word]
    if word in _UNCOUNTED or word in _IRREGULAR or not word.endswith("s") or word.endswith(_SINGULAR_ENDS):
        return word
    if word.endswith("ies") and len(word) > len("ties"):
        return f"{word[:-3]}y"
    if word.endswith(_ES_ENDS):
        return word[:-2]
    return word[:-1] or word


def plural(word: str) -> str:
    """Return the plural of a singular in lower case."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word in _UNCOUNTED:
        return word
    if word.endswith("y") and word[-2:-1] not in ("", *"aeiou"):
        return f"{word[:-1]}ies"
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return f"{word}es"
    return f"{word}s"


@lru_cache(maxsize=4096)
def kind_named(name: str) -> str:
    """Return the kind that a name means: the singular, in snake case. Empty where the name has no letter or digit.

    `Orders` and `order` give `order`, `salesOrders` gives `sales_order`.
    """
    words = words_of(name)
    return "_".join((*words[:-1], singular(words[-1]))) if words else ""


@lru_cache(maxsize=4096)
def collection_of(kind: str) -> str:
    """Return the name under which the things of a kind stand together: `order` gives `orders`."""
    head, _, last = kind.rpartition("_")
    return f"{head}_{plural(last)}" if head else plural(last)


@lru_cache(maxsize=4096)
def is_collection(name: str) -> bool:
    """Return whether a name is a plural: `orders`, `line_items`."""
    words = words_of(name)
    return bool(words) and singular(words[-1]) != words[-1]


@lru_cache(maxsize=4096)
def id_kind(name: str) -> str | None:
    """Return the kind of thing that a field of this name identifies.

    Empty where it is an id, and of what must be told by what stands around (`id`, `reference`, `tracking_number`);
    None where it is no id (`currency_code`, `phone_number`, `request_id`).
    """
    words = words_of(name.replace("IDs", "Ids"))
    if not words or words[-1] not in _ENDS or set(words[:-1]) & _NO_THINGS:
        return None
    end, rest = words[-1], tuple(word for word in words[:-1] if word not in _QUALIFIERS)
    if rest and rest[-1] in _BARE:
        end, rest = rest[-1], rest[:-1]
    if not rest:
        return None if end in _WEAK else "product" if end in _SKUS else ""
    if (end in _WEAK and rest[-1] in _VALUES) or (end == "key" and rest[-1] in _NO_KEYS):
        return None
    if len(rest) == 1 and rest[0] in _GENERIC:
        return ""
    return "_".join((*rest[:-1], singular(rest[-1])))


@lru_cache(maxsize=4096)
def is_own_key(name: str, kind: str) -> bool:
    """Return whether a field of this name holds an id of the very thing of this kind that has the field."""
    found = id_kind(name)
    return found is not None and found in ("", kind) and not set(words_of(name)) & _OTHERS


@lru_cache(maxsize=4096)
def own_kind(name: str) -> str | None:
    """Return what `id_kind` gives where the field may be the id of the thing that has it, and None for another's."""
    return None if set(words_of(name)) & _OTHERS else id_kind(name)


def id_of(value: object) -> str | None:
    """Return a value as an id: a text in one line that is not empty, or a whole number; None for anything else."""
    if isinstance(value, str):
        return value if value and len(value) <= _LONGEST_ID and "\n" not in value else None
    if isinstance(value, int) and not isinstance(value, bool) and -(10**40) < value < 10**40:
        return str(value)
    return None


# Reads the names of fields: their words, and whether they name a thing by a key.


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@lru_cache(maxsize=8192)
def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case: `orderId`, `order_id` and `order-ID` give `order`, `id`."""
    return tuple(word.lower() for word in _WORD.findall(name))


@lru_cache(maxsize=8192)
def is_identifier(name: str) -> bool:
    """Return whether a field names a thing by a key: `id`, `order_id`, `trackingNumber`, `reference`."""
    words = words_of(name)
    if not words:
        return False
    if words[-1] in {"id", "uuid", "identifier", "reference", "ref", "key", "sku", "tracking"}:
        return True
    return (
        len(words) > 1
        and words[-1] in {"number", "no", "code"}
        and words[-2] not in {"phone", "error", "status"}
    )


@lru_cache(maxsize=4096)
def spelled(name: str) -> str:
    """Return a name in snake case, whatever case it is written in."""
    return "_".join(words_of(name))
