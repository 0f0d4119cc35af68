//! How does a policy get learned from its own latest experience, with a limit on incidents?
//!
//! One learner, three algorithms; [`Constraint`] chooses:
//!
//! | | how the policy moves | what holds it to the limit |
//! |---|---|---|
//! | PPO (Schulman et al., 2017) | Adam on the clipped loss | nothing |
//! | PPO-Lagrangian (Ray et al., 2019) | the same | an incident has a learned price |
//! | CPO (Achiam et al., 2017) | one step within a trust region | the step itself is solved for under the limit |
//!
//! All three play a rollout with the policy as it is, estimate advantages with learned values, and learn from that
//! rollout alone. The cost is [`Outcome::incident`](crate::Outcome), and the limit a probability of an incident per
//! episode.
//!
//! Read in this order:
//!
//! | | |
//! |---|---|
//! | [`settings`] | which numbers a run depends on |
//! | [`learner`], `checkpoint` | the loop, and how it stops and goes on |
//! | `rollout`, [`advantage`] | what was played, and how much better than expected it was |
//! | `update`, `trainable`, [`loss`] | what is learned from one rollout |
//! | `cpo`, [`trust_region`], [`conjugate`], [`fisher`] | CPO's step |
//! | [`categorical`], `sweep` | a policy that draws its actions; a whole rollout through one network |
//!
//! **Invariants:** as for the whole crate. The policy is told about the action it asked for, whatever ran: a shield in
//! the world is part of the world.
//!
//! **Absent on purpose:** continuous actions, recurrent policies, normalised observations, shared layers of policy and
//! values.

pub mod advantage;
pub mod categorical;
mod checkpoint;
pub mod conjugate;
mod cpo;
pub mod fisher;
pub mod learner;
pub mod loss;
mod rollout;
pub mod settings;
mod sweep;
mod trainable;
pub mod trust_region;
mod update;

pub use learner::OnPolicyLearner;
pub use settings::{Constraint, CpoSpec, OnPolicy, OnPolicySpec};
