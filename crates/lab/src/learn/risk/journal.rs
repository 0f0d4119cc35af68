//! What does the learning of a critic leave behind, and what does it show on the way?
//!
//! A CSV log and TensorBoard's events beside the critic, written as it goes, and a line on standard error
//! now and then.

use std::fs::File;
use std::io::Write;
use std::time::Instant;

use anyhow::{Context, Result};
use cpss_learn::events::EventWriter;

use super::account::Account;
use crate::learn::files::{RunFiles, unix_time};
use crate::terminal::note;

/// About as many lines as a log gets, whatever the length of the run.
const LOG_LINES: u64 = 200;

/// Writes the logs and tells how far a run is.
pub(super) struct Journal {
    csv: File,
    events: EventWriter<File>,
    every: u64,
    total: u64,
    /// Mean loss since the last line.
    loss: (f64, u64),
    started: Instant,
    first: Option<u64>,
}

impl Journal {
    /// Opens the logs, behind what a run that was stopped has written.
    pub(super) fn open(files: &RunFiles, total: u64) -> Result<Journal> {
        let is_new = !files.checkpoint.exists();
        let mut open = File::options();
        let open = if is_new {
            open.write(true).create(true).truncate(true)
        } else {
            open.append(true).create(true)
        };
        let mut csv = open
            .open(&files.log)
            .with_context(|| format!("cannot write {}", files.log.display()))?;
        if is_new {
            writeln!(
                csv,
                "updates,loss,incidents,return,interventions,start,chosen,arriving,surprise"
            )?;
        }
        let now = unix_time();
        let name = files.events.join(format!("events.out.tfevents.{}", now as u64));
        let file =
            File::create(&name).with_context(|| format!("cannot write {}", name.display()))?;
        Ok(Journal {
            csv,
            events: EventWriter::new(file, now)?,
            every: (total / LOG_LINES).max(1),
            total,
            loss: (0.0, 0),
            started: Instant::now(),
            first: None,
        })
    }

    /// A round of data is in.
    pub(super) fn round(&mut self, round: u64, decisions: usize, incidents: usize) {
        self.say(&format!(
            "round {round}: {decisions} decisions so far, {incidents} incidents in them"
        ));
    }

    /// One more update.
    pub(super) fn update(&mut self, updates: u64, loss: f64) -> Result<()> {
        let first = *self.first.get_or_insert(updates - 1);
        self.loss = (self.loss.0 + loss, self.loss.1 + 1);
        if !updates.is_multiple_of(self.every) {
            return Ok(());
        }
        let mean = self.loss.0 / self.loss.1 as f64;
        self.loss = (0.0, 0);
        writeln!(self.csv, "{updates},{mean},,,,,,,").context("cannot write the log")?;
        self.events.scalars(unix_time(), updates, &[("train/loss", mean as f32)])?;
        if updates.is_multiple_of(self.every * 10) {
            let rate = (updates - first) as f64 / self.started.elapsed().as_secs_f64();
            self.say(&format!(
                "update {updates} of {}: loss {mean:.5}, {rate:.0} updates/s",
                self.total
            ));
        }
        Ok(())
    }

    /// A round was measured.
    pub(super) fn measured(&mut self, updates: u64, account: &Account) -> Result<()> {
        let Account {
            incidents,
            return_mean,
            interventions,
            start,
            chosen,
            arriving,
            surprise,
            ..
        } = *account;
        writeln!(
            self.csv,
            "{updates},,{incidents},{return_mean},{interventions},{start},{chosen},{arriving},{surprise}"
        )
        .context("cannot write the log")?;
        let scalars = [
            ("shielded/incidents", incidents as f32),
            ("shielded/return", return_mean as f32),
            ("shielded/interventions", interventions as f32),
            ("shielded/surprise", surprise as f32),
        ];
        self.events.scalars(unix_time(), updates, &scalars)?;
        self.say(&account.to_string());
        Ok(())
    }

    /// Makes sure that all is written.
    pub(super) fn close(self) -> Result<()> {
        self.csv.sync_all().context("cannot write the log")
    }

    /// Tells the person who waits.
    pub(super) fn say(&self, words: &str) {
        note!("[{:>5.0} s] {words}", self.started.elapsed().as_secs_f64());
    }
}
