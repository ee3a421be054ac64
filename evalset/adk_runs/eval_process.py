"""Runs one `adk eval` process: starts it, tells how far it is, ends it with all that it started, and reads what it leaves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

from evalset.adk_runs.eval_results import ResultsError, RunResults, read_results, with_problems
from evalset.adk_runs.installed import adk_program, install_command, missing_in
from evalset.adk_runs.process_groups import GRACE_SECONDS, Process, Start, end_group, start_process
from evalset.adk_runs.run_spec import ASKED_FILE, EvalRunSpec, Prepared, prepare
from evalset.measured import Measured, MeasuredAgent, measured_files, version_of
from simulator.agents.agent_source import source_digest
from simulator.base.documents import read_file
from simulator.base.frozen_value import Value
from simulator.kernel.kernel_program import with_ours
from simulator.runtime.adk.private_network import REAL_MODELS, NetworkUse

RunState: TypeAlias = Literal["preparing", "running", "passed", "failed", "stopped", "broken"]
"""`broken` is a run that has no results, because the set, the agent or `adk eval` failed."""

OUTPUT_SHOWN = 20_000
"""Of how many bytes at the end of its output a view tells."""
_OUTPUT_READ = 1 << 22
"""In how many bytes at the end of it ADK's words on a case are looked for: an agent may print without end."""
MOST_OUTPUT = 256 << 20
"""A process that prints more bytes is ended: they are kept on the disk as long as the run is."""
_LOOK_SECONDS = 1.0

_ADK = """
from google.adk.cli.cli_tools_click import main
sys.argv[0] = "adk"
main()
"""
_PRIVATE_ADK = """
from pathlib import Path
if sys.path[:1] == [""]:
    del sys.path[0]
from simulator.runtime.adk import private_network
private_network.enter()
told = Path(sys.argv.pop(1))
from google.adk.cli.cli_tools_click import main
sys.argv[0] = "adk"
try:
    main()
finally:
    told.write_text(private_network.network_use().model_dump_json(), encoding="utf-8")
"""
_UNKNOWN = NetworkUse(not_checked="the process ended before it could tell")
_RESULTS = "*.evalset_result.json"


class RunView(Value):
    """How a run stands.

    Attributes:
        state: What it does, or how it ended.
        turns_done: How many turns the agent has taken.
        turns: How many there are; None where that is not known.
        asked: The model or the tool that was asked last.
        seconds: How long it has taken so far.
        output: The end of what the process printed.
        problem: Why it is broken.
        results: What it found; None until it has ended well.
        kept: Where the results file lies.
        measured: The digests of what it is measured on.
        network: Which hosts the agent tried to reach, and whether all could be refused; None before the end, and where the real tools run.
        ended_at: When it ended, in seconds since the epoch; None before.
    """

    state: RunState = "preparing"
    turns_done: int = 0
    turns: int | None = None
    asked: str = ""
    seconds: float = 0.0
    output: str = ""
    problem: str = ""
    results: RunResults | None = None
    kept: Path | None = None
    measured: Measured | None = None
    network: NetworkUse | None = None
    ended_at: float | None = None

    @property
    def is_over(self) -> bool:
        """Whether it has ended, one way or the other."""
        return self.state not in {"preparing", "running"}

    @property
    def words(self) -> str:
        """How far it is, and what it waits for."""
        if self.state == "preparing":
            return "Reading the cases"
        scores = self.turns is not None and self.turns_done >= self.turns
        waits = "; scoring" if scores else f"; asked last: {self.asked}" if self.asked else ""
        return f"{self.turns_done}{'' if self.turns is None else f' of {self.turns}'} turns done{waits}"


class AdkEvalRun:
    """One run. Threads may ask it at once; it continues without a viewer.

    Args:
        spec: What it evaluates.
        folder: An empty folder of its own, which stays until `forget`.
        environment: The environment of the process; by default this one's.
        start: Starts the process.
        clock: Only goes forward, in seconds.
    """

    def __init__(
        self,
        spec: EvalRunSpec,
        folder: Path,
        *,
        environment: Mapping[str, str] | None = None,
        start: Start = start_process,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.spec, self.folder = spec, folder
        self._environment = dict(os.environ if environment is None else environment)
        self._start, self._clock = start, clock
        self._lock = threading.Lock()
        self._view = RunView()
        self._measured: Measured | None = None
        self._began = clock()
        self._prepared: Prepared | None = None
        self._process: Process | None = None
        self._stopped, self._ended_for = False, ""
        self._thread = threading.Thread(target=self._run, name="adk-eval", daemon=True)

    def start(self) -> None:
        """Begin; it returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """End the process and all that it started; it returns at once, and does nothing where it is over."""
        with self._lock:
            if self._view.is_over:
                return
            self._stopped = True
            process = self._process
        if process is not None:
            threading.Thread(target=end_group, args=(process,), name="end-adk-eval", daemon=True).start()

    def wait(self, seconds: float | None = None) -> RunView:
        """Wait until it is over, at most so long, and tell how it stands."""
        self._thread.join(seconds)
        return self.view()

    def forget(self) -> None:
        """End it, and remove its folder; the results that were kept elsewhere stay."""
        self.stop()
        self._thread.join(2 * GRACE_SECONDS)
        shutil.rmtree(self.folder, ignore_errors=True)

    def view(self) -> RunView:
        """Return how it stands."""
        with self._lock:
            view, prepared = self._view, self._prepared
        if view.is_over or prepared is None:
            return view if view.is_over else view.model_copy(update={"seconds": self._clock() - self._began})
        return view.model_copy(
            update={
                "turns_done": len(turns_taken(prepared.progress)),
                "asked": _tail(prepared.progress.with_name(ASKED_FILE)),
                "seconds": self._clock() - self._began,
                "output": _tail(self.output_file),
            }
        )

    @property
    def output_file(self) -> Path:
        """The file of all that the process printed."""
        return self.folder / "output.txt"

    # ------------------------------------------------------------ the thread

    def _run(self) -> None:
        try:
            check_installed(self.spec.agent.python)
            self._measured = measured_on(self.spec)
            prepared = prepare(self.spec, self.folder)
            with self._lock:
                self._prepared = prepared
                self._view = RunView(state="running", turns=prepared.turns, measured=self._measured)
            exit_code = self._evaluated(prepared)
            self._over(self._read(prepared, exit_code))
        except (ValueError, OSError) as error:  # an EvalSetError, a ResultsError, or the system refused
            self._over(RunView(state="broken", problem=str(error)))

    def _evaluated(self, prepared: Prepared) -> int:
        """Run the process to its end; return its exit code."""
        with self._lock:
            if self._stopped:
                return -1
            self._process = process = self._start(
                command(prepared, self.spec.agent.python, is_private=is_private(self.spec)),
                folder=Path.cwd(),
                environment={**self._environment, "PYTHONUNBUFFERED": "1"},
                log=self.output_file,
            )
        done, since = 0, self._clock()
        while True:
            with suppress(subprocess.TimeoutExpired):
                return process.wait(_LOOK_SECONDS)
            view, before = self.view(), done
            done, since = view.turns_done, since if view.turns_done == before else self._clock()
            if words := self._too_much(view, self._clock() - since):
                self._ended_for = f"`adk eval` was stopped because {words}"
                end_group(process)

    def _too_much(self, view: RunView, seconds: float) -> str:
        """Say why a run may not go on, which has taken so many seconds since its last turn; empty where it may."""
        if self.output_file.stat().st_size > MOST_OUTPUT:
            return f"it printed more than {MOST_OUTPUT >> 20} MB"
        if self.spec.patience is None or seconds < self.spec.patience or view.turns_done == view.turns:
            return ""
        if view.turns is None and view.turns_done and not view.asked:
            return ""  # nobody knows how many turns there are, and between them ADK may score
        return f"no turn was done in {self.spec.patience:g} s: {view.words}"

    def _read(self, prepared: Prepared, exit_code: int) -> RunView:
        """Return the outcome of a process that has ended."""
        if self._stopped:
            return RunView(state="stopped")
        if self._ended_for:
            os.truncate(self.output_file, min(MOST_OUTPUT, self.output_file.stat().st_size))
            return RunView(state="broken", problem=self._ended_for)
        files = sorted(prepared.results.glob(_RESULTS)) if prepared.results.is_dir() else []
        if not files:
            return RunView(state="broken", problem=_why(exit_code, self.output_file))
        try:
            results = read_results(read_file(files[-1]))
        except (ResultsError, OSError) as error:
            return RunView(state="broken", problem=str(error))
        told = with_problems(results, _tail(self.output_file, _OUTPUT_READ))
        kept = _kept(files[-1], self.spec.history)
        passed = bool(told.cases) and told.passed == len(told.cases)
        return RunView(state="passed" if passed else "failed", results=told, kept=kept)

    def _over(self, view: RunView) -> None:
        prepared = self._prepared
        ended = view.model_copy(
            update={
                "turns_done": len(turns_taken(prepared.progress)) if prepared else 0,
                "turns": prepared.turns if prepared else None,
                "seconds": self._clock() - self._began,
                "output": _tail(self.output_file),
                "measured": self._measured,
                "network": _network_of(self.spec, prepared) if prepared else None,
                "ended_at": time.time(),
            }
        )
        with self._lock:
            self._view, self._process = ended, None


def measured_on(spec: EvalRunSpec) -> Measured:
    """Take the digests of what a run depends on: the process loads the agent anew from its files."""
    place = spec.agent
    file = Path(place.agents_file).absolute() if place.agents_file else None
    source = place.folder or (file if file is not None and file.is_file() else None)
    agent = MeasuredAgent(
        app_name=place.app_name,
        source=source,
        source_sha256=source_digest(source) if source is not None else "",
    )
    adk = version_of("google-adk") if place.python is None else ""
    return Measured(files=measured_files(spec.eval_set, spec.environment), agents=(agent,), adk=adk)


def is_private(spec: EvalRunSpec) -> bool:
    """Return whether a run has nothing real, so that it gets a network of its own."""
    return spec.environment is not None and spec.models == "recorded"


def _network_of(spec: EvalRunSpec, prepared: Prepared) -> NetworkUse | None:
    if spec.environment is None:
        return None
    if not is_private(spec):
        return NetworkUse(not_checked=REAL_MODELS)
    try:
        return NetworkUse.model_validate_json(read_file(prepared.network, "settings"))
    except (OSError, ValueError):
        return _UNKNOWN


def command(prepared: Prepared, python: Path | None = None, *, is_private: bool = False) -> list[str]:
    """Return the command of a run; with another Python than this one, our packages are offered to it.

    Args:
        prepared: The folder of the run.
        python: The interpreter of the agent's project; None for this one.
        is_private: Whether the process has a network of its own, where the system permits that.
    """
    options = ["--config_file_path", str(prepared.config), "--print_detailed_results"]
    program = adk_program() if python is None else with_ours(python, _ADK)
    if is_private:
        program = [*with_ours(python or Path(sys.executable), _PRIVATE_ADK), str(prepared.network)]
    return [*program, "eval", str(prepared.agent), str(prepared.eval_set), *options]


def check_installed(python: Path | None) -> None:
    """Check that another Python has what `adk eval` needs.

    Raises:
        ValueError: It lacks something; the text says what to paste.
        OSError: It cannot be run.
    """
    if python is not None and (lacking := missing_in(python)):
        raise ValueError(
            f"`adk eval` needs packages that the agent's environment does not have: {', '.join(lacking)}. Install them:\n    "
            f"{install_command(python=str(python))}"
        )


def _kept(results: Path, history: Path | None) -> Path:
    """Keep a results file where ADK itself would; where that cannot be written, it stays in the run's folder."""
    if history is None:
        return results
    try:
        history.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy2(results, history / results.name))
    except OSError:
        return results


def _why(exit_code: int, output: Path) -> str:
    last = [line for line in _tail(output).splitlines() if line.strip()]
    ended = f"`adk eval` ended with exit code {exit_code} and no results"
    return f"{ended}: {last[-1].strip()}" if last else ended


def turns_taken(progress: Path) -> list[str]:
    """Return a line of JSON for each turn that a run's file of progress names; none where there is no such file yet."""
    try:
        return list(dict.fromkeys(read_file(progress).decode(errors="replace").splitlines()))
    except OSError:
        return []


def _tail(path: Path, most: int = OUTPUT_SHOWN) -> str:
    """Return the end of a file, of so many bytes at most."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - most))
            return file.read().decode(errors="replace")
    except OSError:
        return ""
