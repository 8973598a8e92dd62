"""Python's values as JSON, for the native module."""

from __future__ import annotations

import json
import os
from typing import Any


def _plain(value: Any) -> Any:
    """Numbers of numpy and its like, and paths."""
    if hasattr(value, "item"):
        return value.item()
    return os.fspath(value)


def dumps(value: Any) -> str:
    return json.dumps(value, default=_plain, allow_nan=False)
