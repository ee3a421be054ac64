"""Sets of injection rules that people keep, and the library of faults that come with the studio.

A set is written as JSON or YAML in the studio's own format, a superset of what ADK can say; what is wrong with one is said with its rule and field. A
folder holds named sets, one file for each. A fault is a preset that makes one rule for a tool, and is found by words.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, Self, TypeAlias, get_args

from pydantic import BaseModel, Field, JsonValue, ValidationError, model_validator

from simulator.base.documents import (
    DocumentError,
    LibraryEntry,
    read_document,
    read_file,
    shipped_library,
    write_json,
    write_yaml,
)
from simulator.base.frozen_value import FiniteValue
from simulator.base.json_values import JsonObject, place_words
from simulator.base.user_files import lock_path, sync_folder, system_lock, write_whole
from simulator.base.validation_words import InputError, complaint, doubled, flaws, shortened, validated
from simulator.environment.injection import conditions, distortions, rule_effects
from simulator.environment.injection.adk_config_text import is_code, read_config_text
from simulator.environment.injection.adk_injection_config import (
    EnvironmentConfigError,
    ReadConfig,
    read_config,
)
from simulator.environment.injection.distortions import CATEGORY, Distortion, categories, hostile_texts
from simulator.environment.injection.rule_effects import DistortEffect
from simulator.environment.injection.rules import InjectionRule

FORMAT = "golden-trace-studio/rules"
VERSION = 1

_ADK = "tool_simulation_configs"
_FIELDS = ("format", "version", "name", "description", "rules")

RuleSetForm: TypeAlias = Literal["json", "yaml"]


class RuleSetError(InputError):
    """A set of rules cannot be read; the text names each rule and field that is wrong."""


class RuleSet(FiniteValue):
    """Rules under a name."""

    name: str = ""
    description: str = ""
    rules: tuple[InjectionRule, ...] = ()


class ReadRules(NamedTuple):
    """A set that was read; `adk` holds all that an ADK configuration said, where the text was one."""

    rule_set: RuleSet
    adk: ReadConfig | None = None


def write_rule_set(rule_set: RuleSet, form: RuleSetForm = "json") -> str:
    """Write a set as text. What a rule leaves as it is by default is left out."""
    document: JsonObject = {"format": FORMAT, "version": VERSION, "name": rule_set.name}
    if rule_set.description:
        document["description"] = rule_set.description
    document["rules"] = [_written(rule) for rule in rule_set.rules]
    return write_yaml(document) if form == "yaml" else write_json(document)


def read_rule_set(text: str, tool_name: str = "") -> ReadRules:
    """Read a set from JSON or YAML; ADK's configuration, as JSON, YAML or Python code, is recognised and read too.

    Args:
        text: The text.
        tool_name: The tool of injections in code that names none.

    Raises:
        RuleSetError: It cannot be read; the text says which rule and which field, or at which line.
    """
    try:
        if is_code(text):
            return _of_adk(read_config_text(text, tool_name))
        document = read_document(text, "rules")
        if isinstance(document, dict) and _ADK in document:
            return _of_adk(read_config(document))
    except (DocumentError, EnvironmentConfigError) as error:
        raise RuleSetError(str(error)) from error
    if not isinstance(document, dict):
        raise RuleSetError(f"a rule set must be an object, not {type(document).__name__}")
    _check_head(document)
    rules = _read_rules(document["rules"])
    head = {name: document.get(name, "") for name in ("name", "description")}
    for name, value in head.items():
        if not isinstance(value, str):
            raise RuleSetError(f"{name}: Input should be a text, got {value!r:.80}")
    return ReadRules(RuleSet(name=str(head["name"]), description=str(head["description"]), rules=rules))


def _of_adk(config: ReadConfig) -> ReadRules:
    return ReadRules(RuleSet(rules=config.rules), config)


def _written(rule: InjectionRule) -> JsonValue:
    written: JsonObject = rule.model_dump(mode="json", exclude_defaults=True)
    return _with_kinds(rule, written)


def _with_kinds(value: object, written: JsonValue) -> JsonValue:
    """Put the kinds of values back, which are their defaults and yet have to be said."""
    if isinstance(value, BaseModel) and isinstance(written, dict):
        kinds = {name: str(getattr(value, name)) for name in ("kind", "test") if _is_kind(value, name)}
        inner = {name: _with_kinds(getattr(value, name), item) for name, item in written.items()}
        return {**kinds, **inner}
    if isinstance(value, tuple) and isinstance(written, list):
        return [_with_kinds(one, item) for one, item in zip(value, written, strict=True)]
    return written


def _is_kind(value: BaseModel, name: str) -> bool:
    return name in type(value).model_fields and isinstance(getattr(value, name), str)


def _check_head(document: JsonObject) -> None:
    if document.get("format") != FORMAT:
        raise RuleSetError(
            f"this is neither a rule set (format {FORMAT!r}) nor ADK's EnvironmentSimulationConfig: "
            f"format is {document.get('format')!r:.80}"
        )
    version = document.get("version")
    if isinstance(version, bool) or version != VERSION:
        raise RuleSetError(f"version {version!r:.40} is unknown; this studio reads version {VERSION}")
    if unknown := [name for name in document if name not in _FIELDS]:
        raise RuleSetError(
            f"{shortened(', '.join(unknown))}: unknown field; the fields are {', '.join(_FIELDS)}"
        )
    if "rules" not in document:
        raise RuleSetError("rules: this field is required")


def _read_rules(value: JsonValue) -> tuple[InjectionRule, ...]:
    try:
        rules: tuple[InjectionRule, ...] = validated(tuple[InjectionRule, ...], value)
    except ValidationError as error:
        raise RuleSetError(
            "\n".join(flaws(error, lambda flaw: f"{_place(flaw['loc'], value)}: {complaint(flaw, _NAMES)}"))
        ) from error
    if twice := doubled(rule.rule_id for rule in rules):
        raise RuleSetError(f"rules: two rules have the rule_id {twice}")
    return rules


def _place(loc: tuple[int | str, ...], rules: JsonValue) -> str:
    """Name a place for a person: `rule 'slow' (number 2): when.conditions.0.path`."""
    if not loc or not isinstance(loc[0], int) or not isinstance(rules, list):
        return "rules"
    rule = rules[loc[0]]
    name = rule.get("rule_id") if isinstance(rule, dict) else None
    named = (
        f"rule {name!r:.80} (number {loc[0] + 1})" if isinstance(name, str) else f"rule number {loc[0] + 1}"
    )
    field = place_words(_without_kinds(loc[1:]))
    return f"{named}: {field}" if field else named


def _without_kinds(loc: tuple[int | str, ...]) -> Iterator[int | str]:
    """Leave out the kinds that pydantic puts behind the name of each field that has one of several kinds."""
    before: tuple[int | str, ...] = ()
    for part in loc:
        has_kinds = before[-1:] and (before[-1] in _HAVE_KINDS or before[-2:-1] == ("conditions",))
        if part not in _KINDS or not has_kinds:
            yield part
        before = (*before, part)


_HAVE_KINDS = frozenset({"effect", "when", "latency", "condition", "test"})
_MODELS: list[type[BaseModel]] = [
    model
    for module in (conditions, rule_effects, distortions)
    for model in vars(module).values()
    if isinstance(model, type) and issubclass(model, FiniteValue)
]
_KINDS = frozenset(
    kind
    for model in _MODELS
    for name in ("kind", "test")
    if name in model.model_fields
    for kind in get_args(model.model_fields[name].annotation)
)
_NAMES = sorted({*InjectionRule.model_fields, *(name for model in _MODELS for name in model.model_fields)})


_SUFFIX = ".rules.json"
_OTHERS = (".rules.yaml", ".rules.yml")
_LONGEST_NAME = 100
_LONGEST_STEM = 60
_PATIENCE_SECONDS = 10.0
_UNSAFE = re.compile(r"[^a-z0-9]+")


class StoredSet(NamedTuple):
    """A file of the folder: the set's name, how many rules it holds, and what is wrong with it, if anything is."""

    name: str
    path: Path
    rules: int = 0
    description: str = ""
    error: str = ""


class RuleSetFolder:
    """Sets of rules in a folder, one file for each. The folder is made when the first is saved.

    A name may be any text of one line with at most 100 characters; its file's name is made from it. A file that
    somebody put there is listed too, by the name that it gives, or else by the file's.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def list(self) -> tuple[StoredSet, ...]:
        """Return the sets by name; those that are damaged too, with what is wrong with them."""
        files = [path for path in self._files() if path.is_file()]
        return tuple(sorted(map(_stored, files), key=lambda each: (each.name.casefold(), each.path.name)))

    def load(self, name: str) -> RuleSet:
        """Return the set called `name`.

        Raises:
            RuleSetError: There is none, or its file is damaged.
        """
        path = self._path_of(name)
        try:
            return _read(path)
        except RuleSetError as error:
            raise RuleSetError(f"{path.name}: {error}") from error

    def save(self, rule_set: RuleSet, *, overwrite: bool = True) -> Path:
        """Write a set under its name, as a whole or not at all; another one of that name is replaced.

        Raises:
            RuleSetError: Its name cannot be one, or is taken and `overwrite` is not set.
            OSError: The file cannot be written; what was there before is still there.
        """
        name = _checked(rule_set.name)
        known = self._find(name)
        if known is not None and not overwrite:
            raise RuleSetError(f"a rule set named {name!r} already exists")
        path = known or self.path / _file_name(name)
        self.path.mkdir(parents=True, exist_ok=True)
        form: RuleSetForm = "json" if path.name.endswith(_SUFFIX) else "yaml"
        _write(path, write_rule_set(rule_set.model_copy(update={"name": name}), form))
        return path

    def rename(self, name: str, new_name: str) -> Path:
        """Return a set another name.

        Raises:
            RuleSetError: There is no such set, it is damaged, or the new name cannot be one or is taken.
            OSError: The file cannot be written.
        """
        new_name = _checked(new_name)
        old = self._path_of(name)
        if self._find(new_name) not in {None, old}:
            raise RuleSetError(f"a rule set named {new_name!r} already exists")
        renamed = self.load(name).model_copy(update={"name": new_name})
        new = self.path / _file_name(new_name)
        _write(new, write_rule_set(renamed))
        if new != old:
            old.unlink()
        return new

    def delete(self, name: str) -> None:
        """Take a set away, a damaged one too.

        Raises:
            RuleSetError: There is no such set.
        """
        self._path_of(name).unlink(missing_ok=True)

    def _files(self) -> tuple[Path, ...]:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            return tuple(path for path in self.path.iterdir() if path.name.endswith((_SUFFIX, *_OTHERS)))
        return ()

    def _find(self, name: str) -> Path | None:
        expected = self.path / _file_name(name)
        if expected.is_file() and _stored(expected).name == name:
            return expected
        return next((each.path for each in self.list() if each.name == name), None)

    def _path_of(self, name: str) -> Path:
        path = self._find(name)
        if path is None:
            raise RuleSetError(f"there is no rule set named {name!r}")
        return path


def _checked(name: str) -> str:
    name = name.strip()
    if not name:
        raise RuleSetError("a rule set needs a name")
    if len(name) > _LONGEST_NAME or not name.isprintable():
        raise RuleSetError(
            f"the name {name!r:.80} is longer than {_LONGEST_NAME} characters, or has several lines"
        )
    return name


def _file_name(name: str) -> str:
    """Make a file's name that is safe on every system; names that would become the same get a mark of their own."""
    stem = _UNSAFE.sub("-", name.lower()).strip("-")[:_LONGEST_STEM].strip("-")
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{stem}-{mark}{_SUFFIX}" if stem != name or _is_reserved(stem) else f"{stem}{_SUFFIX}"


def _is_reserved(stem: str) -> bool:
    return re.fullmatch(r"con|prn|aux|nul|com\d|lpt\d", stem) is not None


def _stored(path: Path) -> StoredSet:
    bare = next(path.name.removesuffix(end) for end in (_SUFFIX, *_OTHERS) if path.name.endswith(end))
    try:
        rule_set = _read(path)
    except RuleSetError as error:
        return StoredSet(bare, path, error=str(error))
    return StoredSet(rule_set.name or bare, path, len(rule_set.rules), rule_set.description)


def _read(path: Path) -> RuleSet:
    try:
        text = read_file(path, "rules").decode("utf-8")
    except UnicodeDecodeError as error:
        raise RuleSetError(f"the file is not UTF-8 text: {error.reason} at byte {error.start}") from error
    except OSError as error:
        raise RuleSetError(f"the file cannot be read: {error.strerror}") from error
    return read_rule_set(text).rule_set


def _write(path: Path, text: str) -> None:
    """Put a new file in the place of the old one in one step, once it is on the disk."""
    with system_lock(lock_path(path), _PATIENCE_SECONDS):
        write_whole(path, [text.encode()])
    # Some systems let no folder be written out; the set is saved all the same.
    with contextlib.suppress(OSError):
        sync_folder(path.parent)


_WORD = re.compile(r"[^\W_]+")
_SHORTEST_MISSPELT = 4


class Fault(LibraryEntry):
    """A preset.

    Attributes:
        name: Its name, unique.
        title: What a person reads in a list.
        category: `http`, `exceptions`, `time`, `patterns`, `answers`, `distortions`, `hostile` or `people`.
        words: More words by which it is found.
        description: What happens, in a sentence or two.
        preset: The fields of the rule (`rule` in the file), but for its tool, its id and its label.
    """

    name: str = Field(pattern=r"^[a-z0-9_]+$")
    title: str = Field(min_length=1)
    category: str = Field(min_length=1)
    words: str = ""
    description: str = Field(min_length=1)
    preset: JsonObject = Field(alias="rule")

    @model_validator(mode="after")
    def _makes_a_rule(self) -> Self:
        self.rule("tool", "rule")
        return self

    def rule(self, tool_name: str, rule_id: str) -> InjectionRule:
        """Make the rule for a tool, or for every tool (`*`)."""
        return InjectionRule.model_validate(
            {**self.preset, "rule_id": rule_id, "tool_name": tool_name, "label": self.title}
        )


@lru_cache(maxsize=1)
def faults() -> tuple[Fault, ...]:
    """Return all faults, in their order."""
    return (
        *shipped_library(Fault, "faults", __package__, "faults.yaml"),
        *(_hostile(category) for category in categories()),
    )


def search(text: str) -> tuple[Fault, ...]:
    """Find the faults that a person may mean, the best first; all of them, in their order, where nothing is written.

    A word counts most in the name or the title, less in the other words, least in the description; its beginning counts
    too, and so does one that is nearly it. Faults that have more of the words come first.
    """
    asked = _words(text)
    if not asked:
        return faults()
    ranked = []
    for order, words in enumerate(_indexed()):
        scores = [_score(word, words) for word in asked]
        if any(scores):
            ranked.append((-sum(map(bool, scores)), -sum(scores), order))
    return tuple(faults()[order] for _, _, order in sorted(ranked))


def _hostile(category: str) -> Fault:
    texts = [text for text in hostile_texts() if text.category == category]
    effect = DistortEffect(distortions=(Distortion(kind="hostile", text=f"{CATEGORY}{category}"),))
    return Fault(
        name=f"hostile_{category}",
        title=f"Hostile text: {category.replace('_', ' ')}",
        category="hostile",
        words=" ".join(["prompt injection attack jailbreak security", *(text.title for text in texts)]),
        description=f"Adds one of {len(texts)} texts that attack the agent to each text of the response.",
        rule={"effect": effect.model_dump(mode="json")},
    )


def _words(text: str) -> list[str]:
    return list(dict.fromkeys(_WORD.findall(text.lower())))


@lru_cache(maxsize=1)
def _indexed() -> tuple[dict[str, float], ...]:
    return tuple(
        {
            **dict.fromkeys(_words(each.description), 1.0),
            **dict.fromkeys(_words(each.words), 2.0),
            **dict.fromkeys(_words(f"{each.name} {each.title} {each.category}"), 3.0),
        }
        for each in faults()
    )


def _score(asked: str, words: dict[str, float]) -> float:
    if asked in words:
        return words[asked]
    begun = [weight for word, weight in words.items() if word.startswith(asked)]
    if begun:
        return max(begun) * 0.7
    if len(asked) < _SHORTEST_MISSPELT:
        return 0.0
    alike = difflib.get_close_matches(asked, words, n=1, cutoff=0.8)
    return words[alike[0]] * 0.4 if alike else 0.0
