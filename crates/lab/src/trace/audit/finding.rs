//! What can be wrong with a trace, and where?
//!
//! A [`Finding`] names the first line that is not as derived, and the [`Problem`] with it. [`same`] and
//! [`near`] make one.
//!
//! **Invariant:** a number that is none agrees with nothing but its like: checks accept with `==` and `<=`.

use std::fmt;

use crate::trace::format::VERSION;

/// The first thing that is wrong with a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// What can be wrong with a line of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// It does not fit the lines above it.
    Chain,
    /// It is sealed as the last line, but others follow; or the other way round.
    Cut,
    /// It cannot be read.
    Unreadable(String),
    /// It is of a version that this program does not know.
    Version(u32),
    /// The shield refuses what it is told.
    Refused(String),
    /// A field holds something that this program does not know.
    Unknown {
        /// The field.
        field: &'static str,
        /// What the trace says.
        found: String,
    },
    /// A field differs from what is derived.
    Differs {
        /// The field.
        field: &'static str,
        /// What the trace says.
        found: String,
        /// What comes out.
        derived: String,
    },
    /// The trace is whole, but not the one whose hash was kept.
    Another {
        /// The hash that it ends in.
        found: String,
        /// The hash that was kept.
        kept: String,
    },
}

/// Whether a field is what is derived.
pub(super) fn same<T: PartialEq + fmt::Display>(
    field: &'static str,
    found: T,
    derived: T,
) -> Result<(), Problem> {
    if found == derived {
        return Ok(());
    }
    Err(Problem::Differs { field, found: found.to_string(), derived: derived.to_string() })
}

/// Whether a field is what is derived from rounded numbers.
pub(super) fn near(
    field: &'static str,
    found: f64,
    derived: f64,
    tolerance: f64,
) -> Result<(), Problem> {
    // Two infinities are the same, and their difference is none.
    if found == derived || (found - derived).abs() <= tolerance {
        return Ok(());
    }
    let derived = format!("{derived:.4} ± {tolerance:.4}");
    Err(Problem::Differs { field, found: found.to_string(), derived })
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        // The header is line 1, so the decision of step t is on line t + 2.
        if let (Some(step), Problem::Differs { field, .. }) =
            (self.line.checked_sub(2), &self.problem)
            && !field.starts_with("record")
            && *field != "certificate"
            && *field != "memory"
        {
            write!(f, " (step {step})")?;
        }
        match &self.problem {
            // Nothing is above the first line, and any file at all has one.
            Problem::Chain if self.line == 1 => {
                f.write_str(" is not the first line of a trace: it was edited, or this is no trace")
            }
            Problem::Cut if self.line == 1 => f.write_str(
                " is all there is: this is no trace, or the lines that belong after it are missing",
            ),
            Problem::Chain => f.write_str(
                " does not fit the lines above it: it, or one above it, was edited, moved, added \
                 or taken away",
            ),
            Problem::Cut => f.write_str(
                " is not where a trace ends: lines are missing after it, or do not belong there",
            ),
            Problem::Unreadable(error) => write!(f, " cannot be read: {error}"),
            Problem::Version(version) => write!(
                f,
                ": the trace is of version {version}, this program knows {VERSION}; play the \
                 episode again to have it in that"
            ),
            Problem::Refused(error) => write!(f, ": the shield refuses it: {error}"),
            Problem::Unknown { field, found } => {
                write!(f, ": `{field}` is `{found}`, which this program does not know")
            }
            Problem::Differs { field, found, derived } => {
                write!(f, ": `{field}` is {found}, but {derived} is derived")
            }
            Problem::Another { found, kept } => write!(
                f,
                ": the trace ends in {found}, but {kept} was kept: it is another trace, or was \
                 hashed anew"
            ),
        }
    }
}

impl std::error::Error for Finding {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_near_nothing() {
        assert!(near("x", 1.004, 1.0, 0.005).is_ok());
        assert!(near("x", 1.006, 1.0, 0.005).is_err());
        assert!(near("x", f64::INFINITY, f64::INFINITY, 0.1).is_ok());
        assert!(near("x", f64::INFINITY, 1.0, 0.1).is_err());
        assert!(near("x", f64::NAN, 1.0, 0.1).is_err());
        assert!(near("x", 1.0, f64::NAN, 0.1).is_err());
    }

    #[test]
    fn a_finding_names_its_line_and_its_step() {
        let differs =
            |field| Problem::Differs { field, found: 1.to_string(), derived: 2.to_string() };
        let words = |line, problem| Finding { line, problem }.to_string();
        assert_eq!(words(5, differs("tau")), "line 5 (step 3): `tau` is 1, but 2 is derived");
        let record = differs("record: steps");
        assert_eq!(words(9, record), "line 9: `record: steps` is 1, but 2 is derived");
        assert!(
            words(1, Problem::Version(1))
                .contains(&format!("of version 1, this program knows {VERSION}"))
        );
    }
}
