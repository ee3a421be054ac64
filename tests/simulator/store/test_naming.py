"""A database is named by its host and its name; nothing else of its address is in an error, a log or a traceback."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.engine import make_url

from app.live.session_store import opened
from evalset.cli.main import simulator_main as main
from simulator.store import JournalStore, StoreError
from simulator.store.errors import masked, shown_name

SECRET = "hunter2"  # noqa: S105 - it opens nothing
AT = "127.0.0.1:1/studio"
ADDRESSES = [
    f"postgresql://{AT}?password={SECRET}",
    f"postgresql://{AT}?p%61ssword={SECRET}",
    f"postgresql://anne:{SECRET}@{AT}?sslmode={SECRET}",
    f"postgresql://{AT}?sslpassword={SECRET}&sslcert=/{SECRET}.crt&sslkey=/{SECRET}.key",
    f"postgresql://{AT}?passfile=/home/{SECRET}",
    f"postgresql://{AT}?service={SECRET}",
    f"postgresql://{AT}?plugin={SECRET}",
    f"postgresql://{AT}?nonsense={SECRET}",
    f"postgresql+asyncpg://anne:{SECRET}@{AT}?password={SECRET}",
    f"postgresql://{AT}?password={SECRET}&password={SECRET}x",
    f"postgresql://anne:{SECRET}@127.0.0.1:{SECRET}/studio",
    f"postgresql://anne:x@{SECRET}@{AT}",
    f"postgresql:///password%3D{SECRET}?host=127.0.0.1:1",
    f"postgresql://127.0.0.1:1/?dbname=password%3D{SECRET}",
    f"host=127.0.0.1 port=1 password={SECRET} dbname=studio",
    f"connect_timeout=1 sslpassword = {SECRET}",
    f"postgresql:anne:{SECRET}@{AT}",
    f"postgres//anne:{SECRET}@{AT}",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_error_shows_a_secret(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in its words, its traceback, the panel of the page, the log, or what a command says; and no file is made of it."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError) as raised:
        JournalStore.open(address, patience=1.0)
    shelf = opened({"GOLDEN_TRACE_STORE": address})
    logging.getLogger(__name__).info("%s", "".join(traceback.format_exception(raised.value)))
    assert shelf.problem
    assert SECRET not in f"{raised.value} {shelf.problem} {caplog.text}"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("address", [ADDRESSES[0], ADDRESSES[-3]])
def test_a_command_shows_none(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither in its error nor in its help, where the variable names the database."""
    assert main(["sessions", "--store", address]) == 2
    out, err = capsys.readouterr()
    assert "--store: " in err
    assert SECRET not in out + err


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://anne:x@db.example/studio?sslmode=require", "postgresql://db.example/studio"),
        ("postgresql://[::1]:5433/studio", "postgresql://[::1]:5433/studio"),
        ("postgresql:///studio?host=/run/postgresql", "postgresql:///run/postgresql/studio"),
        ("postgresql:///studio?host=a:1&host=b:2&password=x", "postgresql://a:1,b:2/studio"),
        ("postgresql://db.example?dbname=studio", "postgresql://db.example/studio"),
        ("sqlite:////data/sessions.db", "/data/sessions.db"),
    ],
)
def test_host_and_name_are_shown(address: str, shown: str) -> None:
    """So that whoever runs the server knows which database is meant."""
    assert shown_name(make_url(address)) == shown


@given(
    st.text(min_size=4, max_size=20).filter(str.strip),
    st.sampled_from(["password", "sslpassword", "options", "krbsrvname"]),
)
def test_a_drivers_words_hold_no_value_of_an_address(value: str, key: str) -> None:
    """However it is written there: as it is, encoded, or as a quoted text."""
    url = make_url("postgresql://db.example/studio").update_query_dict({key: value})
    url = url.set(password=value)
    for form in (value, quote(value, safe=""), quote_plus(value), repr(value)[1:-1]):
        assert masked(f"<{form}>", url) == "<***>"


def test_what_a_driver_says_otherwise_stays() -> None:
    """A short user name is not taken out of the middle of words."""
    url = make_url("postgresql://a:pw@db.example/studio")
    assert masked('"db.example" failed: role "a"', url) == '"db.example" failed: role "***"'


def test_a_folder_holds_the_file(tmp_path: Path) -> None:
    """As a person names where sessions go."""
    found = opened({"GOLDEN_TRACE_STORE": str(tmp_path)})
    assert found.store is not None
    found.store.close()
    assert (tmp_path / "sessions.db").is_file()
