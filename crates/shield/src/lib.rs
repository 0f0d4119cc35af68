//! A safety shield with a budget: it lets a policy's action run only if its predicted cost fits.
//!
//! **CPSS, the Constraint Projection Safety Shield**, keeps a running account of a cumulative safety
//! budget, projects what is left of it into a threshold for the next action, tightens the threshold
//! when the context gets riskier, and lets a proposed action through only if its predicted cost
//! fits. Otherwise a safer action runs, and the shield says why. The idea is T. Tomashevskiy's
//! ("From Cumulative Constraints to Adaptive Runtime Safety Control for Nonstationary Reinforcement
//! Learning"); equation, algorithm and theorem numbers below are that paper's.
//!
//! # The mental model
//!
//! Think of pocket money for a journey. There is `B` to spend and there are `T` days. Each morning
//! the traveller divides what is left by the days left: that is what today may cost. After a cheap
//! day tomorrow may cost a little more, after a dear one less. In rough country the traveller
//! spends less than that; and some things are not for sale at any price.
//!
//! ```text
//!   policy ----- proposal -----> +--------+
//!   domain -- cost per action -> | judge  | --> executed action --> the world
//!          ----- density ------> +--------+                             |
//!                                    ^ threshold                        | observed cost
//!                                    |                                  v
//!                          ledger and context <-------------------- settle
//! ```
//!
//! - The **domain** predicts what each action would cost, from 0 for no risk to 1 for the worst, and
//!   gives one number for how dense its surroundings are. It fills in a [`Situation`].
//! - [`Shield::judge`] compares and answers with a [`Decision`]. It changes nothing.
//! - The world runs [`Decision::executed`], and the domain observes what that really cost.
//! - [`Shield::settle`] charges the [`Ledger`], so that the next threshold knows.
//! - At the end, a [`Certificate`] says what was spent and whether the guarantee held.
//!
//! ```
//! use cpss_shield::{Reason, Shield, ShieldSpec, Situation, Verdict};
//!
//! // One unit of risk, to last for twelve decisions.
//! let mut shield = Shield::new(ShieldSpec::new(1.0, 12))?;
//! let costs = [0.02, 0.05, 0.0, 0.41];
//! let situation = Situation { proposal: 3, costs: &costs, preferences: &[], density: 0.2 };
//!
//! let decision = shield.judge(&situation)?;
//! assert_eq!(decision.verdict(), Verdict::Replace(Reason::OverBudget));
//! assert_eq!(
//!     decision.to_string(),
//!     "replaced action 3 by 2: cost 0.41 is over the threshold 0.068 (budget 0.083, gain 0.82)"
//! );
//!
//! let settlement = shield.settle(decision, 0.01)?;
//! assert_eq!(settlement.remaining, 0.99);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The equations
//!
//! | paper | here |
//! |---|---|
//! | Eq. 4, budget projection: `tau_budget = R_t / (T - t + epsilon)`, `R_t = B - C_t` | [`Ledger::tau_budget`] |
//! | Eq. 5, adaptive threshold: `tau_t = tau_budget * g(d_t, Delta_t)` | [`Threshold`], [`GainSpec::at`], [`Context`] |
//! | Eq. 6, shield rule: the proposal if `c <= tau_t`, else the fallback | [`Threshold::admits`], [`Fallback`] |
//! | Algorithm 1 | [`Shield::judge`] and [`Shield::settle`] |
//! | Theorem 1: under a feasible fallback, every executed action is admissible | [`Decision::is_admissible`] |
//! | Theorem 2: under budget-consistent thresholds, the cost stays within the budget | [the envelope](#the-anytime-envelope), which needs no such condition |
//! | Theorem 3: the value lost is at most `eta * Delta_r / (1 - gamma)` | [`Verdict::intervenes`] is its `I_t` |
//!
//! Where the paper is silent, we decided:
//!
//! - `tau_t = min(tau_cap, tau_budget) * g`, with a **cap** below 1. Without it, budget that was saved
//!   lets the threshold grow towards the horizon until even a predicted collision is admissible.
//! - `R_t` below zero projects to 0, and so does a ledger whose **horizon** is over, until
//!   [`Shield::renew`] or [`Shield::reset`] opens a new one.
//! - **Bad numbers fail closed.** A cost that is NaN, infinite or negative is inadmissible; such a
//!   density makes the threshold 0; such an observed cost is charged as 1. If not one cost of a
//!   situation is usable, the spec's [`last_resort`](ShieldSpec::last_resort) runs, which the domain
//!   has to choose.
//! - There is no off switch. An unshielded run is judged in [`Mode::Shadow`].
//!
//! # The anytime envelope
//!
//! Let `e_t = max(0, c_t - tau_t)` be the *excess* of a step: by how much the charged cost was above
//! the threshold, for whatever reason. Let `E_t` be the sum of the excesses before `t`.
//!
//! > **Theorem.** For every `t <= T`, `C_t <= B t / (T + epsilon) + E_t`.
//!
//! *Proof.* Let `n_t = T - t + epsilon`, so that the claim reads `R_t >= B n_t / (T + epsilon) - E_t`.
//! It holds at `t = 0` with equality. Suppose that it holds at `t < T`; note that `n_t > 1`,
//! `n_{t+1} = n_t - 1`, and `c_t <= tau_t + e_t`.
//!
//! - If `R_t >= 0`, the cap and the gain only lower the threshold, so `tau_t <= R_t / n_t`, and
//!   `R_{t+1} = R_t - c_t >= R_t (1 - 1/n_t) - e_t`. By the claim at `t`, and as
//!   `0 < 1 - 1/n_t < 1` and `E_t >= 0`, that is at least `B n_{t+1} / (T + epsilon) - E_t - e_t`.
//! - If `R_t < 0`, then `tau_t = 0` and `c_t = e_t`, so `R_{t+1} = R_t - e_t`, which by the claim at
//!   `t` is at least `B n_t / (T + epsilon) - E_t - e_t`, and more than the claim at `t + 1` asks.
//!
//! After the horizon the threshold is 0, both sides grow by the same `e_t`, and the bound goes on
//! with `t` replaced by `T`. ∎
//!
//! So a run without excess never gets ahead of the straight line from 0 to `B`: bursts are ruled out,
//! not only overruns. Neither a feasible fallback nor a right prediction is assumed; where either
//! fails, the bound says by exactly how much. [`Ledger::envelope`] is the bound, every
//! [`Settlement`] checks it, `proofs/` holds the induction step for an SMT solver, and in doubles the
//! check allows for rounding as [`Ledger::envelope_holds`] derives.
//!
//! # What is not guaranteed
//!
//! - **The envelope is an account, not a promise of safety.** `E_t` can grow without limit. It stays 0
//!   as long as every executed action is admissible *and* costs no more than its threshold.
//! - **A wrong cost predictor** lets a dangerous action through. The shield sees it afterwards: the
//!   step is counted as mispredicted, its cost is charged, and later thresholds tighten.
//! - **An infeasible step** has no admissible action at all. The least risky one runs, which may be
//!   the proposal. The step is counted and its excess added. A shield cannot make a way out that
//!   does not exist; a predictor that looks far enough ahead can keep one open.
//! - **A predictor that fails** altogether, so that no cost is usable, leaves the shield only the
//!   [`last_resort`](ShieldSpec::last_resort). It is as safe as the domain's choice of it; the default,
//!   action 0, is a placeholder.
//! - **A caller who never settles** is judged by the threshold of step 0 for ever: nothing is charged,
//!   so nothing tightens, and a certificate of 0 steps vouches for nothing. Settle every decision.
//! - **A density that falls** towards its average can loosen the threshold, and one that falls *from*
//!   its average tightens it if `k_change` outweighs `k_density`: change is risk, in both directions.
//!   What is monotone is the gain, in each of its two arguments.
//! - **A cost must mean something.** If what the domain calls 0 is dangerous, the shield admits it, on
//!   every step, with any budget.
//! - **The policy's return** is not protected: Theorem 3 bounds its loss, a bad fallback can reach it.
//!
//! # Many shields, continuous actions
//!
//! [`batch`] judges the rows of a vector environment in one call, with the same bits. [`candidates`]
//! shields a continuous action by sampling around it.
//!
//! # What is absent on purpose
//!
//! Dependencies, allocation, `unsafe`, panics, clocks, randomness, I/O, and any word about cars.

#![no_std]

mod account;
pub mod batch;
pub mod candidates;
mod certificate;
mod context;
mod decision;
mod evidence;
mod fallback;
mod gain;
mod ledger;
mod memory;
mod price;
mod recalibration;
mod risk;
mod shield;
mod situation;
mod spec;
mod threshold;
mod verdict;

pub use account::Account;
pub use certificate::{Certificate, Counts};
pub use context::Context;
pub use decision::{Decision, Settlement, StaleDecision};
pub use evidence::Evidence;
pub use fallback::Fallback;
pub use gain::GainSpec;
pub use ledger::Ledger;
pub use memory::Memory;
pub use recalibration::Recalibration;
pub use risk::{CostCount, RiskRules, RiskSpec};
pub use shield::Shield;
pub use situation::{JudgeError, Situation};
pub use spec::{Charge, Mode, OutOfRange, Rules, ShieldSpec};
pub use threshold::Threshold;
pub use verdict::{Reason, Verdict};

/// Whether a number can stand for a cost or a density: at least 0 and finite.
///
/// The one test for it in the crate. It accepts what is in range, so that a NaN, which is in none,
/// fails.
fn usable(value: f64) -> bool {
    (0.0..f64::INFINITY).contains(&value)
}
