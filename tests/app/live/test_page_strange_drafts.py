"""What is kept of inputs may come from a file that somebody brought: whatever it says, the page is drawn, and the input can be used."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.forms.widget_store import KeptInputs
from app.live.agent_catalogue import catalogue
from app.live.session_opening import StartForm, open_session
from tests.app.desk_sessions import CANCEL, begun, live_of
from tests.app.page_driver import Tab

QUERIES = {
    "order_desk": CANCEL,
    "travel_planner": "Plan a weekend in Lisbon.",
}
STRANGE: tuple[Any, ...] = (
    5,
    -7.5,
    True,
    "",
    "strange \ud83d",
    [1],
    ["a", ["b"]],
    {"a": 1},
    None,
    [{"value": 1}],
    10**400,
)


@pytest.fixture
def asked_for(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str, str]]:
    """Each input that the page asks for: its owner, what that is about, and its name."""
    found: set[tuple[str, str, str]] = set()
    value = KeptInputs.value

    def noted(self: KeptInputs, name: str, initial: Any = None) -> Any:
        found.add((self._owner, self._signature, name))
        return value(self, name, initial)

    monkeypatch.setattr(KeptInputs, "value", noted)
    return found


@pytest.mark.long
@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("agent", ["order_desk", pytest.param("travel_planner", marks=pytest.mark.long)])
def test_a_page_is_drawn_whatever_is_kept(agent: str, asked_for: set[tuple[str, str, str]]) -> None:
    """Each input of the page keeps something that it can not hold; twice, as there may be others where something is kept."""
    form = StartForm(agent=agent, query=QUERIES[agent], seed="one for all")
    session_id = open_session(form, catalogue().config(agent)).session_id
    Tab(session_id)
    live = live_of(session_id)
    for strange in STRANGE * 2:
        owners: dict[tuple[str, str], dict[str, Any]] = {}
        for owner, signature, name in asked_for:
            owners.setdefault((owner, signature), {})[name] = strange
        for (owner, signature), values in owners.items():
            live.drafts[owner] = json.dumps({"of": signature, "values": values})
        assert Tab(session_id).keys("response_")


def _keep(session_id: str, strange: Any) -> tuple[str, str]:
    """Let the editor of the response keep something; return its owner and the text that is kept."""
    tab = Tab(session_id)
    tab.type("response_", "mine")
    live = live_of(session_id)
    ((owner, text),) = live.drafts.items()
    kept = json.loads(text)
    live.drafts[owner] = json.dumps({**kept, "values": {"response": strange}})
    return owner, live.drafts[owner]


@pytest.mark.usefixtures("store")
def test_what_no_field_can_hold_is_shown_until_it_is_dropped() -> None:
    """The field begins anew and can be used; the text is still there to be read and copied."""
    session_id = begun().session_id
    _, text = _keep(session_id, [{"order": 1}])
    tab = Tab(session_id)
    assert text in tab.literal
    assert "A-1001" in tab.typed("response_")
    tab.type("response_", '{"status": "mine"}')
    again = Tab(session_id)
    assert text in again.literal
    assert again.typed("response_") == '{"status": "mine"}'
    again.click("drop_aside")
    assert text not in again.literal
    assert not again.has("drop_aside")


@pytest.mark.usefixtures("store")
def test_what_was_typed_stays_where_something_else_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is shown, and the draft is what it was."""
    session_id = begun().session_id
    owner, text = _keep(session_id, '{"status": "mine"}')

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("quite another trouble")

    with monkeypatch.context() as patch:
        patch.setattr("app.screens.session_page.decision_panel", fail)
        with pytest.raises(AssertionError, match="encountered an error"):
            Tab(session_id)
    assert dict(live_of(session_id).drafts) == {owner: text}
    assert Tab(session_id).typed("response_") == '{"status": "mine"}'
