"""Contract: a user chooses the critic by its name or its file; a file that is no critic is refused by its name and the
reason; and a critic travels with what it belongs to, whatever becomes of its file."""

import copy
import json
import pickle
import struct

import gymnasium as gym
import numpy as np
import pytest

import cpss
from cpss import _native


def shipped(task="merge-v0", name="drift"):
    """A shipped critic's file, as it is pickled when it was read from one."""
    import pathlib

    place = pathlib.Path(__file__).resolve().parents[2] / "tasks" / task / ("risk.safetensors" if name == "drift" else f"risk-{name}.safetensors")
    return place.read_bytes()


def unsealed(bytes):
    """The same file with its checksum under a name that nobody knows: the reader behind it is tried."""
    assert b"cpss-checksum" in bytes
    return bytes.replace(b"cpss-checksum", b"cpss-unsealed")


def bolder(bytes):
    """The same critic with all risks larger, so that it can be told apart."""
    bytes = unsealed(bytes)
    (length,) = struct.unpack("<Q", bytes[:8])
    header = json.loads(bytes[8 : 8 + length])
    header["__metadata__"]["shift"] = str(float(header["__metadata__"]["shift"]) + 3.0)
    card = json.loads(header["__metadata__"]["card"])
    card["calibration"]["shift"] += 3.0
    header["__metadata__"]["card"] = json.dumps(card)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + bytes[8 + length :]


@pytest.fixture
def file(tmp_path):
    place = tmp_path / "mine.safetensors"
    place.write_bytes(bolder(shipped()))
    return place


def risks(risk, seed=3):
    env = cpss.ShieldWrapper(gym.make("cpss/merge-v0"), risk=risk, mode="shadow")
    env.reset(seed=seed)
    return [env.step(3)[4]["shield"]["risk"] for _ in range(3)]


def batch_risks(risk, seed=3):
    envs = cpss.make_vec("merge-v0", 2, shield={"risk": risk, "mode": "shadow"})
    envs.reset(seed=[seed, seed])
    return [envs.step([3, 3])[4]["shield"]["risk"][1] for _ in range(3)]


def test_the_critic_is_the_one_that_was_chosen(file, tmp_path):
    assert risks(None) == risks("drift")
    same = tmp_path / "same.safetensors"
    same.write_bytes(shipped())
    assert risks(same) == risks(str(same)) == risks("drift")
    same.write_bytes(shipped(name="stationary"))
    assert risks(same) == risks("stationary")
    assert all(mine > theirs for mine, theirs in zip(risks(file), risks("drift")))
    for risk in ("drift", "stationary", file):
        np.testing.assert_allclose(batch_risks(risk), risks(risk), atol=1e-5)


def test_the_original_takes_a_critic_too(file):
    env = cpss.ShieldWrapper(gym.make("merge-v0", disable_env_checker=True), risk=file, mode="shadow")
    env.reset(seed=3)
    assert [env.step(3)[4]["shield"]["risk"] for _ in range(3)] == pytest.approx(risks(file), abs=1e-5)


@pytest.mark.parametrize("how", [copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))])
def test_a_critic_travels_and_its_file_may_be_gone(file, how):
    env = cpss.ShieldWrapper(gym.make("cpss/merge-v0"), risk=file)
    envs = cpss.make_vec("merge-v0", 2, shield={"risk": file})
    env.reset(seed=3), envs.reset(seed=3)
    file.unlink()
    np.testing.assert_equal(how(env).step(3)[4], env.step(3)[4])
    np.testing.assert_equal(how(envs).step([3, 3])[4], envs.step([3, 3])[4])
    assert len(pickle.dumps(_native.Critic("merge-v0", "drift"))) < 1000, "a shipped one travels by its name"


@pytest.mark.parametrize(
    "damage, reason",
    [
        (lambda bytes: bytes[:1000], "mine.safetensors: "),
        (lambda bytes: b"", "mine.safetensors: "),
        (lambda bytes: unsealed(bytes).replace(b"driving 1", b"driving 0"), "mine.safetensors: .*`driving 0`.*learn it anew"),
        (lambda bytes: bytes.replace(b"driving 1", b"driving 0"), "mine.safetensors: .*not those that were written"),
        (lambda bytes: bytes[:-99] + bytes[-99:].swapcase(), "mine.safetensors: .*not those that were written"),
        (lambda bytes: unsealed(bytes).replace(b"cpss critic 2", b"cpss critic 9"), "mine.safetensors: .*cpss critic 9"),
        (lambda bytes: unsealed(bytes)[:-4] + struct.pack("<f", np.nan), "mine.safetensors: "),
    ],
)
def test_a_damaged_critic_is_refused_by_name(tmp_path, damage, reason):
    place = tmp_path / "mine.safetensors"
    place.write_bytes(damage(shipped()))
    for make in (
        lambda: cpss.ShieldWrapper(gym.make("cpss/merge-v0"), risk=place),
        lambda: cpss.ShieldWrapper(gym.make("merge-v0", disable_env_checker=True), risk=str(place)),
        lambda: cpss.make_vec("merge-v0", 2, shield={"risk": place}),
    ):
        with pytest.raises(ValueError, match=f"`risk`: .*{reason}"):
            make()


def test_what_is_no_critic_is_refused_in_words(tmp_path):
    with pytest.raises(ValueError, match="cannot read the critic .*nowhere: No such file"):
        cpss.ShieldWrapper(gym.make("cpss/merge-v0"), risk=tmp_path / "nowhere")
    for wrong in (3, b"drift", "", ["drift"]):
        with pytest.raises(ValueError, match="`risk` is .* but has to be 'drift', 'sensed', 'stationary' or the path"):
            cpss.ShieldWrapper(gym.make("cpss/merge-v0"), risk=wrong)
        with pytest.raises(ValueError, match="`risk` is .* but has to be 'drift', 'sensed', 'stationary' or the path"):
            cpss.make_vec("merge-v0", 2, shield={"risk": wrong})
    with pytest.raises(ValueError, match="nobody asks it"):
        cpss.ShieldWrapper(gym.make("CartPole-v1"), 1.0, 10, cost=lambda env, obs: [0.0, 0.0], risk="drift")
    # One of another task.
    place = tmp_path / "crossing.safetensors"
    place.write_bytes(shipped("intersection-v0"))
    with pytest.raises(ValueError, match="was learned in intersection-v0, and says nothing about merge-v0"):
        cpss.ShieldWrapper(gym.make("cpss/merge-v0"), risk=place)
