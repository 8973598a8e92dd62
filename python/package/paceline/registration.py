"""Built-in scenarios as environments of Gymnasium: `gymnasium.make("paceline/many-to-one-16-v0")`."""

from __future__ import annotations


def register() -> None:
    """Tell Gymnasium of them, where it is installed."""
    try:
        import gymnasium
    except ImportError:
        return
    from ._native import scenarios

    for scenario in scenarios():
        gymnasium.register(
            id=f"paceline/{scenario['name']}-v0",
            entry_point="paceline.gym:Env",
            vector_entry_point="paceline.gym:VectorEnv",
            kwargs={"scenario": scenario["name"]},
        )
