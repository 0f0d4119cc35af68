//! A safety shield with a budget: it lets a policy's action run only if its predicted cost fits.
//!
//! **CPSS, the Constraint Projection Safety Shield**, keeps a running account of a cumulative safety
//! budget, projects what is left of it into a threshold for the next action, tightens the threshold
//! when the context gets riskier, and lets a proposed action through only if its predicted cost
//! fits. Otherwise a safer action runs, and the shield says why. With a critic that knows the risk of
//! each action, the budget is a probability that a person can state, and the shield makes
//! [a promise](#the-promise). The idea is T. Tomashevskiy's
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
//!                                    ^ threshold                        | observed cost, or none
//!                                    |                                  v
//!                          ledger and context <-------------------- settle
//! ```
//!
//! - The **domain** predicts what each action would cost, from 0 for no risk to 1 for the worst, and
//!   gives one number for how dense its surroundings are. It fills in a [`Situation`].
//! - [`Shield::judge`] compares and answers with a [`Decision`]. It changes nothing.
//! - The world runs [`Decision::executed`], and the domain may observe what that really cost.
//! - [`Shield::settle`] charges the [`Ledger`], so that the next threshold knows. [`Charge`] says with
//!   which cost: the observed one, or the predicted one that was judged.
//! - At the end, a [`Certificate`] says what was spent, whether the budget was kept, and whether the
//!   envelope held.
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
//! | Eq. 4, budget projection: `tau_budget = R_t / (T - t + epsilon)`, `R_t = B - C_t` | [`Ledger::tau_budget`], with a [`pace`](ShieldSpec::pace) |
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
//!   density makes the threshold 0; such a charge is taken for 1. If not one cost of a
//!   situation is usable, the spec's [`last_resort`](ShieldSpec::last_resort) runs, which the domain
//!   has to choose.
//! - There is no off switch. An unshielded run is judged in [`Mode::Shadow`].
//!
//! # Risk mode: the budget as a probability
//!
//! An *incident* is what must not happen, and it ends the episode. A *critic* gives `rho(s, a)`: the
//! probability of an incident in the rest of the episode if `a` runs now and the least risky action
//! ever after. Where an episode is too long to see to its end, each decision survives the
//! look-ahead with probability `gamma`; otherwise `gamma` is 1.
//!
//! - `V(s) = min over a of rho(s, a)` is the risk that cannot be avoided here.
//! - `c(s, a) = rho(s, a) - V(s)` is the *avoidable risk* of an action. That is its cost.
//!
//! The cost is judged, and the same number is charged: [`Charge::Predicted`]. The least risky action
//! costs 0, so some action is always admissible. [`RiskRules::costs`] makes costs of risks, an
//! [`Account`] books what came of them, and a [`Memory`] goes on from episode to episode.
//!
//! ```
//! use cpss_shield::{Charge, RiskRules, RiskSpec, Shield, ShieldSpec, Situation};
//!
//! // At most one incident in 200 episodes more than cannot be avoided; three decisions.
//! let spec = ShieldSpec { charge: Charge::Predicted, ..ShieldSpec::new(0.005, 3) };
//! let mut shield = Shield::new(spec)?;
//! let rules = RiskRules::new(RiskSpec { rate: 0.1, ..RiskSpec::new() })?;
//! let (mut account, mut memory) = (rules.account(), rules.memory());
//!
//! for risks in [[0.011, 0.010], [0.090, 0.010], [0.002, 0.003]] {
//!     let mut costs = [0.0; 2];
//!     let unavoidable = rules.costs(memory.recalibration(), &risks, &mut costs)?;
//!     let situation = Situation { proposal: 0, costs: &costs, preferences: &[], density: 0.0 };
//!     let decision = shield.judge(&situation)?;
//!     let risk = memory.recalibration().raising(&risks).raise(risks[decision.executed()]);
//!     let settled = shield.settle_predicted(decision)?;
//!     if let Some(surprise) = account.enter(unavoidable, risk, settled.charge) {
//!         memory.learn(surprise);
//!     }
//! }
//! memory.end_episode(account.close(false));
//!
//! let certificate = shield.certificate().with_account(account).with_memory(memory);
//! assert!(certificate.budget_kept && certificate.counts.replaced == 1);
//! assert!(account.total().abs() < 1e-15, "no incident");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The promise
//!
//! A critic is *conservative* if, on every decision and given all that happened before,
//!
//! ```text
//!   rho(s_t, a_t) >= P(incident at t) + gamma E[ V(s_{t+1}) where it goes on ] .
//! ```
//!
//! > **Theorem.** Let the critic be conservative and the resolution 0. Let the shield enforce, charge
//! > by prediction, and have decided what runs on every decision of a bounded episode. Then
//! > `P(incident) <= E[V(s_0)] + B + E[arriving]`, where `arriving` is `1 - gamma` times the sum of
//! > `V(s_t)` over `t >= 1`, and 0 for `gamma = 1`.
//!
//! Nothing is assumed of the policy: it may be random, learn, or mean harm.
//!
//! *Proof.* While the episode goes on, let `M_t = V(s_t)` less what was chosen, the sum of `c_i` over
//! `i < t`, and less what has arrived. Once it is over, let `[incident]` stand for `V(s_t)`. From one
//! decision to the next `M` grows by `[incident] + gamma V(s_{t+1}) [goes on] - rho(s_t, a_t)`, as
//! `V(s_t) + c_t` is `rho(s_t, a_t)`. That has no positive mean: `M` is a supermartingale. So at the
//! end its mean is at most `E[V(s_0)]`. There it is `P(incident)` less the means of what was chosen
//! and of what has arrived. And what was chosen is at most `B`: every executed action is admissible,
//! and an admissible cost is at most the remaining budget. ∎
//!
//! The last step holds in IEEE double without any tolerance. After the horizon only cost 0 is
//! admissible, so the theorem does not ask how long the episode is. `proofs/promise_step.smt2` is the
//! step of the supermartingale. `tests/promise.rs` searches small decision processes for a policy that
//! breaks the promise: there is none while the critic is conservative, and there is one if it is not.
//!
//! What is not promised:
//!
//! - **That a learned critic is conservative.** That is measured: its mean surprise is at most 0. The
//!   [evidence](#evidence-and-recalibration) watches it.
//! - **A low number where there is no way out.** `V(s_0)` is part of the bound.
//! - **That this episode goes well.** The promise is about a probability.
//! - **Anything below the resolution.** What it swallows is not charged, and the bound grows by it:
//!   [`Account::unresolved`] says by how much.
//! - **That the budget is kept where `V` is 1.** There every action costs 1 and none is admissible. The
//!   bound holds, as nothing avoidable was chosen, and the account enters nothing; the certificate says `OVERSPENT` all the same, as an
//!   overflown critic says the same.
//!
//! # The account balances
//!
//! Every finished episode splits into four parts, as an identity:
//!
//! ```text
//!   [incident] = V(s_0) + sum of c_t + sum of d_t + (1 - gamma) sum of V(s_t) over t >= 1
//!                start    chosen       surprise     arriving
//!
//!   d_t = [incident at t] + gamma V(s_{t+1}) [goes on] - (V(s_t) + c_t)
//! ```
//!
//! `c_t` is what was charged, but at most `1 - V(s_t)`. The sum telescopes, whatever the critic says. So a measured incident rate is, to the last digit,
//! what was there at the start, what the shield let the policy choose, what the critic did not
//! foresee, and what came into view. [`Account`] keeps the four, with the `c_t` that was charged. It
//! tells apart what the critic did not foresee from what lay below its resolution.
//!
//! # The anytime envelope
//!
//! Let `e_t = max(0, c_t - tau_t)` be the *excess* of a step: by how much the charged cost was above
//! the threshold, for whatever reason. Let `E_t` be the sum of the excesses before `t`. Let
//! `n_t = T - t + epsilon`, and let `m_t = min(1, k / n_t)` be the greatest share of the remaining
//! budget that a decision may spend at pace `k`. Let `f_t` be the product of `1 - m_i` over `i < t`.
//!
//! > **Theorem.** For every `t <= T`, `C_t <= B (1 - f_t) + E_t`. At pace 1, where
//! > `1 - f_t = t / (T + epsilon)`, that is a straight line.
//!
//! *Proof.* The claim reads `R_t >= B f_t - E_t`. It holds at `t = 0` with equality. Suppose that it
//! holds at `t < T`; note that `0 < m_t <= 1`, `f_{t+1} = f_t (1 - m_t)`, and `c_t <= tau_t + e_t`.
//!
//! - If `R_t >= 0`, the cap and the gain only lower the threshold, so `tau_t <= m_t R_t`, and
//!   `R_{t+1} = R_t - c_t >= R_t (1 - m_t) - e_t`. By the claim at `t`, and as `0 <= 1 - m_t <= 1`
//!   and `E_t >= 0`, that is at least `B f_{t+1} - E_t - e_t`.
//! - If `R_t < 0`, then `tau_t = 0` and `c_t = e_t`, so `R_{t+1} = R_t - e_t`, which by the claim at
//!   `t` is at least `B f_t - E_t - e_t`, and no less than the claim at `t + 1` asks.
//!
//! At pace 1, `1 - m_i = n_{i+1} / n_i`, and the product telescopes to `n_t / (T + epsilon)`. After
//! the horizon the threshold is 0, both sides grow by the same `e_t`, and the bound goes on with `t`
//! replaced by `T`. ∎
//!
//! So at pace 1 a run without excess never gets ahead of the straight line from 0 to `B`: bursts are
//! ruled out, not only overruns. A higher pace lets them come earlier, along a curve above the line,
//! and never lets more than `B` be spent. Neither a feasible fallback nor a right prediction is assumed;
//! where either fails, the bound says by exactly how much. Charged by prediction, with avoidable risks
//! as costs, there is no excess.
//!
//! [`Ledger::envelope`] is the bound, every [`Settlement`] checks it, and `proofs/` holds the induction
//! step for an SMT solver. In doubles the check allows for rounding as [`Ledger::envelope_holds`]
//! derives, and the ledger's `m_t` is at most `1 / (1 + 1e-12)`, for [`Ledger::tau_budget`]'s reason.
//!
//! # The price of risk
//!
//! A threshold spends risk on whatever comes first. With a [`price`](ShieldSpec::price) `w > 0` the
//! shield runs, of the admissible actions, the one with the greatest
//!
//! ```text
//!   preference - lambda c,      lambda = w spread / tau
//! ```
//!
//! where the spread is that of all preferences, so that their unit does not matter. The less budget is
//! left, the lower `tau`, and the dearer risk becomes. An admissible proposal gives way only to an action that costs less, so a price never spends more than was proposed; the
//! reason is then [`Reason::Priced`]. Where preferences have no scale (none, one that is NaN or
//! infinite, or all alike), the threshold rule stands. Every promise above stands too, as only
//! admissible actions run.
//!
//! # Evidence and recalibration
//!
//! If a critic is conservative, its surprises `[incident] + gamma V' [goes on] - rho` have no positive
//! mean, whatever the policy does. [`Evidence`] bets against that: `S <- (S + 1)(1 + lambda d)`,
//! averaged over three stakes `lambda` in `(0, 1)`.
//!
//! > **Theorem.** While the critic is conservative, the expected number of decisions until `S` first
//! > reaches `A` is at least `A`.
//!
//! *Proof.* `S` starts at 0, is never negative, and has mean at most `S + 1` after one more decision. So
//! `S_t - t` is a supermartingale from 0. Let `N` be the decision at which `S` first reaches `A`. Up to
//! any decision `n`, optional stopping gives `E[min(N, n)] >= E[S at min(N, n)] >= A P(N <= n)`. If an
//! alarm is certain to come, let `n` grow: `E[N] >= A`. If it is not, `E[N]` is infinite. ∎
//!
//! An alarm is a reason to look, not a proof. Surprises of risk are slow evidence for one system and
//! quick evidence for a fleet. For one system, [`Novelty`] tests how badly the scenes of each episode were
//! foretold: one number, its *score*, which comes from outside. Calibration sorted scores into six bins, and bounds the
//! probability `p_k` of each from above by `u_k`. An episode in bin `k` has the e-value `e = w_k / u_k`,
//! where the weights `w` sum to 1 and lie mostly on the top bins. `S <- (S + 1)(1 + lambda (e - 1))` is averaged over the stakes.
//!
//! > **Theorem.** Let scores of episodes be independent, and `p_k <= u_k` for every bin. Then the expected number of
//! > episodes until `S` first reaches `A` is at least `A`.
//!
//! *Proof.* `E[e]` is the sum of `p_k w_k / u_k`, which is at most that of the `w_k`: 1. So `e - 1` has no
//! positive mean, given the episodes before, and the proof above applies. ∎
//!
//! In doubles `e` is off by one rounding, a part in `10^16`. The bounds are confidence bounds: where one of them does not hold, alarms
//! without cause may be more frequent. And an alarm says that the world has changed, not that it is more dangerous. As a
//! precaution it can raise `r` at once, to [`RiskSpec::precaution`] at least.
//! `proofs/novelty_mean.smt2` is the step, `proofs/novelty_stays_usable.smt2` the sum in doubles.
//!
//! [`Recalibration`] raises log-odds by `r >= 0`, and learns it from the
//! surprises: `r <- r + eta d`, kept within `[0, r_max]`. These are the account's: what is foretold, below the resolution and so not
//! charged counts too ([`Surprise`]). It never lowers a risk. What it has learned
//! comes into force when an episode ends: [`Memory::end_episode`]. Up to [`RiskSpec::max_shift`] it is a shift of every risk:
//! the shield becomes more cautious. Within an episode the shift stands
//! still, and so keeps a conservative critic conservative: the raised risk is a concave function of the
//! risk, with 0 and 1 where they were (`proofs/recalibration_stays_conservative.smt2`). The promise and
//! the run length hold for the raised critic, too. The resolution stays
//! as it is: a shield that is surprised minds smaller differences.
//!
//! What is learned beyond, up to [`RiskSpec::max_lift`] more, lifts what cannot be avoided: a critic that needs so
//! much no longer knows what is dangerous, and to mind what it says all the more does harm. Costs are those of the risks that are only shifted, so
//! the shield decides as before, and its promise is what it sees happen. If the critic is conservative once it is shifted, `P(incident) <= E[V_b] + B`, and the lifted
//! `V` is no smaller. The evidence compares what happens with the lifted risks; its run length is a theorem while there is no lift, or the least risky
//! actions run (`proofs/lift_stays_conservative.smt2`, whose controls show why no further).
//!
//! > **Theorem.** As long as the upper limit `r_max` never held `r` back, the sum of all surprises since the memory
//! > was opened is at most `r / eta`, so at most `r_max / eta`. Their mean over `n` episodes is at most
//! > `r_max / (eta n)`.
//!
//! *Proof.* Without the upper limit, `r` becomes `max(0, r + eta d)`, which is at least `r + eta d`; a precaution only raises
//! it. As `r` starts at 0, it is at least `eta` times the sum of all `d`. ∎
//!
//! Nothing is assumed of the critic, the policy or the world: a recalibrated critic is conservative on
//! average in the long run, or `r` has reached the limit. In a fleet no fork's own `r` may have been held back either.
//!
//! The memory of a fleet is that of one system that lived through all of its episodes in a row:
//! [`Memory::fork`] gives each system its own, and [`Memory::join`] puts them together. Over a system's decisions `S` becomes
//! `a S + b`, an affine map, and such maps compose; what was learned is added up. A joint alarm can come later than that one
//! system's would have, as sums are compared with the level only where one fork ends and the next begins. An alarm
//! of one fork is one of the fleet. Each fork by itself reaches `A` within `n` decisions with probability `n / A` at most, if
//! its base was new; so among `N` decisions of the whole fleet it is `N / A` at most.
//!
//! # What is not guaranteed
//!
//! - **The envelope is an account, not a promise of safety.** `E_t` can grow without limit. It stays 0
//!   as long as every executed action is admissible *and* costs no more than its threshold. Where
//!   observed costs are charged, look at [`Certificate::budget_kept`] before the envelope: an unshielded
//!   run keeps the envelope too, by its excess.
//! - **A wrong cost predictor** lets a dangerous action through. Where observed costs are charged, the
//!   shield sees it afterwards: the step is counted as mispredicted, its cost is charged, and later
//!   thresholds tighten. In risk mode it shows as surprise.
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
mod novelty;
mod price;
mod recalibration;
mod risk;
mod shield;
mod situation;
mod spec;
mod state;
mod sum;
mod threshold;
mod verdict;

pub use account::{Account, Surprise};
pub use certificate::{Certificate, Counts};
pub use context::Context;
pub use decision::{Decision, Settlement, StaleDecision};
pub use evidence::Evidence;
pub use fallback::Fallback;
pub use gain::GainSpec;
pub use ledger::Ledger;
pub use memory::{Alarm, AlarmKind, JoinError, Memory};
pub use novelty::{Novelty, NoveltyScale};
pub use recalibration::{Raising, Recalibration};
pub use risk::{CostCount, RiskRules, RiskSpec};
pub use shield::Shield;
pub use situation::{JudgeError, Situation};
pub use spec::{Charge, Mode, OutOfRange, Rules, ShieldSpec};
pub use state::{EvidenceState, MemoryState, NoveltyState, RecalibrationState};
pub use sum::Sum;
pub use threshold::Threshold;
pub use verdict::{Reason, Verdict};

/// Whether a number can stand for a cost or a density: at least 0 and finite.
///
/// The one test for it in the crate. It accepts what is in range, so that a NaN, which is in none,
/// fails.
fn usable(value: f64) -> bool {
    (0.0..f64::INFINITY).contains(&value)
}
