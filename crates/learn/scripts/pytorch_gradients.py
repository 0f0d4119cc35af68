"""Writes tests/fixtures/pytorch_update.json: one DQN update as PyTorch computes it.

The file holds a small network, a batch, and what PyTorch makes of them: the loss, the gradient by
every parameter, and every parameter after clipping and one Adam step. `tests/gradients.rs` asks the
same of us. It is made again with:

    python crates/learn/scripts/pytorch_gradients.py

Needs: torch.
"""

import json
from pathlib import Path

import torch
from torch import nn

SIZES = [6, 10, 7, 3]
BATCH, GAMMA, LEARNING_RATE, MAX_GRAD_NORM = 8, 0.8, 5e-4, 0.05
FIXTURE = Path(__file__).parent.parent / "tests" / "fixtures" / "pytorch_update.json"


def q_network() -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, outputs in zip(SIZES, SIZES[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def flat(tensors) -> list[list[float]]:
    return [tensor.detach().flatten().tolist() for tensor in tensors]


def main() -> None:
    torch.manual_seed(1)
    online, target = q_network(), q_network()
    observations, successors = torch.randn(2, BATCH, SIZES[0])
    actions = torch.randint(SIZES[-1], (BATCH,))
    # Rewards beyond 1 reach the straight part of the Huber loss as well.
    rewards = 3.0 * torch.randn(BATCH)
    terminated = torch.arange(BATCH) % 4 == 1
    fixture = {
        "sizes": SIZES,
        "gamma": GAMMA,
        "learning_rate": LEARNING_RATE,
        "max_grad_norm": MAX_GRAD_NORM,
        "online": flat(online.parameters()),
        "target": flat(target.parameters()),
        "observations": observations.flatten().tolist(),
        "successors": successors.flatten().tolist(),
        "actions": actions.tolist(),
        "rewards": rewards.tolist(),
        "terminated": terminated.tolist(),
    }
    optimizer = torch.optim.Adam(online.parameters(), lr=LEARNING_RATE)
    with torch.no_grad():
        best = target(successors).max(dim=1).values
        targets = rewards + GAMMA * best * (~terminated).float()
    predicted = online(observations).gather(1, actions[:, None])[:, 0]
    loss = nn.functional.smooth_l1_loss(predicted, targets)
    loss.backward()
    fixture["loss"] = loss.item()
    fixture["gradients"] = flat(parameter.grad for parameter in online.parameters())
    norm = nn.utils.clip_grad_norm_(online.parameters(), MAX_GRAD_NORM)
    assert norm > MAX_GRAD_NORM, "the fixture must show clipping"
    optimizer.step()
    fixture["after"] = flat(online.parameters())
    FIXTURE.parent.mkdir(parents=True, exist_ok=True)
    FIXTURE.write_text(json.dumps(fixture) + "\n")


if __name__ == "__main__":
    main()
