"""How long a set of ten thousand cases takes to open, in the core beside ADK's loader and in a real browser, and what it keeps."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import pytest
from playwright.sync_api import Locator, expect

from evalset.editing.case_edits import DuplicateCase, SetText
from evalset.editing.opened_set import open_set
from evalset.editing.set_changes import changes
from evalset.editing.set_saving import save
from evalset.editing.set_work import SetWork
from evalset.editing.sidecars import open_beside
from evalset.files.case_text import new_eval_set, set_json
from tests.evalset.files.examples import AGENT, a_case
from tests.harness.browser import Studio, chromium, studio_server
from tests.harness.tiny_agent import write_tiny_agent

CASES, TURNS = 10_000, 3
"""Makes a file of about 43 MB."""

NAMES = ("large", "larger", "largest")
"""The set lies there under several names: each is opened once, and the best counts, as what else runs only adds."""

MOST_OF_ADK = 0.4
"""From the click on the set in the list to the drawn table, in a browser, beside what ADK's own loader takes for the file alone. Seconds tell
of the machine: it took 1.4 to 2.3 on three, and 0.29 of ADK's time on the slowest.
"""

LEAST_FASTER = 3
"""How many times faster than ADK's own loader the core opens the set, at least."""

MOST_TIMES_THE_FILE = 2.0
"""How many times the size of the file an opened set keeps in memory, at most."""
ROUNDS = 2
SMALLEST = {"CASES": 20, "NAMES": NAMES[:1], "ROUNDS": 1}

_OPEN = """
import ctypes, gc, json, resource, sys, time
from pathlib import Path
path = Path(sys.argv[2])
if sys.argv[1] == "ours":
    from evalset.editing.opened_set import open_set as load
else:
    from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file
    load = lambda path: load_eval_set_from_file(str(path), path.stem)
def resident():
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what the allocator has free is not kept by the set
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
before, start = resident(), time.perf_counter()
held = load(path)
seconds = time.perf_counter() - start
print(json.dumps({
    "seconds": seconds,
    "cases": len(held.rows if sys.argv[1] == "ours" else held.eval_cases),
    "kept": resident() - before,
    "peak": int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024,
}))
"""


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of agents, one of which has the large set, three times."""
    folder = tmp_path_factory.mktemp("large") / "agents"
    home = write_tiny_agent(folder)
    cases = [a_case(f"case {number}", turns=TURNS) for number in range(CASES)]
    text = set_json(new_eval_set(AGENT, *cases, at=0.0))
    for name in NAMES:
        (home / f"{name}.evalset.json").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def path(agents: Path) -> Path:
    """The large set."""
    (found,) = agents.rglob(f"{NAMES[0]}.evalset.json")
    return found


def opened_by(whom: str, path: Path) -> dict[str, float]:
    """Open the set in a process of its own; return how long that took, and what it keeps."""
    command = [sys.executable, "-c", _OPEN, whom, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_a_large_set_is_opened_without_building_models(path: Path, measured: bool) -> None:
    """Opens the set in a fresh process, as ADK's own loader does; the best of three each."""
    ours, adk = (
        min((opened_by(whom, path) for _ in range(ROUNDS)), key=lambda found: found["seconds"])
        for whom in ("ours", "adk")
    )
    size = path.stat().st_size
    print(  # noqa: T201 - figures are what a benchmark is run for
        f"\n{CASES:,} cases, {size / 1e6:.0f} MB: opened in {ours['seconds']:.2f} s (ADK {adk['seconds']:.2f} s: "
        f"{adk['seconds'] / ours['seconds']:.1f} times), keeps {ours['kept'] / 1e6:.0f} MB (ADK {adk['kept'] / 1e6:.0f} MB), "
        f"peak of the process {ours['peak'] / 1e6:.0f} MB (ADK {adk['peak'] / 1e6:.0f} MB)"
    )
    assert ours["cases"] == adk["cases"] == CASES
    assert adk["seconds"] / ours["seconds"] >= LEAST_FASTER or not measured
    assert ours["kept"] <= MOST_TIMES_THE_FILE * size or not measured


def test_an_edit_in_a_large_set_costs_as_little_as_one_case(
    path: Path, tmp_path: Path, measured: bool
) -> None:
    """Edits, looks at what has changed, takes back and saves, in a copy of the set."""
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    work = SetWork(open_set(copy), open_beside(copy))
    taken: dict[str, float] = {}
    middle = f"case {CASES // 2}"

    def timed(name: str, start: float) -> None:
        taken[name] = (perf_counter() - start) * 1e3

    start = perf_counter()
    work.apply(SetText(case=middle, where=("conversation", 0, "user_content"), text="Where?"))
    timed("edit", start)
    start = perf_counter()
    work.apply(DuplicateCase(case=middle, eval_id="again"))
    timed("duplicate", start)
    start = perf_counter()
    assert len(changes(work).cases) == len([middle, "again"])
    timed("what changed", start)
    start = perf_counter()
    work.undo()
    timed("undo", start)
    start = perf_counter()
    save(work)
    timed("save", start)
    print("\n" + ", ".join(f"{name} {value:.1f} ms" for name, value in taken.items()))  # noqa: T201 - as above
    assert open_set(copy).rows[CASES // 2].query == "Where?"
    longest = max(taken[name] for name in ("edit", "duplicate", "what changed", "undo"))
    assert longest < 100 or not measured  # in ms: nobody waits for that


@pytest.fixture(scope="module")
def studio(agents: Path) -> Iterator[Studio]:
    """A tab with the list of sets."""
    with studio_server(agents, environment={"GOLDEN_TRACE_STORE": "none"}) as served, chromium() as browser:
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        yield Studio(context, served.url).open(f"{served.url}/?page=sets")
        context.close()


def seconds_to(studio: Studio, click: Locator, shown: Locator, words: str) -> float:
    """Click, and return how long it takes until these words stand there."""
    studio.rest()
    start = perf_counter()
    click.click()
    expect(shown).to_contain_text(words)
    return perf_counter() - start


@pytest.mark.browser
def test_the_page_of_a_large_set_is_usable_long_before_adk_has_read_it(studio: Studio, path: Path) -> None:
    """Opens the set from the list and searches, as the stories of eval sets do; the file has not been read by the server before."""
    adk = opened_by("adk", path)["seconds"]
    count = studio.keyed("cases_count")
    taken: list[float] = []
    for name in NAMES:
        studio.keyed("set_search").wait_for()
        line = studio.like("open_set_").filter(has_text=re.compile(rf"{name}$"))
        taken.append(seconds_to(studio, line.get_by_role("button"), count, f"{CASES:,} cases"))
        expect(studio.like("cases_table_").get_by_test_id("stDataFrame")).to_be_visible()
        if name != NAMES[-1]:
            studio.rest()
            studio.button("set_back").click()
    opened = min(taken)
    studio.rest()
    search = studio.keyed("case_search").get_by_role("textbox")
    search.fill("case 777")
    start = perf_counter()
    search.press("Enter")
    expect(count).to_contain_text("19 of 10,000 cases")
    searched = perf_counter() - start
    print(  # noqa: T201 - as above
        f"\nclick to the table of {CASES:,} cases: {opened:.2f} s, {opened / adk:.2f} of ADK's {adk:.2f} s (at most {MOST_OF_ADK}); "
        f"search {searched:.2f} s"
    )
    assert opened <= MOST_OF_ADK * adk
