"""Tests of the studio's own format for rules, and of the folder that keeps sets of them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from simulator.environment.injection.conditions import Condition, Test
from simulator.environment.injection.distortions import categories
from simulator.environment.injection.rule_effects import Effect
from simulator.environment.injection.rule_sets import (
    RuleSet,
    RuleSetError,
    RuleSetFolder,
    RuleSetForm,
    read_rule_set,
    write_rule_set,
)
from simulator.environment.injection.rules import InjectionRule
from tests.simulator.base.rows import for_each

TESTS: list[dict[str, Any]] = [
    {"test": "equals", "value": None},
    {"test": "holds", "value": {"a": [1, {"b": "no"}]}},
    {"test": "matches", "pattern": "^A-\\d+$", "ignore_case": True},
    {"test": "between", "low": 0, "high": 1.5, "exclusive": True},
    {"test": "one_of", "values": [1, "1", None]},
    {"test": "present"},
    {"test": "absent"},
]
CONDITIONS: list[dict[str, Any]] = [
    *({"kind": "argument", "path": 'items[*]["a.b"]', "test": test} for test in TESTS),
    {"kind": "call_number", "which": "every", "n": 3, "counted": "tool"},
    {"kind": "world", "entity": "order", "id_from": "order_id", "field": "status", "test": TESTS[0]},
    {"kind": "expression", "text": "args.n > 3"},
    {"kind": "agent", "agent": "help*", "branch": "root.*"},
    {"kind": "all_of", "conditions": [{"kind": "call_number", "which": "first", "n": 2}]},
    {"kind": "any_of", "conditions": [{"kind": "agent", "agent": "a"}]},
    {"kind": "not", "condition": {"kind": "argument", "path": "a", "test": {"test": "present"}}},
]
EFFECTS: list[dict[str, Any]] = [
    {"kind": "error", "error_code": 503, "error_message": "down", "details": {"retry_after": 1}},
    {"kind": "response", "value": {"a": "{{ args.a }}"}, "templated": True},
    {"kind": "sequence", "values": [{"status": "pending"}, None, 3], "then": "cycle"},
    {"kind": "raise", "error_type": "httpx:ReadTimeout", "message": "x"},
    {"kind": "hang", "timeout_seconds": 3.0},
    {"kind": "delay"},
    {"kind": "distort", "distortions": [{"kind": "drop", "at": "a[*].b", "share": 0.5}]},
    {"kind": "lose", "way": "raise"},
    {"kind": "ask", "note": "why"},
]


def made(number: int, **fields: Any) -> InjectionRule:
    """Make a rule."""
    return InjectionRule.model_validate(
        {"rule_id": f"r{number}", "tool_name": "t", "effect": {"kind": "delay"}, **fields}
    )


RULES = (
    *(made(number, when=condition) for number, condition in enumerate(CONDITIONS)),
    *(made(100 + number, effect=effect) for number, effect in enumerate(EFFECTS)),
    made(200, tool_name="*", label="all", enabled=False, probability=0.5, match_args={}, random_seed=3),
    made(201, latency={"kind": "uniform", "low": 1, "high": 2}),
    made(202, latency={"kind": "log_normal", "median": 1}),
    made(203, latency_seconds=1.5, match_args={"a": None}),
)


def kinds(union: Any, name: str) -> set[str]:
    """Return the kinds of a union of values."""
    return {str(model.model_fields[name].default) for model in get_args(get_args(union)[0])}


def test_the_rules_tried_here_are_of_every_kind() -> None:
    """A new condition, test or effect without its place in these tests fails here."""
    assert {each["test"] for each in TESTS} == kinds(Test, "test")
    assert {each["kind"] for each in CONDITIONS} == kinds(Condition, "kind")
    assert {each["kind"] for each in EFFECTS} == kinds(Effect, "kind")


@for_each("form", get_args(RuleSetForm))
def test_a_set_survives_as_text(form: RuleSetForm) -> None:
    """Every condition, test, effect and latency comes back as it was; YAML's own readers agree."""
    rule_set = RuleSet(name="Bad day: no 1", description="two\nlines", rules=RULES)
    text = write_rule_set(rule_set, form)
    assert read_rule_set(text) == (rule_set, None)
    document = yaml.safe_load(text) if form == "yaml" else json.loads(text)
    assert (document["format"], document["version"]) == ("golden-trace-studio/rules", 1)
    assert document["rules"][7]["when"] == CONDITIONS[7]
    assert "probability" not in document["rules"][0]


RULE = {"rule_id": "slow", "tool_name": "t", "effect": {"kind": "delay"}}


def document(*rules: object, **more: object) -> str:
    """Write a set by hand."""
    return json.dumps({"format": "golden-trace-studio/rules", "version": 1, "rules": rules, **more})


@for_each(
    ("text", "complaint"),
    [
        (document(RULE, {**RULE, "probability": 7}), r"'slow' \(number 2\): probability: "),
        (document({**RULE, "lable": "x"}), r"'slow' \(number 1\): lable: .*'label'"),
        (document({"tool_name": "t"}), "number 1: rule_id: "),
        (document({**RULE, "effect": {"kind": "explode"}}), r"'slow' \(number 1\): effect: .*'explode'"),
        (document({**RULE, "effect": {"kind": "error"}}), r"effect\.error_code: "),
        (document({**RULE, "when": {"kind": "all_of", "conditions": [CONDITIONS[0], {"kind": "argument", "path": "a[", "test": TESTS[0]}]}}), r"when\.conditions\.1\.path: path 'a\['"),
        (document({**RULE, "when": {"kind": "not", "condition": {"kind": "argument", "path": "a", "test": {"test": "matches", "pattern": "("}}}}), r"when\.condition\.test: .*'\('"),
        (document({**RULE, "when": {"kind": "expression", "text": "1 +"}}), r"when\.text: expression '1 \+'"),
        (document({**RULE, "when": {"kind": "expression", "text": "arg.n"}}), r"when\.text: .*\barg\b"),
        (document({**RULE, "latency_seconds": 1, "latency": {"kind": "log_normal", "median": 1}}), "latency_seconds and latency"),
        (document({**RULE, "effect": {"kind": "response", "value": {"a": "{{ 1 + }}"}, "templated": True}}), r"'slow' \(number 1\): effect: "),
        (document({**RULE, "probability": True}), r"'slow' \(number 1\): probability: .*got True"),
        (document({**RULE, "random_seed": True}), "random_seed: .*integer"),
        (document({**RULE, "latency_seconds": "1"}), "latency_seconds: .*number"),
        (document({**RULE, "effect": {"kind": "error", "error_code": True, "error_message": ""}}), "error_code: .*integer"),
        (document({**RULE, "effect": {"kind": "raise", "error_type": "int"}}), "'int' .*exception"),
        (document({**RULE, "effect": {"kind": "raise", "error_type": "builtins:SystemExit"}}), "'SystemExit' .*exception"),
        (document({**RULE, "effect": {"kind": "raise", "error_type": "TimeoutEror"}}), "module:Name"),
        (document({**RULE, "effect": {"kind": "distort", "distortions": [{"kind": "hostile", "text": "category:nope"}]}}), r"'nope' .*of \w+, "),
        (document(RULE, RULE), "rules: .*rule_id 'slow'"),
        (document(3), "number 1: .*got 3"),
        (document(name=3), "name: .*got 3"),
        (document(nmae="x"), "nmae: unknown field"),
        (document(version=2), "version 2 .*version 1"),
        (document(version=True), "version True"),
        (document(format="x"), "format is 'x'"),
        ('{"format": "golden-trace-studio/rules", "version": 1}', "rules: "),
        ("[]", "object, not list"),
        ("{", "invalid JSON"),
        ('{"tool_simulation_configs": [{}]}', "index 0: tool_name: "),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_set_is_named(text: str, complaint: str) -> None:
    """The rule by its id and number, the field by its path, and what it was given."""
    with pytest.raises(RuleSetError, match=complaint):
        read_rule_set(text)


def test_whole_numbers_are_numbers_and_own_hostile_texts_stay() -> None:
    """What is strict about numbers takes 1 for 1.0; a hostile text of one's own, or of a category, is taken."""
    steps = [
        {"kind": "hostile", "text": text} for text in ("", "my category: own", f"category:{categories()[0]}")
    ]
    rule = {**RULE, "effect": {"kind": "distort", "distortions": steps}, "probability": 1}
    (read,) = read_rule_set(document(rule)).rule_set.rules
    assert (read.probability, type(read.probability)) == (1.0, float)


ADK = "tool_simulation_configs: [{tool_name: t, injection_configs: [{injected_response: {a: 1}}]}]"


def test_adks_configuration_is_recognised() -> None:
    """Given instead of a set, its injections are the rules, and the rest of it is there too."""
    read = read_rule_set(f"{ADK}\nsimulation_model: m\n")
    assert [rule.rule_id for rule in read.rule_set.rules] == ["t[0]"]
    assert read.adk is not None
    assert read.adk.simulation_model == "m"
    code = "c = EnvironmentSimulationConfig(tool_simulation_configs=[ToolSimulationConfig(tool_name='t', injection_configs=[InjectionConfig(injected_response={'a': 1})])])"
    assert read_rule_set(code).rule_set == read.rule_set


# ---------------------------------------------------------------- the folder


def test_sets_are_kept_under_any_name(tmp_path: Path) -> None:
    """Names that look alike, lead out of the folder or mean a device stay apart, and inside."""
    folder = RuleSetFolder(tmp_path / "sets")
    names = [
        "Bad day",
        "bad day",
        "bad-day",
        "../../etc/passwd",
        "con",
        "日本語",
        "日本",
        ".",
        "a/b",
        "x" * 100,
    ]
    assert folder.list() == ()
    for name in names:
        folder.save(RuleSet(name=name, rules=RULES[:2]))
    assert sorted(each.name for each in folder.list()) == sorted(names)
    assert {each.rules for each in folder.list()} == {2}
    assert {path.parent for path in tmp_path.rglob("*") if path.is_file()} == {tmp_path / "sets"}
    assert folder.load("日本") == RuleSet(name="日本", rules=RULES[:2])


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 101])
def test_what_is_no_name_is_refused(tmp_path: Path, name: str) -> None:
    """Nothing is written then."""
    with pytest.raises(RuleSetError, match="name"):
        RuleSetFolder(tmp_path).save(RuleSet(name=name))
    assert list(tmp_path.iterdir()) == []


def test_a_set_is_replaced_renamed_and_deleted(tmp_path: Path) -> None:
    """A taken name is refused where it would cost a set; what is not there is said to be so."""
    folder = RuleSetFolder(tmp_path)
    folder.save(RuleSet(name="a", description="old"))
    folder.save(RuleSet(name="a", description="new"))
    folder.save(RuleSet(name="b"))
    with pytest.raises(RuleSetError, match="'a' already"):
        folder.save(RuleSet(name="a"), overwrite=False)
    with pytest.raises(RuleSetError, match="'b' already"):
        folder.rename("a", "b")
    folder.rename("a", "A")
    assert [(each.name, each.description) for each in folder.list()] == [("A", "new"), ("b", "")]
    folder.delete("b")
    for action in (lambda: folder.load("b"), lambda: folder.delete("b"), lambda: folder.rename("b", "c")):
        with pytest.raises(RuleSetError, match="named 'b'"):
            action()
    assert len(list(tmp_path.iterdir())) == 1


def test_damaged_files_are_listed_with_their_error(tmp_path: Path) -> None:
    """They hide no other set, say what is wrong when loaded, and can be deleted; other files are not touched."""
    folder = RuleSetFolder(tmp_path)
    folder.save(RuleSet(name="good"))
    (tmp_path / "cut.rules.json").write_text('{"format":')
    (tmp_path / "bytes.rules.yaml").write_bytes(b"\xff\xfe")
    (tmp_path / "adk.rules.yaml").write_text(ADK)
    (tmp_path / "notes.txt").write_text("x")
    listed = {each.name: each for each in folder.list()}
    assert sorted(listed) == ["adk", "bytes", "cut", "good"]
    assert (listed["adk"].rules, listed["adk"].error) == (1, "")
    assert "not UTF-8" in listed["bytes"].error
    with pytest.raises(RuleSetError, match=r"cut.rules.json: invalid JSON"):
        folder.load("cut")
    folder.delete("cut")
    assert [each.name for each in folder.list()] == ["adk", "bytes", "good"]


def test_a_set_that_cannot_be_written_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error is the system's own, and no temporary file stays."""
    folder = RuleSetFolder(tmp_path)
    folder.save(RuleSet(name="a", description="old"))

    def full(_: int) -> None:
        raise OSError("no space left")

    # A disk cannot be filled here.
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        folder.save(RuleSet(name="a", description="new"))
    assert folder.load("a").description == "old"
    assert len(list(tmp_path.iterdir())) == 1
