"""The stubs tell what is there, and programs that use it are right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from conftest import ROOT

PYTHON = ROOT / "python"


def checked(module: str, *words: str) -> None:
    done = subprocess.run([sys.executable, "-m", module, *words], cwd=PYTHON, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubs_are_those_of_the_module() -> None:
    checked("mypy.stubtest", "paceline")


def test_examples_have_the_right_types(tmp_path: Path) -> None:
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nstrict = True\nignore_missing_imports = True\n")
    checked("mypy", "--config-file", str(config), "examples", "tests")
