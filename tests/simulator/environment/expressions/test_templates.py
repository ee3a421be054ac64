"""Tests of templates in JSON values, and of the faker that they can ask."""

from __future__ import annotations

import copy
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from pydantic import JsonValue

from simulator.environment.expressions.expression_values import fake_names
from simulator.environment.expressions.expressions import TemplateError, check_template, filled, variables_of
from tests.simulator.base.rows import for_each
from tests.simulator.environment.drawn_json import json_values


def variables(seed: str = "s") -> dict[str, object]:
    """Return the variables of a call."""
    return variables_of(
        args={"city": "Oslo", "nights": 3, "guests": ["Ada", "Bo"]},
        seed=seed,
        state={"user:tier": "gold"},
        world={"hotels": {"h-1": {"price": 80.5}}},
        calls=[{"arguments": {"city": "Rome"}, "response": {"id": "b-1"}}],
        answers={"find_hotel": {"hotel": {"id": "h-1"}}},
        agent="booker",
        call_number=2,
    )


@for_each(
    ("template", "expected"),
    [
        ("in {{ args.city }}", "in Oslo"),
        ("{{ args.nights }}", 3),
        ("{{args.guests}}", ["Ada", "Bo"]),
        (" {{ args.nights }}", " 3"),
        ("{{ args.guests }} and {{ state['user:tier'] }}", '["Ada", "Bo"] and gold'),
        ("{{ world.hotels[answers.find_hotel.hotel.id].price * args.nights }}", 241.5),
        ("b-{{ call_number }}", "b-2"),
        ("{{ calls[-1].response.id }}", "b-1"),
        ("{{ agent }}{{ agent }}", "bookerbooker"),
        ("{{ {'a': {'b': '}}'}} }}", {"a": {"b": "}}"}}),
        ("{{ '{{' }} stays", "{{ stays"),
        ("{{ 'it\\'s }}' }}", "it's }}"),
        ("{ plain } }} %}", "{ plain } }} %}"),
        ({"{{ args.city }}": [{"n": "{{ args.nights + 1 }}"}, 7, None]}, {"Oslo": [{"n": 4}, 7, None]}),
        ("{{ none }}", None),
        ("no {{ args.wind | default('wind') }}", "no wind"),
    ],
)
def test_texts_are_filled_in(template: JsonValue, expected: JsonValue) -> None:
    """Expressions are filled in wherever a text stands; one that is the whole text keeps its type."""
    before = copy.deepcopy(template)
    check_template(template)
    assert filled(template, variables()) == expected
    assert template == before


@given(value=json_values())
def test_what_holds_no_template_stays_as_it_is(value: JsonValue) -> None:
    """A value without `{{` is given back equal."""
    if "{{" not in json.dumps(value):
        assert filled(value, variables()) == value


@for_each(
    ("template", "reason"),
    [
        ({"a": ["x", "{{ args.city"]}, "a[1]: '{{' at character 1 "),
        ({"a": "{{ }}"}, "a: expression '': "),
        ({"a": {"b c": "x {{ 1 + }}"}}, "a[\"b c\"]: expression '1 +': "),
        ({"{{ 1 | nope }}": 1}, "no filter 'nope'"),
        ({"a": "{{ argz.city }}"}, "a: expression 'argz.city': 'argz' "),
        ({"a": "{{ args.__class__ }}"}, "begins with '_'"),
    ],
)
def test_what_cannot_be_read_is_known_when_the_rule_is_made(template: JsonValue, reason: str) -> None:
    """The error names the place in the value, the expression, and what is wrong."""
    with pytest.raises(TemplateError) as caught:
        check_template(template)
    assert reason in str(caught.value)


@for_each(
    ("template", "reason"),
    [
        ({"a": [{"b": "{{ args.town }}"}]}, "a[0].b: expression 'args.town': "),
        ({"{{ agent }}": 1, "booker": 2}, "keys are 'booker'"),
        ({"a": "{{ 1e308 * 10 }}"}, "JSON cannot represent"),
        ({"a": "{{ fake.nmae() }}"}, "mean name"),
        ({"a": "{{ fake.name }}"}, "write fake.name()"),
        ({"a": "{{ fake.name(1, 2) }}"}, "fake.name: too many"),
        ({"a": "{{ fake }}"}, "it returns fake"),
        ({"a": "{{ fake.binary(10 ** 9) }}"}, "no 'binary'"),
        ({"a": "{{ fake.text(10 ** 9) }}"}, "fake.text: max_nb_chars "),
        ({"a": "{{ fake.random_number(10 ** 9) }}"}, "fake.random_number: digits "),
        ({"a": "{{ fake.pydecimal(left_digits=10 ** 9) }}"}, "fake.pydecimal: left_digits "),
        ({"a": "{{ fake.add_provider('x') }}"}, "no 'add_provider'"),
        ({"a": "{{ fake.seed_instance(1) }}"}, "no 'seed_instance'"),
        ({"a": "{{ fake.random_int(5, 1) }}"}, "fake.random_int:"),
        (["{{ 'a' * 900000 }}x"] * 50, "it takes "),
        (["{{ 'a' * 900000 }}"] * 50, "it takes "),
        (["{{ range(90000) | sum }}"] * 5_000, "it takes "),
        (["{{ fake.paragraphs(nb=200) }}"] * 50_000, "it takes "),
        ("{{ 'a' * 600000 }}{{ 'a' * 600000 }}", "characters"),
    ],
)
def test_what_cannot_be_filled_in_is_named_with_its_place(template: JsonValue, reason: str) -> None:
    """A missing value, a misspelt or unbounded fake, two equal keys or too large a result end in an error."""
    with pytest.raises(TemplateError) as caught:
        filled(template, variables())
    assert reason in str(caught.value)


MADE: dict[str, JsonValue] = {
    "who": "{{ fake.name() }}",
    "again": "{{ fake.name() }}",
    "where": "{{ fake.city() }}",
    "n": "{{ fake.random_int(min=100000, max=999999) }}",
    "id": "{{ fake.uuid4() }}",
    "words": "{{ fake.words(nb=3) }}",
}


def test_fakes_come_from_the_seed() -> None:
    """The same seed gives the same fakes, another one others, and two fakes of one template differ."""
    first: Any = filled(MADE, variables("a"))
    assert filled(MADE, variables("a")) == first
    other: Any = filled(MADE, variables("b"))
    assert all(first[key] != other[key] for key in MADE)
    assert first["who"] != first["again"]
    assert 100_000 <= first["n"] <= 999_999
    assert len(first["words"]) == 3


def test_fakes_stay_the_same_in_many_threads() -> None:
    """Threads share one faker and do not disturb each other's answers."""
    alone = [filled(MADE, variables(str(n))) for n in range(24)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda n: filled(MADE, variables(str(n))), range(24)))
    assert together == alone


def test_each_fake_that_needs_no_argument_gives_json() -> None:
    """All that the faker makes by itself can stand in an answer."""
    given = {}
    for name in fake_names():
        try:
            given[name] = filled("{{ fake.%s() }}" % name, variables())  # noqa: UP031 - braces stand in the text
        except TemplateError as error:
            assert "argument" in str(error) or "fake." in str(error), name  # noqa: PT017 - some need arguments
    assert len(given) > 150
    json.dumps(given, allow_nan=False)
