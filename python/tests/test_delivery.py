"""Contract: the wheel alone is enough. It goes into an environment without Rust, brings the command, and what the schemas say is
what the program reads; without a wheel and without Rust an installation fails with one sentence."""

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import venv
from pathlib import Path

import gymnasium
import jsonschema
import pytest
from mcap.reader import make_reader

TOP = Path(__file__).resolve().parents[2]

#: Where `./check` leaves the wheel that it installed.
WHEELS = TOP / "target" / "delivery"


#: The only folder on the path: what `venv` and `pip` may ask for, and no compiler.
TOOLS = Path(tempfile.mkdtemp(prefix="no-rust-"))
for tool in ("sh", "env", "uname", "ldd"):
    if found := shutil.which(tool):
        (TOOLS / tool).symlink_to(found)


def run(*command, **more):
    """Runs a command without Rust on its path; returns what it printed."""
    # A distribution may have its own; nobody finds it through a folder of links to what a shell needs.
    environment = {**os.environ, "PATH": str(TOOLS), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment, timeout=300, **more)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """An environment with the wheel, from an index of our own, and with what the package depends on from here."""
    [wheel] = WHEELS.glob("cpss-*.whl")
    index = tmp_path_factory.mktemp("index")
    (index / "cpss").mkdir()
    (index / "cpss" / "index.html").write_text(f'<a href="{wheel.as_uri()}">{wheel.name}</a>')
    place = tmp_path_factory.mktemp("fresh")
    venv.create(place, with_pip=True)
    python = place / "bin" / "python"
    # Last on the path: the package itself must come from the wheel.
    site = Path(sysconfig.get_path("purelib", vars={"base": str(place), "platbase": str(place)}))
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    code, _, problem = run(python, "-m", "pip", "install", "--no-deps", "--ignore-installed", "--index-url", index.as_uri(), "cpss")
    assert code == 0, problem
    code, where, problem = run(python, "-c", "import cpss; print(cpss.__file__)")
    assert code == 0 and where.startswith(str(place)), where + problem
    return place / "bin"


def test_there_is_no_rust_where_the_wheel_is_tried(fresh):
    code, _, _ = run("/bin/sh", "-c", "command -v cargo")
    assert code != 0


def test_the_wheel_brings_the_command(fresh, tmp_path):
    code, version, _ = run(fresh / "cpss", "--version")
    assert code == 0 and version.startswith("cpss ")
    code, said, problem = run(fresh / "cpss", "evaluate", "--env", "merge-v0", "--episodes", "2", "--trace", "traces", cwd=tmp_path)
    assert code == 0, problem
    traces = sorted((tmp_path / "traces").glob("*.jsonl"))
    assert len(traces) == 2 and "collisions" in said
    code, said, problem = run(fresh / "cpss", "audit", *traces)
    assert code == 0 and said.count("sound:") == 2, problem
    # The exit status and the words for a mistake are the command's.
    code, _, problem = run(fresh / "cpss", "evaluate", "--env", "merge-v7")
    assert code == 2 and "merge-v7" in problem
    code, _, problem = run(fresh / "python", "-m", "cpss", "audit", tmp_path / "none.jsonl")
    assert code == 1 and "there is no such file" in problem


def test_the_quickstart_runs_from_the_wheel(fresh):
    code, said, problem = run(fresh / "python", TOP / "python" / "quickstart.py")
    assert code == 0, said + problem


def test_ctrl_c_ends_the_command(fresh, tmp_path):
    command = [fresh / "python", "-m", "cpss", "evaluate", "--env", "highway-v0", "--episodes", "100000"]
    # A shell's background job would have told it to ignore the signal.
    started = subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=tmp_path,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert started.stderr is not None
    assert started.stderr.read(1), "it never began"
    started.send_signal(signal.SIGINT)
    assert started.wait(timeout=30) != 0
    started.stderr.close()


def test_without_a_wheel_and_without_rust_there_is_one_sentence(tmp_path):
    code, said, problem = run(sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps", "--target", tmp_path, TOP / "python")
    assert code != 0
    assert "there is no wheel for this platform, and no Rust to build one: install Rust" in said + problem
    assert "Traceback" not in said + problem


def schema_of(kind):
    code, said, problem = run(Path(sys.executable).parent / "cpss", "schema", kind)
    assert code == 0, problem
    schema = json.loads(said)
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def shipped_files():
    for file in sorted((TOP / "experiments").glob("*.toml")):
        if file.name != "shield.toml":
            kind = "deploy" if "[[changes]]" in file.read_text() else "plan"
            yield "baselines" if file.stem == "baselines" else kind, file
    for file in sorted((TOP / "experiments" / "regimes").glob("*.toml")):
        yield "regime", file
    for file in sorted((TOP / "experiments" / "sensors").glob("*.toml")):
        yield "sensor", file
    for file in sorted((TOP / "tasks").glob("*/t*.toml")):
        yield file.stem, file


@pytest.mark.parametrize(("kind", "file"), [pytest.param(*both, id=str(both[1].relative_to(TOP))) for both in shipped_files()])
def test_every_shipped_file_is_as_its_schema_says(kind, file):
    schema_of(kind).validate(tomllib.loads(file.read_text()))


def test_a_shield_is_as_its_schema_says_and_a_misspelled_key_is_not():
    shield = tomllib.loads((TOP / "experiments" / "shield.toml").read_text())
    schema = schema_of("shield")
    # The shipped one is completed by each task.
    assert [problem.message for problem in schema.iter_errors(shield)] == ["'horizon' is a required property"]
    schema.validate({**shield, "horizon": 20})
    assert list(schema.iter_errors({**shield, "horizon": 20, "buget": 0.1}))
    assert list(schema_of("regime").iter_errors({"name": "mine", "peak": 1.0, "changes": 1, "ful": {}}))


def assert_viewers_make_a_type_of(schema, path):
    """Foxglove gives each field a type by its schema before it shows anything, and refuses the channel if it cannot."""
    kind = schema["type"]
    assert kind in ("object", "array", "string", "number", "integer", "boolean"), f"{path}: {kind}"
    if kind == "object":
        for name, field in schema["properties"].items():
            assert_viewers_make_a_type_of(field, f"{path}.{name}")
    if kind == "array":
        assert schema["items"]["type"] != "array", path
        assert_viewers_make_a_type_of(schema["items"], path)


def test_an_exported_trace_is_read_by_the_format_s_own_library(fresh, tmp_path):
    run(fresh / "cpss", "evaluate", "--env", "racetrack-v0", "--episodes", "1", "--method", "dqn", "--trace", "traces", cwd=tmp_path)
    [trace] = (tmp_path / "traces").glob("*.jsonl")
    code, said, problem = run(fresh / "cpss", "export", trace)
    assert code == 0, problem
    counts: dict[str, int] = {}
    with open(said.strip(), "rb") as file:
        reader = make_reader(file)
        validators = {}
        for schema, channel, message in reader.iter_messages():
            assert schema is not None
            if schema.id not in validators:
                assert_viewers_make_a_type_of(json.loads(schema.data), channel.topic)
                validators[schema.id] = jsonschema.Draft202012Validator(json.loads(schema.data))
            validators[schema.id].validate(json.loads(message.data))
            counts[channel.topic] = counts.get(channel.topic, 0) + 1
        [attachment] = reader.iter_attachments()
        assert attachment.data == trace.read_bytes()
        [metadata] = reader.iter_metadata()
        assert metadata.metadata["task"] == "racetrack-v0"
    decisions = len(trace.read_text().splitlines()) - 2
    assert counts == {"/road": 1, "/scene": decisions + 1, "/decision": decisions, "/certificate": 1}


def test_cart_pole_is_shielded_from_the_wheel(fresh, tmp_path):
    """What a new user does first: a risk from a few episodes, a shield around the environment, a certificate."""
    script = tmp_path / "cart.py"
    script.write_text(
        "import gymnasium as gym, cpss\n"
        "risk = cpss.learn_risk(lambda: gym.make('CartPole-v1', max_episode_steps=50), incident=lambda o, r, te, tr, i: te, steps=4000, seed=1)\n"
        "env = cpss.ShieldWrapper(gym.make('CartPole-v1', max_episode_steps=50), risk=risk, budget=0.05)\n"
        "env.reset(seed=1)\n"
        "print(env.step(0)[4]['shield']['verdict'], env.certificate()['steps'])\n"
    )
    code, said, problem = run(fresh / "python", script)
    assert code == 0, problem
    assert said.split()[-1] == "1"
    assert gymnasium.__version__
