"""Files that show each pitfall that the doctor knows."""

from __future__ import annotations

import codecs
import json
from typing import Any, NamedTuple

from tests.evalset.doctor.examples import (
    a_call,
    a_case,
    a_digest,
    a_message,
    a_recorded_call,
    a_recorded_case,
    a_set,
    a_turn,
    an_answer,
    an_environment,
    an_event,
    events,
    in_bytes,
    without,
)

SET, ENVIRONMENT, DATASET = "orders.evalset.json", "orders.environment.json", "basic-dataset.json"


class Pitfall(NamedTuple):
    """A file (and its recorded environment) with something wrong in it.

    Attributes:
        code: What is found.
        content: The eval set, or the dataset, as a value or as it is.
        place: Where; a place of None is not looked at.
        mendable: Whether it is mended.
        readable: Whether ADK reads it once it is mended.
        environment: The recorded environment beside it.
        with_agent: Whether the agent is at hand.
        portable: Whether every ADK shall read it.
        file: The file that is found guilty.
    """

    code: str
    content: Any
    place: str | None = None
    mendable: bool = False
    readable: bool = True
    environment: Any = None
    with_agent: bool = False
    portable: bool = False
    file: str = SET

    def files(self) -> dict[str, bytes]:
        """Return the files by their names."""
        held = {DATASET if self.file == DATASET else SET: self.content, ENVIRONMENT: self.environment}
        return {
            name: content if isinstance(content, bytes) else in_bytes(content)
            for name, content in held.items()
            if content is not None
        }


def _turned(**more: Any) -> Any:
    """Make a set of one case of one turn that is so."""
    return a_set(a_case("one", a_turn(**more)))


_SCENARIO = {"starting_prompt": "Hello", "conversation_plan": "Ask for A-1."}
_OLD = [
    {"query": "Where?", "expected_tool_use": [{"tool_name": "find_order", "tool_input": {"order_id": "A-1"}}]}
]
_CONFIRMED = {
    "function_call": {
        "id": "q",
        "name": "adk_request_confirmation",
        "args": {"originalFunctionCall": {"id": "id-find_order", "name": "find_order", "args": {}}},
    }
}
_ENVIRONMENT_OF_TWO = an_environment(one=a_recorded_case(), two=a_recorded_case())

TEXTS = [
    Pitfall("empty-file", b" \n"),
    Pitfall("not-utf8", json.dumps(a_set()).encode("utf-16"), mendable=True),
    Pitfall("not-utf8", json.dumps(a_set()).encode("utf-16-be"), mendable=True),
    Pitfall("not-utf8", json.dumps(a_set()).encode("utf-32-le"), mendable=True),
    Pitfall("not-utf8", json.dumps(a_set(name="größer"), ensure_ascii=False).encode("latin-1")),
    Pitfall("byte-order-mark", codecs.BOM_UTF8 + in_bytes(a_set()), mendable=True),
    Pitfall("damaged-json", in_bytes(a_set())[:-20]),
    Pitfall("damaged-json", b'{"eval_set_id": "\\ud800", "eval_cases": []}'),
    Pitfall("damaged-json", b'{"eval_set_id": "a", "eval_cases": [], "n": ' + b"9" * 5000 + b"}"),
    Pitfall("trailing-comma", in_bytes(a_set()).replace(b"\n}\n", b",\n}\n"), mendable=True),
    Pitfall("too-deep", b"[" * 100_000 + b"]" * 100_000),
    Pitfall("duplicate-key", in_bytes(a_set()).replace(b'"name": "Orders"', b'"name": "Orders", "name": "Orders"'), "name", mendable=True),
    Pitfall("duplicate-key", in_bytes(a_set()).replace(b'"name": "Orders"', b'"name": "A", "name": "B"'), "name"),
    Pitfall("no-json-number", in_bytes(a_set(creation_timestamp=float("nan"))), "creation_timestamp"),
    Pitfall("too-heavy", b'{"eval_set_id": "a", "eval_cases": [' + b"{}," * 1_100_000 + b"{}]}"),
    Pitfall("too-heavy", b'{"eval_set_id": "a", "eval_cases": [], "x": [' + b'"a",' * 6_200_000 + b"0]}"),
    Pitfall("oversized", in_bytes(a_set(description="x" * (21 << 20)))),
]  # fmt: skip

SETS = [
    Pitfall("not-an-eval-set", {"name": "x", "version": "1.0", "test_cases": []}),
    Pitfall("not-an-eval-set", {"criteria": {"response_match_score": 0.5}}),
    Pitfall("not-an-eval-set", {"scenarios": [_SCENARIO]}),
    Pitfall("not-an-eval-set", {"eval_set_id": "x"}),
    Pitfall("not-an-eval-set", [1, 2]),
    Pitfall("not-an-eval-set", "words"),
    Pitfall("legacy-format", _OLD, mendable=True),
    Pitfall("legacy-format", [{"name": "asks", "data": _OLD, "initial_session": {"state": {}, "app_name": "desk"}}], mendable=True),
    Pitfall("legacy-format", {"name": "asks", "data": _OLD}, mendable=True),
    Pitfall("legacy-unreadable", [{"query": 1}]),
    Pitfall("camel-case-top", {"evalSetId": "orders", "evalCases": [a_case()]}, "evalSetId", mendable=True),
    Pitfall("missing-set-id", without(a_set(), "eval_set_id"), mendable=True),
    Pitfall("missing-set-id", a_set(eval_set_id=None), mendable=True),
    Pitfall("unfit-set-id", a_set(eval_set_id="a/b:c"), "eval_set_id", mendable=True),
    Pitfall("name-differs", a_set(eval_set_id="others"), "eval_set_id"),
    Pitfall("empty-set", a_set(eval_cases=[])),
    Pitfall("unknown-key", a_set(version="1"), "version"),
    Pitfall("unknown-key", a_set(a_case(owner="me")), "eval_cases[0].owner"),
    Pitfall("refused-key", _turned(notes="x"), "eval_cases[0].conversation[0].notes", mendable=True),
    Pitfall("refused-key", _turned(**{"Final-Response": None, "final_response": a_message("model")}), mendable=True),
    Pitfall("refused-key", _turned(user_content={"role": "user", "content": "Where is A-1?"}), "eval_cases[0].conversation[0].user_content.content", mendable=True),
    Pitfall("refused-key", _turned(invocation_idd="x"), "eval_cases[0].conversation[0].invocation_idd", mendable=True),
    Pitfall("refused-key", _turned(rubriks=[]), "eval_cases[0].conversation[0].rubriks"),
    Pitfall("refused-key", in_bytes(_turned(notes="x")).replace(b'"notes": "x"', b'"notes": "x", "notes": "y"'), "eval_cases[0].conversation[0].notes"),
    Pitfall("refused-value", _turned(creation_timestamp="soon"), "eval_cases[0].conversation[0].creation_timestamp"),
    Pitfall("refused-value", a_set(a_case(session_input={"app_name": "desk"})), "eval_cases[0].session_input"),
    Pitfall("refused-value", a_set(name=1), "name"),
    Pitfall("refused-value", a_set(eval_cases=None), "eval_cases"),
    Pitfall("refused-value", a_set(creation_timestamp="soon"), "creation_timestamp"),
    Pitfall("refused-value", a_set(creationTimestamp="2026-11-26"), "creationTimestamp", mendable=True),
    Pitfall("refused-value", a_set(a_case(creation_timestamp="2026-11-26T10:00:00Z")), "eval_cases[0].creation_timestamp", mendable=True),
    Pitfall("refused-value", _turned(creationTimestamp="2026-11-26T10:00:00+02:00"), "eval_cases[0].conversation[0].creationTimestamp", mendable=True),
]  # fmt: skip

CASES = [
    Pitfall("missing-eval-id", a_set(without(a_case(), "eval_id")), "eval_cases[0]", mendable=True),
    Pitfall("missing-eval-id", a_set(a_case() | {"eval_id": None}), "eval_cases[0]", mendable=True),
    Pitfall("duplicate-eval-id", a_set(a_case(), a_case(), a_case("one_2")), "eval_cases[1].eval_id", mendable=True),
    Pitfall("unfit-eval-id", a_set(a_case("a:b/c")), "eval_cases[0].eval_id", mendable=True),
    Pitfall("no-conversation", a_set(without(a_case(), "conversation")), "eval_cases[0]"),
    Pitfall("two-conversations", a_set(a_case(conversation_scenario=_SCENARIO)), "eval_cases[0]"),
    Pitfall("two-conversations", a_set(a_case(conversation=[], conversation_scenario=_SCENARIO)), "eval_cases[0]", mendable=True),
    Pitfall("empty-conversation", a_set(a_case(conversation=[])), "eval_cases[0].conversation"),
    Pitfall("unfit-app-name", a_set(a_case(session_input={"app_name": "my desk!", "user_id": "u"})), "eval_cases[0].session_input.app_name"),
    Pitfall("unfit-app-name", a_set(a_case(session_input={"app_name": "", "user_id": "u"})), with_agent=True, mendable=True),
    Pitfall("other-app-name", a_set(a_case(session_input={"app_name": "other", "user_id": "u"})), with_agent=True),
    Pitfall("not-portable", _turned(duration=1.5), "eval_cases[0].conversation[0].duration"),
    Pitfall("not-portable", _turned(duration=1.5), mendable=True, portable=True),
    Pitfall("not-portable", _turned(intermediate_data=events({"author": "desk"})), mendable=True, portable=True),
    Pitfall("not-portable", _turned(intermediate_data=events(an_event({"text": "x"}) | {"usage_metadata": {"total_token_count": 3}})), mendable=True, portable=True),
    Pitfall("not-portable", a_set(a_case(session_input={"app_name": "desk", "user_id": "u", "session_id": "s"}))),
]  # fmt: skip

TURNS = [
    Pitfall("missing-user-content", a_set(a_case("one", without(a_turn(), "user_content"))), "eval_cases[0].conversation[0]"),
    Pitfall("empty-user-content", _turned(user_content={"role": "user", "parts": []})),
    Pitfall("empty-user-content", _turned(user_content={"role": "user", "parts": [{"text": ""}]})),
    Pitfall("missing-role", _turned(user_content={"parts": [{"text": "x"}]}), mendable=True),
    Pitfall("missing-role", _turned(final_response={"parts": [{"text": "x"}], "role": None}), mendable=True),
    Pitfall("wrong-role", _turned(final_response=a_message("assistant")), mendable=True),
    Pitfall("missing-final-response", _turned(final_response={"role": "model", "parts": [{"text": None}]}), "eval_cases[0].conversation[0].final_response"),
    Pitfall("missing-final-response", _turned(final_response={"role": "model"})),
    Pitfall("missing-final-response", a_set(a_case("one", without(a_turn(), "final_response")))),
    Pitfall("duplicate-invocation-id", a_set(a_case("one", a_turn(), a_turn(2, invocation_id="turn-1")))),
    Pitfall("old-tool-use", a_set(a_case("one", without(a_turn(expected_tool_use=[]), "intermediate_data"))), mendable=True),
    Pitfall("old-tool-use", a_set(a_case("one", a_turn(intermediate_data=None, expected_tool_use=_OLD[0]["expected_tool_use"]))), mendable=True),
    Pitfall("old-tool-use", _turned(expected_tool_use=_OLD[0]["expected_tool_use"])),
]  # fmt: skip

CALLS = [
    Pitfall("call-without-name", _turned(intermediate_data={"tool_uses": [{"args": {}}]})),
    Pitfall("call-without-name", _turned(intermediate_data={"tool_uses": [{"tool_name": "find"}]}), mendable=True),
    Pitfall("call-without-name", _turned(intermediate_data={"tool_uses": [{"function": {"name": "find", "arguments": "{}"}}]}), mendable=True),
    Pitfall("call-without-response", _turned(intermediate_data={"tool_uses": [{"name": "find_order", "args": {}}]})),
    Pitfall("response-without-call", _turned(intermediate_data={"tool_responses": [{"name": "find_order", "response": {}}]})),
    Pitfall("duplicate-call-id", _turned(intermediate_data=events(an_event(a_call()), an_event(a_call(), an_answer())))),
    Pitfall("confirmation-round", _turned(intermediate_data=events(an_event(a_call()), an_event(_CONFIRMED), an_event(an_answer())))),
    Pitfall("parallel-calls", _turned(intermediate_data=events(an_event(a_call(), a_call("other")), an_event(an_answer(), an_answer("other"))))),
    Pitfall("unknown-tool", _turned(intermediate_data=events(an_event(a_call("find_orders")))), with_agent=True),
    Pitfall("unknown-tool", [{"query": "x", "expected_tool_use": [{"tool_name": "gone", "tool_input": {}}]}], with_agent=True),
    Pitfall("refused-arguments", _turned(intermediate_data=events(an_event(a_call(order_id=1)))), with_agent=True),
    Pitfall("missing-state", _turned(intermediate_data=events(an_event({"text": "Moment."}, author="tutor"))), "eval_cases[0].session_input", with_agent=True),
    Pitfall("unknown-agent", _turned(intermediate_data=events(an_event(a_call(), author="clerk"))), with_agent=True),
]  # fmt: skip


def _beside(environment: Any, code: str, place: str | None = None, **more: Any) -> Pitfall:
    """Make a sound set with a recorded environment that does not fit."""
    return Pitfall(
        code, more.pop("content", a_set()), place, environment=environment, file=ENVIRONMENT, **more
    )


ENVIRONMENTS = [
    _beside(b'{"format": 1', "damaged-json"),
    _beside({"format": "golden-trace-studio/environment", "version": 1, "cases": {"one": {}}}, "broken-environment"),
    _beside(an_environment() | {"version": 99}, "newer-environment", "version"),
    _beside(an_environment(), "environment-alone", content=None),
    _beside(an_environment(), "environment-lacks-case", content=a_set(a_case(), a_case("two"))),
    _beside(_ENVIRONMENT_OF_TWO, "environment-extra-case", "cases.two"),
    _beside(an_environment(one=a_recorded_case(turns=[])), "environment-turns-differ", "cases.one"),
    _beside(an_environment(one=a_recorded_case(a_recorded_call(arguments={"order_id": "B"}))), "environment-calls-differ"),
    _beside(
        an_environment(one=a_recorded_case(a_recorded_call(outcome={"kind": "returned", "value": {"status": "gone"}}))),
        "environment-answers-differ", "cases.one.turns[0]", with_agent=True,
    ),
    _beside(
        an_environment(one=a_recorded_case(a_recorded_call(author={"source": "generated", "blanks": ["$.status"]}))),
        "blank-response", "cases.one",
    ),
    _beside(
        an_environment(one=a_recorded_case(a_recorded_call(author={"source": "generated", "uncertain": ["$.status"]}))),
        "uncertain-response", "cases.one",
    ),
    _beside(an_environment(), "environment-state-differs", "cases.one", content=a_set(a_case(final_session_state={"a": 2}))),
    _beside(
        an_environment(one=a_recorded_case(final_state={"a": 1})), "environment-state-differs", "cases.one.final_state",
        content=a_set(a_case(final_session_state={"a": 2})),
    ),
    _beside(an_environment(one=a_recorded_case(tools={"find_order": {"schema_digest": a_digest()}})), "environment-schema-changed", with_agent=True),
    _beside(an_environment(one=a_recorded_case(a_recorded_call(tool="gone"))), "environment-tool-gone", with_agent=True),
    _beside(in_bytes(an_environment()).replace(b'"version": 1,', b'"version": 1, "version": 1,'), "duplicate-key", mendable=True),
]  # fmt: skip

HI: dict[str, Any] = {"role": "user", "parts": [{"text": "Hi."}]}
HELLO: dict[str, Any] = {"role": "model", "parts": [{"text": "Hello."}]}


def turns(*said: tuple[str, Any], **more: Any) -> dict[str, Any]:
    """Write turns of one event each."""
    listed = [
        {"turn_index": number, "events": [{"author": author, "content": content}]}
        for number, (author, content) in enumerate(said)
    ]
    return {"agent_data": {"turns": listed}, **more}


STATE_ALONE = [{"turn_index": 0, "events": [{"author": "user", "state_delta": {"a": 1}}]}]
LISTED = turns(("user", HI))["agent_data"]["turns"]
UNNUMBERED = {"agent_data": {"turns": [{"events": LISTED[0]["events"]}]}}
ODD = turns(("user", HI), ("desk", {**HELLO, "role": "assistant"}), ("user", HI))
SECOND = ".agent_data.turns[1].events[0]"
_MISTAKES: list[tuple[Any, str, str, bool]] = [
    ({"prompt": HI, **turns(("user", HI))}, "two-messages", ".prompt", False),
    ({"prompt": HI, "agent_data": {"turns": STATE_ALONE}}, "two-messages", ".prompt", False),
    ({"user_scenario": {}}, "no-message", "", False),
    (turns(("user", HI), ("desk", HELLO)), "no-message", SECOND, False),
    ({"prompt": HI, "reference": HELLO}, "reference", ".reference", True),
    ({"prompt": HI, "reference": "Hello."}, "reference", ".reference", True),
    (ODD, "role", f"{SECOND}.content.role", True),
    ({"prompt": {**HI, "role": "system"}}, "role", ".prompt.role", False),
    ({"prompt": {"part": []}}, "refused", ".prompt", False),
    (UNNUMBERED, "turn-index", ".agent_data.turns[0]", True),
]
DATASETS = [
    Pitfall(
        f"dataset-{code}",
        {"eval_cases": [{"eval_case_id": "one", **case}]},
        f"eval_cases[0]{place}",
        mendable=mendable,
        file=DATASET,
    )
    for case, code, place, mendable in _MISTAKES
]

ALL = [*TEXTS, *SETS, *CASES, *TURNS, *CALLS, *ENVIRONMENTS, *DATASETS]
