"""The settings in .streamlit are in force when the app is started from the root of the repository."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
READ_OPTIONS = """
import json, sys
from streamlit import config
config._main_script_path = sys.argv[1]
config.get_config_options(force_reparse=True)
print(json.dumps({name: config.get_option(name) for name in sys.argv[2:]}))
"""
EXPECTED = {
    "server.address": "localhost",
    "server.enableXsrfProtection": True,
    "server.enableCORS": True,
    "server.maxUploadSize": 64,
    "server.fileWatcherType": "none",
    "runner.postScriptGC": False,
    "client.toolbarMode": "minimal",
    "client.showErrorDetails": "type",
    "browser.gatherUsageStats": False,
    "theme.baseFontSize": 14,
    "theme.baseRadius": "8px",
}


@pytest.mark.parametrize("started", ["in the checkout", pytest.param("elsewhere", marks=pytest.mark.long)])
def test_each_option_is_in_force(started: str, tmp_path: Path) -> None:
    """Wherever it is started, a Streamlit process sees for the entry script what the repository sets."""
    done = subprocess.run(
        [sys.executable, "-c", READ_OPTIONS, str(ROOT / "app" / "streamlit_app.py"), *EXPECTED],
        cwd=ROOT if started == "in the checkout" else tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == EXPECTED
