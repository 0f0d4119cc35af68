"""Writes tests/fixtures/pytorch_critic.json: a critic's loss and gradients as PyTorch computes them.

The file holds a small set encoder, scenes with different numbers of items, and what PyTorch makes of them: the
logits, the cross-entropy and the gradient by every parameter. `tests/critic_gradients.rs` asks the same of us.
It is made again with:

    python crates/learn/scripts/pytorch_critic.py

Needs: torch.
"""

import json
from pathlib import Path

import torch
from torch import nn

FIXED, ITEM, ENCODER, HEAD, ACTIONS = 5, 4, [7, 6], [9], 3
COUNTS = [3, 0, 5, 1]
FIXTURE = Path(__file__).parent.parent / "tests" / "fixtures" / "pytorch_critic.json"


class Critic(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.item = nn.Linear(ITEM, ENCODER[0], bias=False)
        self.fixed = nn.Linear(FIXED, ENCODER[0])
        self.encoder = nn.Linear(ENCODER[0], ENCODER[1])
        self.head0 = nn.Linear(2 * ENCODER[1] + FIXED, HEAD[0])
        self.head1 = nn.Linear(HEAD[0], ACTIONS)

    def forward(self, fixed: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
        pooled = torch.zeros(2 * ENCODER[1])
        if len(items):
            each = torch.relu(self.item(items) + self.fixed(fixed))
            each = torch.relu(self.encoder(each))
            pooled = torch.cat([each.max(0).values, each.sum(0) / 4])
        return self.head1(torch.relu(self.head0(torch.cat([pooled, fixed]))))


def main() -> None:
    torch.manual_seed(2)
    critic = Critic()
    # Numbers that our 16-bit store keeps exactly.
    draw = lambda *shape: torch.round(torch.randn(*shape) * 256) / 256  # noqa: E731
    fixed = draw(len(COUNTS), FIXED)
    items = [draw(count, ITEM) for count in COUNTS]
    actions = torch.tensor([2, 0, 1, 1])
    targets = torch.tensor([1.0, 0.0, 0.25, 0.01])
    logits = torch.stack([critic(f, i) for f, i in zip(fixed, items)])
    chosen = logits.gather(1, actions[:, None])[:, 0]
    loss = nn.functional.binary_cross_entropy_with_logits(chosen, targets)
    loss.backward()
    names = {
        "encoder.0.item": critic.item,
        "encoder.0.fixed": critic.fixed,
        "encoder.1": critic.encoder,
        "head.0": critic.head0,
        "head.1": critic.head1,
    }
    flat = lambda tensor: tensor.detach().flatten().tolist()  # noqa: E731
    layers = {
        name: {
            "weight": flat(layer.weight),
            "bias": flat(layer.bias) if layer.bias is not None else [0.0] * ENCODER[0],
            "by_weight": flat(layer.weight.grad),
            "by_bias": flat(layer.bias.grad) if layer.bias is not None else [0.0] * ENCODER[0],
        }
        for name, layer in names.items()
    }
    fixture = {
        "shape": {"fixed": FIXED, "item": ITEM, "encoder": ENCODER, "head": HEAD, "actions": ACTIONS},
        "fixed": [flat(row) for row in fixed],
        "items": [flat(rows) for rows in items],
        "actions": actions.tolist(),
        "targets": targets.tolist(),
        "logits": [flat(row) for row in logits],
        "loss": loss.item(),
        "layers": layers,
    }
    FIXTURE.parent.mkdir(parents=True, exist_ok=True)
    FIXTURE.write_text(json.dumps(fixture) + "\n")


if __name__ == "__main__":
    main()
