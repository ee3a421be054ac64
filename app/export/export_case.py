"""Makes the eval case of a session with an id that says what it is about, checks it with ADK's own loader, writes it and replays it; no drawing here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from pydantic import JsonValue

import evalset
from app.forms.safe_labels import literal
from app.forms.typed_paths import typed_path
from app.live.background_jobs import Job, JobProgress, Report
from evalset import eval_id_for, snake_case
from evalset.adk_runs.run_spec import agent_folder
from evalset.cli.shell_lines import ShownCommands
from evalset.files.datasets import ENDING, project_of
from evalset.recorded.recording_files import sidecar_of
from simulator.agent_config import SimulatedAgentConfig
from simulator.base.documents import read_file
from simulator.base.frozen_value import Value
from simulator.base.json_values import JsonObject
from simulator.base.user_files import write_whole
from simulator.environment.conventions import UNSURE, role_of
from simulator.environment.drafts.draft import SURE, Unsure
from simulator.facts import Fact
from simulator.session import SimulationSession
from simulator.session.adk_event_fields import message_text
from simulator.session.history import ToolCall, ToolError, ToolOutput, UserQuery

if TYPE_CHECKING:
    from google.adk.evaluation.eval_case import EvalCase
    from google.genai.types import Content

    from evalset import Exported
    from evalset.recorded.recording import RecordedCase
    from evalset.verify.results import CaseResult, CaseStatus, Verification


PLAYED = "the case that is played"
"""The name among the texts of a session of the case that it plays; a session that comes from a file names none of this machine."""
LONGEST = 48
"""In characters: a longer id hides the others in a list."""
_LONGEST_VALUE = 20
_WORDS_OF_MESSAGE = 6
_FROM_ADK = ("transfer_to_agent", "adk_")
_STATUS = re.compile(r"status|state$|outcome", re.IGNORECASE)
_LETTERS = re.compile(r"[^A-Za-z0-9]+")


class PlayedCase(Value):
    """The case that a session began with, or was written to, and the eval set that it is in.

    `session_id` is that of the session that was written: a copy of it is another case. `losses` says in sentences what was not
    played as it is in the case.
    """

    path: str
    eval_id: str
    session_id: str = ""
    losses: tuple[str, ...] = ()


def remember_played(texts: MutableMapping[str, str], played: PlayedCase) -> None:
    """Keep which case a session plays, so that the session is proposed in its place."""
    texts[PLAYED] = played.model_dump_json()


def played_case(texts: Mapping[str, str]) -> PlayedCase | None:
    """Return the case that a session plays; None where it plays none."""
    try:
        return PlayedCase.model_validate_json(texts.get(PLAYED, ""))
    except ValueError:  # none, or a session of a file has what its file says
        return None


def proposed_eval_id(session: SimulationSession) -> str:
    """Return an id in words: `cancel_order_a1001`.

    It is the last tool call that changes something, or else the root agent's first one, with the first short value among its arguments. A tool
    of which nothing says that it changes something counts as one that reads. Without calls it is the start of the first user message. Where no letter of it can be written in ASCII, it is the agent's name and the time.
    """
    every = [entry for entry in session.history if isinstance(entry, ToolCall)]
    calls = [call for call in every if not call.tool_name.startswith(_FROM_ADK)]
    if calls:
        of_root = (call for call in calls if call.agent == every[0].agent)
        call = next(filter(_changes, reversed(calls)), next(of_root, calls[0]))
        named, value = snake_case(call.tool_name), f"_{_value(call.arguments)}"
    else:
        said = next((entry.content for entry in session.history if isinstance(entry, UserQuery)), "")
        value, named = "", "_".join(_LETTERS.sub(" ", said).lower().split()[:_WORDS_OF_MESSAGE])
    return _whole_words(named, value) or eval_id_for(session.agent_name, session.start_timestamp)


def _whole_words(named: str, last: str = "") -> str:
    """Return the words of an id that are not too long together with the last ones; of a single word its beginning."""
    room = LONGEST - len(last)
    fitting = named if len(named) <= room else named[: room + 1].rpartition("_")[0] or named[:room]
    return f"{fitting}{last}".strip("_")


def _outcome(session: SimulationSession) -> str:
    """Return how the last tool call ended, in a word: its error, or the status that it responded; empty where it tells none."""
    ends = (entry for entry in reversed(session.history) if isinstance(entry, (ToolOutput, ToolError)))
    last = next(ends, None)
    if isinstance(last, ToolError):
        return f"failed_{snake_case(last.error_type)}"[:_LONGEST_VALUE].strip("_")
    told = last.result if last is not None and isinstance(last.result, dict) else {}
    return _value({name: value for name, value in told.items() if _STATUS.search(name)})


def _changes(call: ToolCall) -> bool:
    role = role_of(call.tool_name)
    return role.use != "reads" and role.why != UNSURE


def _value(arguments: JsonObject) -> str:
    """Return the first argument that is a short text or a number, as one word; empty where there is none."""
    for value in arguments.values():
        word = _LETTERS.sub("", str(value)).lower()
        if isinstance(value, (str, int)) and not isinstance(value, bool) and 0 < len(word) <= _LONGEST_VALUE:
            return word
    return ""


class ExportReplay(NamedTuple):
    """The replay of an exported case, and the tolerances that it got, in a line each: what the agent's own code makes anew in each run."""

    verification: Verification
    tolerances: tuple[str, ...] = ()


class LastRun(NamedTuple):
    """The last run of an exported case, on whichever page it was begun, or that was kept.

    Attributes:
        status: Its status.
        at: When that was known, in a sentence; empty where it was just written.
        case: All of its result; None of a kept run.
        why: Why it did not pass, in a line, where a kept run says so.
        changes: What has changed since, in words.
        models: Who answered for the agents' models, in words; empty where nobody knows.
    """

    status: CaseStatus
    at: str
    case: CaseResult | None = None
    why: str = ""
    changes: tuple[str, ...] = ()
    models: str = ""


def replayed(eval_set: Path, eval_id: str, config: SimulatedAgentConfig) -> Job[ExportReplay]:
    """Begin to replay one case of a set; what varies by itself gets a tolerance first."""

    def work(report: Report, stop: Event) -> ExportReplay:
        from evalset.verify import VerifyError, replay_written, verify  # noqa: PLC0415 - importing ADK's evaluation takes a second

        report(JobProgress(words="Replaying the case with its recorded responses"))
        lines: tuple[str, ...] = ()
        with suppress(VerifyError):  # the verification says the same of the case
            lines = replay_written(eval_set, eval_id, agent=config, keep=True).lines
        found = verify(eval_set, agent=config, cases=[eval_id], models="recorded", stop=stop)
        return ExportReplay(found, lines)

    return Job(work, "replay-export")


TraceForm: TypeAlias = Literal["intermediate_data", "invocation_events"]

_WHOLE_FILE_BYTES = 500_000
"""ADK's loader takes about half a millisecond for each thousand bytes; a larger file is not read in whole."""


class ExportForm(Value):
    """What a person chose for the export."""

    form: TraceForm = "intermediate_data"
    eval_id: str
    path: str
    replaces: bool = False
    keeps_edits: bool = True
    note: str = ""


class ExportResult(Value):
    """The result of an export, for the page to show.

    `environment` is the file with what the world answered, and `replay` the lines that let an agent be evaluated with it;
    where that was not written, `unrecorded` says why. `found` says of a case that was written before whether it still is what the session gives. `commands` run the case in a shell; None where the agent has no name there.
    """

    path: str
    eval_id: str
    form: TraceForm
    head: int
    created: bool
    replaced: bool = False
    converted_copy: str | None = None
    environment: str = ""
    replay: str = ""
    unrecorded: str = ""
    found: Literal["", "same", "differs"] = ""
    commands: ShownCommands | None = None


class CallLine(Value):
    """One tool call of a case; without a `response` there is None."""

    tool: str
    arguments: JsonValue
    response: JsonValue


class TurnOutline(Value):
    """One turn of a case for people who read no JSON; every text comes from outside. `notes` tell what its form has no field for."""

    asked: str
    calls: tuple[CallLine, ...]
    answered: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Exportable:
    """A case that may leave the house.

    Attributes:
        case: The case.
        text: The case as JSON.
        document: A new eval set with this case alone, as JSON, what was recorded of it inside: one file that holds both.
        warnings: What plain `adk eval` cannot replay of it, in sentences.
        misread: Why ADK's own loader does not read it back equal; None where it does.
        archive: The eval set and what the world answered in the case, in a ZIP file; empty where that was not to be told.
        known: What is recorded of the case, by its id; empty as above.
        unsure: The places of its responses of which nobody said what belongs there, in sentences.
    """

    case: EvalCase
    text: str
    document: str
    warnings: tuple[str, ...]
    misread: str | None
    archive: bytes = b""
    known: Mapping[str, RecordedCase] = field(default_factory=dict)
    unsure: Unsure = SURE


def exportable(
    session: SimulationSession,
    form: TraceForm,
    eval_id: str,
    facts: Iterable[Fact] = (),
    config: SimulatedAgentConfig | None = None,
) -> Exportable:
    """Build a session's case, and check that ADK's own loader reads it back from a file equal.

    With the session's facts and its agent, what the world answered goes along with it.

    Raises:
        evalset.GoldenTraceError: The session is not completed, or the eval id cannot be used.
        ValueError: It holds a number that JSON has no word for.
    """
    from evalset.recorded.recording import RecordedEnvironment, unsure_in  # noqa: PLC0415 - as above
    from evalset.recorded.recording_files import joined  # noqa: PLC0415 - a page without an export waits for none of it

    case = _built(session, form, eval_id)
    known = _known(case, session, facts, config) if config is not None else {}
    document = joined(
        evalset.case_document(session.agent_name, case, at=session.start_timestamp, eval_set_id=case.eval_id),
        RecordedEnvironment(cases=known),
    )
    return Exportable(
        case=case,
        text=evalset.case_json(case),
        document=document,
        warnings=evalset.warnings(session),
        misread=_misread(document, case),
        archive=_archive(case, known) if known else b"",
        known=known,
        unsure=next(map(unsure_in, known.values()), SURE),
    )


def _known(
    case: EvalCase, session: SimulationSession, facts: Iterable[Fact], config: SimulatedAgentConfig
) -> dict[str, RecordedCase]:
    from evalset.recorded.recorder import recorded_for  # noqa: PLC0415 - importing ADK takes a second

    return {case.eval_id: recorded_for(session, facts, config.root_agent)}


def _archive(case: EvalCase, known: dict[str, RecordedCase]) -> bytes:
    return evalset.export_cases([case], "evalset", environments=known, name=case.eval_id).content


def as_dataset(result: Exportable, config: SimulatedAgentConfig) -> Exported:
    """Return a case as an evaluation dataset of Agent Platform, with its recording beside it.

    Raises:
        ValueError: It holds a number that JSON has no word for.
    """
    called, agent = result.case.eval_id, config.root_agent
    return evalset.export_cases(
        [result.case], "dataset", environments=result.known, name=called, root_agent=agent
    )


def dataset_path(eval_id: str, eval_set: Path) -> Path:
    """Return where a dataset is written by default: among those of the agents-cli project around an eval set, or next to the set."""
    project = project_of(eval_set.parent)
    return (project.datasets if project else eval_set.parent) / f"{snake_case(eval_id)}{ENDING}"


def write_dataset(exported: Exported, typed: str) -> tuple[Path, ...]:
    """Write a dataset, and its recording next to it; return the files.

    Raises:
        ValueError: No path was given, or another file stands there; nothing was written.
        OSError: The disk or the folder refused.
    """
    if not typed.strip():
        raise ValueError("No file given. Enter the path of a dataset file.")
    path = typed_path(typed)
    places = (path, sidecar_of(path))
    contents = {place: file.text.encode() for place, file in zip(places, exported.files, strict=False)}
    for place, content in contents.items():
        if place.exists() and read_file(place) != content:
            raise ValueError(f"{place} already exists. Enter another name")
    path.parent.mkdir(parents=True, exist_ok=True)
    for place, content in reversed(contents.items()):  # a dataset is never there without its recording
        write_whole(place, [content])
    return tuple(contents)


def _built(session: SimulationSession, form: TraceForm, eval_id: str) -> EvalCase:
    return evalset.GoldenTraceBuilder(session, form=form, eval_id=eval_id, confirmations="beside").build()


def _misread(document: str, case: EvalCase) -> str | None:
    try:
        evalset.read_back(document, case)
    except evalset.ReadBackError as error:
        return str(error)
    return None


def outline(case: EvalCase, recorded: RecordedCase | None = None) -> tuple[TurnOutline, ...]:
    """Return a case turn by turn: what was asked, which tools were called, what was answered, and what the recording adds to it."""
    # Importing ADK's evaluation takes a second: not before there is a case.
    from google.adk.evaluation.eval_case import get_all_tool_calls_with_responses  # noqa: PLC0415 - as above

    from evalset.editing.set_changes import step_notes  # noqa: PLC0415 - as above

    raw = json.loads(evalset.case_json(case))
    return tuple(
        TurnOutline(
            asked=message_text(turn.user_content.model_dump(mode="json", exclude_none=True)) or "(no text)",
            calls=tuple(
                CallLine(
                    tool=literal(call.name or ""),
                    arguments=call.args or {},
                    response=response.response if response else None,
                )
                for call, response in get_all_tool_calls_with_responses(turn.intermediate_data)
            ),
            answered=_text_of(turn.final_response),
            notes=tuple(note.words for note in step_notes(raw, recorded, number).values()),
        )
        for number, turn in enumerate(case.conversation or ())
    )


def _text_of(content: Content | None) -> str:
    texts = [part.text for part in (content.parts if content else None) or () if part.text]
    return "\n".join(texts) or "(no text)"


def free_eval_id(session: SimulationSession, path: str) -> str:
    """Return an eval id in words for a session; where the file has it already, with how the session ended, or else the next free one.

    A file that cannot be read counts as empty here: writing to it says what is wrong.
    """
    wanted = proposed_eval_id(session)
    try:
        taken = evalset.EvalSetWriter(path, session.agent_name).eval_ids() if path.strip() else frozenset()
    except evalset.EvalSetError:
        return wanted
    if wanted in taken and (how := _outcome(session)):
        wanted = _whole_words(wanted, f"_{how}")
    return evalset.unique_eval_id(wanted, taken)


def write(
    session: SimulationSession,
    config: SimulatedAgentConfig,
    chosen: ExportForm,
    head: int,
    facts: Iterable[Fact] = (),
) -> ExportResult:
    """Check that ADK loads the case unchanged, and write it into its eval set, with its recording next to the set.

    It is read from the file as it will be; where that is long, from an eval set with this case alone. What raises
    has changed nothing. `facts` are all of the session up to the one with the number `head`.

    Raises:
        evalset.GoldenTraceError: As `exportable`.
        evalset.EvalSetError: The file cannot take the case.
        evalset.ReadBackError: ADK's loader does not give the case back equal, or cannot read the file.
        ValueError: No path was given.
    """
    writer, case = _checked(session, chosen)
    environment = None
    if chosen.replaces:
        written, environment = _replaced(writer.path, case, session, config, facts, chosen)
    else:
        written = writer.write_eval_case(case)
    return _recorded(
        session,
        config,
        facts,
        ExportResult(
            path=str(written.path),
            eval_id=case.eval_id,
            form=chosen.form,
            head=head,
            created=written.created,
            replaced=chosen.replaces,
            converted_copy=str(written.converted_copy) if written.converted_copy else None,
        ),
        environment,
        chosen.note.strip(),
    )


def written_before(
    config: SimulatedAgentConfig, played: PlayedCase, chosen: ExportForm, head: int, app_name: str
) -> ExportResult:
    """Return the result of an export of before, as the files tell it."""
    from evalset.editing.sidecars import open_beside  # noqa: PLC0415 - importing ADK takes a second

    path = Path(played.path)
    environment = sidecar_of(path) if open_beside(path).case(played.eval_id) is not None else None
    return ExportResult(
        path=str(path),
        eval_id=played.eval_id,
        form=chosen.form,
        head=head,
        created=False,
        environment=str(environment or ""),
        replay=_replay_lines(app_name, environment, config) if environment else "",
    )


def _replay_lines(app_name: str, environment: Path, config: SimulatedAgentConfig) -> str:
    from evalset.recorded.recorder import replay_lines_of  # noqa: PLC0415 - importing ADK takes a second

    return replay_lines_of(config, app_name, environment, agent_folder(config))


def _replaced(  # noqa: PLR0917 - what was played, where it goes, and how
    path: Path,
    case: EvalCase,
    session: SimulationSession,
    config: SimulatedAgentConfig,
    facts: Iterable[Fact],
    chosen: ExportForm,
) -> tuple[evalset.WrittenCase, Path]:
    """Put the case and its recording in the place of those with its id."""
    from evalset.editing.golden_writing import replace_case  # noqa: PLC0415 - importing ADK takes a second
    from evalset.recorded.recorder import recorded_for  # noqa: PLC0415 - as above
    from evalset.recorded.recording_files import sidecar_of  # noqa: PLC0415 - as above

    saved = replace_case(
        path, case, recorded_for(session, facts, config.root_agent), keep_edits=chosen.keeps_edits
    )
    written = evalset.WrittenCase(path=saved.path, eval_id=case.eval_id, converted_copy=saved.converted_copy)
    return written, sidecar_of(saved.path)


def _checked(session: SimulationSession, chosen: ExportForm) -> tuple[evalset.EvalSetWriter, EvalCase]:
    """Build the case, and see that ADK's own loader reads it back equal from where it is going to be."""
    if not chosen.path.strip():
        raise ValueError("No file given. Enter the path of an eval set file.")
    case = _built(session, chosen.form, chosen.eval_id)
    writer = evalset.EvalSetWriter(chosen.path.strip(), session.agent_name)
    is_long = writer.path.is_file() and writer.path.stat().st_size > _WHOLE_FILE_BYTES
    document = evalset.case_document(session.agent_name, case, at=session.start_timestamp)
    evalset.read_back(document if is_long or chosen.replaces else writer.preview(case), case)
    return writer, case


def _recorded(  # noqa: PLR0917 - what was played, what was written of it, and what is not yet
    session: SimulationSession,
    config: SimulatedAgentConfig,
    facts: Iterable[Fact],
    written: ExportResult,
    environment: Path | None,
    note: str,
) -> ExportResult:
    """Write the environment of a case that is written, where it is not yet, and its note; where that cannot be, say why: the case is there all the same."""
    from evalset.editing.golden_writing import note_case  # noqa: PLC0415 - importing ADK takes a second
    from evalset.recorded.recorder import record  # noqa: PLC0415 - importing ADK takes a second

    try:
        environment = environment or record(written.path, written.eval_id, session, facts, config.root_agent)
        if note:
            note_case(Path(written.path), written.eval_id, note)
    except (ValueError, OSError) as error:  # a RecordedEnvironmentError
        return written.model_copy(update={"unrecorded": str(error)})
    lines = _replay_lines(session.app_name, environment, config)
    return written.model_copy(update={"environment": str(environment), "replay": lines})
