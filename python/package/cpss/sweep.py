"""How is a whole experiment run, here or on many machines?

:func:`sweep` does the work units of a plan, the same ones as ``cpss run``, with one of two engines. A unit
is a pure function of itself, so it does not matter who does it: a finished record is kept at once, an
interrupted sweep goes on where it was, and what is made of the records is the same to the last byte.

Absent on purpose: any state in the workers. One that is killed has lost one unit's work, which another
does again.
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from cpss import _native
from cpss.arguments import whole

#: How often a unit whose worker died is given to another.
RETRIES = 5


def sweep(
    plan: str | os.PathLike | dict[str, Any],
    out: str | os.PathLike = "out",
    engine: str = "local",
    *,
    threads: int | None = None,
) -> list[dict[str, Any]]:
    """Runs a plan, and returns the records of its units in the plan's order.

    Args:
        plan: What differs from the paper's experiment: the path of a TOML file, or a dictionary of the
            same keys (``tasks``, ``regimes``, ``arms``, ``policies``, ``episodes``, ...; see ``cpss run --help``).
        out: Folder for records, tables, figures, traces and the report: what ``cpss merge`` makes of the same
            plan, byte for byte, but for ``report.html``, which says by what it is made again.
        engine: ``"local"``, or ``"ray"`` to give each unit to a Ray worker. A Ray that is running (or
            that ``RAY_ADDRESS`` names) is used, otherwise one is started on this machine.
        threads: How many threads a machine uses, or on Ray a unit; all of them, or on Ray one, if left out. Ray
            waits for a machine that has as many, for ever if there is none.

    A folder that another sweep, or ``cpss reproduce``, is at work in is a ``ValueError`` with its name. Ctrl-C stops when the
    units under way are done, whose records are kept; a second one does not wait for them.

    A unit travels to Ray's workers as text. If its regime is a file, only the path travels: the file has to be in the
    same place on every machine.

    >>> import tempfile
    >>> plan = {"tasks": ["merge-v0"], "regimes": ["stationary"], "arms": ["dqn", "cpss"],
    ...         "policies": [0], "episodes": 2, "budgets": [], "thresholds": []}
    >>> with tempfile.TemporaryDirectory() as out:
    ...     records = cpss.sweep(plan, out)
    >>> [record["unit"]["arm"] for record in records]
    ['dqn', 'cpss']
    """
    if engine not in ("local", "ray"):
        raise ValueError(f"`engine` is {engine!r}, but has to be 'local' or 'ray'")
    if threads is not None:
        threads = whole("threads", threads, 1)
    if not isinstance(out, (str, os.PathLike)) or not os.fspath(out):
        raise ValueError(f"`out` is {out!r}, but has to be the path of a folder")
    with tempfile.TemporaryDirectory() as folder:
        if not isinstance(plan, (dict, str, os.PathLike)):
            raise ValueError(f"`plan` is {plan!r}, but has to be a dictionary or the path of a TOML file")
        path = Path(plan) if not isinstance(plan, dict) else written(plan, Path(folder) / "plan.toml")
        command = "cpss.sweep(plan)" if isinstance(plan, dict) else f"cpss reproduce --plan {path}"
        units = units_of(path, is_file=not isinstance(plan, dict))
        out = Path(out)
        with closing(_native.FolderLock(out, command)):
            if engine == "ray":
                share_out(_native.unfinished(out, units), out, threads or 1)
            # Does nothing for units that are done, so this is the whole work of the local engine and none of
            # Ray's.
            _native.finish(path, out, threads or os.cpu_count() or 1, command)
            places = [out / "records" / f"{name_of(unit)}.json" for unit in units]
            return [json.loads(place.read_text()) for place in places]


def units_of(path: Path, is_file: bool) -> list[str]:
    """The units of a plan, of which there is at least one, with at least one episode each.

    Raises:
        ValueError: for a plan that makes no sense, or that has nothing to do.
    """
    try:
        units = _native.plan_units(path)
    except ValueError as error:
        # Who gave a dictionary knows nothing of the file that was made of it.
        raise ValueError(str(error) if is_file else str(error).replace(f"the plan {path}", "the plan")) from None
    if not units:
        raise ValueError("the plan has nothing to do: one of `tasks`, `regimes`, `arms` and `policies` is empty")
    for unit in map(json.loads, units):
        if unit["episodes"] < 1:
            raise ValueError(f"the plan has no episodes for {unit['task']}, {unit['arm']}: `episodes` has to be at least 1")
    return units


def share_out(units: list[str], out: Path, threads: int) -> None:
    """Has units done by Ray's workers, and keeps each record as it comes in."""
    if "RAY_ADDRESS" not in os.environ:
        # A Ray that is started here is for this machine, and answers nobody else. Ray reads this when it is
        # imported; the name is from the systems on which it is the default.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    try:
        import ray
    except ImportError as error:
        raise ImportError("engine='ray' needs Ray: pip install 'cpss[ray]'") from error
    started = not ray.is_initialized()
    if started:
        ray.init(include_dashboard=False, log_to_driver=False)
    try:
        work = ray.remote(num_cpus=threads, max_retries=RETRIES)(_native_run)
        waiting = {work.remote(unit, threads): unit for unit in units}
        while waiting:
            done, _ = ray.wait(list(waiting), num_returns=1)
            for task in done:
                unit = waiting.pop(task)
                _native.keep_record(out, unit, ray.get(task))
    finally:
        if started:
            ray.shutdown()


def _native_run(unit: str, threads: int) -> bytes:
    """What a worker does: the unit travels to it, and the record back."""
    return _native.run_unit(unit, threads)


def written(plan: dict[str, Any], path: Path) -> Path:
    """A plan as a TOML file.

    Raises:
        ValueError: for a value that no plan can hold.
    """
    path.write_text("".join(f"{toml(str(key))} = {toml(value)}\n" for key, value in plan.items()), encoding="utf-8")
    return path


def toml(value: Any) -> str:
    """A text, a number, a list or a dictionary as TOML writes it."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(str(key))} = {toml(part)}" for key, part in value.items()) + "}"
    if isinstance(value, (list, tuple, range)):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, float):
        # NaN and infinity are lower case there.
        return repr(value)
    if isinstance(value, (str, bool, int)):
        # Texts as JSON writes them, but for what lies beyond 16 bits, and one more character that has to be escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    raise ValueError(f"a plan cannot hold {value!r}: texts, numbers, lists and dictionaries of these are possible")


def name_of(unit: str) -> str:
    """The name of a unit's record, as the lab has it."""
    parts = json.loads(unit)
    name = "_".join(str(parts[key]) for key in ("task", "regime", "arm", "policy", "first_seed", "episodes"))
    for character in "/\\:*":
        name = name.replace(character, "-")
    return name
