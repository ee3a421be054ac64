"""The tabs of an eval set's page by name, in their order; another one is a module here and a line below."""

from collections.abc import Mapping

import streamlit as st

from app.bench import benches
from app.panels.evalsets.cases_tab import cases_tab
from app.panels.evalsets.scene import ApplyEdits, SetCommand, SetScene, Tab
from app.panels.replay_lines import replay_lines
from app.set_facts import environment_of, facts_of


def _verify(scene: SetScene) -> SetCommand | None:
    from app.mending import edit_of, played_until  # noqa: PLC0415 - not before somebody looks there
    from app.panels.evalsets.verify_tab import OpenAt, verify_tab  # noqa: PLC0415 - as above

    bench = benches().of(scene.owner, scene.path)
    asked = verify_tab(
        bench, facts_of(scene.path), lambda mend: edit_of(scene, mend), unsaved=scene.work.is_changed
    )
    if asked is None:
        _replay(scene)
        return None
    if not isinstance(asked, OpenAt):
        return ApplyEdits(edits=(asked,))
    try:
        return played_until(scene, asked)
    except ValueError as error:  # an EditError: the case is another one in the edits
        bench.notes["verify"] = str(error)
        return st.rerun()


def _replay(scene: SetScene) -> None:
    """Show how an agent is replayed with what lies beside the set, outside of the page."""
    environment = environment_of(scene.path)
    if environment is None:
        return
    from evalset.recorded.export import replay_lines as lines_of  # noqa: PLC0415 - as above

    folder = scene.path.parent
    app_names = facts_of(scene.path).app_names
    is_agent = any((folder / name).is_file() for name in ("agent.py", "__init__.py", "root_agent.yaml"))
    app_name = app_names[0] if app_names else folder.name
    replay_lines(lines_of(app_name, environment, folder if is_agent else None), "set_replay")


def _adk_eval(scene: SetScene) -> SetCommand | None:
    from app.panels.evalsets.adk_eval_tab import adk_eval_tab  # noqa: PLC0415 - not before somebody looks there

    adk_eval_tab(benches().of(scene.owner, scene.path), facts_of(scene.path), unsaved=scene.work.is_changed)
    return None


def _doctor(scene: SetScene) -> SetCommand | None:
    from app.panels.evalsets.doctor_tab import doctor_tab  # noqa: PLC0415 - not before somebody looks there

    bench = benches().of(scene.owner, scene.path)
    doctor_tab(bench, facts_of(scene.path), unsaved=scene.work.is_changed)
    return None


def _exchange(scene: SetScene) -> SetCommand | None:
    from app.panels.evalsets.exchange_tab import exchange_tab  # noqa: PLC0415 - not before somebody looks there

    return exchange_tab(benches().of(scene.owner, scene.path), scene)


TABS: Mapping[str, Tab] = {
    "Cases": cases_tab,
    "Verify": _verify,
    "Doctor": _doctor,
    "adk eval": _adk_eval,
    "Import & export": _exchange,
}
