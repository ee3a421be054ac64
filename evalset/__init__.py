"""What leaves the house: golden traces, and the eval sets they are kept in.

    case = GoldenTraceBuilder(simulation.session).build()     # ADK's EvalCase, of a completed session
    for sentence in warnings(simulation.session): ...         # what plain `adk eval` will not repeat
    text = case_json(case)                                    # the case alone, to show and to copy
    document = case_document(agent_name, case, at=now)        # a new eval set with this case, to download
    script_of_case(case).script                               # the case as a script, to play it again and change it
    read_back(document, case)                                 # ADK's own loader reads it back equal, or ReadBackError
    written = EvalSetWriter(path, agent_name).write_eval_case(case)   # creates or appends

`HermeticEnvironment(path)` is a plugin for an `App`: it replays what the world answered, as it was recorded beside an eval set.

`read_scenarios(text)` and `scenarios_text(...)` are for ADK's scenario files, `add_scenario(writer, scenario_case(...))` adds one
to an eval set, and `user_turns(text)` gives what the user said in each case of one. `result_table(result)` and `table_csv(result)` lay out what verify, doctor and `adk eval` found, and the cases of a set. `preview(path, agent_name, case)` gives the whole file as it would be, and `EvalSetWriter.eval_ids()` with
`unique_eval_id` a free id. Errors are `GoldenTraceError`, `EvalSetError`, `ScenarioError` and `ReadBackError`, all of them ValueErrors
with a text for a person; a write that raised has changed nothing. ADK's evaluation models are imported when one of
these names is first used, and not before.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalset.case_script import CaseScript, read_cases, script_of_case
    from evalset.caveats import warnings
    from evalset.documents import case_document, case_json, read_back
    from evalset.errors import EvalSetError, GoldenTraceError, ReadBackError, ScenarioError
    from evalset.exporting.forms import EXPORT_FORMS, Exported, ExportError, export_cases
    from evalset.golden_trace import GoldenTraceBuilder
    from evalset.importing.files import import_cases
    from evalset.importing.gathered import Imported
    from evalset.names import eval_id_for, snake_case, unique_eval_id
    from evalset.recorded.files import RecordedEnvironmentError
    from evalset.replay.plugin import HermeticEnvironment, UnrecordedCallError
    from evalset.scenarios import (
        AddedScenario,
        add_scenario,
        read_scenarios,
        scenario_case,
        scenarios_text,
        user_turns,
    )
    from evalset.tables import result_table, table_csv
    from evalset.writer import EvalSetWriter, WrittenCase, preview

_HOMES = {
    "HermeticEnvironment": "evalset.replay.plugin",
    "RecordedEnvironmentError": "evalset.recorded.files",
    "UnrecordedCallError": "evalset.replay.plugin",
    "AddedScenario": "evalset.scenarios",
    "CaseScript": "evalset.case_script",
    "read_cases": "evalset.case_script",
    "script_of_case": "evalset.case_script",
    "ScenarioError": "evalset.errors",
    "add_scenario": "evalset.scenarios",
    "read_scenarios": "evalset.scenarios",
    "scenario_case": "evalset.scenarios",
    "scenarios_text": "evalset.scenarios",
    "user_turns": "evalset.scenarios",
    "EvalSetError": "evalset.errors",
    "EXPORT_FORMS": "evalset.exporting.forms",
    "ExportError": "evalset.exporting.forms",
    "Exported": "evalset.exporting.forms",
    "export_cases": "evalset.exporting.forms",
    "Imported": "evalset.importing.gathered",
    "import_cases": "evalset.importing.files",
    "EvalSetWriter": "evalset.writer",
    "GoldenTraceBuilder": "evalset.golden_trace",
    "GoldenTraceError": "evalset.errors",
    "ReadBackError": "evalset.errors",
    "WrittenCase": "evalset.writer",
    "case_document": "evalset.documents",
    "case_json": "evalset.documents",
    "eval_id_for": "evalset.names",
    "preview": "evalset.writer",
    "read_back": "evalset.documents",
    "result_table": "evalset.tables",
    "snake_case": "evalset.names",
    "table_csv": "evalset.tables",
    "unique_eval_id": "evalset.names",
    "warnings": "evalset.caveats",
}

__all__ = [
    "EXPORT_FORMS",
    "AddedScenario",
    "CaseScript",
    "EvalSetError",
    "EvalSetWriter",
    "ExportError",
    "Exported",
    "GoldenTraceBuilder",
    "GoldenTraceError",
    "HermeticEnvironment",
    "Imported",
    "ReadBackError",
    "RecordedEnvironmentError",
    "ScenarioError",
    "UnrecordedCallError",
    "WrittenCase",
    "add_scenario",
    "case_document",
    "case_json",
    "eval_id_for",
    "export_cases",
    "import_cases",
    "preview",
    "read_back",
    "read_cases",
    "read_scenarios",
    "result_table",
    "scenario_case",
    "scenarios_text",
    "script_of_case",
    "snake_case",
    "table_csv",
    "unique_eval_id",
    "user_turns",
    "warnings",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'evalset' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)
