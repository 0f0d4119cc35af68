"""What did a step really cost, and was it an incident?

Both are told by somebody who may be wrong: a function of the user's, the environment's ``info``, or a scene that may not be
readable. What cannot be told counts as the worst.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cpss.driving import Driver
from cpss.learned import Learned
from cpss.situation import ROUNDING, apart, in_words, info_apart, is_usable, number_of


def what_it_cost(observed: Callable | None, env: Any, observation: Any, terminated: bool, info: dict, predicted: float) -> tuple[float, dict[str, str]]:
    """What a step cost, and what is wrong with that; what cannot be told is charged as the worst.

    Args:
        observed: Who says so; if nobody, ``info["cost"]`` does, and otherwise what was predicted.
        env, observation, terminated, info: What it is told.
        predicted: What was predicted, where nothing else is asked for.
    """
    try:
        if observed is not None:
            cost = number_of(observed(env, apart(observation), terminated, info_apart(info)))
        elif "cost" in info:
            cost = number_of(info["cost"])
        else:
            # Nobody is to blame for this one but the prediction, of which there is a warning already.
            return predicted, {} if is_usable(predicted) else {"predicted": f"unusable-observation: {predicted}"}
    except Exception as error:
        return np.nan, {"observed": f"unusable-observation: {in_words(error)}"}
    if not is_usable(cost):
        return cost, {"observed": f"unusable-observation: {cost}"}
    return cost, {"scale": f"observed-above-1: {cost}"} if cost > 1.0 + ROUNDING else {}


def has_happened(learned: Learned, *outcome: Any) -> tuple[bool, dict[str, str]]:
    """Whether what must not happen has happened; what cannot be told is taken for an incident."""
    observation, *others, info = outcome
    try:
        return learned.incident(apart(observation), *others, info_apart(info)), {}
    except Exception as error:
        return True, {"incident": f"unusable-incident: {in_words(error)}"}


def closeness(driver: Driver, terminated: bool) -> float:
    """How close the ego is to anything now; in a scene that cannot be read, as close as can be."""
    try:
        return driver.closeness(terminated)
    except Exception:
        return 1.0


def incident_of(driver: Driver) -> bool:
    """Whether the episode has ended in an incident; in a scene that cannot be read, it has."""
    try:
        return driver.incident()
    except Exception:
        return True


def what_else_ran(driver: Driver, before: float, info: dict, executed: Any) -> str:
    """What ran in a driving task besides the one action that was judged, in words; empty if nothing did."""
    found = info.get("action", executed)
    if not (found == executed if type(found) is int else np.array_equal(found, executed)):
        return f"another-action-ran: {found}"
    ran = driver.decisions() - before
    # An episode's end may cut the last decision short.
    return f"unjudged-decisions-ran: {ran:.0f} instead of one" if ran > 1.5 else ""
