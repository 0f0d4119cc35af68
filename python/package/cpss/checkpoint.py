"""How does the learning of a risk stop and go on?

A :class:`Checkpoint` is one file with all that was seen and learned up to the end of a round. It is written beside and moved
into place, so that a run killed at any moment finds a whole one. Calibration is played again: it follows from the rest.
"""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from cpss import _native
from cpss.risk import write_whole


class Checkpoint:
    """Where a run is kept."""

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        self.path, self._settings = path, json.dumps(settings, sort_keys=True)
        if not path.parent.is_dir():
            raise ValueError(f"`checkpoint` is {str(path)!r}, but there is no folder {str(path.parent)!r}")

    def write(self, run: Any) -> None:
        """Keeps a run."""
        states, points = run.learner.state()
        numbers, actions, nexts = run.learner.experience()
        arrays = {"numbers": numbers, "actions": actions, "nexts": nexts, "mean": run.scale[0], "factor": run.scale[1]}
        arrays["counters"] = np.array([run.round, points, *(count for *_, counters in states for count in counters)], np.uint64)
        arrays["lengths"] = np.array(run.lengths)
        for place, (critic, target, moments, _) in enumerate(states):
            arrays.update({f"critic{place}": critic, f"target{place}": target, f"moments{place}": moments})
        for place, model in enumerate(run.kept):
            arrays[f"kept{place}"] = np.frombuffer(model.to_bytes(""), np.uint8)
        arrays["settings"] = np.frombuffer(self._settings.encode(), np.uint8)
        file = io.BytesIO()
        np.savez(file, **arrays)
        write_whole(self.path, file.getvalue())

    def resume(self, run: Any) -> bool:
        """Goes on from the file; False if there is none.

        Raises:
            ValueError: if it is of another run, or damaged.
        """
        if not self.path.exists():
            return False
        try:
            with np.load(self.path, allow_pickle=False) as found:
                arrays = {name: found[name] for name in found.files}
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            raise ValueError(f"{self.path}: this is no checkpoint ({error}); delete it to start again") from None
        settings = bytes(arrays["settings"]).decode()
        if settings != self._settings:
            raise ValueError(f"{self.path}: the run was begun with other settings, {settings}; delete it to start again")
        counters = arrays["counters"].tolist()
        run.round, points = int(counters[0]), int(counters[1])
        run.scale = arrays["mean"], arrays["factor"]
        run.learner.set_scale(*run.scale)
        run.learner.add_experience(arrays["numbers"], arrays["actions"], arrays["nexts"])
        states = [
            (arrays[f"critic{place}"], arrays[f"target{place}"], arrays[f"moments{place}"], counters[2 + 2 * place : 4 + 2 * place])
            for place in range((len(counters) - 2) // 2)
        ]
        run.learner.restore(states, points)
        run.lengths = arrays["lengths"].tolist()
        kept = [arrays[name] for name in sorted(arrays) if name.startswith("kept")]
        run.kept = [_native.RiskModel.from_bytes(model.tobytes())[0] for model in kept]
        return True

    def remove(self) -> None:
        """The run is done."""
        self.path.unlink(missing_ok=True)
