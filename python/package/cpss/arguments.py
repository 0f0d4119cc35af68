"""What may an environment be told, and what is refused?

Whatever a user passes in is read here, once: whole numbers, seeds, options, configs, actions. What cannot be used is a
``ValueError`` that names the argument and its value; NumPy's numbers count as numbers, and what is masked does not.
"""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from cpss import _native


def whole(name: str, value: Any, least: int) -> int:
    """A whole number, of whatever type."""
    try:
        number = operator.index(unmasked(value))
    except TypeError:
        raise ValueError(f"`{name}` is {value!r}, but has to be a whole number") from None
    if number < least:
        raise ValueError(f"`{name}` is {number}, but has to be at least {least}")
    return number


def check_options(options: Any) -> None:
    """Whether these are options of a ``reset``."""
    if options is not None and not isinstance(options, Mapping):
        raise ValueError(f"`options` is {options!r}, but has to be a dictionary")


def config_of(config: dict | None) -> dict:
    """A config as a dictionary of our own."""
    if config is not None and not isinstance(config, Mapping):
        raise ValueError(f"`config` is {config!r}, but has to be a dictionary")
    return dict(config or {})


def config_json(config: dict) -> str:
    """A config as JSON; NumPy's numbers and arrays are taken for what they hold."""

    def plain(value):
        if isinstance(value, (np.generic, np.ndarray)):
            return value.tolist()
        raise TypeError(f"a config cannot hold {value!r}")

    try:
        return json.dumps(config, default=plain, allow_nan=False)
    except TypeError as error:
        raise ValueError(f"`config`: {error}") from None
    except RecursionError:
        raise ValueError("`config` is nested too deeply") from None
    except ValueError as error:
        if "Circular" in str(error):
            raise ValueError("`config` holds itself") from None
        raise ValueError(f"a config cannot hold NaN or infinity, but is {config!r}") from None


Window = tuple[tuple[int, int], float, tuple[float, float]]


def window(usual: Window, config: dict) -> Window:
    """Size, scale and centre of a task's pictures, by upstream's keys; what they leave out is as usual."""
    (width, height), scaling, centering = usual
    keys = ("screen_width", "screen_height", "centering_position", "scaling")
    try:
        size = (int(config.get("screen_width", width)), int(config.get("screen_height", height)))
        x, y = config.get("centering_position", centering)
        scale = float(config.get("scaling", scaling))
        if min(size) < 1:
            raise ValueError
        return size, scale, (float(x), float(y))
    except (TypeError, ValueError, OverflowError):
        given = {key: config[key] for key in keys if key in config}
        raise ValueError(f"there can be no picture by {given}: a size is at least 1, a scale a number, a centre two of them") from None


def checked_seed(seed: int) -> int:
    """A seed that the world can take."""
    if whole("seed", seed, 0) >= 2**64:
        raise ValueError(f"`seed` is {seed}, but has to be at least 0 and below 2**64")
    return operator.index(seed)


def unmasked(value: Any) -> Any:
    """The same, unless a mask says that it is none: NumPy would bring to light what is under it.

    Raises:
        TypeError: for what is masked.
    """
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise TypeError("it is masked")
    return value


def real_numbers(values: Any, dtype: Any) -> np.ndarray:
    """Numbers as an array that nobody else has.

    Raises:
        TypeError: for what is masked, and for texts, times and complex numbers, of which NumPy would make numbers as well.
        ValueError: for what is no array.
        OverflowError: for a number that is too large for any.
    """
    found = unmasked(np.asanyarray(values))
    if found.dtype.kind not in "biufO":
        raise TypeError(f"{found.dtype} is no kind of real numbers")
    return np.array(found, dtype, subok=False)


def as_index(action, space: spaces.Discrete) -> int:
    """A discrete action as an index from 0."""
    first, last = int(space.start), int(space.start + space.n - 1)
    try:
        chosen = operator.index(unmasked(action))
    except TypeError:
        raise ValueError(f"the action is {action!r}, but has to be an integer from {first} to {last}") from None
    if not first <= chosen <= last:
        raise ValueError(f"the action is {chosen}, but has to be from {first} to {last}")
    return chosen - first


def as_point(action, space: spaces.Box) -> np.ndarray:
    """A continuous action as an array of single-precision numbers."""
    try:
        point = real_numbers(action, np.float32)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"the action is {action!r}, but has to be {space.shape[0]} numbers") from None
    if point.shape != space.shape:
        raise ValueError(f"the action has the shape {point.shape}, but has to have {space.shape}")
    return point


def conditions_of(regime: Any, sensor: Any) -> _native.Conditions:
    """How traffic drifts, and through which eyes it is seen."""
    return _native.Conditions(name_or_path("regime", regime), name_or_path("sensor", sensor))


def name_or_path(what: str, given: Any) -> str:
    """The name of a built-in regime or sensor, or the path of a ``.toml`` file."""
    name = os.fspath(given) if isinstance(given, (str, os.PathLike)) else None
    if not isinstance(name, str):
        raise ValueError(f"`{what}` is {given!r}, but has to be the name of a {what}, or the path of a .toml file")
    return name
