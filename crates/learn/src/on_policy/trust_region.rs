//! Which step gains the most reward without leaving the trust region or breaking the limit?
//!
//! CPO's problem (Achiam et al., 2017, equation 11), linear in reward and cost and quadratic in the divergence:
//!
//! ```text
//!   greatest  g · x    so that    c + b · x <= 0    and    x · H x / 2 <= delta
//! ```
//!
//! `g` and `b` are the gradients of reward and cost, `c` is how far the policy is above the limit, and `H` the Fisher
//! matrix. Every solution is a combination of `H⁻¹ g` and `H⁻¹ b`, so [`Problem`] needs three products of them and
//! [`Problem::solve`] returns two factors. The paper maximises the dual over `lambda` and `nu`; with one limit, the
//! cases below give the same point directly:
//!
//! | | |
//! |---|---|
//! | [`Case::Free`] | the best step without a limit keeps it (`nu = 0`) |
//! | [`Case::Bound`] | limit and divergence both bind: `lambda = sqrt(A / B)`, `nu = (lambda c + r) / s` |
//! | [`Case::Recover`] | no step in the region reaches the limit: go down the cost as far as allowed |
//! | [`Case::Stay`] | above the limit, and no direction is known that lowers the cost, or nothing to gain |

/// The problem, in the space that its solutions span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Problem {
    /// `g · H⁻¹ g`.
    pub q: f64,
    /// `g · H⁻¹ b`.
    pub r: f64,
    /// `b · H⁻¹ b`.
    pub s: f64,
    /// How far the cost is above the limit; below 0 there is room.
    pub c: f64,
    /// The greatest divergence.
    pub delta: f64,
}

/// What determined a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// The divergence alone.
    Free,
    /// The divergence and the limit.
    Bound,
    /// The limit cannot be reached in one step.
    Recover,
    /// There is no step to take.
    Stay,
}

/// A step: `along_reward * H⁻¹ g + along_cost * H⁻¹ b`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// What determined it.
    pub case: Case,
    /// The factor of `H⁻¹ g`.
    pub along_reward: f64,
    /// The factor of `H⁻¹ b`.
    pub along_cost: f64,
}

/// A squared gradient shorter than this has no direction.
const NOTHING: f64 = 1e-16;

impl Problem {
    /// Returns the best step.
    pub fn solve(&self) -> Step {
        let Problem { q, r, s, c, delta } = *self;
        // The best step without a limit; none if there is no reward to gain.
        let free = if q > NOTHING { (2.0 * delta / q).sqrt() } else { 0.0 };
        if c + free * r <= 0.0 {
            let case = if free > 0.0 { Case::Free } else { Case::Stay };
            return Step { case, along_reward: free, along_cost: 0.0 };
        }
        if s <= NOTHING {
            return Step { case: Case::Stay, along_reward: 0.0, along_cost: 0.0 };
        }
        let b = 2.0 * delta - c * c / s;
        if b <= 0.0 {
            let along_cost = -(2.0 * delta / s).sqrt();
            return Step { case: Case::Recover, along_reward: 0.0, along_cost };
        }
        // What is left of the reward's gradient within the plane of the limit. Where nothing is, the plane's nearest
        // point is as good as any other.
        let a = q - r * r / s;
        let along_reward = if a > NOTHING { (b / a).sqrt() } else { 0.0 };
        Step { case: Case::Bound, along_reward, along_cost: -(c + along_reward * r) / s }
    }
}
