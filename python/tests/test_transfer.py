"""Contract: the comparison with highway-env itself finds that episodes agree, and finds it when they do not."""

import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "transfer.py"

spec = importlib.util.spec_from_file_location("transfer", SCRIPT)
transfer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(transfer)


def test_shielded_episodes_of_the_original_are_ours(tmp_path):
    document = tmp_path / "report.md"
    document.write_text("before\n<!-- transfer: begin -->\nold\n<!-- transfer: end -->\nafter\n")
    command = [sys.executable, SCRIPT, "--task", "merge-v0", "--episodes", "5", "--cache", tmp_path / "cache", "--write", document]
    for _ in range(2):  # the second time from what was kept
        run = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert run.returncode == 0, run.stdout + run.stderr
        assert "| merge-v0 | 5 | 5 | 0 | 0 |" in run.stdout
    text = document.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "| 5 | 5 |" in text and "old" not in text


def test_what_another_build_kept_is_played_again_unless_it_is_adopted(tmp_path):
    def run(*arguments):
        command = [sys.executable, SCRIPT, "--task", "merge-v0", "--episodes", "5", "--cache", tmp_path, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "| merge-v0 | 5 | 5 |" in run()
    places = sorted(tmp_path.glob("*.json"))
    assert len(places) == 5
    fresh = places[0].read_text()
    # As an older build would have kept it, with other numbers in it that no comparison looks at.
    old = {**json.loads(fresh), "fingerprint": "of another build", "refused": -7}
    places[0].write_text(json.dumps(old))
    places[1].write_text(json.dumps({key: value for key, value in json.loads(places[1].read_text()).items() if key != "fingerprint"}))
    assert "| merge-v0 | 3 | 3 |" in run("--kept")
    adopted = run("--kept", "--adopt", "merge-v0")
    assert "| merge-v0 | 5 | 5 |" in adopted and "merge-v0: 2 of highway-env's episodes" in adopted
    assert "--adopt merge-v0`" in adopted and json.loads(places[0].read_text()) == old
    assert "adopted" not in run()
    assert places[0].read_text() == fresh


def episode(**changes):
    return {"actions": [1, 3, 0], "rewards": [0.5, 0.25, 1.0], "refused": 1, "terminated": True, "crashed": False, **changes}


@pytest.mark.parametrize(
    "changes, word",
    [
        ({"actions": [1, 3, 1]}, "step 2: action"),
        ({"rewards": [0.5, 0.25 + 2e-6, 1.0]}, "step 1: rewards"),
        ({"rewards": [0.5, float("nan"), 1.0]}, "step 1: rewards"),
        ({"rewards": [0.5 + 8e-7, 0.25 + 8e-7, 1.0]}, "returns differ"),
        ({"actions": [1, 3], "rewards": [0.5, 0.25]}, "2 steps, upstream 3"),
        ({"terminated": False}, "end differently"),
        ({"crashed": True}, "end differently"),
    ],
)
def test_every_kind_of_difference_is_found(changes, word):
    assert transfer.first_difference(episode(), episode()) is None
    assert transfer.first_difference(episode(rewards=[0.5, 0.25 + 5e-7, 1.0]), episode()) is None
    assert word in transfer.first_difference(episode(**changes), episode())[1]


def test_an_ordinary_episode_is_not_called_undecided(fresh_process):
    assert fresh_process(ordinary) is None


def ordinary():
    """An episode that agrees, and of which it is claimed that ours went another way at step 3."""
    import highway_env  # noqa: F401

    import cpss

    policy = cpss.load_policy("merge-v0")
    theirs = transfer.play(transfer.make("merge-v0", policy), policy, 8123, 4)
    ours = {**theirs, "actions": [*theirs["actions"][:3], (theirs["actions"][3] + 1) % 5]}
    return transfer.why_undecided("merge-v0", policy, 8123, ours, theirs, 3)
