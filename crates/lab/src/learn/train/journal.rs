//! What does a training run leave behind, and what does it show on the way?
//!
//! [`Journal`] writes two of the files beside the policy, a CSV log and
//! TensorBoard's events, and moves the progress bar.
//!
//! **Invariants:** a file appears whole or not at all ([`write_atomically`]), but for the logs, which
//! are on the disk line by line, so that a run that is killed leaves them; the lines of the log stand
//! at fixed steps, so a run that was stopped or killed and resumed has the log of one that was not.

use std::fs::File;
use std::io::{self, LineWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use cpss_learn::Progress;
use cpss_learn::csv::CsvLog;
use cpss_learn::events::EventWriter;

use crate::files::atomic::write_atomically;
use crate::learn::files::{RunFiles, unix_time};
use crate::terminal::meter::Meter;

/// About as many lines as a log gets, whatever the length of the run.
const LOG_LINES: u64 = 200;

/// The logs and the progress bar of a run under way.
pub(crate) struct Journal {
    meter: Meter,
    csv: CsvLog<LineWriter<File>>,
    events: EventWriter<File>,
    interval: u64,
    next: u64,
}

impl Journal {
    /// Opens the logs of a run that stands at `now`: new ones at step 0, later the old ones,
    /// without the lines that a lost end of the run has left in them.
    pub(crate) fn open(files: &RunFiles, now: &Progress) -> Result<Journal> {
        let csv = open_csv(&files.log, now.steps)
            .with_context(|| format!("cannot write the log {}", files.log.display()))?;
        // TensorBoard joins all the files of a directory; each part of a run has one of its own.
        let name = format!("events.out.tfevents.{:.0}.step{}", unix_time(), now.steps);
        let events = File::create(files.events.join(name))
            .and_then(|file| EventWriter::new(file, unix_time()))
            .with_context(|| format!("cannot write events to {}", files.events.display()))?;
        let meter = Meter::new("steps", now.steps, now.total_steps);
        let interval = (now.total_steps / LOG_LINES).max(1);
        Ok(Journal { meter, csv, events, interval, next: (now.steps / interval + 1) * interval })
    }

    /// Takes note of where the run stands.
    pub(crate) fn note(&mut self, progress: &Progress) -> io::Result<()> {
        self.meter.set(progress.steps);
        if progress.steps < self.next {
            return Ok(());
        }
        self.next = (progress.steps / self.interval + 1) * self.interval;
        self.meter.tell(format!(
            "return {:.2}, incidents {:.0} %",
            progress.return_mean,
            100.0 * progress.incident_rate
        ));
        self.csv.progress(progress)?;
        self.events.progress(unix_time(), progress)
    }

    /// Takes the bar away and brings the logs to the disk.
    pub(crate) fn close(self) -> io::Result<()> {
        self.meter.finish();
        self.csv.into_inner().flush()?;
        self.events.into_inner().flush()
    }
}

/// Starts a log, or continues it after its lines up to `steps`.
fn open_csv(path: &Path, steps: u64) -> Result<CsvLog<LineWriter<File>>> {
    if steps == 0 || !path.exists() {
        return Ok(CsvLog::new(LineWriter::new(File::create(path)?))?);
    }
    let text = std::fs::read_to_string(path)?;
    write_atomically(path, up_to(&text, steps).as_bytes())?;
    Ok(CsvLog::append(LineWriter::new(File::options().append(true).open(path)?)))
}

/// The lines of a log up to a step, without a last one that was cut.
fn up_to(text: &str, steps: u64) -> String {
    let is_later = |line: &str| {
        let first = line.split(',').next().unwrap_or_default();
        first.parse::<u64>().is_ok_and(|step| step > steps)
    };
    text.split_inclusive('\n').filter(|line| line.ends_with('\n') && !is_later(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_goes_on_after_its_last_whole_line_before_the_checkpoint() {
        let text = "steps,loss\n100,1\n200,2\n300,3\n4";
        assert_eq!(up_to(text, 200), "steps,loss\n100,1\n200,2\n");
        // Cut off, step 400 reads as step 4.
        assert_eq!(up_to(text, 350), "steps,loss\n100,1\n200,2\n300,3\n");
    }
}
