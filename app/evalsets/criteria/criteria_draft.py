"""The criteria of an eval set as somebody edits them: the text, what stands in the file, and what was switched off meanwhile."""

from __future__ import annotations

from pathlib import Path

from pydantic import JsonValue

from evalset.eval_config.config_edits import (
    ConfigError,
    config_of,
    criteria_in,
    custom_metrics,
    load,
    option,
    read_document,
    save,
    starting_document,
    usual_value,
    value_at,
    with_criterion,
    with_custom_metric,
    with_value,
    written,
)
from simulator.base.json_values import JsonObject

_BOM = "\ufeff"
_TRAJECTORY, _RESPONSE = "tool_trajectory_avg_score", "response_match_score"


class CriteriaDraft:
    """Criteria that are edited and not saved yet. The text is the truth; what a form changes is written into it.

    Args:
        eval_set: The eval set that they are for.
    """

    def __init__(self, eval_set: Path) -> None:
        self.path = config_of(eval_set)
        self.problem = ""
        self.text = ""
        self._before: str | None = None
        self._off: dict[str, JsonValue] = {}
        self.load()

    @property
    def document(self) -> JsonObject | None:
        """The document; None where the text is none, and `flaw` says why."""
        try:
            return read_document(self.text)
        except ConfigError:
            return None

    @property
    def flaw(self) -> str:
        """Why the text is no document; empty where it is one."""
        try:
            read_document(self.text)
        except ConfigError as error:
            return str(error)
        return ""

    @property
    def is_saved(self) -> bool:
        """Whether the file says the same."""
        return self.text == self._before

    @property
    def has_file(self) -> bool:
        """Whether there was a file when it was loaded."""
        return self._before is not None

    def load(self) -> None:
        """Take what stands in the file; ADK's own criteria where there is none. What was edited is given up."""
        self.problem = ""
        try:
            self._before = load(self.path)
        except ConfigError as error:
            self.problem, self._before = str(error), None
        found = written(starting_document()) if self._before is None else self._before
        self.text = found.removeprefix(_BOM)
        self._off = {}

    def save(self) -> None:
        """Write the file; `problem` says why it was not."""
        self.problem = ""
        try:
            save(self.path, self.text, before=self._before)
        except ConfigError as error:
            self.problem = str(error)
        else:
            self._before = self.text

    def take(self, document: JsonObject) -> None:
        """Take an edited document."""
        if document != self.document:
            self.text = written(document)

    def switch(self, name: str, *, on: bool) -> None:
        """Switch a criterion on or off; one that comes back is as it was."""
        document = self.document
        if document is None or on == (name in criteria_in(document)):
            return
        if on:
            self.take(with_criterion(document, name, self._off.pop(name, usual_value(name))))
        else:
            self._off[name] = value_at(document, ("criteria", name))
            self.take(with_criterion(document, name, None))

    def heed_tolerances(self, eval_set: Path) -> None:
        """Compare the calls with the tolerances that are kept with the recording, in the place of ADK's own metric for them."""
        # Behind it stands ADK's evaluation, which takes a second to import.
        from evalset.verify import eval_config  # noqa: PLC0415 - as above

        document = self.document
        if document is None:
            return
        wanted = eval_config(eval_set)
        for name, theirs in zip(custom_metrics(wanted), (_TRAJECTORY, _RESPONSE), strict=False):
            if theirs == _RESPONSE and theirs not in criteria_in(document):
                continue
            metric = {**value_at(wanted, ("criteria", name))}
            for field in ("match_type", "ignore_args"):
                if theirs == _TRAJECTORY and (said := option(document, theirs, (field,))) is not None:
                    metric[field] = said
            self.switch(theirs, on=False)
            made = with_criterion(self.document or {}, name, metric)
            self.take(with_value(made, ("custom_metrics", name), value_at(wanted, ("custom_metrics", name))))

    def own_metric(self, name: str, path: str | None) -> None:
        """Add a metric of one's own, or take it away."""
        document = self.document
        if document is not None:
            self.take(with_custom_metric(document, name, path))
