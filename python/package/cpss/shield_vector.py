"""How are many copies of any environment shielded at once, with a learned risk?

:class:`ShieldVectorWrapper` goes around any Gymnasium ``VectorEnv``. The risk is asked about all copies in one call, and every
copy has a ledger and an account of its own. Start at :meth:`ShieldVectorWrapper.step`.

Invariants: each copy is judged as :class:`cpss.ShieldWrapper` judges it; a step that only resets a copy is not judged; a ledger
is renewed when its copy's next episode begins, and nowhere else; after a step that failed nothing is judged until a reset.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import iterate

from cpss import _native
from cpss.learned import Learned, settings_of, trust
from cpss.numbers import ActionList
from cpss.risk import Risk
from cpss.situation import in_words
from cpss.notices import Notices

VERDICTS = np.array(["admit", "replace", "infeasible", "reset"])
REASONS = np.array(
    ["", "unusable-cost", "over-cap", "horizon-closed", "budget-spent", "over-budget", "unusable-context", "over-context", "priced"]
)
#: Numbers of ``infos["shield"]``, in the order in which the compiled half tells them.
NUMBERS = (
    "cost_proposed", "cost_executed", "threshold", "remaining", "gain", "envelope", "risk", "unavoidable",
    "promise", "start", "chosen", "surprise", "arriving", "evidence",
)  # fmt: skip


class ShieldVectorWrapper(VectorWrapper):
    """Lets an action of each copy run only if its avoidable risk fits what is left of that copy's budget.

    Args:
        env: Any vector environment whose actions are a list (``Discrete``, ``MultiDiscrete``, ``MultiBinary``).
        risk: A :class:`cpss.Risk`.
        budget: How likely an incident may be in an episode, beyond what cannot be avoided.
        horizon, pace, mode: As for :class:`cpss.ShieldWrapper`.
        incident: What must not happen, if the risk was read from a file.
        uncalibrated: What to do with a risk that is not calibrated: ``"warn"`` or ``"raise"``.
        **settings: Any other of a shield's settings.

    ``infos["shield"]`` has an array for each of the numbers that ``info["shield"]`` of :class:`cpss.ShieldWrapper` has, of the
    decision that this step made; where a copy was only reset, the verdict is ``"reset"``.

    >>> def fell(observation, reward, terminated, truncated, info):
    ...     return terminated
    >>> risk = cpss.learn_risk("CartPole-v1", incident=fell, steps=20_000, calibration_episodes=50, budgets=0.05)
    >>> envs = cpss.ShieldVectorWrapper(gym.make_vec("CartPole-v1", num_envs=3, vectorization_mode="sync"), risk=risk, budget=0.05)
    >>> observations, infos = envs.reset(seed=1)
    >>> observations, rewards, terminations, truncations, infos = envs.step([0, 0, 1])
    >>> infos["shield"]["verdict"].shape, envs.action_masks().shape
    ((3,), (3, 2))
    """

    def __init__(
        self,
        env: VectorEnv,
        risk: Risk,
        budget: float,
        *,
        horizon: int | None = None,
        pace: float | None = None,
        mode: str = "enforce",
        incident: Callable | None = None,
        uncalibrated: str = "warn",
        **settings: Any,
    ) -> None:
        if not isinstance(env, VectorEnv):
            raise ValueError(f"`env` is {env!r}, but has to be a VectorEnv: for one environment there is cpss.ShieldWrapper")
        if not isinstance(risk, Risk):
            raise ValueError(f"`risk` is {risk!r}, but has to be a cpss.Risk, from cpss.learn_risk or cpss.fit_risk")
        super().__init__(env)
        single = SingleSpaces(env.single_observation_space, env.single_action_space)
        self._learned = Learned(single, risk, incident, float(budget))
        trust(risk, float(budget), uncalibrated)
        if not isinstance(risk._actions, ActionList):
            raise ValueError("only actions of a list are judged in one call; of a box, wrap each copy: SyncVectorEnv([lambda: cpss.ShieldWrapper(...)] * n)")
        given = {"horizon": horizon, "pace": pace}
        self._settings = {**settings_of(risk), **settings, **{name: value for name, value in given.items() if value is not None}, "budget": budget, "mode": mode}
        self._shields = _native.Shields(self._settings, self._learned.terms, env.num_envs)
        self._mode = autoreset_of(env)
        self._actions: ActionList = risk._actions
        self._rows: np.ndarray | None = None
        self._over = np.zeros(env.num_envs, bool)
        self._notices = Notices()

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None):
        """Begins episodes, each with a fresh ledger; with ``options["reset_mask"]``, only where that says so."""
        mask = None if options is None else options.get("reset_mask")
        if self._rows is None and mask is not None and not np.all(mask):
            raise gym.error.ResetNeeded("reset all copies first: nobody knows how those that the mask leaves out stand")
        self._rows = None
        observations, infos = self.env.reset(seed=seed, options=options)
        for place in range(self.num_envs) if mask is None else np.flatnonzero(mask):
            self._shields.reset(int(place))
            self._over[place] = False
        self._look(observations)
        return observations, infos

    def step(self, actions: Any):
        """Judges an action of each copy, runs it or another, and keeps the accounts."""
        if self._rows is None:
            raise gym.error.ResetNeeded("call `reset` first: episodes have not begun, or the last step failed")
        if self._mode is AutoresetMode.DISABLED and self._over.any():
            raise gym.error.ResetNeeded('some episodes are over: reset them with options={"reset_mask": ...}')
        proposals = np.array([self._actions.read(action) for action in iterate(self.action_space, np.asarray(actions))])
        judged = np.flatnonzero(~self._over)
        risks = self._learned.risk.model.risks(self._rows)
        executed = proposals.copy()
        told = np.full((self.num_envs, len(NUMBERS) + 1), np.nan)
        verdicts, reasons = np.full(self.num_envs, 3, np.uint8), np.zeros(self.num_envs, np.uint8)
        if len(judged):
            ran, told[judged], verdicts[judged], reasons[judged] = self._shields.decide(judged, proposals[judged], np.ascontiguousarray(risks[judged]))
            executed[judged] = ran
        given = np.array([self._actions.write(place) for place in executed], self.action_space.dtype).reshape(self.action_space.shape)
        # If this fails, some copies may have moved and others not, so what was seen is not to be judged by again.
        self._rows = None
        observations, rewards, terminations, truncations, infos = self.env.step(given)
        over = terminations | truncations
        for place in judged.tolist():
            self._book(place, observations, rewards, terminations, truncations, infos, told[place])
        infos = {**infos, "shield": self._report(proposals, executed, told, verdicts, reasons)}
        self._begin_again(over)
        self._look(observations)
        return observations, rewards, terminations, truncations, infos

    def action_masks(self) -> np.ndarray:
        """Which actions each copy's shield would let through now; where none, the one that it would run."""
        if self._rows is None:
            raise gym.error.ResetNeeded("call `reset` first")
        return self._shields.admissible(self._learned.risk.model.risks(self._rows))

    def certificates(self) -> list[dict[str, Any]]:
        """What can be said of each copy's episode so far."""
        return [self._shields.certificate(place) for place in range(self.num_envs)]

    def _look(self, observations: Any) -> None:
        rows = [self._learned.risk._observations.row(observation) for observation in iterate(self.env.observation_space, observations)]
        self._rows = np.stack(rows)

    def _book(self, place: int, observations, rewards, terminations, truncations, infos, told: np.ndarray) -> None:
        """Closes a copy's account, if its episode is over or has seen an incident."""
        over = bool(terminations[place] or truncations[place])
        if not self._learned.knows_incidents:
            return
        info, observation = info_at(infos, place, self.num_envs), None
        if over and self._mode is AutoresetMode.SAME_STEP and "final_obs" in infos:
            observation, info = infos["final_obs"][place], info_at(infos.get("final_info", {}), place, self.num_envs)
        else:
            observation = list(iterate(self.env.observation_space, observations))[place]
        try:
            happened = self._learned.incident(observation, float(rewards[place]), bool(terminations[place]), bool(truncations[place]), info)
        except Exception as error:
            happened = True
            self._notices.troubles({"incident": f"unusable-incident: {in_words(error)}"})
        if happened or over:
            told[8:14] = self._shields.close(place, happened)

    def _begin_again(self, over: np.ndarray) -> None:
        """Renews the ledgers of copies whose next episode has begun."""
        if self._mode is AutoresetMode.SAME_STEP:
            fresh = np.flatnonzero(over)
        elif self._mode is AutoresetMode.NEXT_STEP:
            fresh = np.flatnonzero(self._over)
            self._over = over.copy()
        else:
            fresh, self._over = np.array([], int), over.copy()
        for place in fresh.tolist():
            self._shields.reset(place)

    def _report(self, proposals, executed, told, verdicts, reasons) -> dict[str, np.ndarray]:
        write = self._actions.write
        shown = {
            "proposed_action": np.array([write(place) for place in proposals]),
            "executed_action": np.array([write(place) for place in executed]),
            "verdict": VERDICTS[verdicts],
            "reason": REASONS[reasons],
        }
        shown.update({name: told[:, index] for index, name in enumerate(NUMBERS)})
        shown["budget_kept"] = told[:, len(NUMBERS)] == 1.0
        return shown


class SingleSpaces:
    """The spaces of one copy."""

    def __init__(self, observation_space: Any, action_space: Any) -> None:
        self.observation_space, self.action_space = observation_space, action_space


def autoreset_of(env: VectorEnv) -> AutoresetMode:
    """When a vector environment begins its next episodes. A guess would have ledgers renewed at the wrong step.

    Raises:
        ValueError: if it does not say.
    """
    places = (getattr(env, "autoreset_mode", None), getattr(env.unwrapped, "autoreset_mode", None), (env.metadata or {}).get("autoreset_mode"))
    found = next((place for place in places if place is not None), None)
    try:
        return AutoresetMode(found)
    except ValueError:
        known = ", ".join(f"AutoresetMode.{mode.name}" for mode in AutoresetMode)
        raise ValueError(
            f"the vector environment's autoreset mode is {found!r}, but has to be one of {known}: without it nobody knows when an episode "
            'begins; set env.metadata["autoreset_mode"]'
        ) from None


def info_at(infos: Any, place: int, count: int) -> dict[str, Any]:
    """One copy's info, as the copy gave it; what is not one entry per copy is everybody's."""
    found: dict[str, Any] = {}
    if not isinstance(infos, dict):
        return found
    for name, part in infos.items():
        if not isinstance(name, str) or name.startswith("_") or name in ("final_obs", "final_info"):
            continue
        known: Any = infos.get(f"_{name}")
        if is_each(known, count) and not known[place]:
            continue
        if isinstance(part, dict):
            found[name] = info_at(part, place, count)
        else:
            found[name] = part[place] if is_each(part, count) else part
    return found


def is_each(part: Any, count: int) -> bool:
    """Whether something has one entry per copy."""
    if isinstance(part, np.ndarray):
        return part.ndim > 0 and len(part) == count
    return isinstance(part, (list, tuple)) and len(part) == count
