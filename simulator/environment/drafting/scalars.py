"""Makes the texts and numbers of an answer: by their names, inside the bounds of their schemas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from pydantic import JsonValue

from simulator.environment.conventions.answers import is_creation
from simulator.environment.conventions.chance import Chance
from simulator.environment.conventions.kinds import singular
from simulator.environment.conventions.names import is_identifier, words_of
from simulator.environment.drafting import plausible
from simulator.environment.drafting.articles import price_of
from simulator.environment.drafting.choices import is_refusal
from simulator.environment.drafting.comparisons import bounds_on
from simulator.environment.drafting.echoes import Echo, amounts_in
from simulator.environment.drafting.geography import place_of
from simulator.environment.drafting.knowledge import Knowledge
from simulator.environment.drafting.people import address_of
from simulator.environment.drafting.rates import rate_of
from simulator.environment.drafting.rows import is_search_text
from simulator.environment.drafting.told_values import example_told, in_told_unit, name_told
from simulator.environment.drafting.words_of_fields import ALLOWANCES
from simulator.environment.drafting.words_of_things import DOCUMENTS, WARES
from simulator.environment.schema.bounded_patterns import LARGEST
from simulator.environment.schema.numerals import fitted, highest, lowest
from simulator.environment.schema.patterns import matches, matching
from simulator.jsonvalue import JsonObject

Style: TypeAlias = Literal["usual", "least", "most"]
"""How much there is in an answer: what is usual, as little as its schema allows, or as much."""

_PLACES = frozenset({"line", "row", "position", "rank", "no", "number"})
"""Words of fields that count the items of their list."""
_GRANTED = frozenset({"allowed", "approved", "granted"})
_COUNTED = frozenset(
    {"days", "hours", "minutes", "quantity", "count", "seats", "attempts", "nights", "items"}
)
_PRICES = frozenset({"price", "cost", "fare", "amount", "rate"})
_ARTICLES = frozenset({"sku", "name", "title", "product", "item", "article", "description", "category"})
_KEPT = frozenset({"status", "state", "currency", "unit", "units", "language", "timezone", "country", "code"})
"""Words of texts that stand for something; in an extreme answer too they say what they usually say."""
_TITLES = frozenset({"title", "name", "subject", "headline"})
_ABOUT_IT = (
    "{}: step by step",
    "{}: what you need to know",
    "{}: frequent questions",
    "Background: {}",
    "{} explained",
)
_LIKE_IT = ("{}, classic", "{}, compact", "{}, premium", "{}, set of two", "{}, new edition")
_LONGEST_QUERY = 60
_LONG = "Zoë's café, naïve “quotes”, \u4f60\u597d, \u0645\u0631\u062d\u0628\u0627, \U0001f680 & <b>tags</b>; "
"""What a long text is made of: letters of several scripts, and signs that careless code trips over."""
_LONGEST = 2_000


@dataclass(frozen=True)
class Scope:
    """Where in the answer a value stands, and what is known there.

    `row` is the record that the nearest list item is about, `place` and `item` that item's number (from 1) and name,
    `held` what the objects around it say for all that they hold, `beside` what was made before in the same object, and
    `about` what the value's object may be, nearest first. `shift` tells items apart that must differ.
    `depth` counts the objects and lists around it, `nested` the references among them; where it is `lean`, it is time
    to come to an end. `knowledge` tells what articles cost, and `ids` are those of what the tool makes, by field.
    """

    echo: Echo
    tool_name: str
    currency: str
    chance: Chance
    style: Style = "usual"
    row: Mapping[str, JsonValue] = field(default_factory=dict)
    held: Mapping[str, JsonValue] = field(default_factory=dict)
    beside: Mapping[str, JsonValue] = field(default_factory=dict)
    siblings: frozenset[str] = frozenset()
    about: tuple[str, ...] = ()
    item: str | None = None
    place: int = 0
    shift: int = 0
    depth: int = 0
    nested: int = 0
    lean: bool = False
    knowledge: Knowledge | None = None
    ids: Mapping[str, JsonValue] = field(default_factory=dict)

    def again(self, times: int) -> Scope:
        """Give the scope for another try."""
        if not times:
            return self
        chance = Chance(str(self.chance.number(f"again:{times}", 2**53)))
        return replace(self, chance=chance, shift=self.shift + times)


def text(schema: JsonObject, name: str, scope: Scope) -> str | None:
    """Make a text that fits a plain schema; None where none was found."""
    least, most = _length(schema, "minLength", 0), _length(schema, "maxLength", 100_000)
    if most < least or least > LARGEST:
        return None
    pattern, kind = schema.get("pattern"), schema.get("format")
    told = str(schema.get("description", ""))
    name = name_told(name, told)
    shown = None if "format" in schema or is_identifier(name) else _shown(told, name, scope)
    made = shown or _of_style(schema, name, scope, most)
    if isinstance(pattern, str):
        if least <= len(made) <= most and matches(pattern, made):
            return made
        return matching(pattern, scope.chance, name, least=least, most=most)
    if isinstance(kind, str) and least <= len(made) <= most:
        return made
    if scope.shift and not scope.row:
        made = f"{made} {scope.shift + 1}"
    if len(made) < least:
        made = (made + " " + plausible.sentence(name, scope.chance) + " " + "x" * least)[:least]
    return _cut(made, most) if len(made) > most else made


def _shown(told: str, name: str, scope: Scope) -> str | None:
    """Give the example in a field's description where the name says less: not that of a name or a place, which differ."""
    example = example_told(told) if scope.style == "usual" and not scope.shift else None
    if example is None or (plausible.is_telling(name) and not any(map(str.isdigit, example))):
        return None
    return example


def _cut(made: str, most: int) -> str:
    """Shorten a text, at the end of a word where there is one; the number that tells it apart stays."""
    head, _, tail = made.rpartition(" ")
    if tail.isdecimal() and len(tail) < most:
        return (head[: most - len(tail)] + tail)[:most]
    return made[:most]


def _of_style(schema: JsonObject, name: str, scope: Scope, most: int) -> str:
    words = set(words_of(name))
    is_free = (
        "format" not in schema and "pattern" not in schema and not words & _KEPT and not is_identifier(name)
    )
    if is_free and scope.style == "least" and not _means_moment(words):
        return ""
    if is_free and scope.style == "most" and not _means_moment(words):
        return (_LONG * (_LONGEST // len(_LONG) + 1))[: min(most, _LONGEST)]
    return _formatted(schema.get("format"), name, scope)


def _means_moment(words: set[str]) -> bool:
    return bool(
        words & {"date", "day", "at", "on", "time", "timestamp", "departs", "arrives", "url", "uri", "email"}
    )


def _formatted(kind: JsonValue, name: str, scope: Scope) -> str:  # noqa: PLR0911 - one per format
    chance = scope.chance
    match kind:
        case "date":
            return plausible.date(name, chance)
        case "time":
            return f"{plausible.clock(name, chance)}Z"
        case "date-time":
            return f"{plausible.date(name, chance)}T{plausible.clock(name, chance)}Z"
        case "email":
            return _address(name, scope)
        case "uri" | "url":
            return plausible.url(name or "page", chance)
        case "uuid":
            return plausible.uuid(name, chance)
        case "ipv4":
            return f"192.0.2.{chance.number(name, 254) + 1}"
        case "ipv6":
            return f"2001:db8::{chance.number(name, 65_000) + 1:x}"
        case _:
            return _of_place(name, scope) or _by_name(name, scope)


def _by_name(name: str, scope: Scope) -> str:
    words = words_of(name)
    if "currency" in words:
        return scope.currency
    if words[-1:] == ("email",) or words[-2:] == ("email", "address"):
        return _address(name, scope)
    if words[-1:] in (("unit",), ("units",)) and {"temperature", "high", "low"} & scope.siblings:
        return "celsius"
    if set(words) & {"status", "state"} and (
        scope.item is not None or any(map(is_identifier, scope.siblings))
    ):
        states = plausible.states_of(scope.about)
        if states:
            return states[0] if is_creation(scope.tool_name) else scope.chance.choice(name, states)
    return _found_by(words, scope) or plausible.text(name, scope.chance, scope.about)


def _found_by(words: tuple[str, ...], scope: Scope) -> str | None:
    """Give the title of what a search has found: it holds the words that were searched for."""
    if not set(words) & _TITLES or scope.style != "usual":
        return None
    asked = next(
        (one for key, one in scope.echo.arguments.items() if is_search_text(key) and isinstance(one, str)), ""
    )
    things = {kind for what in scope.about for kind in (what, singular(what))}
    if not 0 < len(asked.strip()) <= _LONGEST_QUERY or not things & (DOCUMENTS | WARES):
        return None
    forms = _ABOUT_IT if things & DOCUMENTS and not things & {"product", "item"} else _LIKE_IT
    form = forms[
        (scope.chance.number("form", len(forms)) if not scope.place else scope.place - 1) % len(forms)
    ]
    plain = " ".join(asked.split())
    return form.format(plain[:1].upper() + plain[1:])


def _address(name: str, scope: Scope) -> str:
    """Give the e-mail address of the person whose name stands beside it."""
    for key in (
        "name",
        name.replace("email", "name"),
        "full_name",
        "customer_name",
        "first_name",
        "customer",
        "user",
    ):
        person = scope.beside.get(key)
        if isinstance(person, str) and person:
            return address_of(f"{person} {scope.beside.get('last_name', '')}")
    return plausible.text("email", scope.chance)


def _of_place(name: str, scope: Scope) -> str | None:
    """Give the country, the currency or the clock of the city that stands beside it."""
    wanted = "_".join(words_of(name))
    if wanted not in {"country", "country_code", "timezone", "airport", "airport_code", "currency"}:
        return None
    for key in ("city", "country", "location", "place"):
        place = scope.beside.get(key)
        found = (
            place_of(place).get(wanted.replace("airport_code", "airport")) if isinstance(place, str) else None
        )
        if found and (wanted != "currency" or scope.knowledge is None or not scope.knowledge.names_currency):
            return found
    return None


def number(schema: JsonObject, name: str, scope: Scope, *, whole: bool) -> float | int | None:
    """Make a number that fits a plain schema; None where there is none."""
    if scope.style == "least" and not is_identifier(name):
        made = lowest(schema, whole=whole)
    elif scope.style == "most" and not is_identifier(name):
        made = highest(schema, whole=whole)
    else:
        told = str(schema.get("description", ""))
        wanted = in_told_unit(_amount(name, scope, whole=whole), name, told, whole=whole)
        made = fitted(wanted, schema, whole=whole, shift=scope.shift)
    return int(made) if whole and made is not None else made


def anything(name: str, scope: Scope) -> JsonValue:
    """Make a value of which only the name is known."""
    made: JsonValue = plausible.by_name(name, scope.chance) if name else {"status": "success"}
    if isinstance(made, (int, float)) and not isinstance(made, bool):
        return number({}, name, scope, whole=False)
    if isinstance(made, str) and not is_identifier(name):
        return text({}, name, scope)
    return made


def _amount(name: str, scope: Scope, *, whole: bool) -> float | int:
    """Draw a number: a line's place is counted, and what a request is measured against is enough for it."""
    words = set(words_of(name))
    if whole and scope.place and words and words <= _PLACES:
        return scope.place
    made = (
        rate_of(scope.echo.arguments)
        if "rate" in words
        else _price(words, scope)
        if words & _PRICES
        else None
    )
    if made is None:
        made = plausible.number(name, scope.chance, whole=whole)
    made = _within(made, name, scope)
    asked = max(amounts_in(scope.row) or scope.echo.amounts(), default=0)
    if not asked or not words & ALLOWANCES or words & _COUNTED:
        return made
    if words & _GRANTED:
        return 0 if any(is_refusal(value) for value in scope.beside.values()) else asked
    return made if made >= 2 * asked else round(made + asked, 2)


def _within(made: float, name: str, scope: Scope) -> float | int:
    """Bring a number between the bounds that the call asked for: `max_price`, `min_rating`."""
    low, high = bounds_on(name, scope.echo.arguments)
    if high is not None and made > high:
        part = scope.chance.within(f"part:{name}", 0.55, 0.97, 2)
        made = round(max(low or 0, 0) + (high - max(low or 0, 0)) * part, 2)
    return low if low is not None and made < low else made


def _price(words: set[str], scope: Scope) -> float | None:
    """Give the price of the article that the object names, as it was told before, or as such an article costs."""
    if words & {"total", "subtotal", "tax"}:
        return None
    told = {**scope.row, **scope.beside}
    named = [
        value for key, value in told.items() if isinstance(value, str) and set(words_of(key)) & _ARTICLES
    ] or [
        value
        for key, value in scope.echo.arguments.items()
        if isinstance(value, str) and set(words_of(key)) & _ARTICLES
    ]
    for article in named:
        told_before = scope.knowledge.price(article) if scope.knowledge is not None else None
        if told_before is not None:
            return told_before
    for article in (*named, *scope.about, scope.tool_name):
        found = price_of(article, scope.chance)
        if found is not None:
            return found
    return None


def _length(schema: JsonObject, key: str, default: int) -> int:
    value = schema.get(key)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else default
