"""Proves that a replay with recorded models reaches no other machine on any way, that this machine is still there, and that the result tells."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.harness.other_machine import (
    AT_IMPORT,
    HERE,
    HOST,
    LISTING,
    NAME,
    REFUSED,
    can_part_networks,
    port_of,
    run_among,
    write_project,
)

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not can_part_networks(), reason="the system permits no network namespace"),
]
CLI = (sys.executable, "-m", "evalset.cli")
NAMED = {way: text.format(host=HOST, name=NAME, port=port_of(way)) for way, text in REFUSED.items()}
IN_PROCESS = """
import sys
from evalset.verify import verify
print(verify(sys.argv[1], agents_dir=sys.argv[2], models="recorded").model_dump_json())
"""


@pytest.mark.long
def test_no_way_leads_to_another_machine_and_each_host_is_named(tmp_path: Path) -> None:
    """Python's own ways, those below it, and those of other processes; what is served here is reached, and tool sets are listed."""
    eval_set = write_project(tmp_path, [*REFUSED, *HERE])
    kept = tmp_path / "results.xml"
    done = run_among([*CLI, "verify", eval_set, "--models", "recorded", "--quiet", "--json", "--junit", kept])
    found = json.loads(done["output"])
    assert done["reached"] == sorted({LISTING, port_of("loopback")}), done
    assert {case["eval_id"]: case["status"] for case in found["cases"]} == dict.fromkeys(
        [*REFUSED, *HERE], "passed"
    )
    assert found["network"]["not_checked"] == ""
    assert set(found["network"]["refused"]) >= {*NAMED.values(), f"{HOST}:{AT_IMPORT}"}
    of_cases = {case["eval_id"]: case["runs"][0]["refused_hosts"] for case in found["cases"]}
    assert of_cases["requests"] == [HOST]
    (told,) = ET.fromstring(kept.read_bytes()).iterfind("testsuite/properties/property[@name='network']")  # noqa: S314 - ours
    assert all(name in told.attrib["value"] for name in NAMED.values())


@pytest.mark.long
def test_what_the_process_of_its_caller_replays_is_not_checked(tmp_path: Path) -> None:
    """A child process gets through there, and the result says so."""
    eval_set = write_project(tmp_path, ["child"])
    done = run_among([sys.executable, "-c", IN_PROCESS, eval_set, tmp_path])
    assert set(done["reached"]) == {AT_IMPORT, LISTING, port_of("child")}
    assert json.loads(done["output"])["network"]["not_checked"]


@pytest.mark.long
def test_auto_without_a_key_refuses_as_well_and_a_kept_run_and_the_report_tell(tmp_path: Path) -> None:
    """The models are recorded then, so nothing real was chosen."""
    eval_set = write_project(tmp_path, ["grpc"])
    done = run_among([*CLI, "verify", eval_set, "--quiet", "--save"])
    (kept,) = eval_set.parent.glob(".golden-trace/runs/*/*.json")
    assert done["reached"] == [LISTING], done
    assert NAMED["grpc"] in done["output"]
    assert NAMED["grpc"] in json.loads(kept.read_bytes())["network"]["refused"]


@pytest.mark.long
def test_pytest_refuses_as_well_and_tells(tmp_path: Path) -> None:
    """The replays are in a process of their own there too; pytest itself imports the package that the set is in."""
    eval_set = write_project(tmp_path, ["child"])
    done = run_among([sys.executable, "-m", "pytest", "--goldens", eval_set, "-q", "-p", "no:cacheprovider"])
    assert (done["code"], set(done["reached"]) - {AT_IMPORT}) == (0, {LISTING}), done
    assert NAMED["child"] in done["output"]


@pytest.mark.long
def test_adk_eval_with_recorded_models_refuses_as_well_and_tells(tmp_path: Path) -> None:
    """In ADK's own process, with the recorded environment."""
    eval_set = write_project(tmp_path, ["child", "raw_thread", "loopback"])
    config = tmp_path / "criteria.json"
    config.write_text(json.dumps({"criteria": {"tool_trajectory_avg_score": 1.0}}))
    done = run_among(
        [*CLI, "eval", eval_set.parent, eval_set, "--config", config, "--models", "recorded", "--json"]
    )
    found = json.loads(done["output"])
    assert set(done["reached"]) - {AT_IMPORT} == {LISTING, port_of("loopback")}, done
    assert found["passed"] == found["total"]
    assert {NAMED["child"], NAMED["raw_thread"]} <= set(found["network"]["refused"])
    assert found["network"]["not_checked"] == ""
