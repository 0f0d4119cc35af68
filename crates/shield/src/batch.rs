//! How does one call serve many shields, as a vector environment needs?
//!
//! Start at [`judge_all`], then [`settle_all`]. A batch is a slice of shields, one per row, and
//! the caller owns every buffer. A row that is being reset is masked out and gets `None`; resetting
//! row `i` is `shields[i].reset()`, and no other row notices. A row that is reset between judging and
//! settling makes its decision stale, on every step.
//!
//! **Invariants:** a row's decision and settlement have the same bits as the single form's, which
//! is the code that makes them; a batch is settled whole or not at all; an error names the row.
//!
//! **Absent on purpose:** threads. A decision takes nanoseconds; whoever has cores to spare splits
//! the slices.

use core::fmt;

use crate::{Decision, JudgeError, Settlement, Shield, Situation, StaleDecision};

/// One situation per row, in flat buffers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Situations<'a> {
    /// How many actions each row has.
    pub actions: usize,
    /// The proposal of each row.
    pub proposals: &'a [usize],
    /// The costs, row after row: `actions` numbers each.
    pub costs: &'a [f64],
    /// The preferences, row after row like the costs; or empty.
    pub preferences: &'a [f64],
    /// The density of each row.
    pub densities: &'a [f64],
    /// Which rows take part; empty for all of them.
    pub active: &'a [bool],
}

impl<'a> Situations<'a> {
    /// The situation of one row, or `None` if it is masked out.
    fn row(&self, row: usize) -> Option<Situation<'a>> {
        if self.active.get(row) == Some(&false) {
            return None;
        }
        // `check` has measured the buffers, so each `get` below finds its place.
        let start = row.saturating_mul(self.actions);
        let cells = start..start.saturating_add(self.actions);
        Some(Situation {
            proposal: *self.proposals.get(row)?,
            costs: self.costs.get(cells.clone())?,
            preferences: self.preferences.get(cells).unwrap_or(&[]),
            density: *self.densities.get(row)?,
        })
    }

    fn check(&self, rows: usize) -> Result<(), BatchError> {
        let cells = rows.saturating_mul(self.actions);
        let optional = |length: usize, full: usize| if length == 0 { 0 } else { full };
        expect("proposals", rows, self.proposals.len())?;
        expect("costs", cells, self.costs.len())?;
        expect("preferences", optional(self.preferences.len(), cells), self.preferences.len())?;
        expect("densities", rows, self.densities.len())?;
        expect("active", optional(self.active.len(), rows), self.active.len())
    }
}

/// Judges every active row, as [`Shield::judge`] does one. Changes no shield.
///
/// `decisions` has one place per shield; a masked row gets `None`.
///
/// # Errors
///
/// If a buffer has the wrong length, or a row's situation makes no sense. That row and those after
/// it are not judged and hold `None`, never a decision of an earlier call; as judging changes
/// nothing, the call can simply be made again.
///
/// ```
/// use cpss_shield::{Rules, Shield, ShieldSpec};
/// use cpss_shield::batch::{Situations, judge_all, settle_all};
///
/// let mut shields = [Shield::under(Rules::new(ShieldSpec::new(1.0, 10))?); 3];
/// let situations = Situations {
///     actions: 2,
///     proposals: &[0, 1, 1],
///     costs: &[0.0, 0.9, 0.0, 0.9, 0.0, 0.9],
///     preferences: &[],
///     densities: &[0.0; 3],
///     active: &[true, true, false],
/// };
/// let (mut decisions, mut settlements) = ([None; 3], [None; 3]);
/// judge_all(&shields, &situations, &mut decisions)?;
/// assert_eq!(decisions.map(|row| row.map(|decision| decision.executed())), [Some(0), Some(0), None]);
/// settle_all(&mut shields, &decisions, &[0.0; 3], &mut settlements)?;
/// assert_eq!(shields.map(|shield| shield.ledger().step()), [1, 1, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn judge_all(
    shields: &[Shield],
    situations: &Situations<'_>,
    decisions: &mut [Option<Decision>],
) -> Result<(), BatchError> {
    decisions.fill(None);
    situations.check(shields.len())?;
    expect("decisions", shields.len(), decisions.len())?;
    // Not `enumerate`: its counter keeps an overflow check that a range over the length has not.
    for ((row, shield), decision) in (0..shields.len()).zip(shields).zip(decisions) {
        *decision = match situations.row(row) {
            Some(situation) => match shield.judge(&situation) {
                Ok(judged) => Some(judged),
                Err(error) => return Err(BatchError::Judge { row, error }),
            },
            None => None,
        };
    }
    Ok(())
}

/// Settles every row that has a decision, as [`Shield::settle`] does one. The observed cost of a row
/// whose shield charges by prediction is not read.
///
/// # Errors
///
/// If a buffer has the wrong length, or a row's decision is stale. No row is settled then.
pub fn settle_all(
    shields: &mut [Shield],
    decisions: &[Option<Decision>],
    observed: &[f64],
    settlements: &mut [Option<Settlement>],
) -> Result<(), BatchError> {
    let rows = shields.len();
    expect("decisions", rows, decisions.len())?;
    expect("observed", rows, observed.len())?;
    expect("settlements", rows, settlements.len())?;
    for ((row, shield), decision) in (0..rows).zip(&*shields).zip(decisions) {
        if let Some(decision) = decision {
            shield.expects(decision).map_err(|error| BatchError::Settle { row, error })?;
        }
    }
    for ((((row, shield), decision), &cost), settlement) in
        (0..rows).zip(shields).zip(decisions).zip(observed).zip(settlements)
    {
        *settlement = match decision {
            Some(decision) => match shield.settle(*decision, cost) {
                Ok(settled) => Some(settled),
                Err(error) => return Err(BatchError::Settle { row, error }),
            },
            None => None,
        };
    }
    Ok(())
}

/// A batch that makes no sense: a buffer of the wrong length, or one row's own error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchError {
    /// A buffer does not have one place for each row (or each row's action).
    Length {
        /// The buffer.
        buffer: &'static str,
        /// The length it should have.
        expected: usize,
        /// The length it has.
        found: usize,
    },
    /// A row's situation makes no sense.
    Judge {
        /// The row.
        row: usize,
        /// What is wrong with it.
        error: JudgeError,
    },
    /// A row's decision is of another step or ledger than its shield's.
    Settle {
        /// The row.
        row: usize,
        /// Which steps and ledgers.
        error: StaleDecision,
    },
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BatchError::Length { buffer, expected, found } => {
                write!(f, "`{buffer}` has {found} entries, expected {expected}")
            }
            BatchError::Judge { row, error } => write!(f, "row {row}: {error}"),
            BatchError::Settle { row, error } => write!(f, "row {row}: {error}"),
        }
    }
}

impl core::error::Error for BatchError {}

fn expect(buffer: &'static str, expected: usize, found: usize) -> Result<(), BatchError> {
    if found == expected { Ok(()) } else { Err(BatchError::Length { buffer, expected, found }) }
}
