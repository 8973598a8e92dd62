"""Common parts of the Gymnasium and PettingZoo environments."""

from __future__ import annotations

import importlib
from typing import Any

from . import Environment
from .errors import ArgumentError


def needs(module: str, what: str) -> None:
    """Import an optional dependency, or raise an error that names it."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        message = f"{what} needs the package `{module}`, which is not installed: pip install {module}"
        raise ModuleNotFoundError(message, name=module) from None


def count_elsewhere(keywords: dict[str, Any], where: str) -> None:
    """The number of runs is not a keyword here."""
    for key in ("num_envs", "environments", "n_envs"):
        if key in keywords:
            raise ArgumentError(f"`{key}` is no argument here: {where}")


def aligned(scenario: Any, *, interval: str = "10us", **keywords: Any) -> Environment:
    """An environment whose flows ask at the multiples of `interval`: a step is one of them."""
    changes = dict(keywords.pop("set", None) or {})
    for key in ("cc.external.clock", "cc.external.interval"):
        if key in changes:
            raise ArgumentError(f"set: `{key}` is what a step is; expected `interval`")
    changes["cc.external.clock"] = "aligned"
    changes["cc.external.interval"] = interval
    return Environment(scenario, set=changes, **keywords)
