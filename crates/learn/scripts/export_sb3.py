"""Turns a Stable-Baselines3 DQN into a file that `cpss` reads, or makes the test fixture.

    python crates/learn/scripts/export_sb3.py model.zip policy.onnx
    python crates/learn/scripts/export_sb3.py model.zip policy.safetensors --env merge-v0
    python crates/learn/scripts/export_sb3.py --fixture crates/learn/tests/fixtures

The ONNX file takes one flattened observation and gives the Q-values. The safetensors file has the
layout of `cpss_learn::Policy`: the arrays of a `nn.Sequential`, and the metadata that says how to
read them. Both are for MLPs with ReLU or Tanh, which is what `MlpPolicy` is; `cpss` refuses another
network by the name of the operator that it does not have.

Needs: torch, stable-baselines3, onnx, onnxscript (for ONNX), safetensors (for safetensors).
"""

import argparse
import json
from pathlib import Path

import numpy as np
import onnx
import torch
from stable_baselines3 import DQN
from torch import nn

ACTIVATIONS = {nn.ReLU: "relu", nn.Tanh: "tanh"}


def layers_of(model: DQN) -> tuple[list[nn.Linear], list[str]]:
    """Returns the linear layers and the activation after each, the last being `identity`."""
    modules = list(model.policy.q_net.q_net)
    linear, activations = modules[0::2], [type(module) for module in modules[1::2]]
    if not all(isinstance(module, nn.Linear) for module in linear):
        raise SystemExit(f"the Q-network is not a plain MLP: {modules}")
    if unknown := [kind.__name__ for kind in activations if kind not in ACTIVATIONS]:
        raise SystemExit(f"activations without a counterpart: {unknown}")
    return linear, [ACTIVATIONS[kind] for kind in activations] + ["identity"]


def export_onnx(model: DQN, path: Path, dynamo: bool = True) -> None:
    q_net = model.policy.q_net.to("cpu").eval()
    observation = torch.zeros(1, *model.observation_space.shape)
    torch.onnx.export(
        q_net,
        (observation,),
        str(path),
        input_names=["observation"],
        output_names=["q_values"],
        dynamo=dynamo,
        external_data=False,
    )
    # The exporter notes the source lines of every node, with the paths of this machine.
    exported = onnx.load(path)
    for part in (exported, exported.graph, *exported.graph.node, *exported.graph.value_info):
        part.ClearField("metadata_props")
        part.ClearField("doc_string")
    for value in (*exported.graph.input, *exported.graph.output, *exported.graph.initializer):
        value.ClearField("metadata_props")
        value.ClearField("doc_string")
    onnx.save(exported, path)


def export_safetensors(model: DQN, path: Path, env: str | None) -> None:
    from safetensors.torch import save_file

    linear, activations = layers_of(model)
    tensors = {}
    for index, layer in enumerate(linear):
        tensors[f"{2 * index}.weight"] = layer.weight.detach().float().contiguous()
        tensors[f"{2 * index}.bias"] = layer.bias.detach().float().contiguous()
    metadata = {
        "format": "cpss-dqn policy 1",
        "activations": ",".join(activations),
        "dueling": "false",
        "steps": str(model.num_timesteps),
        "source": "stable-baselines3",
    }
    if env is not None:
        metadata["env"] = env
    save_file(tensors, str(path), metadata)


def q_values(model: DQN, observations: np.ndarray) -> list[list[float]]:
    with torch.no_grad():
        return model.policy.q_net(torch.as_tensor(observations)).tolist()


def make_fixture(directory: Path) -> None:
    """Writes untrained small DQNs in both formats, with the Q-values that SB3 computes for them.

    The one with Sigmoid is not an MLP that we lower, and must be refused. PyTorch's older exporter,
    by TorchScript, writes other operators than the newer one, and is kept once.
    """
    import gymnasium

    class Box(gymnasium.Env):
        """A world with the observation of merge-v0, for its shape only."""

        observation_space = gymnasium.spaces.Box(-1.0, 1.0, (5, 5), np.float32)
        action_space = gymnasium.spaces.Discrete(5)

    directory.mkdir(parents=True, exist_ok=True)
    observations = np.random.default_rng(0).uniform(-1, 1, (4, 5, 5)).astype(np.float32)
    expected = {"observations": observations.reshape(4, -1).tolist()}
    for name, activation in (("relu", nn.ReLU), ("tanh", nn.Tanh), ("sigmoid", nn.Sigmoid)):
        policy_kwargs = {"net_arch": [16, 12], "activation_fn": activation}
        model = DQN("MlpPolicy", Box(), policy_kwargs=policy_kwargs, seed=1, device="cpu")
        export_onnx(model, directory / f"sb3_{name}.onnx")
        if activation is nn.ReLU:
            export_onnx(model, directory / f"sb3_{name}_torchscript.onnx", dynamo=False)
        if activation in ACTIVATIONS:
            export_safetensors(model, directory / f"sb3_{name}.safetensors", "merge-v0")
            expected[name] = q_values(model, observations)
    (directory / "sb3_q_values.json").write_text(json.dumps(expected) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, nargs="?", help="a .zip saved by DQN.save")
    parser.add_argument("out", type=Path, nargs="?", help="a .onnx or .safetensors file")
    parser.add_argument("--env", help="the task's id, for the safetensors metadata")
    parser.add_argument("--fixture", type=Path, help="make the test fixture in this directory")
    arguments = parser.parse_args()
    if arguments.fixture is not None:
        make_fixture(arguments.fixture)
        return
    if arguments.model is None or arguments.out is None:
        parser.error("give a model and an output file, or --fixture")
    model = DQN.load(arguments.model, device="cpu")
    match arguments.out.suffix:
        case ".onnx":
            export_onnx(model, arguments.out)
        case ".safetensors":
            export_safetensors(model, arguments.out, arguments.env)
        case other:
            parser.error(f"the output is .onnx or .safetensors, not `{other}`")


if __name__ == "__main__":
    main()
