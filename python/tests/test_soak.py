"""Contract: a shielded batch does not grow, and who grows is noticed."""

import importlib.util
from pathlib import Path

spec = importlib.util.spec_from_file_location("soak", Path(__file__).resolve().parents[1] / "soak.py")
assert spec is not None and spec.loader is not None
soak = importlib.util.module_from_spec(spec)
spec.loader.exec_module(soak)


def test_a_short_soak_is_sound():
    seen = soak.soak("merge-v0", 3000, 32, 0.01, every=0.02)
    # Enough looks after the first tenth for growth to show.
    assert seen[-1][0] >= 3000 and sum(done >= 300 for done, *_ in seen) >= 3
    assert soak.verdict(seen, 3000) is None


def test_a_leak_and_a_thread_are_noticed():
    steady = [(episodes, 100.0, 4) for episodes in range(0, 1001, 100)]
    assert soak.verdict(steady, 1000) is None
    leak = [(episodes, 100.0 + episodes / 50, 4) for episodes in range(0, 1001, 100)]
    assert "memory grew by 18.0 MiB" in soak.verdict(leak, 1000)
    assert "threads" in soak.verdict([*steady, (1001, 100.0, 5)], 1000)
