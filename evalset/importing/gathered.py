"""Keeps what an import finds on the disk, until it is added to an eval set: an import of many cases takes little memory."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self

from google.adk.evaluation.eval_case import EvalCase
from pydantic_core import from_json, to_json

from evalset.documents import case_object
from evalset.importing.found import FoundCase
from evalset.recorded.files import value_text
from evalset.recorded.goldens import with_golden
from evalset.recorded.model import version_of
from evalset.renaming import renamed_case, renamed_recording
from evalset.spool import Spool
from evalset.streams import Span


class GatheredCase(NamedTuple):
    """What is known of a kept case without reading it: its id, how many turns it has, and where its recording stands."""

    eval_id: str
    turns: int
    recorded: Span | None


class Gathered:
    """The cases of an import, each with an id of its own, with what is recorded of them.

    Args:
        chosen: The ids of the cases to keep; all where none is named.
        new_names: The new names of renamed agents, by their old ones.

    Attributes:
        recordings: The texts of the recordings, as `value_text` writes them.
    """

    def __init__(self, chosen: Collection[str] = (), new_names: Mapping[str, str] | None = None) -> None:
        self._chosen, self._new_names = frozenset(chosen), new_names or {}
        self._cases, self.recordings = Spool(), Spool()
        self._given = 0
        # By the place of a kept case: which of the given ones it is, what of it follows from that, and where its texts end.
        self._eval_ids: list[str] = []
        self._numbers, self._turns, self._versions = array("Q"), array("Q"), array("Q")
        self._ends, self._recordings_end = array("Q"), array("Q")

    def __enter__(self) -> Self:
        """Return what is gathered; behind the block it is gone."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove the texts."""
        self._cases.__exit__(kind, error, trace)
        self.recordings.__exit__(kind, error, trace)

    def __len__(self) -> int:
        """Return how many cases are kept."""
        return len(self._eval_ids)

    def keep(self, found: FoundCase) -> None:
        """Keep one more case, if it is one of those that were chosen."""
        self._given += 1
        if self._chosen and found.case.eval_id not in self._chosen:
            return
        case, recorded = self._renamed(found) if self._new_names else found
        self._cases.add(_text(case))
        if recorded is not None:
            self.recordings.add(value_text(recorded))
        self._eval_ids.append(case.eval_id)
        self._numbers.append(self._given)
        self._turns.append(len(case.conversation or ()))
        self._versions.append(version_of(recorded) if recorded is not None else 0)
        self._ends.append(self._cases.size)
        self._recordings_end.append(self.recordings.size)

    def keep_first(self, count: int) -> None:
        """Forget all cases but the first of those that were given."""
        self._given = count
        while self._numbers and self._numbers[-1] > count:
            for each in (
                self._eval_ids,
                self._numbers,
                self._turns,
                self._versions,
                self._ends,
                self._recordings_end,
            ):
                each.pop()
        self._cases.cut(self._ends[-1] if self._ends else 0)
        self.recordings.cut(self._recordings_end[-1] if self._recordings_end else 0)

    @property
    def version(self) -> int:
        """The version of a recorded environment that can hold the recordings."""
        return max(self._versions, default=0)

    def cases(self) -> Iterator[GatheredCase]:
        """Return what is known of the cases, in the order of the import."""
        start = 0
        for eval_id, turns, version, stop in zip(
            self._eval_ids, self._turns, self._versions, self._recordings_end, strict=True
        ):
            yield GatheredCase(eval_id, turns, Span(start, stop) if version else None)
            start = stop

    def objects(self, eval_ids: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Read the cases one by one, as `case_object` gives them, under other ids.

        Raises:
            ValueError: JSON or UTF-8 has no form for something in a case.
        """
        for eval_id, found in zip(eval_ids, self._read(), strict=True):
            if isinstance(found, str):
                raise ValueError(found)  # noqa: TRY004 - it is the error that `_text` met
            yield found | {"eval_id": eval_id}

    def app_name(self) -> str:
        """Return the first app that a case names; empty where none does."""
        given = (found.get("session_input") for found in self._read() if isinstance(found, dict))
        return next((str(each["app_name"]) for each in given if each and each.get("app_name")), "")

    def _read(self) -> Iterator[Any]:
        start = 0
        for stop in self._ends:
            yield from_json(self._cases.read(Span(start, stop)))
            start = stop

    def _renamed(self, found: FoundCase) -> FoundCase:
        case, recorded = renamed_case(found.case, self._new_names), found.environment
        if recorded is not None:
            recorded = with_golden(renamed_recording(recorded, self._new_names), case)
        return FoundCase(case, recorded)


def _text(case: EvalCase) -> bytes:
    """Write a case for `Gathered.objects`. One that cannot be written is no problem until somebody wants to write it."""
    try:
        return to_json(case_object(case), inf_nan_mode="constants", bytes_mode="base64")
    except ValueError as error:
        return to_json(str(error))
