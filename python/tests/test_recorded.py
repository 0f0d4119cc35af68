"""Contract: Python decides as Rust and C do. The traces that the C ABI's tests judge again, to the last bit, are judged
again here, and every threshold, verdict, chosen action, charge and the certificate come out with the same bits.
"""

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from cpss import _native

RECORDED = sorted((Path(__file__).parents[2] / "crates/ffi/tests/recorded").glob("*.jsonl"))


def bits(*numbers):
    return [struct.pack("<d", number).hex() for number in numbers]


def settings(line):
    (gain, numbers), = line["gain"].items()
    known = ["budget", "horizon", "epsilon", "tau_cap", "pace", "price", "charge", "smoothing", "fallback", "last_resort"]
    told = {name: line[name] for name in known} | {"gain": gain, "mode": "shadow" if line["shadow"] else "enforce"}
    if numbers:
        told |= {"k_density": numbers["k_density"], "k_change": numbers["k_change"], "gain_floor": numbers["floor"]}
    return told


def test_there_are_recorded_traces():
    assert len(RECORDED) >= 2


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_recorded_trace_comes_out_the_same(path):
    header, *steps, end = map(json.loads, path.read_text().splitlines())
    risk = header["risk"]
    terms = _native.RiskTerms(risk["gamma"], risk["resolution"], risk["conservative"])
    shield = _native.Shield(settings(header["shield"]), terms)
    for step in steps:
        costs, unavoidable = terms.costs(np.array(step["risks"]))
        assert bits(unavoidable, *costs) == bits(step["unavoidable"], *step["costs"])
        preferences = np.array(step["likes"], np.float32).astype(np.float64)
        decision = shield.judge(step["proposal"], costs, preferences, step["density"])
        _, _, threshold, gain = decision.numbers
        assert bits(threshold, gain) == bits(step["tau"][0], step["tau"][3])
        assert f"{decision.verdict} {decision.reason}".strip() == step["verdict"]
        assert (decision.allowed, decision.executed) == (step["allowed"], step["ran"])
        ran = step["risks"][decision.executed]
        charge, remaining, envelope, _, holds = shield.settle(decision, float("nan"), (unavoidable, ran))
        _, _, kept, _, bound, held = step["ledger"]
        assert bits(charge, remaining, envelope) == bits(step["charge"], kept, bound) and holds == held
    shield.close(end["record"]["crashed"] or end["record"]["off_road"])
    here, recorded = shield.certificate(), end["certificate"]
    for name in ["steps", "admitted", "replaced", "priced", "infeasible", "mispredicted", "budget_kept", "envelope_held"]:
        assert here[name] == recorded[name], name
    assert bits(here["spent"], here["excess"], here["envelope"]) == bits(recorded["spent"], recorded["excess"], recorded["envelope"])
    assert bits(*here["account"].values()) == bits(*recorded["account"])
    assert bits(here["evidence"]) == bits(recorded["evidence"])
