//! A policy that proposes: learned by DQN, PPO, PPO-Lagrangian or CPO, saved, and read from elsewhere.
//!
//! ```
//! use cpss_learn::{Dqn, DqnSpec, End, Env, Learner, Outcome, Policy, QFunction};
//!
//! /// A world of one step: the observation says which of two actions is rewarded.
//! struct Cue(usize);
//!
//! impl Env for Cue {
//!     fn observation_len(&self) -> usize { 2 }
//!     fn actions(&self) -> usize { 2 }
//!     fn reset(&mut self, seed: u64, observation: &mut [f32]) {
//!         self.0 = (seed % 2) as usize;
//!         observation.fill(0.0);
//!         observation[self.0] = 1.0;
//!     }
//!     fn step(&mut self, action: usize, _observation: &mut [f32]) -> Outcome {
//!         let reward = if action == self.0 { 1.0 } else { 0.0 };
//!         Outcome { reward, end: End::Terminated, incident: false, ran: action }
//!     }
//! }
//!
//! let spec = DqnSpec { total_steps: 1_000, hidden: vec![16], ..DqnSpec::default() };
//! let (seed, episode_seeds) = (0, 0..1_000);
//! let mut learner = Learner::new(vec![Cue(0)], Dqn::new(spec)?, seed, episode_seeds)?;
//! learner.run(u64::MAX, &mut |_progress| std::ops::ControlFlow::Continue(()))?;
//!
//! let policy = Policy::new(learner.network().clone(), Default::default());
//! let mut same = Policy::from_bytes(&policy.to_bytes())?;
//! assert_eq!(same.act(0, &[1.0, 0.0])?, 0);
//! assert_eq!(same.act(1, &[0.0, 1.0])?, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Code map
//!
//! Read in this order:
//!
//! | to learn | |
//! |---|---|
//! | [`settings`] | which numbers a run depends on |
//! | [`mod@env`], [`worlds`] | what a world offers, and how many feed one learner |
//! | [`learner`], [`checkpoint`] | the loop, and how it stops and goes on |
//! | [`replay`], [`update`], [`loss`], [`adam`] | one update |
//! | [`topology`], [`network`], [`pass`], [`tangent`], `kernel` | outputs and their gradients, one observation or a batch |
//! | [`on_policy`], [`multiplier`] | the same for PPO, PPO-Lagrangian and CPO: from the latest experience, with a limit on incidents |
//!
//! | to use | |
//! |---|---|
//! | [`q_function`] | what is asked of a policy, whatever it is made of |
//! | [`policy`], `tensors` | a network with its card, saved and loaded |
//! | [`onnx`] | somebody else's policy |
//! | [`progress`], [`csv`], [`events`] | what a run reports |
//!
//! # Invariants
//!
//! - The same settings, worlds and seed give the same weights, bit for bit, on the same machine.
//! - Bootstrapping stops at a terminated step only.
//! - No number that is not finite becomes a weight or an action.
//! - Randomness and time are arguments. Only [`measure_update`] looks at a clock.
//!
//! **Absent on purpose:** threads, files, GPUs, and a framework. A network this small is faster by
//! hand, and `bench/pytorch_update.py` with [`measure_update`] says by how much.

pub mod adam;
pub mod checkpoint;
pub mod critic;
pub mod csv;
pub mod env;
pub mod events;
pub mod generator;
mod half;
mod kernel;
pub mod learner;
pub mod loss;
mod measure;
pub mod multiplier;
pub mod network;
pub mod on_policy;
pub mod onnx;
pub mod pass;
pub mod policy;
pub mod progress;
pub mod q_function;
pub mod quantile;
pub mod replay;
pub mod schedule;
pub mod settings;
pub mod tangent;
mod tensors;
pub mod topology;
pub mod update;
pub mod worlds;

pub use checkpoint::ResumeError;
pub use env::{End, Env, Outcome};
pub use learner::{Diverged, Learner, StartError};
pub use measure::{UpdateTime, measure_critic_update, measure_update, reference_update};
pub use multiplier::{Multiplier, MultiplierSpec, Pid};
pub use network::Network;
pub use on_policy::{Constraint, CpoSpec, OnPolicy, OnPolicyLearner, OnPolicySpec};
pub use onnx::{OnnxError, policy_from_onnx};
pub use policy::{LoadError, Policy};
pub use progress::Progress;
pub use q_function::{ActError, QFunction, WrongTask};
pub use quantile::{QuantileSpec, Quantiles};
pub use settings::{BadSetting, Dqn, DqnSpec, Remember};
pub use tensors::TensorError;
pub use topology::{Activation, Topology};
