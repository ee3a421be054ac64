"""Says what to paste where an agent could not be loaded, and which environment variables it lacks.

The evidence is what its error says, what its project lists, and what the extras of google-adk bring. Where none of them names
a package, nothing is made up: the name of a module does not tell that of its package.
"""

from __future__ import annotations

import codecs
import os
import re
import shlex
import sys
import tomllib
import traceback
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, distributions, requires
from pathlib import Path
from typing import Any, NamedTuple

from simulator.agents.agent_source import project_folders, read_at, read_without_default
from simulator.agents.load_failure import (
    ACCOUNT,
    CAUSED_BY,
    NOT_SET,
    PLACEHOLDER,
    VARIABLE,
    are_chosen,
    failure_words,
    own_error,
    place_in,
)

ADK_NEEDED = "'google-adk>=2.11'"
OLDEST_ADK = (2, 11)
ENVIRONMENT, PYTHON = ".venv", Path("bin", "python")
_NO_MODULE = re.compile(r"^ModuleNotFoundError: .*?No module named '([\w.]+)'")
_LEFT_OUT = re.compile(rf"{CAUSED_BY} ModuleNotFoundError: No module named '([\w.]+)'")
_NO_NAME = re.compile(r"^ImportError: .*?cannot import name '(\w+)' from '([\w.]+)'")
_NO_PART = re.compile(r"^ImportError: .*?cannot import name '(\w+)' from '([\w.]+)' \(unknown location\)")
"""What several packages fill, as `google.cloud`, has no place of its own: a part that it lacks is a package of its own."""

_COROUTINE = re.compile(r"'([\w.]+)\.root_agent' is of type '\w+\.coroutine'")
_ROOT_AGENT = re.compile(r"^root_agent\b[^=\n]*=", re.MULTILINE)
_TOLD = re.compile(r"pip install (?:-U |--upgrade )?[\"'`]?([A-Za-z][\w.-]*(?:\[[\w, -]+\])?)")
_OR = f"Set {VARIABLE}=1 to load it with placeholders"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_PIN = re.compile(r"(?:==|~=|<=?)\s*(\d+)(?:\.(\d+))?")
_BOUND = re.compile(r"(<=?|>=?|==|~=|\^)\s*(\d+(?:\.\d+)*)")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w-]+)['\"]")
_OLDEST_PYTHON = re.compile(r"(?:>=|~=|==)\s*3\.(\d+)")
_WIDE = frozenset({"all", "test", "dev", "docs", "community"})


class Listing(NamedTuple):
    """What a project says it needs: the file that says it, its requirements, also of groups, and those without groups; None of Poetry's, which pip does not read."""

    file: Path
    needed: tuple[str, ...]
    plain: tuple[str, ...] | None = None


def advice(words: str, agent: Path, python: Path) -> str:
    """Return a sentence with the line that lets an agent load; empty where nothing says which that is.

    Args:
        words: What failed, on one line, as `failure_words` gives it.
        agent: The agent's folder or file.
        python: The interpreter that could not load it.
    """
    if words.startswith("SyntaxError"):
        return _other_python(agent, python)
    listing = listing_of(agent)
    if told := _TOLD.search(words):
        return _with(told[1].replace(" ", ""), listing, python)
    if missing := _NO_MODULE.search(words) or _NO_PART.search(words):
        return _of_module(".".join(reversed(missing.groups())), listing, python)
    if lacking := _NO_NAME.search(words):
        if left_out := _LEFT_OUT.search(words):
            return _of_module(left_out[1], listing, python)
        return _of_version(lacking[2], listing, python, lacking[1])
    return _of_coroutine(words, agent) or _of_what_is_unset(words, agent)


def _of_coroutine(words: str, agent: Path) -> str:
    """Say where a coroutine stands in the place of an agent; empty where none does."""
    found = _COROUTINE.search(words)
    if found is None:
        return ""
    place = agent.parent.joinpath(*found[1].split("."))
    file = place.with_suffix(".py") if place.with_suffix(".py").is_file() else place / "__init__.py"
    text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
    made = _ROOT_AGENT.search(text)
    line = f", line {text.count(chr(10), 0, made.start()) + 1}" if made else ""
    return (
        f"root_agent is a coroutine ({file.relative_to(agent.parent)}{line}): the function that makes it is an `async def`, and its call was not awaited. "
        "google-adk takes no coroutine: create the agent in a plain `def`"
    )


def _of_what_is_unset(words: str, agent: Path) -> str:
    instead = "" if are_chosen() else _OR
    if lacks_account(words):
        return ". ".join(filter(None, ("Log in: gcloud auth application-default login", instead)))
    names = named_unset(words)
    given = " ".join(f"{name}={PLACEHOLDER}" for name in names)
    line = rf"printf '\n%s\n' {given} >> {shlex.quote(str(_env_file(agent)))}"
    told = f"{'Or give' if instead else 'Give'} {', '.join(names)} any value: {line}"
    return ". ".join(filter(None, (instead, told))) if names else ""


def absent_package(error: ImportError, folder: Path) -> str:
    """Return the module that an agent could not import, of a package that its project lists or an extra of google-adk brings; empty where it may be the project's own.

    Args:
        error: What loading it raised.
        folder: Its folder; of a file its path without the ending.
    """
    words = failure_words(error, folder)
    missing = _NO_MODULE.search(words) or _NO_PART.search(words)
    module = ".".join(reversed(missing.groups())) if missing else ""
    if not module or module.startswith("google.adk"):
        return ""
    listing = listing_of(folder)
    listed = _for_module(module, listing.needed) if listing else ""
    return module if listed or _extra_with(module) else ""


def _env_file(agent: Path) -> Path:
    """Return the file of variables that ADK reads for an agent: the nearest one, or where none is that in its folder."""
    folder = (agent if agent.is_dir() else agent.parent).absolute()
    near = (place / ".env" for place in (folder, *folder.parents))
    return next((file for file in near if file.is_file()), folder / ".env")


def _oldest_python(agent: Path) -> tuple[int, str]:
    """Return which Python 3 an agent's project asks for at least, and its own words for it; 0 where it does not say."""
    for folder in project_folders(agent):
        try:
            read = _toml(folder / "pyproject.toml")
        except (OSError, tomllib.TOMLDecodeError):
            continue
        words = _table(read, "project").get("requires-python")
        if found := _OLDEST_PYTHON.search(words if isinstance(words, str) else ""):
            return int(found[1]), str(words)
    return 0, ""


def _other_python(agent: Path, python: Path) -> str:
    """Say that a project asks for a newer Python than the one that could not read its code; empty where it does not, or nobody knows which that is."""
    needs, words = _oldest_python(agent)
    runs = _minor_of(python)
    if not runs or needs <= runs:
        return ""
    return (
        f"The project asks for Python {words}, and Python 3.{runs} runs it. Choose another one with --python"
    )


def _minor_of(python: Path) -> int:
    """Return which Python 3 an interpreter is, of another one by what its environment says; 0 where it does not."""
    if str(python) == sys.executable:
        return sys.version_info.minor
    try:
        told = (python.parents[1] / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")
    except (OSError, IndexError):
        return 0
    found = re.search(r"^version(?:_info)?\s*=\s*3\.(\d+)", told, re.MULTILINE)
    return int(found[1]) if found else 0


def pip_install(python: Path) -> str:
    """Return the command that installs packages for an interpreter: environments that uv makes have no pip."""
    environment = python.parents[1] if len(python.parents) > 1 else python
    has_own = (environment / "pyvenv.cfg").is_file()
    if has_own and not any(environment.glob("[Ll]ib/**/site-packages/pip")):
        return f"uv pip install --python {shlex.quote(str(python))}"
    return f"{shlex.quote(str(python))} -m pip install"


def line_for_adk(python: Path) -> str:
    """Return the line to paste that installs google-adk for an interpreter."""
    return f"{pip_install(python)} {ADK_NEEDED}"


def listing_of(agent: Path) -> Listing | None:
    """Return what the nearest `requirements.txt` or `pyproject.toml` of an agent's project lists; None where there is none."""
    for folder in project_folders(agent):
        for name, read in (("requirements.txt", _of_requirements), ("pyproject.toml", _of_project)):
            if (file := folder / name).is_file():
                try:
                    return read(file)
                except (OSError, tomllib.TOMLDecodeError):  # the agent's own error is what counts
                    return Listing(file, ())
    return None


def _of_requirements(file: Path) -> Listing:
    written = file.read_bytes()  # a shell of Windows writes UTF-16, which pip reads
    is_wide = written.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    lines = written.decode("utf-16" if is_wide else "utf-8-sig", errors="replace").splitlines()
    needed = tuple(words for line in lines if _NAME.match(words := line.partition("#")[0].strip()))
    return Listing(file, needed, needed)


def _of_project(file: Path) -> Listing:
    read = _toml(file)
    project, poetry = _table(read, "project"), _table(read, "tool", "poetry", "dependencies")
    groups = (*_table(project, "optional-dependencies").values(), *_table(read, "dependency-groups").values())
    own = tuple(_texts(project.get("dependencies")))
    others = (each for group in groups for each in _texts(group))
    of_poetry = (f"{name}{spec if isinstance(spec, str) else ''}" for name, spec in poetry.items())
    return Listing(file, (*own, *others, *of_poetry), None if poetry else own)


def _toml(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8", errors="replace"))


def _texts(values: object) -> Iterator[str]:
    return (each for each in (values if isinstance(values, list) else ()) if isinstance(each, str))


def _table(document: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return a table of a document by its path; an empty one where there is none."""
    for name in names:
        found = document.get(name)
        document = found if isinstance(found, dict) else {}
    return document


def _named(requirement: str) -> str:
    found = _NAME.match(requirement)
    return re.sub(r"[-_.]+", "-", found[0]).lower() if found else ""


def _for_module(module: str, requirements: tuple[str, ...]) -> str:
    """Return the requirement whose name is that of a module, or of its parts, as packages are named; empty where none is."""
    parts = module.replace("_", "-").lower().split(".")
    names = ["-".join(parts[:end]) for end in range(len(parts), 0, -1)]
    top = parts[0]
    wanted = [*names, f"python-{top}", f"{top}-python", f"{top}-sdk", f"{top}-core"]
    by_name = {_named(each): each for each in reversed(requirements)}
    if top == "google":  # `google.cloud.secretmanager_v1` is of google-cloud-secret-manager
        wanted += [re.sub(r"-v\d\w*$", "", name).replace("-", "") for name in names]
        by_name = {name.replace("-", ""): each for name, each in by_name.items()} | by_name
    return next((by_name[name] for name in wanted if name in by_name), "")


def _of_module(module: str, listing: Listing | None, python: Path) -> str:
    if old := _of_old_adk(module, listing) or _of_gone(module, listing, python, module):
        return old
    listed = _for_module(module, listing.needed) if listing else ""
    if extra := "" if listed else _extra_with(module):
        return _with(f"google-adk[{extra}]", listing, python)
    if listing is None:
        return ""
    if listed:
        return f"{listing.file.name} lists {listed}. {_installing(listing, listed, python)}"
    file, top = listing.file.name, module.partition(".")[0]
    name = module if top == "google" else top
    if not listing.needed:
        return f"If {file} lists the missing package: {_installing(listing, '', python)}"
    return (
        f"{file} lists no package named {name}. Find out which package contains it, and add that to {file} if none of those listed does. "
        f"Then: {_installing(listing, '', python)}"
    )


def _with(package: str, listing: Listing | None, python: Path) -> str:
    """Say how to install one package; not into this process's own environment, where the project of the agent can have one."""
    if listing is None or str(python) != sys.executable:
        return f"Install it: {pip_install(python)} {shlex.quote(package)}"
    return _installing(listing, "", python, package)


def _installing(listing: Listing, listed: str, python: Path, more: str = "") -> str:
    """Return the line that installs what a project lists, `listed` among it, and `more`, with words on what it does.

    Where the interpreter is this process's own, the line creates an environment for the project, in which it runs from then on.
    """
    needed = " ".join(filter(None, (_needed(listing, listed), more and shlex.quote(more))))
    if str(python) != sys.executable:
        return f"Install it: {pip_install(python)} {needed}"
    folder = listing.file.parent
    environment = folder / ENVIRONMENT
    own = shlex.quote(str(environment / PYTHON))
    needs = _oldest_python(folder)[0]
    maker = f"python3.{needs}" if needs > sys.version_info.minor else shlex.quote(str(python))
    made = f"{maker} -m venv {shlex.quote(str(environment))}"
    return f"Create an environment for the project: {made} && {own} -m pip install {ADK_NEEDED} {needed}"


def _needed(listing: Listing, listed: str) -> str:
    """Return what installs what a project lists.

    The project itself is installed only where its requirements are not pip's: many are no package that pip can build. A google-adk that is too old is
    left out, and so are the pins of what google-adk brings along and of Google's other packages, which fitted what another version of it brings.
    """
    is_old = bool(_of_old_adk("google.adk", listing))
    pinned = {_named(each) for each in listing.plain or () if _PIN.search(each)}
    fits = not is_old and ("google-adk" in pinned or pinned.isdisjoint(brought_by_adk()))
    if listing.file.suffix == ".txt" and fits:
        return f"-r {shlex.quote(str(listing.file))}"
    if listing.plain or (listed and listing.plain is not None):
        wanted = dict.fromkeys((*(listing.plain or ()), *([listed] if listed else ())))
        kept = (each for each in wanted if not (is_old and _named(each) == "google-adk"))
        return " ".join(shlex.quote(each if fits else _unpinned(each)) for each in kept)
    return shlex.quote(str(listing.file.parent))


def _of_version(module: str, listing: Listing | None, python: Path, name: str) -> str:
    """Say what an import lacks where its package is there: another version of it."""
    if old := _of_old_adk(module, listing) or _of_gone(module, listing, python, f"{name} in {module}"):
        return old
    listed = _for_module(module, listing.needed) if listing else ""
    if module.startswith("google.adk"):
        listed = _adk_in(listing)
    if not listed:  # what google-adk brings along comes in the version that its own version needs
        return _of_old_adk("google.adk", listing)
    if listing is not None and str(python) == sys.executable:
        return f"The project asks for {listed}. {_installing(listing, listed, python)}"
    return f"The project asks for another version: {pip_install(python)} {shlex.quote(listed)}"


def _of_gone(module: str, listing: Listing | None, python: Path, part: str) -> str:
    """Say that the google-adk that is there lacks a part, where the project allows this version: no line brings it. Empty where that is not why."""
    places = [str(each) for each in python.parent.parent.glob("lib/*/site-packages")]
    found = distributions(name="google-adk", path=sys.path if str(python) == sys.executable else places)
    version = next((each.version for each in found), "") if module.startswith("google.adk.") else ""
    if not version or not _allows(_adk_in(listing), version):
        return ""
    return f"google-adk {version} is installed and has no {part}. Unless a newer google-adk has it, the agent's code must change"


def _allows(requirement: str, version: str) -> bool:
    """Return whether a requirement, of pip or Poetry, allows a version; by its numbers alone."""
    has = [int(each) for each in re.findall(r"\d+", version)]
    for sign, words in _BOUND.findall(requirement):
        bound = [int(each) for each in words.split(".")]
        begins = {"==": len(bound), "^": 1}.get(sign, len(bound) - 1)
        is_like = has >= bound and has[:begins] == bound[:begins]
        fits = {"<": has < bound, "<=": has <= bound, ">": has > bound, ">=": has >= bound}
        if not fits.get(sign, is_like):
            return False
    return True


def _unpinned(requirement: str) -> str:
    """Return a requirement without its pin where google-adk brings the package along, in the version that it needs, or it may need what that brings."""
    name = _named(requirement)
    if name not in brought_by_adk() and not name.startswith("google-"):
        return requirement
    found = re.match(r"[\w.-]+\s*(?:\[[\w ,-]*\])?", requirement)
    return found[0].strip() if found else requirement


@cache
def brought_by_adk() -> frozenset[str]:
    """Return the names of the packages that google-adk needs, and those that these need, as far as they are installed."""
    found, waiting = set[str](), ["google-adk"]
    for name in waiting:  # which grows
        try:
            needed = [each for each in requires(name) or () if "extra ==" not in each.replace("  ", " ")]
        except PackageNotFoundError:
            continue
        new = {_named(each) for each in needed} - found
        found |= new
        waiting += new
    return frozenset(found)


def _adk_in(listing: Listing | None) -> str:
    return next((each for each in (listing.needed if listing else ()) if _named(each) == "google-adk"), "")


def _of_old_adk(module: str, listing: Listing | None) -> str:
    """Say that a project pins a google-adk that is too old, where a part of google-adk is missing; empty where it does not."""
    listed = _adk_in(listing) if module.startswith("google.adk") else ""
    pin = _PIN.search(listed)
    if pin is None or (int(pin[1]), int(pin[2] or 0)) >= OLDEST_ADK:
        return ""
    oldest = ".".join(map(str, OLDEST_ADK))
    return f"The project asks for {listed}. The studio needs google-adk {oldest} or newer"


def _extra_with(module: str) -> str:
    """Return the extra of google-adk that brings a module's package, the narrowest one; empty where none does."""
    try:
        needed = requires("google-adk") or []
    except PackageNotFoundError:
        return ""
    extras: dict[str, list[str]] = {}
    for each in needed:
        if (extra := _EXTRA.search(each)) and extra[1] not in _WIDE:
            extras.setdefault(extra[1], []).append(each)
    holding = [name for name, brought in extras.items() if _for_module(module, tuple(brought))]
    return min(holding, key=lambda name: len(extras[name]), default="")


_NO_CREDENTIALS = re.compile(r"DefaultCredentialsError|default credentials were not found")
_NO_KEY = re.compile(r"No API key was provided|Missing key inputs argument")
_READ = re.compile(rf"\bThe code reads ([\w, ]+), which (?:is|are) {NOT_SET}\b")
_UNSET = re.compile(
    r"^KeyError: '?([A-Z][A-Z0-9]*_[A-Z0-9_]+)'?(?= |$)|\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b.*\b(?:not set|unset|missing|required|not found|not defined|must be set|is empty|set it)\b"
    r"|\b(?:[Ss]et|[Mm]issing|[Rr]equire[sd]?)\b.*?\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b"
)


def lacks_account(words: str) -> bool:
    """Return whether an error says that Google Cloud was asked without an account."""
    return bool(_NO_CREDENTIALS.search(words))


def lacks_credentials(words: str) -> bool:
    """Return whether an error says that a service of Google's was asked without a key or an account."""
    return lacks_account(words) or bool(_NO_KEY.search(words))


def named_unset(words: str) -> tuple[str, ...]:
    """Return the variables that an error, as `failure_words` gives it, names as not set."""
    if read := _READ.search(words):
        return tuple(read[1].split(", "))
    unset = _UNSET.search(words)
    return (next(filter(None, unset.groups())),) if unset else ()


def lacking_variables(error: BaseException, folder: Path) -> tuple[str, ...]:
    """Return the variables without which an agent did not load, and that are not set.

    Args:
        error: What loading it raised.
        folder: Its folder; of a file its path without the ending.
    """
    words = failure_words(error, folder)
    if lacks_account(words):
        file = os.environ.get(ACCOUNT, "")
        return () if file and Path(file).exists() else (ACCOUNT,)
    named = ("GOOGLE_API_KEY",) if _NO_KEY.search(words) else named_unset(words)
    place = place_in(error, project_folders(folder)[-1])
    read = tuple(_unfilled(own_error(error))) or (read_at(*place) if place is not None else ())
    found = read if set(named) <= set(read) else named
    return tuple(name for name in found if not os.environ.get(name))


def noting_unset(error: BaseException, names: Sequence[str], folder: Path) -> BaseException:
    """Add to an error which variables its agent reads that are not set, where it does not say so itself; return it."""
    lacking = [name for name in names if name != ACCOUNT]
    if not lacking or set(lacking) == set(named_unset(failure_words(error, folder))):
        return error
    error.add_note(f"The code reads {_which(lacking)}")
    place = folder if folder.is_dir() else folder.with_name(f"{folder.name}.py")
    if also := [name for name in read_without_default(place) if name not in {*names, *os.environ}]:
        error.add_note(f"It also reads {_which(also)}")
    return error


def _which(names: Sequence[str]) -> str:
    return f"{', '.join(names)}, which {'is' if len(names) == 1 else 'are'} {NOT_SET}"


def _unfilled(error: BaseException) -> Iterator[str]:
    """Yield the variables of which settings of pydantic-settings are made, and that an error says are missing."""
    errors = getattr(error, "errors", None)
    owners = (_settings_in(frame.f_locals) for frame, _ in traceback.walk_tb(error.__traceback__))
    settings = next(filter(None, owners), None) if type(error).__name__ == "ValidationError" else None
    if settings is None or errors is None:
        return
    config = settings.model_config
    for each in errors():
        if each["type"] == "missing" and len(each["loc"]) == 1:
            (field,) = each["loc"]  # of a field with another name its alias, which has no prefix
            name = (
                f"{config.get('env_prefix') or ''}{field}" if field in settings.model_fields else str(field)
            )
            yield name if config.get("case_sensitive") else name.upper()


def _settings_in(variables: dict[str, Any]) -> Any:
    """Return the class of the settings that a frame makes; None where it makes none."""
    kind = type(variables.get("__pydantic_self__", variables.get("self")))
    known = (
        each.__name__ == "BaseSettings" and "pydantic_settings" in each.__module__ for each in kind.__mro__
    )
    return kind if any(known) else None
