"""What Paceline's calls raise. The texts are those of the command line."""

from __future__ import annotations

# Problems of a scenario that are told one by one; all are in `problems`.
_TOLD = 20


class PacelineError(Exception):
    """Whatever goes wrong."""


class ScenarioError(PacelineError, ValueError):
    """A scenario, or what changes it, is wrong: a line per problem, with its place and what was expected."""

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
    """Arguments are wrong, or do not fit what is there."""


class RunError(PacelineError, RuntimeError):
    """A run failed, or what it gave could not be written."""


class InternalError(PacelineError, RuntimeError):
    """A fault of Paceline, not of its input."""
