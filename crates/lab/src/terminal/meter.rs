//! How far is the work?
//!
//! A [`Meter`] shows it on standard error: as a bar where that is a terminal, and else, in a log or a pipe, as
//! a line now and then (`Pace` says when), so that a job on a cluster does not look dead.
//!
//! **Absent on purpose:** any say in what is done. A meter that cannot be shown changes nothing.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use crate::terminal::note;

/// How a meter looks at a terminal.
const LOOKS: &str = "{bar:24} {percent:>3} %  {pos}/{len} {prefix}  {rate}  {msg}  {eta} left";

/// Shows how much of some work is done.
#[derive(Debug)]
pub(crate) struct Meter {
    bar: ProgressBar,
    /// What is counted, in words.
    unit: &'static str,
    /// How much was done before it began.
    start: u64,
    began: Instant,
    /// When a line is due, where there is no bar.
    pace: Option<Mutex<Pace>>,
}

impl Meter {
    /// A meter of `total` units, of which `done` are done already.
    pub(crate) fn new(unit: &'static str, done: u64, total: u64) -> Meter {
        let rate = |state: &ProgressState, out: &mut dyn fmt::Write| {
            // A bar that cannot be drawn is not missed.
            let _ = write!(out, "{}", Rate(state.per_sec()));
        };
        let style = ProgressStyle::with_template(LOOKS).unwrap_or(ProgressStyle::default_bar());
        let bar =
            ProgressBar::new(total).with_position(done).with_style(style.with_key("rate", rate));
        bar.set_prefix(unit);
        bar.reset_eta();
        let pace = bar.is_hidden().then(|| Mutex::new(Pace::default()));
        Meter { bar, unit, start: done, began: Instant::now(), pace }
    }

    /// Says what is being done now.
    pub(crate) fn tell(&self, words: String) {
        self.bar.set_message(words);
    }

    /// One unit more is done.
    pub(crate) fn advance(&self) {
        self.bar.inc(1);
        self.show();
    }

    /// So many units are done.
    pub(crate) fn set(&self, done: u64) {
        self.bar.set_position(done);
        self.show();
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn show(&self) {
        let Some(pace) = &self.pace else { return };
        let elapsed = self.began.elapsed();
        // A thread that panicked while it held this has left nothing half done.
        if pace.lock().unwrap_or_else(PoisonError::into_inner).is_due(elapsed) {
            let (done, total) = (self.bar.position(), self.bar.length().unwrap_or(0));
            let line = line(self.unit, self.start, done, total, elapsed);
            let now = self.bar.message();
            note!("{line}{}{now}", if now.is_empty() { "" } else { ", " });
        }
    }
}

/// Steps per second, as a person reads them.
struct Rate(f64);

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = if self.0 < 10.0 { 1 } else { 0 };
        write!(f, "{:.digits$}/s", self.0)
    }
}

/// `120 of 400 units, 30 %, 2.0/s, 140 s left`.
fn line(unit: &str, start: u64, done: u64, total: u64, elapsed: Duration) -> String {
    let rate = done.saturating_sub(start) as f64 / elapsed.as_secs_f64().max(1e-9);
    let percent = 100 * u128::from(done) / u128::from(total.max(1));
    let left = total.saturating_sub(done) as f64 / rate.max(1e-9);
    format!("{done} of {total} {unit}, {percent} %, {}, {left:.0} s left", Rate(rate))
}

/// When the next line is due: soon at first, then ever more rarely, and at least every five minutes.
#[derive(Debug)]
struct Pace {
    next: Duration,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { next: Duration::from_secs(2) }
    }
}

impl Pace {
    fn is_due(&mut self, elapsed: Duration) -> bool {
        let due = elapsed >= self.next;
        if due {
            self.next = elapsed + elapsed.min(Duration::from_secs(300));
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_gets_a_line_now_and_then() {
        let mut pace = Pace::default();
        let due: Vec<u64> =
            (0..3600).filter(|&second| pace.is_due(Duration::from_secs(second))).collect();
        assert_eq!(due[..5], [2, 4, 8, 16, 32]);
        assert!(due.len() < 25, "{} lines in an hour", due.len());
        assert!(due.windows(2).all(|pair| pair[1] - pair[0] <= 300));
    }

    #[test]
    fn regression_speeds_have_as_many_digits_as_a_person_reads() {
        assert_eq!(Rate(164_004.537_229_753_13).to_string(), "164005/s");
        assert_eq!(Rate(0.25).to_string(), "0.2/s");
        let ten_seconds = Duration::from_secs(10);
        let words = line("units", 100, 120, 400, ten_seconds);
        assert_eq!(words, "120 of 400 units, 30 %, 2.0/s, 140 s left");
        assert!(line("units", 0, 0, 0, Duration::ZERO).starts_with("0 of 0 units, 0 %"));
    }
}
