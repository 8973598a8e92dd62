"""Built-in scenarios as environments of Gymnasium: `gymnasium.make("paceline/many-to-one-16-v0")`."""

from __future__ import annotations


def register() -> None:
    """Called by Gymnasium when it is imported, which puts `paceline/` before the names."""
    import gymnasium

    from . import scenarios

    for scenario in scenarios():
        gymnasium.register(
            id=f"{scenario['name']}-v0",
            entry_point="paceline.gym:Env",
            vector_entry_point="paceline.gym:VectorEnv",
            kwargs={"scenario": scenario["name"]},
        )
