"""What names and answers say by convention: which kind of thing an id, a field or a collection is of, what a tool does and to what, and whether an answer is an error. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from pydantic import JsonValue

from simulator.base.json_text import JsonTextError, read_json
from simulator.base.json_values import JsonObject

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


_DAYS = frozenset(
    {
        "date",
        "day",
        "deadline",
        "birthday",
        "birthdate",
        "dob",
        "due",
        "until",
        "expiry",
        "expiration",
        "expires",
    }
)


def names_day(name: str) -> bool:
    """Return whether a field is named like one that has a date: `due_date`, `birthday`, `paidUntil`."""
    return not _DAYS.isdisjoint(words_of(name))


@lru_cache(maxsize=4096)
def spelled(name: str) -> str:
    """Return a name in snake case, whatever case it is written in."""
    return "_".join(words_of(name))


_GOOD = frozenset({"success", "ok", "succeeded"})
_ERRORS = frozenset({"error", "error_code", "error_message", "errorMessage", "error_type", "exception"})
_WELL = ("ok", "success")
_BAD = frozenset({"error", "failed", "failure", "not_found", "not found"})


_DONE = {
    "cancel": "cancelled", "ship": "shipped", "close": "closed", "approve": "approved", "reject": "rejected",
    "refund": "refunded", "pay": "paid", "complete": "completed", "deliver": "delivered", "archive": "archived",
    "resolve": "resolved", "reopen": "open", "open": "open", "activate": "active", "deactivate": "inactive",
    "suspend": "suspended", "confirm": "confirmed", "return": "returned", "reserve": "reserved", "finish": "finished",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class EarlierAnswer:
    """A tool call of this session that was answered, or that may be answered so: `response` is what the agent sees.

    `fact` is its number in the journal, and `turn` that of its turn. `doubted` are the fields of it whose values nobody said, by
    name and value, and `uncertain` the paths at which it says what may be something else. `injected` says that a rule answered: what
    it says holds, but does not tell what the tool's answers usually are. `state_delta` is what the call wrote into the session's
    state. `is_guess` says that nobody knows whether the tool would have answered so: it was said, and is not to be repeated as known.
    """

    tool_name: str
    arguments: JsonObject
    response: JsonValue
    fact: int = 0
    turn: int = 0
    doubted: tuple[tuple[str, JsonValue], ...] = ()
    injected: bool = False
    state_delta: Mapping[str, JsonValue] = field(default_factory=dict)
    is_guess: bool = False
    uncertain: tuple[str, ...] = ()


def done_state(tool_name: str) -> str | None:
    """Return the state in which a tool leaves what it changes, by its verb; None where that cannot be told."""
    verb = words_of(tool_name)[:1]
    return _DONE.get(verb[0]) if verb else None


def is_error(response: JsonValue) -> bool:
    """Return whether a response reports an error, as tools commonly do; an object or the JSON text of one.

    ADK puts a text into an object as its `result`.
    """
    if isinstance(response, dict) and response.keys() == {"result"} and isinstance(response["result"], str):
        response = response["result"]
    if isinstance(response, str):
        response = _object_in(response)
    if not isinstance(response, dict):
        return False
    status = response.get("status")
    if isinstance(status, str) and status.lower() in _BAD:
        return True
    said = [response[key] for key in _WELL if isinstance(response.get(key), bool)]
    if said and all(said):  # a code of an appliance's error, beside the word that the call went well
        return bool(response.get("error"))
    return any(response.get(key) for key in _ERRORS) or any(response.get(key) is False for key in _WELL)


def _object_in(text: str) -> JsonValue:
    """Return what a text that begins as a JSON object holds; None where it is no JSON."""
    try:
        return read_json(text) if text.lstrip().startswith("{") else None
    except JsonTextError:
        return None


def is_envelope(name: str, value: JsonValue) -> bool:
    """Return whether a field only says that the call went well, and nothing about the thing that it was about."""
    return name in {"status", "result", "success", "ok"} and (
        isinstance(value, bool) or (isinstance(value, str) and value.lower() in _GOOD)
    )


Use: TypeAlias = Literal["creates", "changes", "reads", "deletes"]

_DELETES = frozenset({"delete", "remove", "drop", "erase", "purge", "destroy"})
_CREATES = frozenset(
    {"create", "add", "new", "insert", "register", "submit", "make", "generate", "upload", "append", "draft"}
    | {"import", "provision", "launch", "compose", "enroll", "hire", "build"}
)
_ACTS_ON = frozenset(
    {"book", "order", "reserve", "place", "schedule", "issue", "post", "file", "open", "start", "rent"}
    | {"request", "record", "log", "buy", "purchase", "send", "invite", "report"}
)
"""Verbs that make something new about a thing that exists, such as a booking of a flight; many are nouns too."""

_READS = frozenset(
    {"get", "find", "search", "list", "look", "lookup", "fetch", "read", "check", "show", "query", "describe"}
    | {"retrieve", "is", "has", "can", "count", "view", "load", "track", "calculate", "compute", "convert"}
    | {"estimate", "validate", "browse", "compare", "inspect", "display", "tell", "give", "verify"}
    | {"discover", "explore", "summarize", "summarise", "analyze", "analyse", "export", "download", "ask"}
    | {"predict", "recommend", "suggest", "see", "test", "ping", "peek", "filter", "sort", "translate"}
)
_CHANGES = frozenset(
    {"update", "set", "cancel", "refund", "modify", "edit", "change", "assign", "close", "approve", "reject"}
    | {"ship", "pay", "complete", "move", "rename", "confirm", "mark", "archive", "enable", "disable"}
    | {
        "activate",
        "deactivate",
        "resolve",
        "escalate",
        "reschedule",
        "transfer",
        "restock",
        "adjust",
        "apply",
    }
    | {
        "patch",
        "put",
        "upsert",
        "save",
        "toggle",
        "increase",
        "decrease",
        "lock",
        "unlock",
        "pause",
        "resume",
    }
    | {"stop", "restart", "subscribe", "unsubscribe", "reset", "renew", "extend", "redeem", "merge", "charge"}
    | {"control", "turn", "reply", "rate", "tag", "link", "unlink", "attach", "detach", "reopen", "void"}
    | {"withdraw", "deposit", "revoke", "grant", "ban", "suspend", "restore", "undo", "write", "reimburse"}
    | {
        "process",
        "handle",
        "execute",
        "run",
        "swap",
        "exchange",
        "return",
        "finish",
        "abort",
        "accept",
        "decline",
    }
    | {"upgrade", "downgrade", "replace", "release", "deliver", "dispatch", "publish", "sign", "configure"}
    | {"clear", "empty", "checkout", "terminate", "retry", "block", "unblock", "flag", "print", "pick"}
)
_NOUNS_TOO = (_ACTS_ON - {"buy", "send"}) | frozenset(
    {"return", "track", "count", "draft", "import", "build", "test", "filter", "check", "tag", "rate", "link"}
    | {"block", "flag", "control", "process", "release", "exchange", "charge", "refund", "transfer", "log"}
    | {"query", "report", "estimate", "search", "patch", "sign", "lock", "run", "display", "show", "new"}
    | {"ship", "mark", "reset", "print", "view", "deposit", "change"}
)
_USES: dict[str, Use] = {
    **dict.fromkeys(_CHANGES, "changes"),
    **dict.fromkeys(_CREATES | _ACTS_ON, "creates"),
    **dict.fromkeys(_READS, "reads"),
    **dict.fromkeys(_DELETES, "deletes"),
}
_OPENS = frozenset(
    {"up", "all", "my", "a", "an", "the", "new", "out", "in", "on", "off", "one", "some", "for"}
)
"""What may stand between a verb and what it is about."""
_STOPS = frozenset(
    {"by", "for", "from", "to", "in", "into", "of", "with", "on", "at", "as", "and", "or", "per"}
)
_ASPECTS = frozenset(
    {"details", "detail", "info", "information", "status", "state", "data", "record", "records", "summary"}
    | {"list", "count", "total", "price", "history", "availability", "quote", "size", "name", "exists"}
    | {"lookup", "search", "stock", "level", "levels", "id", "ids", "query", "eta"}
)
_TOLD = {"returns": "get", "return": "get", "returning": "get"}
"""What a verb means in a description, where it means another thing in a name: `return_item` gives nothing back."""
_FILLERS = frozenset(
    {"a", "an", "the", "this", "use", "tool", "to", "function", "that", "which", "api", "call"}
)
UNSURE = "not known to be read-only"
"""Why a tool changes something of which nothing says what it does."""
_MOST_DESCRIPTION_WORDS = 6
_FIRST_WORDS = 400


class Role(NamedTuple):
    """What a tool does to things of a kind (empty where that can't be told), the verb that says so, and where."""

    use: Use
    kind: str
    verb: str
    why: str
    between: bool = False
    """Whether it only puts something into, or takes it out of, something else: `remove_item_from_cart`."""

    @property
    def acts_on(self) -> bool:
        """Whether what it makes is not the thing that its name names: `book_flight` makes no flight."""
        return self.verb in _ACTS_ON


@lru_cache(maxsize=2048)
def role_of(tool_name: str, description: str = "") -> Role:
    """Return what a tool does, by its name, else by its description, else that it changes something."""
    words = words_of(tool_name)
    place = _verb_place(words)
    if place is None:
        return _by_description(words, description)
    verb = words[place]
    kind, rest = _object(words[place + 1 :])
    if not kind and place:
        kind = _object(words[:place])[0]
    use, between = _USES[verb], False
    if use in ("deletes", "creates") and verb not in _ACTS_ON and set(rest) & {"from", "to", "into"}:
        target = _object(rest[1:])[0]
        if target and verb in ("add", "insert", "append", "remove", "drop"):
            kind, use, between = target, "changes", True
    return Role(use, kind, verb, f"its name contains {verb!r}", between)


def _verb_place(words: tuple[str, ...]) -> int | None:
    """Find the word that is the verb: one that is no noun too, else a first word that something stands behind."""
    sure = [place for place, word in enumerate(words) if word in _USES and word not in _NOUNS_TOO]
    if words and words[0] in _USES and (len(words) == 1 or set(words[1:]) - _ASPECTS):
        first_is_sure = words[0] not in _NOUNS_TOO
        if first_is_sure or not [place for place in sure if place in (1, len(words) - 1)]:
            return 0
    if sure:
        return sure[0]
    if words and words[0] in _USES and words[0] in _READS:
        return 0
    after = [place for place, word in enumerate(words) if place and word in _USES and word not in _ACTS_ON]
    return after[-1] if after else None


def _object(words: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the kind that some words of a tool's name mean, and the words from the first preposition on."""
    start = 0
    while start < len(words) - 1 and words[start] in _OPENS:
        start += 1
    end = next((place for place in range(start, len(words)) if words[place] in _STOPS), len(words))
    named = list(words[start:end])
    while named and named[-1] in _ASPECTS:
        named.pop()
    return kind_named("_".join(named)) if named else "", words[end:]


def _by_description(words: tuple[str, ...], description: str) -> Role:
    kind = _object(words)[0]
    first = description.strip()[:_FIRST_WORDS].split(".", maxsplit=1)[0]
    said = [word.lower() for word in re.findall(r"[A-Za-z]+", first)]
    for place, word in enumerate(said[:_MOST_DESCRIPTION_WORDS]):
        verb = _infinitive(word)
        if verb is None and word in _FILLERS:
            continue
        if verb is None:
            break
        use = _USES[verb]
        return Role(use, kind or _noun_in(said[place + 1 :]), verb, f"its description contains {word!r}")
    aspect = words[-1:] and words[-1] in _ASPECTS
    if aspect:
        return Role("reads", kind, "", f"its name ends with {words[-1]!r}")
    return Role("changes", kind, "", UNSURE)


def _infinitive(word: str) -> str | None:
    """Return the verb of `looks`, `searches`, `cancelling` or `creates`; None where it is none that is known."""
    if word in _TOLD:
        return _TOLD[word]
    for form in (word, word[:-1] if word.endswith("s") else "", word[:-2] if word.endswith("es") else ""):
        if form in _USES:
            return form
    if word.endswith("ies") and f"{word[:-3]}y" in _USES:
        return f"{word[:-3]}y"
    if word.endswith("ing"):
        return next((one for one in (word[:-3], f"{word[:-3]}e", word[:-4]) if one in _USES), None)
    return None


def _noun_in(words: list[str]) -> str:
    """Return what follows a verb in a sentence, `an employee back` gives `employee`; empty where that is unclear."""
    kept = [word for word in words[:4] if word not in _FILLERS | _OPENS]
    return singular(kept[0]) if kept and kept[0] not in _STOPS | _ASPECTS else ""
