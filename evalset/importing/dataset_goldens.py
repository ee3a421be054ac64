"""Reads the goldens of a dataset as an eval set would hold them, each with what is recorded of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from google.adk.evaluation.eval_case import EvalCase, InvocationEvents

from evalset.files.eval_names import FreeIds, usable_eval_id
from evalset.files.file_kinds import is_dataset
from evalset.importing.dataset_cases import DatasetCase, dataset_cases
from evalset.importing.gathered import ImportProblemError
from evalset.importing.known_answers import known_answers
from evalset.recorded.recording import RecordedCase, RecordedEnvironment
from simulator.base.adk_names import snake
from simulator.base.documents import LIMITS, read_file
from simulator.base.json_text import JsonTextError, read_json


class DatasetGoldens(NamedTuple):
    """The goldens of a dataset in the order of the file, by ids that a verification can use."""

    goldens: Mapping[str, DatasetCase]
    names: tuple[str, ...]
    entries: Sequence[Any]

    @property
    def cases(self) -> list[EvalCase]:
        """The goldens as cases of an eval set."""
        return [golden.case for golden in self.goldens.values()]

    def environment(self, beside: RecordedEnvironment) -> RecordedEnvironment:
        """Return what is recorded of the goldens: beside the file, or else in the file itself."""
        found = {eval_id: recorded_in(golden) for eval_id, golden in self.goldens.items()}
        known = {eval_id: recorded for eval_id, recorded in found.items() if recorded is not None}
        return beside.model_copy(update={"cases": {**known, **beside.cases}})


def recorded_in(golden: DatasetCase) -> RecordedCase | None:
    """Return what a dataset itself tells of the environment of a golden; None where that is nothing.

    Of a golden without events nobody knows which agent made a call: a replay would blame the agent for what is not known.
    """
    if not golden.is_golden:
        return golden.environment
    told = [turn.intermediate_data for turn in golden.case.conversation or ()]
    is_whole = all(isinstance(data, InvocationEvents) and data.invocation_events for data in told)
    return known_answers(golden.case).environment if is_whole else None


def read_dataset(path: Path) -> DatasetGoldens | None:
    """Read the goldens of a dataset; None where a file is something else, or is no JSON.

    Raises:
        ImportProblemError: A case of it cannot be read; the text says which and where.
        OSError: The file cannot be read.
    """
    return dataset_goldens(read_file(path))


def dataset_goldens(content: bytes) -> DatasetGoldens | None:
    """As `read_dataset`, of the content of a file."""
    try:
        document = read_json(content.decode())
    except (UnicodeDecodeError, JsonTextError):
        return None
    if not is_dataset(document):
        return None
    if len(content) > LIMITS["dataset"]:
        size = f"{len(content) / (1 << 20):,.1f} MB"
        raise ImportProblemError(f"a dataset of {size}; the limit is {LIMITS['dataset'] >> 20} MB. Split it")
    names = tuple(document)
    entries = document[next(name for name in names if snake(name) == "eval_cases")]
    free, goldens = FreeIds(), dict[str, DatasetCase]()
    for found in dataset_cases(entries, lambda _: None):
        eval_id = free.take(usable_eval_id(found.case.eval_id))
        goldens[eval_id] = found._replace(case=found.case.model_copy(update={"eval_id": eval_id}))
    return DatasetGoldens(goldens, names, entries)
