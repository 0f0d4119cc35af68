"""How is any policy shielded, in any Gymnasium environment?

:class:`ShieldWrapper` stands between the policy and the environment. Before a step it has the cost of
every action predicted, compares the proposal's with a threshold projected from what is left of the
budget, and lets it run or runs another. For driving tasks, whose costs are learned risks, it charges what was judged: the
avoidable risk of what ran. The budget is then a probability, and at an episode's end the account says where its risk came
from. With a cost of yours it charges what was observed. The arithmetic is the Rust crate ``cpss-shield``, in which the
promise is stated and proved.

Start at :meth:`ShieldWrapper.step`; what the user's functions give is read in :mod:`cpss.situation`. Invariants: a cost
function that fails (an exception, a NaN, the wrong number of costs) makes the actions inadmissible, a context that
fails leaves only those of cost 0, an observed cost that fails is charged as the worst, and all of this is recorded; a
decision is settled exactly once, the last of an episode included; the ledger is renewed at ``reset`` and nowhere else;
``mode="shadow"`` never acts.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from cpss import _native
from cpss.actions import CANDIDATES, Discrete, actions_of
from cpss.learned import trust
from cpss.memory import Memory, knows_world, memory_of
from cpss.notices import Notices
from cpss.outcome import closeness, has_happened, incident_of, what_else_ran, what_it_cost
from cpss.risk import Risk
from cpss.settings import Source, check_single, whole_settings
from cpss.situation import Situation, apart, costs_of, in_words, is_usable, number_of, numbers_of, preferences_of, reasons

#: The keys of ``info["shield"]``, on every step and on resets.
KEYS = (
    "proposed_action", "executed_action", "verdict", "reason", "cost_proposed", "cost_executed", "threshold", "remaining", "gain", "envelope",
    "risk", "unavoidable", "promise", "start", "chosen", "surprise", "arriving", "evidence", "budget_kept",
)  # fmt: skip


class ShieldWrapper(gym.Wrapper, gym.utils.RecordConstructorArgs):
    """Lets an action run only if its predicted cost fits what is left of a safety budget.

    Args:
        env: Any environment with discrete actions, or with a bounded box of at most 16 dimensions.
        budget: How much cost an episode may spend. For driving it is a probability: how likely an incident (a crash, or
            leaving the road) may be beyond what cannot be avoided. Left out, it is the driving task's own.
        horizon: For how many steps; afterwards only cost 0 is admissible.
        cost: ``"driving"`` for highway-env's environments and ours, whatever the policy observes: a learned critic reads
            the scene, and an action costs its avoidable risk, how much more it risks than the least risky one. A box of
            steering angles is served as well. For any other box, and any other environment, give a function
            ``cost(env, observation)`` that gives one predicted cost per action, from 0 (no risk) to 1 (the worst there
            is). For a box it is ``cost(env, observation, candidates)``, one cost per row of ``candidates``.
        context: A function ``context(env, observation)`` that gives the density: one number, at least 0,
            that grows with how risky the surroundings are. Left out, it is 0, or the scene's own for
            ``"driving"``.
        fallback: What replaces a refused action: ``"min-risk"``, the least costly one, or
            ``"best-admissible"``, the admissible one that the policy likes most (see ``preferences``). A box's
            fallback is always the nearest admissible candidate.
        mode: ``"enforce"``, or ``"shadow"`` to judge and record without acting.
        preferences: A function ``preferences(env, observation)`` that says how much the policy likes each
            action, or a :class:`cpss.Policy`.
        pace: How many steps' shares of the budget left one step may spend, at least 1. 1 spreads it evenly, as in the
            paper; more lets it be spent in bursts, and never more than the budget in all. Left out, it is 1, or the driving
            task's own.
        price: The weight of cost against ``preferences``, from 0 for none: of the admissible actions the one runs that is
            worth its cost most, even in place of an admissible proposal (its reason is then ``priced``). It does nothing
            without preferences, nor for a box.
        charge: ``"predicted"`` charges what was judged, so the budget is overspent only where no action was admissible;
            ``"observed"`` what a step was observed to cost. Left out, it is ``"predicted"`` for ``"driving"``, and
            ``"observed"`` with a ``cost`` or an ``observed`` of yours.
        observed: A function ``observed(env, observation, terminated, info)`` that says what a step really
            cost. Left out, ``info["cost"]`` is charged if the environment has one, and otherwise what was predicted.
        last_resort: The action that runs when no cost is usable. **Choose it** for your own environment:
            left out it is the first action, or the middle of the box.
        candidates: For a box, how many points are compared.
        radius: For a box, how far from the proposal they may be, per dimension; the whole box if left out.
        risk: A :class:`cpss.Risk`, from :func:`cpss.learn_risk` or :func:`cpss.fit_risk`: an action costs its avoidable risk, and
            what was judged is charged. Or, with ``cost="driving"``, which critic: ``"drift"`` (the default), learned in traffic that changes in many
            ways, ``"sensed"`` (the default behind a sensor), ``"stationary"``, learned in traffic that does not, or the path of a file of ``cpss risk learn``.
        incident: With a learned risk, what must not happen, if it was read from a file, which does not hold the function;
            without one, accounts are not closed.
        memory: What surprises the critic in one episode raises the risks of the next ones: True, a :class:`cpss.Memory` to go on from,
            or the path of a file that goes on from run to run. Only where costs are risks: for driving, and with a learned risk.
        uncalibrated: What to do with a learned risk that is not calibrated: ``"warn"``, once, or ``"raise"``.
        **settings: Any other of :func:`shield_settings`' names: ``tau_cap``, ``gain`` and so on.

    Every ``info["shield"]`` has the same keys with the same types, resets included (there ``verdict`` is
    ``"reset"``, actions are -1 or NaN, and numbers that make no sense NaN): ``proposed_action``,
    ``executed_action``, ``verdict`` (``"admit"``, ``"replace"``, ``"infeasible"``), ``reason`` (why it was
    refused, and, admitted or not, what your functions gave that cannot be used: see below), ``cost_proposed``, ``cost_executed``, ``threshold``, ``remaining`` (of the budget, after the
    charge), ``gain``, ``envelope`` (the bound on what can have been spent by now), ``risk`` (how likely an incident is after
    the executed action) and ``unavoidable`` (how likely it is whatever runs). ``budget_kept`` says whether no more than the
    budget was spent so far.

    For driving, and with a learned risk, there is also what was promised and the account of risk, so far and, on the last step, of the whole episode;
    with costs of yours, or charges by observation, all of it is NaN. ``promise`` is ``start + arriving + budget``: an
    incident is at most that likely, if the critic does not underestimate risk; NaN if its card does not say so of the regime, the sensor and such a budget, and after an alarm of the memory. The account is ``start`` (the risk that could
    not be avoided at first), ``chosen`` (the avoidable risk that was let through, which was charged), ``surprise`` (what the
    critic did not foresee) and ``arriving`` (what came into view where the critic's look-ahead is limited). Their sum is 1
    after an incident, and otherwise 0. ``evidence`` says how strongly this episode's surprises speak against the critic: it
    grows by 1 a step without any, and without cause it passes ``A`` after ``A`` steps or more, on average.

    With a ``memory``, ``evidence`` is that of all episodes, and there are three keys more: ``shift`` and ``lift``, by which the log-odds
    of all risks and further those of what cannot be avoided were raised, and ``alarm``, why somebody has to look after the critic, or "".

    Around a driving task, ``info["cost"]`` is how close the step came to anything, as :class:`cpss.DrivingEnv` says. It is
    reported and not charged: what is charged is ``cost_executed``.

    A reason is one word of the shield's (``over-budget``, ``unusable-cost`` and so on), followed by these, with a
    semicolon between: what was wrong with all costs; ``unusable-context: ...``, if the context was no number from 0
    (then only actions of cost 0 are admissible); ``unusable-preferences: ...`` (then the least costly action stands
    in); ``unusable-observation: ...``, if the observed cost was no number from 0 (then 1 is charged); ``observed-above-1:
    ...`` (then that is charged); ``another-action-ran: ...``, if a wrapper between the shield and a driving task gave it another
    action than was judged (then 1 is charged). Of each kind of trouble there is one warning, the first time.

    A copy or a pickled one goes on with the episode and its ledger, if the environment and your functions can be copied or
    pickled. Plain ``pickle`` takes functions that a module has by name; for others there is ``cloudpickle``.

    Your functions are given copies of the observation, and may change them. A predicted cost that is NaN, masked,
    negative, infinite or above 1 makes its action inadmissible.

    >>> import gymnasium as gym, cpss
    >>> def tilting(env, observation):             # pushing left (0) tilts the pole to the right
    ...     lean = observation[2] + 0.5 * observation[3]
    ...     return [min(1, max(0, lean) * 4), min(1, max(0, -lean) * 4)]
    >>> env = cpss.ShieldWrapper(gym.make("CartPole-v1"), budget=5.0, horizon=500, cost=tilting)
    >>> observation, info = env.reset(seed=0)
    >>> info["shield"]["verdict"], info["shield"]["remaining"]
    ('reset', 5.0)
    >>> verdicts = set()
    >>> for _ in range(20):                         # without a shield the pole falls in the eleventh
    ...     observation, reward, terminated, truncated, info = env.step(0)
    ...     verdicts.add(info["shield"]["verdict"])
    >>> sorted(verdicts), bool(terminated)
    (['admit', 'replace'], False)
    """

    def __init__(
        self,
        env: gym.Env,
        budget: float | None = None,
        horizon: int | None = None,
        cost: str | Callable = "driving",
        context: Callable | None = None,
        fallback: str | None = None,
        mode: str = "enforce",
        *,
        pace: float | None = None,
        price: float | None = None,
        charge: str | None = None,
        preferences: Callable | Any | None = None,
        observed: Callable | None = None,
        last_resort: Any = None,
        candidates: int = CANDIDATES,
        radius: Any = None,
        risk: Risk | str | os.PathLike | None = None,
        incident: Callable | None = None,
        memory: bool | str | os.PathLike | Memory | None = None,
        uncalibrated: str = "warn",
        **settings: Any,
    ) -> None:
        check_single(env, ShieldWrapper)
        gym.utils.RecordConstructorArgs.__init__(
            self, budget=budget, horizon=horizon, cost=cost, context=context, fallback=fallback, mode=mode,
            pace=pace, price=price, charge=charge, preferences=preferences, observed=observed, last_resort=last_resort, candidates=candidates, radius=radius, risk=risk, incident=incident,
            memory=memory, uncalibrated=uncalibrated, **settings,
        )  # fmt: skip
        gym.Wrapper.__init__(self, env)
        source = Source.of(env, cost, risk, incident, budget, observed, preferences is not None)
        self._driver, self._learned = source.driver, source.learned
        if source.learned is not None:
            trust(source.learned.risk, number_of(budget), uncalibrated)
            # The proposal, the least risky point, the nearest admissible one, and the last resort.
            candidates = 4
        for name, function in (("context", context), ("observed", observed)):
            if function is not None and not callable(function):
                raise ValueError(f"`{name}` is {function!r}, but has to be a function")
        if observed is not None:
            if charge == "predicted":
                raise ValueError("`charge` is 'predicted', so nobody asks what `observed` says: leave one of them out")
            charge = "observed"
        given = {"budget": budget, "horizon": horizon, "fallback": fallback, "pace": pace, "price": price, "charge": charge}
        settings = whole_settings({**source.settings, **settings}, given, mode)
        self._cost: Any = cost
        self._context, self._observed = context, observed
        self._preferences = preferences_of(preferences)
        task = None if self._driver is None else self._driver.task
        self._actions = actions_of(env.action_space, last_resort, candidates, radius, task, settings)
        self._settings, self._mode = settings, settings["mode"]
        self._charges_prediction = settings.get("charge") == "predicted"
        self._shield = self._another_shield()
        self._memory = memory_of(memory, source, self._charges_prediction)
        self._observation: Any = None
        self._needs_reset = True
        self._notices = Notices()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        """Starts an episode, and with it a fresh ledger."""
        self._needs_reset = True
        observation, info = self.env.reset(seed=seed, options=options)
        if self._memory is not None:
            self._memory.leave(self._shield)
        self._shield.reset()
        self._notices.begin()
        if self._driver is not None:
            self._driver.begin()
        remembered = {} if self._memory is None else self._memory.begin()
        self._shield.knows_world(knows_world(self._driver, self._memory))
        # A copy, here and after a step: what the caller does with the array must not blind the cost function.
        self._observation, self._needs_reset = copy.deepcopy(observation), False
        info = dict(info)
        if self._driver is not None and "cost" not in info:
            info["cost"] = closeness(self._driver, False)
        nothing, none, shield = self._actions.nothing(), np.nan, self._shield
        report = (
            nothing, nothing, "reset", "", none, none, none, shield.remaining, none, shield.envelope, none, none, *shield.promised, shield.budget_kept,
        )  # fmt: skip
        info["shield"] = {**dict(zip(KEYS, report)), **remembered}
        return observation, info

    def step(self, action):
        """Judges the action, runs it or another, and charges what that costs.

        An action that is not in the action space is a ``ValueError``; nothing has run then.
        """
        if self._needs_reset:
            raise gym.error.ResetNeeded(
                "call `reset` first: the episode is over or has not begun (a wrapper that resets by itself goes around the shield, not into it)"
            )
        proposal = self._actions.read(action)
        # Even if `action_masks` has just asked: the scene may have been changed by hand since.
        situation = self._predict(proposal)
        decision = situation.judge(self._shield, proposal)
        executed = action if self._mode == "shadow" else self._actions.write(proposal, situation, decision)
        # Now, since an environment may scale or clip in place what it is given.
        shown = self._actions.show(action), self._actions.show(executed)
        cost_proposed, cost_executed, threshold, gain = decision.numbers
        risk = np.nan if situation.risks is None else float(situation.risks[decision.executed])
        # Whatever happens from here on, the world may have moved, so the decision is settled, and once. Until
        # somebody has said what it cost, the worst is charged (or what was judged), and nothing else runs.
        decided, observed, self._needs_reset = decision, np.nan, True
        before = 0.0 if self._driver is None else self._driver.decisions()
        try:
            observation, reward, terminated, truncated, info = self.env.step(executed)
            if self._charges_prediction:
                observed, problem = cost_executed, {}
            else:
                # Of driving, `info["cost"]` is how close it came to anything, which is not charged.
                told = {} if self._driver is not None else info
                observed, problem = what_it_cost(self._observed, self.env, observation, terminated, told, cost_executed)
            if self._driver is not None and (trouble := what_else_ran(self._driver, before, info, shown[1])):
                observed, problem = np.nan, {"ran": trouble}
                # What ran was never judged, so it is settled as a moment of which nothing is known: that is charged as the worst.
                decided, risk = situation.unknown().judge(self._shield, proposal), np.nan
        finally:
            charge, remaining, envelope, _, _ = self._shield.settle(decided, observed, (situation.unavoidable, risk))
            if self._memory is not None:
                self._memory.learn(self._shield)
        # Whatever comes after the end belongs to another episode, and needs another ledger.
        self._observation, self._needs_reset = copy.deepcopy(observation), bool(terminated or truncated)
        if self._needs_reset and self._driver is not None:
            self._close(incident_of(self._driver))
        elif self._learned is not None and self._learned.knows_incidents:
            happened, trouble = has_happened(self._learned, observation, reward, terminated, truncated, info)
            problem = {**problem, **trouble}
            # An incident closes the account, even where the environment goes on.
            if happened or self._needs_reset:
                self._close(happened)
        self._notices.troubles({**situation.problems, **problem})
        if self._driver is None and self._learned is None:
            self._notices.costs(situation.costs, self._needs_reset)
        if not self._charges_prediction:
            self._notices.step(cost_executed, charge, self._needs_reset)
        reason = reasons(decision.reason, [*situation.problems.values(), *problem.values()])
        info = dict(info)
        if "cost" not in info:
            info["cost"] = charge if self._driver is None else closeness(self._driver, terminated)
        report = (
            *shown, decision.verdict, reason, cost_proposed, cost_executed, threshold, remaining, gain, envelope, risk, situation.unavoidable,
            *self._shield.promised, self._shield.budget_kept,
        )  # fmt: skip
        remembered = {} if self._memory is None else self._memory.follow(self._needs_reset)
        info["shield"] = {**dict(zip(KEYS, report)), **remembered}
        return observation, reward, terminated, truncated, info

    def action_masks(self) -> np.ndarray:
        """Which actions the shield would let through now; if none, the one that it would run.

        For ``sb3-contrib``'s ``MaskablePPO``, which then proposes nothing else.
        """
        if self._needs_reset:
            raise gym.error.ResetNeeded("call `reset` first: there is nothing to judge")
        if not isinstance(self._actions, Discrete):
            raise ValueError("only discrete actions can be masked, not points of a box")
        situation = self._predict(0)
        judged = [situation.judge(self._shield, index) for index in range(self._actions.count)]
        mask = np.array([decision.verdict == "admit" for decision in judged])
        if not mask.any():
            # A shadow's decisions run the proposal; what would be allowed is the same for all of them.
            mask[judged[0].allowed] = True
        return mask

    def certificate(self) -> dict[str, Any]:
        """What can be said of this episode so far: budget, spent and whether the budget was kept, excess, envelope and
        whether that held at every step, and how often the shield did what. For driving also the ``account`` of risk with its
        four parts, the ``promise``, the ``evidence``, and, once it is over, whether there was an ``incident``; otherwise
        these are None. With a memory also the ``shift``, the ``lift`` and the ``alarm``."""
        return {**self._shield.certificate(), **({} if self._memory is None else self._memory.report())}

    @property
    def memory(self) -> Memory | None:
        """What is remembered now, if there is a memory."""
        return None if self._memory is None else self._memory.found()

    def close(self) -> None:
        """Closes the environment, and lets go of the memory's file."""
        if self._memory is not None:
            self._memory.release()
        super().close()

    def _close(self, incident: bool) -> None:
        """The episode's account is closed."""
        self._shield.close(incident)
        if self._memory is not None:
            self._memory.learn(self._shield)

    def __getstate__(self) -> dict:
        # What was settled so far, from which the same ledger is made again: the episode goes on where it was.
        return {**self.__dict__, "_shield": self._shield.state()}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self._shield = self._another_shield()
        self._shield.restore(state["_shield"])
        self._shield.knows_world(knows_world(self._driver, self._memory))

    def __copy__(self) -> ShieldWrapper:
        """A branch as well: one environment with two ledgers would let the budget be spent twice."""
        return copy.deepcopy(self)

    def __deepcopy__(self, memo: dict) -> ShieldWrapper:
        """A branch of the episode, with its own ledger."""
        twin = type(self).__new__(type(self))
        memo[id(self)] = twin
        for name, value in self.__dict__.items():
            setattr(twin, name, value.copy() if name == "_shield" else copy.deepcopy(value, memo))
        return twin

    def _another_shield(self) -> _native.Shield:
        """A shield of this kind. What is not charged as it was judged has no account of risk."""
        if not self._charges_prediction:
            return _native.Shield(self._settings)
        if self._learned is not None:
            return _native.Shield(self._settings, self._learned.terms)
        return _native.Shield(self._settings) if self._driver is None else _native.Shield(self._settings, self._driver.critic)

    def _predict(self, proposal) -> Situation:
        """What is known about this moment."""
        actions: Any = self._actions
        candidates = actions.candidates(proposal)
        count = self._actions.count
        costs, density, liking = np.full(count, np.nan), 0.0, None
        risks, unavoidable = None, np.nan
        problems: dict[str, str] = {}
        try:
            if self._learned is not None and candidates is not None:
                shift = 0.0 if self._memory is None else self._memory.shift
                near = self._learned.near(self._observation, proposal, self._shield.threshold(0.0), shift)
                candidates = actions.beside(proposal, near)
            if self._learned is not None:
                found, risks, unavoidable = self._learned.assess(self._observation, actions.points(candidates))
            elif self._driver is not None:
                found, density, risks, unavoidable = self._driver.assess(actions.points(candidates))
            else:
                arguments = () if candidates is None else (actions.points(candidates),)
                found = self._cost(self.env, apart(self._observation), *arguments)
            if self._memory is not None and risks is not None:
                found, risks, unavoidable = self._memory.raised(risks)
            costs, problems["cost"] = costs_of(found, count)
        except Exception as error:
            problems["cost"] = in_words(error)
        try:
            if self._context is not None:
                density = number_of(self._context(self.env, apart(self._observation)))
            if not is_usable(density):
                problems["context"] = f"unusable-context: {density}"
        except Exception as error:
            density = np.nan
            problems["context"] = f"unusable-context: {in_words(error)}"
        try:
            if self._preferences is not None and isinstance(self._actions, Discrete):
                liking = numbers_of(self._preferences(self.env, apart(self._observation)), count, "preferences", is_row=True)
        except Exception as error:
            # Without them the least costly action stands in, which is as safe.
            problems["preferences"] = f"unusable-preferences: {in_words(error)}"
        return Situation(self._actions, candidates, costs, density, liking, risks, unavoidable, problems)
