"""The tabs of an eval set's page by name, in their order; another one is a module here and a line below."""

from __future__ import annotations

from collections.abc import Mapping

from app.bench import benches
from app.panels.evalsets.cases_tab import cases_tab
from app.panels.evalsets.scene import SetCommand, SetScene, Tab
from app.set_facts import facts_of


def _adk_eval(scene: SetScene) -> SetCommand | None:
    from app.panels.evalsets.adk_eval_tab import adk_eval_tab  # noqa: PLC0415 - not before somebody looks there

    adk_eval_tab(benches().of(scene.owner, scene.path), facts_of(scene.path))
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
    "Doctor": _doctor,
    "adk eval": _adk_eval,
    "Import & export": _exchange,
}
