"""What should the shield have answered? The paper's equations again, in plain Python.

An independent reading for `reference.rs`, written for clarity and from the equations, with the
standard library alone. It reads commands from standard input and answers each with one line;
floats travel as 16 hexadecimal digits, so that not one bit is lost on the way.

    shield BUDGET HORIZON EPSILON CAP FORM K_DENSITY K_CHANGE FLOOR SMOOTHING FALLBACK MODE LAST PACE CHARGE PRICE
    judge PROPOSAL DENSITY COST... / PREFERENCE...
    settle OBSERVED          settles the last judged proposal
    critic GAMMA RESOLUTION RATE MAX_SHIFT PRECAUTION LEVEL BORDER*5 BOUND*6     opens the first episode's account
    risks RISK...            what each action costs, once its risk is raised
    enter EXECUTED CHARGE    the account, the evidence, the shift and the lift after it
    close INCIDENT SCORE     likewise, and then opens the next episode's account

After each settlement it also checks the anytime envelope in exact rational arithmetic, twice: the
theorem itself, on a ledger that is kept in rationals from the first step; and the slack by which
the shield's check in doubles allows for rounding. After each entry it checks in rationals that the
account of risk balances, with no rounding to excuse it.
"""

import math
import struct
import sys
from bisect import bisect_right
from fractions import Fraction


def main() -> None:
    shield, critic = None, None
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
        elif command == "settle":
            print(shield.settle(number(words[0])))
        elif command == "critic":
            critic = Critic(words)
            print("ready")
        elif command == "risks":
            print(critic.costs([number(word) for word in words]))
        elif command == "enter":
            print(critic.enter(int(words[0]), number(words[1])))
        else:
            print(critic.close(words[0] == "true", number(words[1])))


class Shield:
    def __init__(self, words: list[str]) -> None:
        self.B, self.T, self.eps, self.cap = number(words[0]), int(words[1]), *map(number, words[2:4])
        self.form, self.k_d, self.k_c, self.floor = words[4], *map(number, words[5:8])
        self.smoothing, self.fallback, self.mode = number(words[8]), words[9], words[10]
        self.last_resort = int(words[11])
        self.pace, self.charge, self.price = number(words[12]), words[13], number(words[14])
        self.t, self.C, self.E, self.dbar = 0, 0.0, 0.0, None
        self.line_left = 1.0
        self.exact = ExactLedger(self)

    def judge(self, proposal, density, costs, liking) -> str:
        self.density, self.gain = density, self.context_gain(density)
        R = self.B - self.C
        left = self.T - self.t
        self.tau_budget = max(R, 0.0) / self.divisor(left) if left > 0 else 0.0   # Eq. 4, with a pace
        self.tau = min(self.cap, self.tau_budget) * self.gain                      # Eq. 5

        fits = [a for a, cost in enumerate(costs) if usable(cost) and cost <= self.tau]
        sane = [a for a, cost in enumerate(costs) if usable(cost)]
        like = [-math.inf if math.isnan(x) else x for x in liking] or [0.0] * len(costs)
        by_risk = lambda a: (costs[a], -like[a], a)
        by_liking = lambda a: (-like[a], costs[a], a)

        bargain = self.best_bargain(proposal, costs, liking, fits)
        if proposal in fits and bargain in (None, proposal):                       # Eq. 6
            verdict, allowed = "admit", proposal
        elif bargain is not None:
            verdict, allowed = "replace", bargain
        elif fits:
            order = by_liking if self.fallback == "best-admissible" else by_risk
            verdict, allowed = "replace", min(fits, key=order)
        else:
            verdict = "infeasible"
            allowed = min(sane, key=by_risk) if sane else self.last_resort
        priced = verdict == "replace" and proposal in fits
        reason = "-" if verdict == "admit" else "Priced" if priced else self.reason(costs[proposal], R)
        executed = proposal if self.mode == "shadow" else allowed
        self.predicted, self.predicted_to_fit = costs[executed], executed in fits
        return f"{verdict} {reason} {executed} {bits(self.tau)} {bits(self.tau_budget)} {bits(self.gain)}"

    def divisor(self, left) -> float:
        return max((left + self.eps) / self.pace, 1.0 + 1e-12)

    def best_bargain(self, proposal, costs, liking, fits):
        """The admissible action of greatest preference - lambda c; None without a price or a scale."""
        if self.price == 0.0 or not liking or not all(map(math.isfinite, liking)):
            return None
        spread = max(liking) - min(liking)
        if not 0.0 < spread < math.inf:
            return None
        if proposal in fits:   # it gives way only to what costs less
            open_to = [a for a in fits if a == proposal or costs[a] < costs[proposal]]
        else:
            open_to = fits
        rate = self.price * (spread / self.tau) if self.tau > 0.0 else math.inf
        worth = lambda a: (liking[a] - min(liking)) - (rate * costs[a] if costs[a] > 0.0 else 0.0)
        return min(open_to, key=lambda a: (-worth(a), a != proposal, a), default=None)

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
        cost = self.predicted if self.charge == "predicted" else observed
        charge = cost if usable(cost) else 1.0
        excess = max(0.0, charge - self.tau)
        if self.t < self.T:
            self.line_left *= 1.0 - 1.0 / self.divisor(self.T - self.t)
        self.C, self.E, self.t = self.C + charge, self.E + excess, self.t + 1    # Algorithm 1, line 10
        if usable(self.density):
            first = self.dbar is None
            self.dbar = self.density if first else self.dbar + self.smoothing * (self.density - self.dbar)
        line = min(self.t, self.T) / (self.T + self.eps) if self.pace == 1.0 else 1.0 - self.line_left
        envelope = self.B * line + self.E
        mispredicted = self.predicted_to_fit and charge > self.tau
        exact = self.exact.settle(self, charge)
        return (
            f"{bits(charge)} {bits(excess)} {int(mispredicted)} {bits(self.B - self.C)} "
            f"{bits(self.C)} {bits(envelope)} {exact}"
        )


class ExactLedger:
    """The same account in rationals, where the theorem must hold with no slack at all."""

    def __init__(self, shield: Shield) -> None:
        self.B, self.L, self.k = Fraction(shield.B), shield.T + Fraction(shield.eps), Fraction(shield.pace)
        self.T, self.t, self.C, self.E = shield.T, 0, Fraction(0), Fraction(0)
        self.f = Fraction(1)

    def settle(self, shield: Shield, charge: float) -> str:
        if not math.isfinite(shield.C):
            return "exact"   # the doubles have overflowed, and infinity is within infinity
        c, n, R = Fraction(charge), self.L - self.t, self.B - self.C
        m = min(self.k / n, 1 / Fraction(1.0 + 1e-12)) if self.t < self.T else Fraction(0)
        budget = max(R, Fraction(0)) * m
        tau = min(Fraction(shield.cap), budget) * Fraction(shield.gain)
        self.C, self.E, self.t = self.C + c, self.E + max(Fraction(0), c - tau), self.t + 1
        # At pace 1 the product telescopes, which also keeps the numbers short.
        self.f = 1 - Fraction(min(self.t, self.T)) / self.L if self.k == 1 else self.f * (1 - m)
        line = self.B * (1 - self.f)
        if not self.C <= line + self.E:
            return "theorem-broken"
        C, E = Fraction(shield.C), Fraction(shield.E)
        rounding = Fraction(2) ** -52 * (self.B + C + E) + Fraction(2) ** -1022
        # Two of the eight roundings that the slack provides for are left for evaluating the
        # bound itself in doubles, which this line does not.
        return "exact" if C <= line + E + (self.t + 6) * rounding else "slack-broken"


class Critic:
    """Risk mode: costs from probabilities, the account of risk, the evidence, the recalibration, the novelty."""

    STAKES = (0.1, 0.3, 0.9)
    WEIGHTS = (1 / 32, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2)

    def __init__(self, words: list[str]) -> None:
        self.gamma, self.resolution, self.eta, self.b_max, self.l_max, self.precaution, self.level, *scale = map(number, words)
        self.borders, self.bounds = scale[:5], scale[5:]
        self.b, self.l, self.learned, self.S = 0.0, 0.0, 0.0, [0.0, 0.0, 0.0]
        self.N, self.alarms = [0.0, 0.0, 0.0], 0
        self.open()

    def open(self) -> None:
        self.start = self.chosen = self.surprise = self.arriving = 0.0
        self.pending, self.exact = None, None

    def costs(self, risks) -> str:
        self.risks = [raised(risk, self.b) for risk in risks]
        V = min([risk for risk in self.risks if 0.0 <= risk <= 1.0], default=1.0)
        # Of the risks before they are lifted.
        costs = [bits(self.cost(risk, V)) for risk in self.risks]
        if self.l > 0.0:
            added = raised(V, self.l) - V
            self.risks = [min(risk + added, 1.0) if 0.0 <= risk <= 1.0 else risk for risk in self.risks]
        self.V = min([risk for risk in self.risks if 0.0 <= risk <= 1.0], default=1.0)
        return " ".join([bits(self.V)] + costs)

    def cost(self, rho, V) -> float:
        if not 0.0 <= rho <= 1.0:
            return math.nan
        c = 1.0 if V >= 1.0 else rho - V
        noise = self.resolution
        return c if c >= noise else c * 2.0**-40

    def enter(self, executed, charge) -> str:
        if self.pending is None:
            self.start, self.exact = self.V, Fraction(self.V)
        else:
            self.arriving += (1.0 - self.gamma) * self.V
            self.exact += (1 - Fraction(self.gamma)) * Fraction(self.V)
            self.outcome(self.gamma * self.V, Fraction(self.gamma) * Fraction(self.V))
        c = min(charge, 1.0 - self.V)
        self.chosen += c
        self.exact += Fraction(c)
        expected, rho = Fraction(self.V) + Fraction(c), self.risks[executed]
        self.pending = (self.V + c, expected, rho)
        return self.report(self.exact == expected)

    def close(self, incident, score) -> str:
        self.outcome(float(incident), Fraction(int(incident)))
        k = bisect_right(self.borders, score) if math.isfinite(score) else 5
        self.N = self.bets(self.N, self.WEIGHTS[k] / self.bounds[k] - 1.0)
        if sum(self.N) / 3 >= self.level:
            self.N, self.alarms = [0.0, 0.0, 0.0], self.alarms + 1
            if self.alarms == 1:
                self.learned = max(self.learned, self.precaution)
        self.b = min(self.learned, self.b_max)
        self.l = self.learned - self.b
        told = self.report(self.exact == int(incident))
        self.open()
        return told

    def outcome(self, happened, exactly) -> None:
        expected, expected_exactly, rho = self.pending
        self.surprise += happened - expected
        self.exact += exactly - expected_exactly
        d = happened - rho if 0.0 <= rho <= 1.0 else 1.0
        self.S = self.bets(self.S, d)
        # The evidence is about what was not foreseen, the recalibration about what was not charged either.
        d = happened - expected if 0.0 <= rho <= 1.0 else 1.0
        self.learned = min(max(self.learned + self.eta * d, 0.0), self.b_max + self.l_max)

    def bets(self, sums, gain) -> list[float]:
        return [min((S + 1.0) * (1.0 + stake * gain), 1e300) for S, stake in zip(sums, self.STAKES)]

    def report(self, balances) -> str:
        parts = (self.start, self.chosen, self.surprise, self.arriving, sum(self.S) / 3, self.b, self.l, self.learned)
        parts += (sum(self.N) / 3, float(self.alarms))
        return " ".join(map(bits, parts)) + (" balances" if balances else " unbalanced")


def raised(rho: float, by: float) -> float:
    """A probability whose log-odds are raised."""
    if not 0.0 < rho < 1.0 or by == 0.0:
        return rho
    return rho * math.exp(by) / (1.0 - rho + rho * math.exp(by))


def usable(x: float) -> bool:
    return 0.0 <= x < math.inf


def number(word: str) -> float:
    return struct.unpack(">d", bytes.fromhex(word))[0]


def bits(x: float) -> str:
    return struct.pack(">d", x).hex()


if __name__ == "__main__":
    main()
