//! Which files does the making of a policy or a critic leave, and may it write them?

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};

use crate::files::lock::Lock;

/// The files of one run: `merge.safetensors` and those beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunFiles {
    /// The policy or critic, written when the run is complete.
    pub result: PathBuf,
    /// The whole state of a run that was stopped, `merge.checkpoint`.
    pub checkpoint: PathBuf,
    /// Progress for a spreadsheet, `merge.csv`.
    pub log: PathBuf,
    /// Progress for TensorBoard, a directory, `merge.tensorboard`.
    pub events: PathBuf,
}

impl RunFiles {
    /// Names the files of a run that makes a policy or a critic; nothing is made yet.
    pub(crate) fn beside(result: &Path, what: &str) -> Result<RunFiles> {
        check_place(result, what)?;
        Ok(RunFiles {
            result: result.to_owned(),
            checkpoint: result.with_extension("checkpoint"),
            log: result.with_extension("csv"),
            events: result.with_extension("tensorboard"),
        })
    }

    /// Makes their directory, and claims them: two runs would write over each other's checkpoint and logs.
    pub(crate) fn claim(&self, command: &str) -> Result<Lock> {
        // The parent of the result is the parent of this directory, so both exist afterwards.
        std::fs::create_dir_all(&self.events)
            .with_context(|| format!("cannot make the directory {}", self.events.display()))?;
        Lock::take_file(&self.result, command)
    }
}

/// Whether a policy or a critic may go there, which nobody wants to hear when all is learned.
pub(crate) fn check_place(result: &Path, what: &str) -> Result<()> {
    let out = result.display();
    let is_named = result.extension().is_some_and(|extension| extension == "safetensors");
    ensure!(is_named, "a {what} is a .safetensors file, but --out is {out}");
    // A path that ends in a slash is a folder's too.
    let is_folder = result.is_dir() || result.as_os_str().to_string_lossy().ends_with(['/', '\\']);
    ensure!(!is_folder, "a {what} is a file, but --out {out} is a folder");
    Ok(())
}

/// Seconds since 1970, for whoever reads TensorBoard's events.
pub(crate) fn unix_time() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}
