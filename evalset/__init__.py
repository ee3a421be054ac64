"""What leaves the house: golden traces, and the eval sets they are kept in.

    case = GoldenTraceBuilder(simulation.session).build()     # ADK's EvalCase, of a completed session
    for sentence in warnings(simulation.session): ...         # what plain `adk eval` will not repeat
    text = case_json(case)                                    # the case alone, to show and to copy
    document = case_document(agent_name, case, at=now)        # a new eval set with this case, to download
    script_of_case(case).script                               # the case as a script, to play it again and change it
    read_back(document, case)                                 # ADK's own loader reads it back equal, or ReadBackError
    written = EvalSetWriter(path, agent_name).write_eval_case(case)   # creates or appends
    written = write_golden_trace(simulation)                  # the case, and what the world answered beside it

`HermeticEnvironment(path)` is a plugin for an `App`: it replays what the world answered, as it was recorded beside an eval set.

`read_scenarios(text)` and `scenarios_text(...)` are for ADK's scenario files, `add_scenario(writer, scenario_case(...))` adds one
to an eval set, and `user_turns(text)` gives what the user said in each case of one. `result_table(result)` and `table_csv(result)` lay out what verify, doctor and `adk eval` found, and the cases of a set. `preview(path, agent_name, case)` gives the whole file as it would be, and `EvalSetWriter.eval_ids()` with
`unique_eval_id` a free id. Errors are `GoldenTraceError`, `EvalSetError`, `ScenarioError` and `ReadBackError`, all of them ValueErrors
with a text for a person; a write that raised has changed nothing. ADK's evaluation models are imported when one of
these names is first used, and not before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalset.editing.golden_writing import write_golden_trace
    from evalset.errors import CaseTakenError, EvalSetError, GoldenTraceError, ReadBackError, ScenarioError
    from evalset.exporting.export_forms import EXPORT_FORMS, Exported, ExportError, export_cases
    from evalset.files.case_text import case_document, case_json, read_back
    from evalset.files.eval_names import eval_id_for, snake_case, unique_eval_id
    from evalset.files.set_writer import EvalSetWriter, WrittenCase, preview
    from evalset.golden_trace.builder import GoldenTraceBuilder, warnings
    from evalset.golden_trace.case_script import CaseScript, read_cases, script_of_case
    from evalset.golden_trace.scenarios import (
        AddedScenario,
        add_scenario,
        read_scenarios,
        scenario_case,
        scenarios_text,
        user_turns,
    )
    from evalset.importing.gathered import Imported
    from evalset.importing.import_files import import_cases
    from evalset.recorded.recording_files import RecordedEnvironmentError
    from evalset.replay.hermetic_environment import HermeticEnvironment, UnrecordedCallError
    from evalset.result_tables import result_table, table_csv

_HOMES = {
    "HermeticEnvironment": "evalset.replay.hermetic_environment",
    "RecordedEnvironmentError": "evalset.recorded.recording_files",
    "UnrecordedCallError": "evalset.replay.hermetic_environment",
    "AddedScenario": "evalset.golden_trace.scenarios",
    "CaseScript": "evalset.golden_trace.case_script",
    "read_cases": "evalset.golden_trace.case_script",
    "script_of_case": "evalset.golden_trace.case_script",
    "ScenarioError": "evalset.errors",
    "add_scenario": "evalset.golden_trace.scenarios",
    "read_scenarios": "evalset.golden_trace.scenarios",
    "scenario_case": "evalset.golden_trace.scenarios",
    "scenarios_text": "evalset.golden_trace.scenarios",
    "user_turns": "evalset.golden_trace.scenarios",
    "CaseTakenError": "evalset.errors",
    "EvalSetError": "evalset.errors",
    "EXPORT_FORMS": "evalset.exporting.export_forms",
    "ExportError": "evalset.exporting.export_forms",
    "Exported": "evalset.exporting.export_forms",
    "export_cases": "evalset.exporting.export_forms",
    "Imported": "evalset.importing.gathered",
    "import_cases": "evalset.importing.import_files",
    "EvalSetWriter": "evalset.files.set_writer",
    "GoldenTraceBuilder": "evalset.golden_trace.builder",
    "GoldenTraceError": "evalset.errors",
    "ReadBackError": "evalset.errors",
    "WrittenCase": "evalset.files.set_writer",
    "case_document": "evalset.files.case_text",
    "case_json": "evalset.files.case_text",
    "eval_id_for": "evalset.files.eval_names",
    "preview": "evalset.files.set_writer",
    "read_back": "evalset.files.case_text",
    "result_table": "evalset.result_tables",
    "snake_case": "evalset.files.eval_names",
    "table_csv": "evalset.result_tables",
    "unique_eval_id": "evalset.files.eval_names",
    "warnings": "evalset.golden_trace.builder",
    "write_golden_trace": "evalset.editing.golden_writing",
}

__all__ = [
    "EXPORT_FORMS",
    "AddedScenario",
    "CaseScript",
    "CaseTakenError",
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
    "write_golden_trace",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'evalset' has no attribute {name!r}")
    return getattr(__import__(home, globals(), None, (name,)), name)


def __dir__() -> list[str]:
    return sorted(__all__)
