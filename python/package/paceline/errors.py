"""Exceptions of Paceline. Their texts are those of the command line."""

from __future__ import annotations

# Number of problems in the message; `problems` has all.
_TOLD = 20


class PacelineError(Exception):
    """Base class of all exceptions."""


class ScenarioError(PacelineError, ValueError):
    """A scenario or a setting is wrong: one line per problem, with its place and the expected value."""

    problems: list[str]

    def __init__(self, problems: list[str]) -> None:
        self.problems = list(problems)
        lines = self.problems[:_TOLD]
        if len(self.problems) > _TOLD:
            lines.append(f"and {len(self.problems) - _TOLD} more errors")
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[type[ScenarioError], tuple[list[str]]]:
        return type(self), (self.problems,)


class ArgumentError(PacelineError, ValueError):
    """Arguments are wrong, or conflict with existing files."""


class RunError(PacelineError, RuntimeError):
    """A run failed, or its results could not be written."""


class InternalError(PacelineError, RuntimeError):
    """An internal error of Paceline."""
