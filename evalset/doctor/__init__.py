"""The doctor of eval data: finds what is wrong in eval sets, old test files and recorded environments, and fixes it.

    examination = examine([folder], agents_dir=agents)       # nothing is changed; nothing that is damaged raises
    for finding in examination.findings: ...                 # code, severity, file, place, line, meaning, remedy
    shown = preview([folder])                                # what `mend` would do: a `FileChange` with a `diff` for each file
    done = mend([folder])                                    # locked, whole or not at all, the old text kept beside it
    done = migrate([folder], Migration(tools={"old": "new"}))   # renamed tools and arguments, over many files

`paths` are files and folders. `examine` gives an `Examination`: its `files` (each an `ExaminedFile` with its `kind`, its number of
`cases` and its `findings`), the checks that were `skipped` and why, and what was `unreadable`. `Examination.mendable` are those
findings that `mend` does something about; each says in `remedy` what, and in `loses` what is lost by it. With `agents_dir`, or with
`agents` that are loaded already (`{app_name: known_agent(config)}`), calls are checked against the agent's tools and their schemas.
`portable=True` also holds the files to what every ADK from 1.24 to 2.13 reads. `codes` limits a fix to some kinds of findings; `CODES`
lists them all.

`mend`, `preview`, `migrate` and `preview_migration` give `Changes`: a `FileChange` for each file that changes (or would), with
`before`, `after`, `diff`, what was fixed (`mended`), whether it was `written`, the `copy_kept`, and a `problem` where it was not. An eval set
and its recorded environment change together or not at all. A second run finds nothing to fix.

`python -m evalset doctor PATH...` is the same on the command line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalset.doctor.examination import ExamineProgress, examine
    from evalset.doctor.fixes import mend, migrate, preview, preview_migration
    from evalset.doctor.model import (
        CODES,
        Changes,
        Code,
        DroppedArgument,
        Examination,
        ExaminedFile,
        FileChange,
        Finding,
        Kind,
        Migration,
        RenamedArgument,
        SetArgument,
        Severity,
    )
    from evalset.recorded.known_agents import KnownAgent, known_agent

_HOMES = {
    "CODES": "evalset.doctor.model",
    "Changes": "evalset.doctor.model",
    "Code": "evalset.doctor.model",
    "DroppedArgument": "evalset.doctor.model",
    "ExamineProgress": "evalset.doctor.examination",
    "ExaminedFile": "evalset.doctor.model",
    "Examination": "evalset.doctor.model",
    "FileChange": "evalset.doctor.model",
    "Finding": "evalset.doctor.model",
    "Kind": "evalset.doctor.model",
    "KnownAgent": "evalset.recorded.known_agents",
    "Migration": "evalset.doctor.model",
    "RenamedArgument": "evalset.doctor.model",
    "SetArgument": "evalset.doctor.model",
    "Severity": "evalset.doctor.model",
    "examine": "evalset.doctor.examination",
    "known_agent": "evalset.recorded.known_agents",
    "mend": "evalset.doctor.fixes",
    "migrate": "evalset.doctor.fixes",
    "preview": "evalset.doctor.fixes",
    "preview_migration": "evalset.doctor.fixes",
}

__all__ = [
    "CODES",
    "Changes",
    "Code",
    "DroppedArgument",
    "Examination",
    "ExamineProgress",
    "ExaminedFile",
    "FileChange",
    "Finding",
    "Kind",
    "KnownAgent",
    "Migration",
    "RenamedArgument",
    "SetArgument",
    "Severity",
    "examine",
    "known_agent",
    "mend",
    "migrate",
    "preview",
    "preview_migration",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'evalset.doctor' has no attribute {name!r}")
    return getattr(__import__(home, globals(), None, (name,)), name)
