"""Writes tests/fixtures/sb3_quantiles.json: one QR-DQN update with sb3-contrib's own loss.

The same as pytorch_gradients.py, for a network of four quantiles an action; `tests/cautious.rs` asks the same of us. It
is made again with:

    python crates/learn/scripts/sb3_quantiles.py

Needs: torch, sb3-contrib.
"""

import json
from pathlib import Path

import torch
from sb3_contrib.common.utils import quantile_huber_loss
from torch import nn

SIZES, ACTIONS, COUNT = [6, 10, 12], 3, 4
BATCH, GAMMA, LEARNING_RATE, MAX_GRAD_NORM = 8, 0.8, 5e-4, 10.0
FIXTURE = Path(__file__).parent.parent / "tests" / "fixtures" / "sb3_quantiles.json"


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(SIZES[0], SIZES[1]), nn.ReLU(), nn.Linear(SIZES[1], SIZES[2]))


def flat(tensors) -> list[list[float]]:
    return [tensor.detach().flatten().tolist() for tensor in tensors]


def main() -> None:
    torch.manual_seed(2)
    online, target = network(), network()
    observations, successors = torch.randn(2, BATCH, SIZES[0])
    actions = torch.randint(ACTIONS, (BATCH,))
    # Rewards beyond 1 reach the straight part of the Huber loss as well.
    rewards = 3.0 * torch.randn(BATCH)
    terminated = torch.arange(BATCH) % 4 == 1
    fixture = {
        "sizes": SIZES,
        "count": COUNT,
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
    # Ours lie action by action; sb3-contrib wants them quantile by quantile.
    quantiles = lambda net, seen: net(seen).view(BATCH, ACTIONS, COUNT)  # noqa: E731
    with torch.no_grad():
        following = quantiles(target, successors)
        best = following.mean(dim=2).argmax(dim=1)
        following = following[torch.arange(BATCH), best]
        targets = rewards[:, None] + GAMMA * following * (~terminated).float()[:, None]
    predicted = quantiles(online, observations)[torch.arange(BATCH), actions]
    loss = quantile_huber_loss(predicted, targets, sum_over_quantiles=True)
    optimizer = torch.optim.Adam(online.parameters(), lr=LEARNING_RATE)
    loss.backward()
    nn.utils.clip_grad_norm_(online.parameters(), MAX_GRAD_NORM)
    optimizer.step()
    fixture["loss"] = loss.item()
    fixture["after"] = flat(online.parameters())
    FIXTURE.write_text(json.dumps(fixture) + "\n")


if __name__ == "__main__":
    main()
