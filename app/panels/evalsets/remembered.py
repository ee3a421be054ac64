"""Inputs whose values are kept at the bench of an eval set: they are there again after a refresh, and when a tab is shown again."""

from pydantic import JsonValue

from app import state
from app.bench import Bench
from app.kept import slug
from simulator.jsonvalue import digest


def key_of(bench: Bench, name: str) -> str:
    """Give the key of an input of this bench; the inputs of two eval sets are not the same."""
    return f"{slug(name)}_{digest(str(bench.eval_set))[:6]}"


def option_key(bench: Bench, name: str, initial: JsonValue) -> str:
    """Let the input that is drawn next show the option of this name; give its key. `keep_option` keeps what it says."""
    return followed_key(bench, name, bench.options.get(name, initial))


def keep_option(bench: Bench, name: str, value: JsonValue) -> None:
    """Keep what the input of an option says."""
    bench.options[name] = value
    state.agree(key_of(bench, name), value)


def followed_key(bench: Bench, name: str, value: JsonValue) -> str:
    """Let the input that is drawn next show a value whenever that has changed; give its key."""
    key = key_of(bench, name)
    state.follow(key, value)
    return key
