"""Keeps which part of a case is edited in which tab: a form is its tab's own, and its token stands in the tab's address."""

from __future__ import annotations

import secrets
from typing import NamedTuple

from pydantic import ValidationError

from app.evalsets.cases.case_fields import CasePart, part_of
from app.evalsets.set_context import AskToSave, SaveSet, SetCommand, SetContext
from app.forms.widget_store import DraftStore, carry_over, slug, values_of
from evalset.editing.set_changes import changes
from evalset.editing.set_work import SetWork
from simulator.base.frozen_value import Value


class CaseForm(Value):
    """A form in which a part of a case is edited.

    Attributes:
        token: Its name among the drafts.
        case: The case.
        name: The name of the part.
        begun: What the part held when the form was opened.
        about: What it held when the form was drawn last; None before it was drawn.
    """

    token: str
    case: str
    name: str
    begun: str | None = None
    about: str | None = None

    @property
    def owner(self) -> str:
        """Whose its inputs are."""
        return f"part {self.case} {self.name} {self.token}"


class OpenPart(NamedTuple):
    """A form, and the part that is edited in it; None where the case has no such part any more."""

    form: CaseForm
    part: CasePart | None


_NOT_TYPED = ("tried", "_as_json", ":number", ":base")
"""How the names of inputs end that tell how a form is shown."""


def _place(token: str) -> str:
    return f"editing {token}"


def form_of(drafts: DraftStore, token: str | None, case: str) -> CaseForm | None:
    """Return the form with this token, if it is one of this case."""
    found = _form(drafts, token) if token else None
    return found if found is not None and found.case == case else None


def _form(drafts: DraftStore, token: str) -> CaseForm | None:
    text = drafts.get(_place(token))
    try:
        return CaseForm.model_validate_json(text) if text else None
    except ValidationError:  # the drafts come from a file
        return None


def unapplied(drafts: DraftStore, work: SetWork) -> list[OpenPart]:
    """Return the open forms, of all tabs, in which something was typed that the case does not have."""
    start = _place("")
    forms = [_form(drafts, key.removeprefix(start)) for key in drafts if key.startswith(start)]
    found = [
        OpenPart(form, part_of(work, form.case, form.name)) for form in forms if form and form.case in work
    ]
    return [each for each in found if each.part is not None and _is_typed(drafts, each.form, each.part)]


def save_of(scene: SetContext) -> SetCommand:
    """Return what saves a set; it is shown first where a save deletes a case, or leaves out what was typed into a form."""
    removes = any(each.kind == "removed" for each in changes(scene.work).cases)
    return AskToSave() if removes or unapplied(scene.drafts, scene.work) else SaveSet()


def _is_typed(drafts: DraftStore, form: CaseForm, part: CasePart) -> bool:
    typed = values_of(drafts, form.owner).items()
    return any(part.shown.get(name) != value for name, value in typed if not name.endswith(_NOT_TYPED))


def begin(drafts: DraftStore, case: str, name: str, token: str | None) -> CaseForm:
    """Open a form for a part; `token` is that of the form in which the tab has edited it before, where there is one."""
    left = form_of(drafts, token, case)
    if left is not None and left.name == name:
        return left
    form = CaseForm(token=secrets.token_hex(4), case=case, name=name)
    drafts[_place(form.token)] = form.model_dump_json()
    return form


def end(drafts: DraftStore, form: CaseForm) -> None:
    """Close a form, and forget what was typed in it, which an undo would show again."""
    drafts.pop(_place(form.token), None)
    drafts.pop(slug(form.owner), None)


def follow(drafts: DraftStore, form: CaseForm, about: str) -> tuple[CaseForm, bool]:
    """Note what the part holds now; return the form, and whether that is something else than when it was drawn last.

    What was typed stays in the inputs then: nobody has seen yet that it is about something else.
    """
    if form.about == about:
        return form, False
    now = form.model_copy(update={"begun": about if form.begun is None else form.begun, "about": about})
    drafts[_place(form.token)] = now.model_dump_json()
    if form.about is not None:
        carry_over(drafts, form.owner, about)
    return now, form.about is not None


def typed_in(drafts: DraftStore, form: CaseForm) -> list[str]:
    """Return the texts that were typed in a form whose part is gone."""
    return [value for value in values_of(drafts, form.owner).values() if isinstance(value, str) and value]
