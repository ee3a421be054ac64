"""Every reader of a file that comes from a person, with a file that it reads and the errors that it declares."""

from __future__ import annotations

import functools
import io
import json
import multiprocessing
import random
import resource
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from google.adk.agents import LlmAgent
from pydantic import ValidationError

from app.evalsets import exchange_jobs, set_context
from app.scripts.script_play import text_of_upload
from evalset.adk_runs.eval_results import ResultsError, read_results
from evalset.cli.terminal_play import unrecorded_cases
from evalset.doctor import examine
from evalset.editing.opened_set import open_set
from evalset.editing.sidecars import brought_reviews, open_beside, open_reviews
from evalset.errors import EvalSetError, ScenarioError
from evalset.eval_config import config_edits
from evalset.eval_config.config_checks import check
from evalset.eval_config.config_edits import ConfigError
from evalset.eval_config.config_edits import read_document as read_criteria
from evalset.files.set_writer import EvalSetWriter
from evalset.golden_trace.case_script import read_cases
from evalset.golden_trace.scenarios import read_scenarios
from evalset.importing.import_files import import_cases
from evalset.kept_runs import KeptRunError, read_run
from evalset.recorded.recording_files import RecordedEnvironmentError, read_environment, stored_recordings
from evalset.verify.cases_to_verify import read_recorded_set
from evalset.verify.metric import criteria_of
from evalset.verify.results import VerifyError
from simulator.agent_config import SimulatedAgentConfig
from simulator.agents.agent_source import EnvironmentDataError, environment_data_of
from simulator.base.documents import DocumentError, read_document
from simulator.base.json_text import read_json
from simulator.environment.injection.adk_injection_config import EnvironmentConfigError
from simulator.environment.injection.rule_sets import RuleSetError, RuleSetFolder, read_rule_set
from simulator.environment.plugin_config import read_environment_config
from simulator.environment.recordings import RecordingError, read_recording
from simulator.environment.world.entities import TablesError, read_tables
from simulator.journal import Journal, JournalError
from simulator.runtime.errors import SimulationError
from simulator.runtime.models.environment_model import configuration_of
from simulator.scripts.script_text import ScriptError, read_script
from simulator.store.errors import StoreError
from simulator.store.library import read as read_session_file
from tests.simulator.base.drawn_json import places

FILES = Path(__file__).parents[1] / "conformance/files"


class FileReader(NamedTuple):
    """A reader: what its file is called, a file that it reads, how it reads, and which errors say that it does not."""

    name: str
    file: str
    valid: Callable[[], bytes]
    read: Callable[[Path], object]
    errors: tuple[type[Exception], ...]


def _held(name: str) -> Callable[[], bytes]:
    return (FILES / name).read_bytes


def _json(value: object) -> Callable[[], bytes]:
    return lambda: json.dumps(value, indent=1).encode()


def _zipped(*names: str) -> Callable[[], bytes]:
    def made() -> bytes:
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
            for name in names:
                packed.writestr(name, (FILES / name).read_bytes())
        return archive.getvalue()

    return made


_TURN = {
    "invocation_id": "i1",
    "user_content": {"role": "user", "parts": [{"text": "hi"}]},
    "final_response": {"role": "model", "parts": [{"text": "hello"}]},
    "intermediate_data": {
        "tool_uses": [{"id": "c1", "name": "find_order", "args": {"order_id": "A"}}],
        "tool_responses": [{"id": "c1", "name": "find_order", "response": {"ok": True}}],
    },
}
_ADK_SESSION = {
    "id": "s1", "app_name": "desk", "user_id": "u", "state": {"a": 1},
    "events": [
        {"author": "user", "invocation_id": "i", "timestamp": 1.0, "content": {"role": "user", "parts": [{"text": "hi"}]}},
        {"author": "desk", "invocation_id": "i", "timestamp": 2.0, "content": {"role": "model", "parts": [{"text": "yes"}]}},
    ],
}  # fmt: skip
_OLD = [
    {"query": "hi", "expected_tool_use": [{"tool_name": "a", "tool_input": {"b": 1}}], "reference": "yes"}
]
_DATASET = {
    "eval_cases": [
        {"eval_case_id": "d1", "prompt": {"role": "user", "parts": [{"text": "hi"}]}, "reference": {"response": {"role": "model", "parts": [{"text": "x"}]}}},
        {"eval_case_id": "d2", "agent_data": {"turns": [{"turn_index": 0, "events": [{"author": "user", "content": {"role": "user", "parts": [{"text": "hi"}]}}]}]}},
    ]
}  # fmt: skip
_RESULTS = {
    "eval_set_id": "s", "creation_timestamp": 1.0,
    "eval_case_results": [{"eval_id": "a", "final_eval_status": 1, "overall_eval_metric_results": [{"metric_name": "m", "score": 1.0, "threshold": 0.5, "eval_status": 1}],
                           "eval_metric_result_per_invocation": [{"actual_invocation": _TURN, "expected_invocation": _TURN, "eval_metric_results": []}], "session_id": "x"}],
}  # fmt: skip
_KEPT = {
    "format": "golden-trace-studio/run", "version": 1, "eval_set": "a.evalset.json", "at": "2026-01-01T00:00:00.000Z",
    "cases": [{"eval_id": "a", "status": "failed", "passed": 0, "runs": 1, "divergence": {"turn": 1, "step": 1, "what": "call", "verdict": "agent_changed", "sentence": "s"}}],
}  # fmt: skip
_REVIEWS = {
    "format": "golden-trace-studio/review", "version": 1,
    "cases": {"a": {"status": "approved", "comments": [{"turn": 1, "call": 1, "text": "why", "by": "me"}]}},
}  # fmt: skip
_CRITERIA = {
    "criteria": {"tool_trajectory_avg_score": {"threshold": 1.0, "match_type": "EXACT"}, "response_match_score": 0.8},
    "user_simulator_config": {"type": "llm_backed", "model": "m", "max_allowed_invocations": 5},
}  # fmt: skip
_ADK_CONFIG = {
    "tool_simulation_configs": [
        {"tool_name": "find_order", "injection_configs": [{"injection_probability": 0.5, "match_args": {"a": 1}, "injected_error": {"injected_http_error_code": 500, "error_message": "x"}}]},
    ],
    "environment_data": "{}",
}  # fmt: skip
_MODEL = {
    "temperature": 0.5,
    "stop_sequences": ["a"],
    "safety_settings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}],
}
_SCENARIOS = {"scenarios": [{"starting_prompt": "hi", "conversation_plan": "ask", "user_persona": "EXPERT"}]}
_TABLES = {"orders": [{"order_id": "A", "total": 3}, {"order_id": "B", "total": 4}], "currencies": ["EUR"]}
_RECORDING = [{"name": "find_order", "args": {"a": 1}, "response": {"b": [1, 2]}}]


_agent = LlmAgent(name="desk", model="m")


def _text(path: Path) -> str:
    return path.read_text("utf-8")


def _stored(path: Path) -> object:
    with stored_recordings(path) as found:
        return [found.case(eval_id) for eval_id in found.cases], [found.note(each) for each in found.notes]


def _beside(path: Path) -> object:
    (path.parent / "x.evalset.json").write_bytes(b'{"eval_set_id": "x", "eval_cases": []}')
    opened = open_beside(path.parent / "x.evalset.json")
    try:
        return opened.trouble, [opened.case(eval_id) for eval_id in opened.eval_ids]
    except ValidationError:
        return opened.trouble


def _reviews(path: Path) -> object:
    return open_reviews(path.parent / "x.evalset.json").trouble


def _data(path: Path) -> object:
    config = SimulatedAgentConfig("desk", _agent, path)
    return environment_data_of(config)


def _model_configuration(path: Path) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # google-genai takes words that it does not know, with a warning
        return configuration_of(read_json(_text(path)))


def _reader(
    name: str,
    given: tuple[str, Callable[[], bytes]],
    read: Callable[[Path], object],
    *errors: type[Exception],
) -> FileReader:
    return FileReader(name, *given, read, errors)


def _of_text(
    name: str,
    given: tuple[str, Callable[[], bytes]],
    read: Callable[[str], object],
    *errors: type[Exception],
) -> FileReader:
    return _reader(name, given, lambda path: read(_text(path)), *errors, UnicodeDecodeError)


def _to_verify(path: Path) -> object:
    return read_recorded_set(path, path.with_name("none"))


_RULES = ("x.rules.json", _held("order_desk.rules.json"))
_SET = ("x.evalset.json", _held("order_desk.evalset.json"))
_ENVIRONMENT = ("x.environment.json", _held("order_desk.environment.json"))
_SESSION = ("x.session.json", _held("finished.session.json"))
_IN_YAML = _held("order_desk.script.yaml")
_IN_PYTHON = ("x.py", _held("exports/simulation_python/simulation.py"))
_OLD_FORM = ("x.test.json", _json(_OLD))
_JUDGED = ("test_config.json", _json(_CRITERIA))
_WITH_RECORDING = ("order_desk.evalset.json", "order_desk.environment.json")

READERS: tuple[FileReader, ...] = (
    _of_text("session file", _SESSION, read_session_file, StoreError),
    _of_text("journal", ("x.journal.json", _held("parallel.journal.json")), Journal.from_json, JournalError),
    _of_text("rule set", _RULES, read_rule_set, RuleSetError),
    _of_text("rule set, YAML", ("x.rules.yaml", _held("order_desk.rules.yaml")), read_rule_set, RuleSetError),
    _reader("folder of rule sets", _RULES, lambda path: RuleSetFolder(path.parent).list()),
    _of_text(
        "ADK configuration", ("x.json", _json(_ADK_CONFIG)), read_environment_config, EnvironmentConfigError
    ),
    _of_text("ADK configuration in Python", _IN_PYTHON, read_rule_set, RuleSetError),
    _of_text("script", ("x.script.yaml", _IN_YAML), read_script, ScriptError),
    _of_text("script, JSON", ("x.script.json", _held("order_desk.script.json")), read_script, ScriptError),
    _of_text("document", ("x.yaml", _IN_YAML), read_document, DocumentError),
    _of_text("seed tables", ("x.json", _json(_TABLES)), read_tables, TablesError),
    _reader("environment data", ("environment_data.json", _json(_TABLES)), _data, EnvironmentDataError),
    _of_text("recording", ("x.json", _json(_RECORDING)), read_recording, RecordingError),
    _reader("recorded environment", _ENVIRONMENT, read_environment, RecordedEnvironmentError),
    _reader("recorded environment, in parts", _ENVIRONMENT, _stored, RecordedEnvironmentError),
    _reader("recorded environment, beside", _ENVIRONMENT, _beside, RecordedEnvironmentError),
    _reader("eval set, opened", _SET, open_set, EvalSetError),
    _reader("eval set, appended", _SET, lambda path: EvalSetWriter(path, "").eval_ids(), EvalSetError),
    _reader("eval set, facts", _SET, set_context.facts_of),
    _reader("eval set, imported", _SET, import_cases),
    _reader(
        "eval set, parted",
        _SET,
        lambda path: exchange_jobs.apart(path.read_bytes()),
        RecordedEnvironmentError,
    ),
    _reader("eval set, to verify", _SET, _to_verify, VerifyError),
    _of_text("eval set, scripts", _SET, read_cases, ScenarioError),
    _reader("dataset, imported", ("x.json", _json(_DATASET)), import_cases),
    _reader("dataset, to verify", ("x.json", _json(_DATASET)), _to_verify, VerifyError),
    _reader("ADK session", ("x.session.json", _json(_ADK_SESSION)), import_cases),
    _reader("old form", _OLD_FORM, import_cases),
    _reader("old form, opened", _OLD_FORM, open_set, EvalSetError),
    _reader("session file, imported", _SESSION, import_cases),
    _reader("archive, imported", ("x.zip", _zipped(*_WITH_RECORDING, "finished.session.json")), import_cases),
    _reader("archive, reviews", ("x.zip", _zipped("order_desk.evalset.json")), brought_reviews),
    _reader(
        "archive, played",
        ("x.zip", _zipped(*_WITH_RECORDING)),
        lambda path: text_of_upload(path.read_bytes()),
        ValueError,
    ),
    _reader("eval set, to complete", _SET, unrecorded_cases),
    _reader(
        "model configuration", ("x.json", _json(_MODEL)), _model_configuration, SimulationError, ValueError
    ),
    _reader(
        "results", ("x.json", _json(_RESULTS)), lambda path: read_results(path.read_bytes()), ResultsError
    ),
    _reader("kept run", ("x.json", _json(_KEPT)), read_run, KeptRunError),
    _reader("reviews", ("x.review.json", _json(_REVIEWS)), _reviews),
    _reader(
        "criteria", _JUDGED, lambda path: check(read_criteria(config_edits.load(path) or "")), ConfigError
    ),
    _reader("criteria, to verify", _JUDGED, criteria_of, VerifyError),
    _of_text("scenarios", ("x.json", _json(_SCENARIOS)), read_scenarios, ScenarioError),
    _reader("doctor", _SET, lambda path: examine([path])),
    _reader("doctor, recording", _ENVIRONMENT, lambda path: examine([path])),
)


# ---------------------------------------------------------------- hostile inputs

_WRONG: tuple[Any, ...] = (
    1,
    "x",
    None,
    True,
    -1.5,
    [],
    {},
    [1],
    {"a": 1},
    "",
    10**30,
    float("nan"),
    "\ud800",
    "a\0b",
    1e308,
    [[]],
)


def at(value: Any, path: tuple[Any, ...]) -> Any:
    """Return what stands at a place."""
    return functools.reduce(lambda held, step: held[step], path, value)


def put(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return a copy of a document with another value at a place."""
    if not path:
        return value
    copy = json.loads(json.dumps(document))
    at(copy, path[:-1])[path[-1]] = value
    return copy


def _written(value: Any) -> bytes:
    return json.dumps(value).encode("utf-8", "surrogatepass")


def document_of(content: bytes) -> Any:
    """Return the document of a file in JSON or YAML; None where it is another file."""
    try:
        return json.loads(content)
    except ValueError:
        pass
    try:
        return yaml.safe_load(content)
    except (yaml.YAMLError, ValueError):
        return None


def _broken(value: Any) -> Any:
    """Return a value of the same shape whose fields all have the wrong type."""
    if isinstance(value, dict):
        return {
            name: 7 if isinstance(inner, (dict, list, str)) else {"a": 1} for name, inner in value.items()
        }
    return {"wrong": 1} if not isinstance(value, list) else 7


def floods(content: bytes, size: int) -> Iterator[tuple[str, bytes]]:
    """Yield files of about so many bytes in which one wrong field is repeated, at each place of a valid file that can hold it.

    Entries of a list that are all wrong, entries of the right shape with wrong fields, and members that nobody knows, also where the last stands twice.
    """
    document = document_of(content)
    if not isinstance(document, (dict, list)):
        return
    seen = set()
    for path in places(document):
        held = at(document, path)
        shape = tuple("*" if isinstance(step, int) else step for step in path)
        if shape in seen or not isinstance(held, (dict, list)):
            continue
        seen.add(shape)
        words = ".".join(map(str, shape)) or "top"
        for kind, entry in _wrong_entries(held):
            yield f"{words}: {kind}", _filled(document, path, entry, size)
        if isinstance(held, dict):
            yield f"{words}: a name twice", _filled(document, path, '"u#": 1', size, ', "last": 1, "last": 2')


def _wrong_entries(held: Any) -> Iterator[tuple[str, str]]:
    """Yield what is wrong, and the text of an entry in which `#` is the number."""
    if isinstance(held, dict):
        yield "unknown members", '"u#": 1'
        return
    yield "entries of a wrong type", "1"
    if held and isinstance(held[0], (dict, list)):
        yield "entries with wrong fields", json.dumps(_broken(held[0]))
        extra = {**held[0], "wrong": 1} if isinstance(held[0], dict) else held[0]
        yield "entries with a field too many", json.dumps(extra)


def _filled(document: Any, path: tuple[Any, ...], entry: str, size: int, last: str = "") -> bytes:
    held = at(document, path)
    many = range(size // (len(entry) + 2))
    if isinstance(held, list):
        filled = f"[{','.join([entry] * len(many))}]"
    else:
        kept = [f"{json.dumps(name)}: {json.dumps(inner)}" for name, inner in held.items()]
        filled = f"{{{','.join([*kept, *(entry.replace('#', str(number)) for number in many)])}{last}}}"
    return _written(put(document, path, "@@here@@")).replace(b'"@@here@@"', filled.encode())


def mutants(content: bytes, rng: random.Random) -> Iterator[tuple[str, bytes]]:
    """Yield hostile files made of a valid one, without end."""
    document = document_of(content)
    where = [] if document is None else places(document)
    while True:
        kind = rng.choice(_BYTE_KINDS if not where else (*_BYTE_KINDS, *_KINDS))
        yield kind, _MUTANTS[kind](content, document, where, rng)


def _flipped(_: bytes, document: Any, where: list[Any], rng: random.Random) -> bytes:
    for _i in range(rng.choice((1, 1, 1, 2, 5))):
        path = rng.choice(where)
        try:
            document = put(document, path, rng.choice(_WRONG))
        except (KeyError, TypeError, IndexError, ValueError):
            continue
    return _written(document)


def _replaced(value: bytes) -> Callable[[bytes, Any, list[Any], random.Random], bytes]:
    def made(_: bytes, document: Any, where: list[Any], rng: random.Random) -> bytes:
        marked = _written(put(document, rng.choice(where), "@@here@@"))
        return marked.replace(b'"@@here@@"', value)

    return made


def _deep(_: bytes, document: Any, where: list[Any], rng: random.Random) -> bytes:
    levels = rng.choice((150, 199, 205, 300, 900, 990, 1_500, 30_000))
    opened, closed = rng.choice(((b"[", b"]"), (b'{"a":', b"}")))
    return _replaced(opened * levels + b"1" + closed * levels)(_, document, where, rng)


def _repeated(_: bytes, document: Any, where: list[Any], rng: random.Random) -> bytes:
    path = rng.choice(where)
    held = at(document, path)
    many = rng.choice((20, 300, 2_000))
    if isinstance(held, list):
        wrong = _broken(held[0]) if held else 1
        return _written(put(document, path, [wrong] * many))
    if isinstance(held, dict):
        return _written(put(document, path, {**held, **{f"u{number}": 1 for number in range(many)}}))
    return _written(put(document, path, [held] * many))


def _removed(_: bytes, document: Any, where: list[Any], rng: random.Random) -> bytes:
    path = rng.choice(where)
    if not path:
        return b"{}"
    copy = json.loads(json.dumps(document))
    del at(copy, path[:-1])[path[-1]]
    return _written(copy)


def _doubled(content: bytes, document: Any, where: list[Any], rng: random.Random) -> bytes:
    objects = [path for path in where if isinstance(at(document, path), dict) and at(document, path)]
    if not objects:
        return content
    path = rng.choice(objects)
    held = at(document, path)
    members = [f"{json.dumps(name)}: {json.dumps(inner)}" for name, inner in held.items()]
    members.append(f"{json.dumps(rng.choice(list(held)))}: {json.dumps(rng.choice((1, None, 'x', [])))}")
    return _replaced(f"{{{', '.join(members)}}}".encode())(content, put(document, path, 0), [path], rng)


def _versioned(content: bytes, document: Any, where: list[Any], rng: random.Random) -> bytes:
    wrong: Any = rng.choice((0, 2, 99, -1, "1", None, True, 1.0, 1.5, 10**40, [], {}))
    known = [path for path in where if path and path[-1] in ("version", "format")]
    return (
        _written(put(document, rng.choice(known), wrong))
        if known
        else _flipped(content, document, where, rng)
    )


def _cut(content: bytes, *_: Any) -> bytes:
    rng: random.Random = _[-1]
    return content[: rng.randrange(len(content))]


def _damaged(content: bytes, *_: Any) -> bytes:
    rng: random.Random = _[-1]
    made = bytearray(content)
    for _i in range(rng.choice((1, 3, 20))):
        made[rng.randrange(len(made))] = rng.randrange(256)
    return bytes(made)


def _inserted(content: bytes, *_: Any) -> bytes:
    rng: random.Random = _[-1]
    word = rng.choice(_WORDS)
    place = rng.randrange(len(content) + 1)
    return content[:place] + word + content[place:]


_WORDS = (
    b"\0", b"\xef\xbb\xbf", b"\xff\xfe", b"NaN", b"Infinity", b"-", b"1e999", b"9" * 5_000, b"9" * 300, b"\\ud800", b"\xed\xa0\x80",
    b"[" * 3_000, b"{" * 3_000, b"&a [*a]", b"\r", b"\xe2\x80\xa8", b"\x85", b"!!python/object:os.system", b"? ", b"- ", b"#", b"%TAG", b'"', b"\\",
)  # fmt: skip


def _wrapped(content: bytes, *_: Any) -> bytes:
    rng: random.Random = _[-1]
    return rng.choice((
        b"\xef\xbb\xbf" + content, b"\xef\xbb\xbf" * 2 + content, content + content, b"[" + content + b"]", b"", b" ", b"\0" * 100, content + b"\0",
        content.decode("utf-8", "replace").encode("utf-16"), b"null", b"1", b"[]", b"{}", b'"x"', b"PK\x03\x04" + content, b"SQLite format 3\0" + content, b"\x1f\x8b" + content,
    ))  # fmt: skip


_BYTE_KINDS: tuple[str, ...] = ("cut", "damaged", "inserted", "wrapped")
_MUTANTS: dict[str, Callable[[bytes, Any, list[Any], random.Random], bytes]] = {
    "types": _flipped,
    "constants": lambda *given: _replaced(given[-1].choice((b"NaN", b"Infinity", b"-Infinity")))(*given),
    "huge numbers": lambda *given: _replaced(
        given[-1].choice(
            (b"9" * 5_000, b"-" + b"9" * 400, b"1e400", b"1e-400", b"0." + b"1" * 5_000, b"9" * 30)
        )
    )(*given),
    "surrogates": lambda *given: _replaced(
        given[-1].choice((b'"\\ud800"', b'"\\udfff\\u0000"', b'"\xed\xa0\x80"'))
    )(*given),
    "deep": _deep,
    "repeated": _repeated,
    "removed": _removed,
    "doubled": _doubled,
    "versions": _versioned,
    "huge texts": lambda *given: _replaced(b'"' + b"x" * given[-1].choice((5_000, 200_000)) + b'"')(*given),
    "cut": _cut,
    "damaged": _damaged,
    "inserted": _inserted,
    "wrapped": _wrapped,
}
_KINDS = tuple(kind for kind in _MUTANTS if kind not in _BYTE_KINDS)


# ---------------------------------------------------------------- read, in a process with a limit of its memory


class Reading(NamedTuple):
    """What became of a file: the error's text or an empty one, what was not declared, the growth of memory in MB, and seconds of the processor."""

    what: str
    said: str
    uncaught: str
    grown_mb: float
    seconds: float
    value: object = None


def read_in(reader: FileReader, folder: Path, content: bytes, what: str = "") -> Reading:
    """Read a file in this process."""
    path = folder / reader.file
    path.write_bytes(content)
    before = _peak()
    begun = time.process_time()
    said = uncaught = ""
    value: object = None
    try:
        value = reader.read(path)
    except reader.errors as error:
        said = str(error)
    except BaseException as error:  # noqa: BLE001 - what a reader did not declare
        where = traceback.extract_tb(error.__traceback__)[-1]
        uncaught = f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}: {str(error)[:120]}"
    return Reading(what, said, uncaught, _peak(reset=False) - before, time.process_time() - begun, value)


def _peak(*, reset: bool = True) -> float:
    """Return the most memory that this process held, in MB; begin anew where asked."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    line = next(
        line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")
    )
    return int(line.split()[1]) / 1024


def in_child(work: Callable[[], Any], most_bytes: int = 3 << 30, most_seconds: int = 600) -> Any:
    """Return what a work gives in a fork whose memory and processor are limited; a text that says how it died."""
    ours, theirs = multiprocessing.Pipe(duplex=False)

    def run() -> None:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + most_bytes,) * 2)
        resource.setrlimit(resource.RLIMIT_CPU, (most_seconds,) * 2)
        theirs.send(work())

    process = multiprocessing.get_context("fork").Process(target=run, daemon=True)
    process.start()
    theirs.close()
    try:
        return ours.recv()
    except EOFError:
        process.join()
        return f"ended with {process.exitcode}"
    finally:
        process.join()
