"""highway-env's driving tasks, fast, and a safety shield with a budget around any policy.

Three things to start with:

>>> import cpss
>>> env = cpss.make("merge-v0")                    # highway-env's episodes, seed for seed
>>> env = cpss.ShieldWrapper(env)                  # lets an action run only if its risk fits a budget
>>> observation, info = env.reset(seed=6)
>>> observation, reward, terminated, truncated, info = env.step(1)
>>> info["shield"]["verdict"]
'admit'

* :func:`make_vec` steps many environments in one call, and shields them;
* :class:`ShieldWrapper` goes around *any* Gymnasium environment, highway-env's own included;
* :func:`learn_risk` learns what every action risks, from an environment, and :func:`fit_risk` from a log; :func:`shadow` says
  what a shield would have done, and :func:`evaluate` what it changes; :class:`ShieldVectorWrapper` goes around any batch of environments;
* :func:`load_policy` and :func:`from_sb3` give policies; :mod:`cpss.sb3` is for training them;
* :func:`sweep` runs whole experiments, here or on a Ray cluster.

Where to read on: ``python/README.md`` in the repository.
"""

from cpss._native import __version__
from cpss.envs import DrivingEnv, make, policy_config, register_environments, shipped_tasks, task_ids
from cpss.evaluating import evaluate
from cpss.fitting import fit_risk
from cpss.learning import learn_risk
from cpss.memory import Memory
from cpss.policy import Policy, load_policy
from cpss.risk import Risk
from cpss.shadow import shadow
from cpss.settings import shield_settings
from cpss.shield import ShieldWrapper
from cpss.shield_vector import ShieldVectorWrapper
from cpss.sweep import sweep
from cpss.traces import Traces
from cpss.vector import DrivingVectorEnv, make_vec

__all__ = [
    "DrivingEnv",
    "DrivingVectorEnv",
    "Memory",
    "Policy",
    "Risk",
    "ShieldVectorWrapper",
    "ShieldWrapper",
    "Traces",
    "__version__",
    "evaluate",
    "fit_risk",
    "from_sb3",
    "learn_risk",
    "load_policy",
    "make",
    "make_vec",
    "policy_config",
    "register_environments",
    "shadow",
    "shield_settings",
    "shipped_tasks",
    "sweep",
    "task_ids",
]


def from_sb3(model):
    """Turns a Stable-Baselines3 model with discrete actions into a :class:`Policy`.

    See :func:`cpss.sb3.from_sb3`; Stable-Baselines3 is imported only when this is called.
    """
    from cpss.sb3 import from_sb3 as convert

    return convert(model)


register_environments()
