//! How does a result get into a document, and where does it say it comes from?
//!
//! Between two [`Markers`], with the command, the day and the machine: no number there is typed by hand,
//! and nothing outside the markers is touched. Start at [`Markers::put`].

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

use crate::files::atomic::write_atomically;
use crate::report::table::Table;

/// The lines before and after a result in a document.
#[derive(Clone, Copy, Debug)]
pub struct Markers {
    /// Before it.
    pub begin: &'static str,
    /// After it.
    pub end: &'static str,
}

/// Around the result of a reproduction.
pub const REPRODUCE: Markers =
    Markers { begin: "<!-- cpss reproduce: begin -->", end: "<!-- cpss reproduce: end -->" };

/// Around the scores of the shipped policies.
pub const POLICIES: Markers =
    Markers { begin: "<!-- cpss policies: begin -->", end: "<!-- cpss policies: end -->" };

/// Around what deployments into a changing world come to.
pub(crate) const DEPLOY: Markers =
    Markers { begin: "<!-- cpss deploy: begin -->", end: "<!-- cpss deploy: end -->" };

/// Around what learners come to, alone and under the shield.
pub(crate) const BASELINES: Markers =
    Markers { begin: "<!-- cpss baselines: begin -->", end: "<!-- cpss baselines: end -->" };

/// Around what the shield costs.
pub(crate) const BENCH: Markers =
    Markers { begin: "<!-- cpss bench: begin -->", end: "<!-- cpss bench: end -->" };

impl Markers {
    /// Puts text between these lines of a document.
    ///
    /// # Errors
    ///
    /// A document that cannot be read or written, or that has no such lines.
    pub fn put(&self, path: &Path, text: &str) -> Result<()> {
        write_atomically(path, self.spliced(path, text)?.as_bytes())
    }

    fn spliced(&self, path: &Path, text: &str) -> Result<String> {
        let document = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the document {}", path.display()))?;
        let Markers { begin, end } = self;
        self.between(&document, text)
            .with_context(|| format!("{} lacks the lines {begin} and {end}", path.display()))
    }

    /// Whether a document has these lines, before much work goes into what comes between them.
    ///
    /// # Errors
    ///
    /// A document that cannot be read, or that has no such lines.
    pub fn check(&self, path: &Path) -> Result<()> {
        self.spliced(path, "").map(|_| ())
    }

    fn between(&self, document: &str, text: &str) -> Option<String> {
        let Markers { begin, end } = self;
        let (before, rest) = document.split_once(begin)?;
        let (_, after) = rest.split_once(end)?;
        Some(format!("{before}{begin}\n\n{}\n\n{end}{after}", text.trim()))
    }
}

/// Puts tables between the markers of a document, with the command that made them.
///
/// # Errors
///
/// A document that cannot be read or written, or that has no such markers.
pub fn splice(path: &Path, command: &str, tables: &[Table]) -> Result<()> {
    REPRODUCE.put(path, &together(command, tables))
}

/// Tables as one text: each under its title, every note once, and the command that made them.
pub(crate) fn together(command: &str, tables: &[Table]) -> String {
    let titled = |table: &Table| format!("**{}**\n\n{}\n", table.title, table.rows_markdown());
    let mut notes: Vec<&str> = Vec::new();
    for table in tables.iter().filter(|table| !table.note.is_empty()) {
        // A note that another begins with says nothing new.
        if !notes.iter().any(|note| note.starts_with(&table.note)) {
            notes.push(&table.note);
        }
    }
    format!(
        "{}{}\n\n{}.",
        tables.iter().map(titled).collect::<String>(),
        notes.join("\n\n"),
        made_by(command),
    )
}

/// By which command a result was made, when and where.
pub(crate) fn made_by(command: &str) -> String {
    format!("Made by `{command}` on {}, {}", today(), machine())
}

/// What the machine calls itself, where it says so.
pub fn machine() -> String {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or(std::env::consts::ARCH, |(_, model)| model);
    format!("{model}, {threads} threads")
}

/// The date, in UTC.
pub(crate) fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    date_of(seconds / 86_400)
}

/// The date of a day counted from 1970, in eras of 400 years that begin on the first of March, so that
/// the leap day comes last.
fn date_of(day: u64) -> String {
    let from_march = day + 719_468;
    let (era, day) = (from_march / 146_097, from_march % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{}-{month:02}-{day:02}", year + era * 400 + later)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        for (day, date) in [
            (0, "1970-01-01"),
            (11_016, "2000-02-29"),
            (19_722, "2023-12-31"),
            (19_723, "2024-01-01"),
            (47_541, "2100-03-01"),
        ] {
            assert_eq!(date_of(day), date);
        }
    }

    #[test]
    fn only_what_is_between_the_markers_changes() {
        let Markers { begin, end } = REPRODUCE;
        let document = format!("above\n{begin}\nold\n{end}\nbelow\n");
        let spliced = REPRODUCE.between(&document, "\nnew\n").unwrap();
        assert_eq!(spliced, format!("above\n{begin}\n\nnew\n\n{end}\nbelow\n"));
        assert_eq!(REPRODUCE.between(&spliced, "new").unwrap(), spliced);
        assert!(REPRODUCE.between("no markers", "new").is_none());
    }
}
