//! How is a continuous action shielded?
//!
//! By sampling. [`sample`] fills a buffer with candidate actions from a box around the proposal,
//! the domain predicts the cost of each, and [`judge_nearest`] lets the proposal through if it is
//! admissible and otherwise takes the *nearest* admissible candidate.
//!
//! This is sampling, not optimisation: a better action between two candidates is not found, and a
//! set of which no candidate is admissible is [`Infeasible`](crate::Verdict::Infeasible) even if an
//! admissible action exists elsewhere. More candidates, or a wider box, buy a finer answer.
//!
//! **Invariants:** candidate 0 is the proposal, clamped to the bounds as every candidate is; the
//! others follow a fixed low-discrepancy sequence (Halton's), so the same call gives the same
//! candidates; a prefix of a longer set is the shorter set; a set is judged only if every candidate
//! is finite and within the bounds, and, where the verdict is carried out, only if the last resort
//! is not the proposal, so that a predictor that fails cannot let the proposal through.
//!
//! **Absent on purpose:** randomness, gradients, and more than [`MAX_DIMENSIONS`] dimensions, where
//! so few samples would say nothing.

use core::fmt;

use crate::{Decision, Fallback, JudgeError, Mode, Shield, Situation, usable};

/// The most dimensions an action may have: one prime base each.
pub const MAX_DIMENSIONS: usize = BASES.len();

/// Where candidates may lie: within the action's bounds, and within `radius` of the proposal after
/// that has been clamped to them.
///
/// Each slice has one number per dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbourhood<'a> {
    /// The proposed action.
    pub proposal: &'a [f64],
    /// How far from the clamped proposal a sampled candidate may be, at least 0.
    pub radius: &'a [f64],
    /// The least action.
    pub low: &'a [f64],
    /// The greatest action, at least the least.
    pub high: &'a [f64],
}

/// Fills `candidates`, row after row, with actions near the proposal; the first is the proposal.
///
/// Overwrite the last row with an action that is known to be safe (full brake, say) and make that
/// row the spec's `last_resort`: it runs when not one cost is usable. Such a row may lie outside the
/// radius, but not outside the bounds. [`judge_nearest`] refuses a spec that leaves the last resort
/// at 0, the proposal itself.
///
/// # Errors
///
/// If the slices do not fit together, there are too many dimensions, or a number is not finite or
/// out of order.
///
/// ```
/// use cpss_shield::candidates::{Neighbourhood, judge_nearest, sample};
/// use cpss_shield::{Shield, ShieldSpec};
///
/// let shield = Shield::new(ShieldSpec { last_resort: 15, ..ShieldSpec::new(1.0, 10) })?;
/// let around = Neighbourhood { proposal: &[0.9], radius: &[0.5], low: &[-1.0], high: &[1.0] };
/// let mut candidates = [0.0; 16];
/// sample(&around, &mut candidates)?;
/// candidates[15] = -1.0; // full brake, which is safe here whatever happens
///
/// // In this domain, whatever is above 0.7 is dangerous.
/// let costs = candidates.map(|action| if action > 0.7 { 0.8 } else { 0.0 });
/// let decision = judge_nearest(&shield, &around, &candidates, &costs, 0.0, &mut [0.0; 16])?;
/// let executed = candidates[decision.executed()];
/// assert!(executed <= 0.7 && executed > 0.6);
///
/// // A predictor that fails leaves the last resort.
/// let blind = [f64::NAN; 16];
/// let decision = judge_nearest(&shield, &around, &candidates, &blind, 0.0, &mut [0.0; 16])?;
/// assert_eq!(candidates[decision.executed()], -1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn sample(around: &Neighbourhood<'_>, candidates: &mut [f64]) -> Result<(), CandidateError> {
    let rows = around.check(candidates.len())?;
    // Not `enumerate`: its counter keeps an overflow check that a range over the length has not.
    for (row, candidate) in (0..rows).zip(candidates.chunks_exact_mut(around.dimensions())) {
        for (axis, value) in around.axes().zip(candidate) {
            *value = match row {
                0 => axis.centre(),
                _ => axis.at(radical_inverse(row, axis.base)),
            };
        }
    }
    Ok(())
}

/// Judges a set of candidates: the proposal, candidate 0, if it is admissible, or else the nearest
/// that is. Changes nothing; settle the decision as any other.
///
/// This is [`Fallback::BestAdmissible`] with the preference `-distance^2`, measured in radii so that
/// metres and radians weigh alike, whatever the shield's own fallback and price. A dimension of radius 0 is to
/// be left alone: a candidate that differs there is infinitely far, further than any that does not.
/// Among equally distant ones the least cost decides. `preferences` is room for one number per
/// candidate, and holds those preferences afterwards.
///
/// # Errors
///
/// If the slices do not fit together; if a candidate is not finite or out of bounds, or candidate 0
/// is not the clamped proposal; if the shield enforces and its `last_resort` is 0, the proposal; or
/// if the shield refuses the situation's shape.
pub fn judge_nearest(
    shield: &Shield,
    around: &Neighbourhood<'_>,
    candidates: &[f64],
    costs: &[f64],
    density: f64,
    preferences: &mut [f64],
) -> Result<Decision, CandidateError> {
    let rows = around.check(candidates.len())?;
    expect("costs", rows, costs.len())?;
    expect("preferences", rows, preferences.len())?;
    // Always, not only when no cost is usable: a wrong setting should show on the first decision,
    // not in the emergency. In shadow mode the proposal runs anyway, and nobody relies on it.
    let spec = shield.rules().spec();
    if spec.mode == Mode::Enforce && spec.last_resort == 0 {
        return Err(CandidateError::LastResortIsProposal);
    }
    for ((row, candidate), preference) in
        (0..rows).zip(candidates.chunks_exact(around.dimensions())).zip(preferences.iter_mut())
    {
        let mut distance2 = 0.0;
        for ((dimension, axis), &value) in (0..MAX_DIMENSIONS).zip(around.axes()).zip(candidate) {
            let (low, high) = match row {
                0 => (axis.centre(), axis.centre()),
                _ => (axis.low, axis.high),
            };
            // The bounds are finite, so that this refuses NaN and the infinities too.
            if !(low..=high).contains(&value) {
                return Err(CandidateError::Candidate { row, dimension, value, low, high });
            }
            distance2 += axis.distance2(value);
        }
        *preference = -distance2;
    }
    let situation = Situation { proposal: 0, costs, preferences, density };
    // A distance is not what an action is worth, so there is nothing to weigh a price against.
    let price = 0.0;
    shield.judge_by(Fallback::BestAdmissible, price, &situation).map_err(CandidateError::Judge)
}

/// A candidate set that makes no sense.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CandidateError {
    /// A slice does not fit the others.
    Length {
        /// The slice.
        field: &'static str,
        /// The length it should have.
        expected: usize,
        /// The length it has.
        found: usize,
    },
    /// The action has no dimension, or more than [`MAX_DIMENSIONS`].
    Dimensions {
        /// How many it has.
        found: usize,
    },
    /// A number of the neighbourhood is not finite, or out of order.
    OutOfRange {
        /// The field, as in [`Neighbourhood`].
        field: &'static str,
        /// The dimension.
        dimension: usize,
        /// What it held.
        value: f64,
    },
    /// A candidate is not finite or out of bounds, or candidate 0 is not the clamped proposal.
    Candidate {
        /// The row in `candidates`.
        row: usize,
        /// The dimension.
        dimension: usize,
        /// What it held.
        value: f64,
        /// The least it may be; in row 0, the clamped proposal.
        low: f64,
        /// The greatest it may be; in row 0, the clamped proposal.
        high: f64,
    },
    /// The spec's `last_resort` is 0, the proposal: if the predictor failed, the very action that
    /// nothing is known of would run.
    LastResortIsProposal,
    /// The shield refused the situation's shape.
    Judge(JudgeError),
}

impl fmt::Display for CandidateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CandidateError::Length { field, expected, found } => {
                write!(f, "`{field}` has {found} entries, expected {expected}")
            }
            CandidateError::Dimensions { found } => {
                write!(f, "`proposal` has {found} dimensions, expected 1 to {MAX_DIMENSIONS}")
            }
            CandidateError::OutOfRange { field, dimension, value } => {
                write!(f, "`{field}[{dimension}]` is out of range: {value}")
            }
            CandidateError::Candidate { row: 0, dimension, value, low, .. } => write!(
                f,
                "`candidates` row 0, dimension {dimension} is {value}, expected the clamped \
                 proposal {low}"
            ),
            CandidateError::Candidate { row, dimension, value, low, high } => write!(
                f,
                "`candidates` row {row}, dimension {dimension} is {value}, expected {low} to {high}"
            ),
            CandidateError::LastResortIsProposal => f.write_str(
                "`last_resort` is 0, which is the proposal: name the row of a known safe action",
            ),
            CandidateError::Judge(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for CandidateError {}

/// One dimension of a neighbourhood.
struct Axis {
    proposal: f64,
    radius: f64,
    low: f64,
    high: f64,
    base: usize,
}

impl Axis {
    /// The proposal, brought within the bounds.
    fn centre(&self) -> f64 {
        self.clamp(self.proposal)
    }

    /// How far a value is from the centre, squared, in radii.
    fn distance2(&self, value: f64) -> f64 {
        if self.radius > 0.0 {
            let radii = (value - self.centre()) / self.radius;
            radii * radii
        } else if value == self.centre() {
            0.0
        } else {
            // Without a radius there is no unit to measure by, and no leave to move.
            f64::INFINITY
        }
    }

    /// The point at a share in `[0, 1)` of the way through the box. The box is cut at the bounds
    /// before it is sampled, so that no samples pile up on them.
    fn at(&self, share: f64) -> f64 {
        let from = self.clamp(self.centre() - self.radius);
        let to = self.clamp(self.centre() + self.radius);
        self.clamp(from + (to - from) * share)
    }

    /// Not `f64::clamp`, which panics if the bounds are out of order.
    fn clamp(&self, value: f64) -> f64 {
        value.max(self.low).min(self.high)
    }
}

impl Neighbourhood<'_> {
    /// How many numbers an action has; never 0, which `chunks_exact` would panic at.
    fn dimensions(&self) -> usize {
        self.proposal.len().max(1)
    }

    fn axes(&self) -> impl Iterator<Item = Axis> {
        let (centres, radii) = (self.proposal.iter(), self.radius.iter());
        let bounds = self.low.iter().zip(self.high);
        centres.zip(radii).zip(bounds).zip(BASES).map(
            |(((&proposal, &radius), (&low, &high)), base)| Axis {
                proposal,
                radius,
                low,
                high,
                base,
            },
        )
    }

    /// Checks the numbers and returns how many candidates a buffer of `length` holds.
    fn check(&self, length: usize) -> Result<usize, CandidateError> {
        let dimensions = self.proposal.len();
        if !(1..=MAX_DIMENSIONS).contains(&dimensions) {
            return Err(CandidateError::Dimensions { found: dimensions });
        }
        expect("radius", dimensions, self.radius.len())?;
        expect("low", dimensions, self.low.len())?;
        expect("high", dimensions, self.high.len())?;
        for (dimension, axis) in (0..dimensions).zip(self.axes()) {
            let Axis { proposal, radius, low, high, .. } = axis;
            for (field, value, in_range) in [
                ("proposal", proposal, proposal.is_finite()),
                ("radius", radius, usable(radius)),
                ("low", low, low.is_finite()),
                ("high", high, low <= high && high < f64::INFINITY),
            ] {
                if !in_range {
                    return Err(CandidateError::OutOfRange { field, dimension, value });
                }
            }
        }
        // Whole rows, and at least one.
        let rows = (length / self.dimensions()).max(1);
        expect("candidates", rows.saturating_mul(dimensions), length)?;
        Ok(rows)
    }
}

/// The first primes: Halton's sequence takes one base per dimension.
const BASES: [usize; 16] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53];

/// The digits of `index` in `base`, mirrored at the point: a number in `[0, 1)`.
fn radical_inverse(index: usize, base: usize) -> f64 {
    // Every base is at least 2; saying so here lets the compiler drop its check for zero.
    let base = base.max(2);
    let (mut rest, mut digit, mut inverse) = (index, 1.0, 0.0);
    while rest > 0 {
        digit /= base as f64;
        inverse += digit * (rest % base) as f64;
        rest /= base;
    }
    inverse
}

fn expect(field: &'static str, expected: usize, found: usize) -> Result<(), CandidateError> {
    if found == expected { Ok(()) } else { Err(CandidateError::Length { field, expected, found }) }
}

#[cfg(test)]
mod tests;
