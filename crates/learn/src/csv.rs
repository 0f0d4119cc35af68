//! How is a training run logged for a spreadsheet?
//!
//! [`CsvLog`] writes one line per [`Progress`] it is given, under a header. What is not known yet is
//! an empty cell, which every reader of CSV takes as missing.

use std::io::{self, Write};

use crate::progress::Progress;

/// Writes progress as comma-separated values.
#[derive(Debug)]
pub struct CsvLog<W> {
    out: W,
}

impl<W: Write> CsvLog<W> {
    /// Starts a log by writing its header.
    ///
    /// # Errors
    ///
    /// Whatever `out` reports.
    pub fn new(mut out: W) -> io::Result<CsvLog<W>> {
        writeln!(
            out,
            "steps,updates,episodes,incidents,return_mean,length_mean,incident_rate,epsilon,loss,multiplier"
        )?;
        Ok(CsvLog { out })
    }

    /// Continues a log that has its header already, after a resumed run.
    pub fn append(out: W) -> CsvLog<W> {
        CsvLog { out }
    }

    /// Writes one line.
    ///
    /// # Errors
    ///
    /// Whatever the stream reports.
    pub fn progress(&mut self, progress: &Progress) -> io::Result<()> {
        let Progress { steps, updates, episodes, incidents, .. } = progress;
        let cells = [
            progress.return_mean,
            progress.length_mean,
            progress.incident_rate,
            progress.epsilon.unwrap_or(f64::NAN),
            f64::from(progress.loss),
            progress.multiplier.unwrap_or(f64::NAN),
        ]
        .map(|value| if value.is_nan() { String::new() } else { value.to_string() });
        writeln!(self.out, "{steps},{updates},{episodes},{incidents},{}", cells.join(","))
    }

    /// Hands the stream back.
    pub fn into_inner(self) -> W {
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_values_are_empty_cells() {
        let mut log = CsvLog::new(Vec::new()).unwrap();
        log.progress(&Progress {
            steps: 8,
            total_steps: 100,
            updates: 2,
            episodes: 0,
            incidents: 0,
            return_mean: f64::NAN,
            length_mean: f64::NAN,
            incident_rate: f64::NAN,
            epsilon: Some(0.5),
            loss: 0.25,
            multiplier: None,
        })
        .unwrap();
        assert_eq!(
            String::from_utf8(log.into_inner()).unwrap(),
            "steps,updates,episodes,incidents,return_mean,length_mean,incident_rate,epsilon,loss,multiplier\n\
             8,2,0,0,,,,0.5,0.25,\n"
        );
    }
}
