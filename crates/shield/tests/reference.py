"""What should the shield have answered? The paper's equations again, in plain Python.

An independent reading for `reference.rs`, written for clarity and from the equations, with the
standard library alone. It reads commands from standard input and answers each with one line;
floats travel as 16 hexadecimal digits, so that not one bit is lost on the way.

    shield BUDGET HORIZON EPSILON CAP FORM K_DENSITY K_CHANGE FLOOR SMOOTHING FALLBACK MODE LAST
    judge PROPOSAL DENSITY COST... / PREFERENCE...
    settle OBSERVED          settles the last judged proposal

After each settlement it also checks the anytime envelope in exact rational arithmetic, twice: the
theorem itself, on a ledger that is kept in rationals from the first step; and the slack by which
the shield's check in doubles allows for rounding.
"""

import math
import struct
import sys
from fractions import Fraction


def main() -> None:
    shield = None
    for line in sys.stdin:
        command, *words = line.split()
        if command == "shield":
            shield = Shield(words)
            print("ready")
        elif command == "judge":
            cut = words.index("/")
            costs = [number(word) for word in words[2:cut]]
            liking = [number(word) for word in words[cut + 1 :]]
            print(shield.judge(int(words[0]), number(words[1]), costs, liking))
        else:
            print(shield.settle(number(words[0])))


class Shield:
    def __init__(self, words: list[str]) -> None:
        self.B, self.T, self.eps, self.cap = number(words[0]), int(words[1]), *map(number, words[2:4])
        self.form, self.k_d, self.k_c, self.floor = words[4], *map(number, words[5:8])
        self.smoothing, self.fallback, self.mode = number(words[8]), words[9], words[10]
        self.last_resort = int(words[11])
        self.t, self.C, self.E, self.dbar = 0, 0.0, 0.0, None
        self.exact = ExactLedger(self)

    def judge(self, proposal, density, costs, liking) -> str:
        self.density, self.gain = density, self.context_gain(density)
        R = self.B - self.C
        left = self.T - self.t
        self.tau_budget = max(R, 0.0) / (left + self.eps) if left > 0 else 0.0   # Eq. 4
        self.tau = min(self.cap, self.tau_budget) * self.gain                      # Eq. 5

        fits = [a for a, cost in enumerate(costs) if usable(cost) and cost <= self.tau]
        sane = [a for a, cost in enumerate(costs) if usable(cost)]
        like = [-math.inf if math.isnan(x) else x for x in liking] or [0.0] * len(costs)
        by_risk = lambda a: (costs[a], -like[a], a)
        by_liking = lambda a: (-like[a], costs[a], a)

        if proposal in fits:                                                       # Eq. 6
            verdict, allowed = "admit", proposal
        elif fits:
            order = by_liking if self.fallback == "best-admissible" else by_risk
            verdict, allowed = "replace", min(fits, key=order)
        else:
            verdict = "infeasible"
            allowed = min(sane, key=by_risk) if sane else self.last_resort
        reason = "-" if verdict == "admit" else self.reason(costs[proposal], R)
        executed = proposal if self.mode == "shadow" else allowed
        self.predicted_to_fit = executed in fits
        return f"{verdict} {reason} {executed} {bits(self.tau)} {bits(self.tau_budget)} {bits(self.gain)}"

    def context_gain(self, d) -> float:
        if not usable(d):
            return 0.0
        delta = 0.0
        if self.dbar is not None:
            delta = (1.0 - self.smoothing) * abs(d - self.dbar)
            as_printed = abs(d - (self.dbar + self.smoothing * (d - self.dbar)))
            assert abs(delta - as_printed) <= 1e-12 * max(d, self.dbar), "two forms of one change"
        x = self.k_d * d + self.k_c * delta
        if self.form == "constant":
            return 1.0
        return max(self.floor, math.exp(-x) if self.form == "exponential" else 1.0 / (1.0 + x))

    def reason(self, cost, R) -> str:
        limits = [
            ("UnusableCost", not usable(cost)),
            ("OverCap", cost > self.cap),
            ("HorizonClosed", self.t >= self.T),
            ("BudgetSpent", R <= 0.0),
            ("OverBudget", cost > self.tau_budget),
            ("UnusableContext", not usable(self.density)),
            ("OverContext", True),
        ]
        return next(name for name, refuses in limits if refuses)

    def settle(self, observed) -> str:
        charge = observed if usable(observed) else 1.0
        excess = max(0.0, charge - self.tau)
        self.C, self.E, self.t = self.C + charge, self.E + excess, self.t + 1    # Algorithm 1, line 10
        if usable(self.density):
            first = self.dbar is None
            self.dbar = self.density if first else self.dbar + self.smoothing * (self.density - self.dbar)
        envelope = self.B * (min(self.t, self.T) / (self.T + self.eps)) + self.E
        mispredicted = self.predicted_to_fit and charge > self.tau
        exact = self.exact.settle(self, charge)
        return (
            f"{bits(charge)} {bits(excess)} {int(mispredicted)} {bits(self.B - self.C)} "
            f"{bits(self.C)} {bits(envelope)} {exact}"
        )


class ExactLedger:
    """The same account in rationals, where the theorem must hold with no slack at all."""

    def __init__(self, shield: Shield) -> None:
        self.B, self.L = Fraction(shield.B), shield.T + Fraction(shield.eps)
        self.T, self.t, self.C, self.E = shield.T, 0, Fraction(0), Fraction(0)

    def settle(self, shield: Shield, charge: float) -> str:
        if not math.isfinite(shield.C):
            return "exact"   # the doubles have overflowed, and infinity is within infinity
        c, n, R = Fraction(charge), self.L - self.t, self.B - self.C
        budget = max(R, Fraction(0)) / n if self.t < self.T else Fraction(0)
        tau = min(Fraction(shield.cap), budget) * Fraction(shield.gain)
        self.C, self.E, self.t = self.C + c, self.E + max(Fraction(0), c - tau), self.t + 1
        line = self.B * min(self.t, self.T) / self.L
        if not self.C <= line + self.E:
            return "theorem-broken"
        C, E = Fraction(shield.C), Fraction(shield.E)
        rounding = Fraction(2) ** -52 * (self.B + C + E) + Fraction(2) ** -1022
        # Two of the eight roundings that the slack provides for are left for evaluating the
        # bound itself in doubles, which this line does not.
        return "exact" if C <= line + E + (self.t + 6) * rounding else "slack-broken"


def usable(x: float) -> bool:
    return 0.0 <= x < math.inf


def number(word: str) -> float:
    return struct.unpack(">d", bytes.fromhex(word))[0]


def bits(x: float) -> str:
    return struct.pack(">d", x).hex()


if __name__ == "__main__":
    main()
