"""Contract: a sweep does the work of `cpss run`, and its bytes do not depend on who did it: one machine, many
threads, or Ray's workers, of which one may be killed."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import cpss

ROOT = pathlib.Path(__file__).resolve().parents[2]

PLAN = {
    "tasks": ["merge-v0", "intersection-v0"],
    "regimes": ["stationary", "high"],
    "arms": ["dqn", "cpss"],
    "policies": [0, 1],
    "episodes": 6,
    "budgets": [],
    "thresholds": [],
}


def bytes_below(folder):
    """Every file's bytes, but for the day that a report was made on: midnight may come between two."""
    files = sorted(path for path in pathlib.Path(folder).rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): re.sub(rb"20\d\d-\d\d-\d\d", b"DAY", path.read_bytes()) for path in files}


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The plan, done by one thread of one machine."""
    out = tmp_path_factory.mktemp("alone")
    records = cpss.sweep(PLAN, out, threads=1)
    return records, bytes_below(out)


def test_a_plan_may_be_a_file(alone, tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text("".join(f"{key} = {value!r}\n" for key, value in PLAN.items()))
    assert cpss.sweep(plan, tmp_path / "out") == alone[0]
    made = bytes_below(tmp_path / "out")
    # Only the report differs: it says by which command it is made again.
    assert {name for name in made if made[name] != alone[1][name]} == {"report.html"}
    assert f"cpss reproduce --plan {plan}".encode() in made["report.html"]


@pytest.fixture(scope="module")
def command():
    """The `cpss` command of this very tree, which a later stage of the gate builds anyway."""
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "cpss"], cwd=ROOT, check=True, timeout=900)
    return ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release" / "cpss"


def test_a_sweep_is_what_the_command_makes(alone, command, tmp_path):
    """Records, tables, figures and traces, byte for byte; the report tells of another command."""
    plan = tmp_path / "plan.toml"
    plan.write_text("".join(f"{key} = {value!r}\n" for key, value in PLAN.items()))
    for arguments in (["run", "--shard", "0/2", "--out", "a"], ["run", "--shard", "1/2", "--out", "b"], ["merge", "--out", "all", "a", "b"]):
        subprocess.run([command, arguments[0], "--plan", plan, *arguments[1:]], cwd=tmp_path, check=True, timeout=120, capture_output=True)
    made = bytes_below(tmp_path / "all")
    assert made.keys() == alone[1].keys()
    assert {name for name in made if made[name] != alone[1][name]} == {"report.html"}


@pytest.fixture(scope="module")
def local_ray():
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


def test_a_sweep_has_records_and_tables(alone):
    records, files = alone
    assert len(records) == 16 and all(len(record["episodes"]) == 6 for record in records)
    assert sum(name.startswith("records/") for name in files) == 16
    assert any(name.endswith(".md") for name in files) and any(name.endswith(".svg") for name in files)


def test_threads_change_no_byte_and_what_is_done_is_not_done_again(alone, tmp_path):
    assert cpss.sweep(PLAN, tmp_path / "out", threads=2) == alone[0]
    assert bytes_below(tmp_path / "out") == alone[1]
    record = next((tmp_path / "out" / "records").glob("merge-v0_high_cpss_0_*.json"))
    others = {path: path.stat().st_mtime_ns for path in record.parent.iterdir() if path != record}
    record.write_bytes(record.read_bytes()[:-40])
    cpss.sweep(PLAN, tmp_path / "out")
    assert bytes_below(tmp_path / "out") == alone[1]
    assert {path: path.stat().st_mtime_ns for path in others} == others


def own_processes():
    """This process and those it started."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
    own = {os.getpid()}
    while more := {process for process, parent in parents.items() if parent in own} - own:
        own |= more
    return own


def listening():
    """The addresses on which this process and those it started listen, in the kernel's hexadecimal."""
    sockets = set()
    for process in own_processes():
        try:
            sockets |= {os.readlink(link) for link in pathlib.Path(f"/proc/{process}/fd").iterdir()}
        except OSError:
            continue
    rows = [row.split() for name in ("tcp", "tcp6") for row in pathlib.Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return {row[1].split(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets}


def test_a_local_ray_answers_nobody_else(local_ray):
    addresses = listening()
    assert addresses, "nobody listens: nothing was tested"
    assert addresses <= {"0100007F", "0" * 16 + "FFFF00000100007F", "0" * 24 + "01000000"}


def test_ray_changes_no_byte(alone, local_ray, tmp_path):
    assert cpss.sweep(PLAN, tmp_path, engine="ray") == alone[0]
    assert bytes_below(tmp_path) == alone[1]


def busy_workers():
    """Processes of our own Ray that are doing a unit, by what they call themselves."""
    busy = []
    for process in own_processes():
        try:
            title = pathlib.Path(f"/proc/{process}/cmdline").read_bytes()
        except OSError:
            continue
        if title.startswith(b"ray::_native_run"):
            busy.append(process)
    return busy


def test_a_killed_worker_loses_nothing(local_ray, tmp_path):
    plan = {**PLAN, "tasks": ["merge-v0"], "regimes": ["stationary"], "policies": [0, 1], "episodes": 500}
    wanted = cpss.sweep(plan, tmp_path / "alone")
    killed = []

    def kill_one():
        deadline = time.monotonic() + 60
        while not killed and time.monotonic() < deadline:
            for worker in busy_workers()[:1]:
                os.kill(worker, signal.SIGKILL)
                killed.append(worker)
            time.sleep(0.002)

    killer = threading.Thread(target=kill_one)
    killer.start()
    got = cpss.sweep(plan, tmp_path / "ray", engine="ray")
    killer.join()
    assert killed, "no worker was caught at work: nothing was tested"
    assert got == wanted and bytes_below(tmp_path / "ray") == bytes_below(tmp_path / "alone")


def test_mistakes_are_named(tmp_path):
    for plan, word in [
        ({**PLAN, "task": ["merge-v0"]}, "task"),
        ({**PLAN, "tasks": ["parking-v0"]}, "parking-v0"),
        ({**PLAN, "regimes": ["wild"]}, "wild"),
        ({**PLAN, "arms": ["shield"]}, "shield"),
        (tmp_path / "absent.toml", "absent.toml"),
    ]:
        with pytest.raises(ValueError, match=word):
            cpss.sweep(plan, tmp_path)
    with pytest.raises(ValueError, match="'slurm'"):
        cpss.sweep(PLAN, tmp_path, engine="slurm")
    with pytest.raises(ValueError, match="threads"):
        cpss.sweep(PLAN, tmp_path, threads=0)


def test_a_unit_that_fails_fails_the_sweep(local_ray, tmp_path):
    with pytest.raises(Exception, match="builtin:9|policy"):
        cpss.sweep({**PLAN, "policies": [9]}, tmp_path, engine="ray")


#: More work than anybody waits for, in units that are soon done.
LONG = {**PLAN, "tasks": ["merge-v0"], "arms": [f"cpss:{number / 1000}" for number in range(2, 1000)], "frontier_episodes": 50}


def begun(out, code=f"import sys, cpss; cpss.sweep({LONG!r}, sys.argv[1], threads=1)"):
    """A sweep in a process of its own, at work."""
    # What a script starts in the background ignores Ctrl-C, and so would what that starts.
    heeds_ctrl_c = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    process = subprocess.Popen([sys.executable, "-c", code, str(out)], stderr=subprocess.PIPE, text=True, **heeds_ctrl_c)
    deadline = time.monotonic() + 60
    while not list(out.glob("records/*.json")):
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.01)
    return process


def test_regression_a_folder_is_one_sweeps_at_a_time(command, tmp_path):
    out = tmp_path / "out"
    first = begun(out)
    try:
        with pytest.raises(ValueError, match=rf"out is in use by process {first.pid} \(`cpss.sweep"):
            cpss.sweep({**LONG, "arms": ["dqn"]}, out)
        plan = tmp_path / "plan.toml"
        plan.write_text("".join(f"{key} = {value!r}\n" for key, value in PLAN.items()))
        second = subprocess.run([command, "reproduce", "--plan", plan, "--out", out], capture_output=True, text=True, timeout=60)
        assert second.returncode == 1 and f"in use by process {first.pid}" in second.stderr
    finally:
        first.kill()
        first.communicate()
    # Killed, it blocks nobody; and who ends well, or badly, lets go.
    small = {**PLAN, "tasks": ["merge-v0"], "regimes": ["stationary"], "arms": ["dqn"], "policies": [0], "episodes": 1}
    cpss.sweep(small, out)
    (out / "tables.md").unlink()
    (out / "tables.md").mkdir()
    with pytest.raises(ValueError, match="tables.md"):
        cpss.sweep(small, out)
    assert not (out / ".lock").exists()


def test_regression_an_interrupted_sweep_stops_and_keeps_what_is_done(tmp_path):
    out = tmp_path / "out"
    process = begun(out)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=180)
    assert process.returncode != 0 and said.rstrip().endswith("KeyboardInterrupt")
    done = list(out.glob("records/*.json"))
    assert 0 < len(done) < 1000 and not (out / ".lock").exists() and not (out / "tables.md").exists()


def test_regression_a_dictionary_may_say_all_that_a_file_may(tmp_path):
    """Policies made elsewhere are a table in it; ranges, paths and NumPy's numbers are what they hold."""
    cpss.load_policy("merge-v0", 1).save(tmp_path / "own \N{SNOWMAN}.safetensors")
    plan = {**PLAN, "tasks": ("merge-v0",), "regimes": ["stationary"], "arms": ["dqn"], "policies": range(1), "episodes": np.int64(2)}
    own = {"merge-v0": {"files": [tmp_path / "own \N{SNOWMAN}.safetensors"], "config": {"observation": {"type": "Kinematics"}}}}
    (mine,) = cpss.sweep({**plan, "own": own}, tmp_path / "mine")
    (shipped,) = cpss.sweep({**plan, "policies": np.array([1])}, tmp_path / "shipped")
    assert mine["episodes"] == shipped["episodes"]
