//! Who works in this folder, or on this file?
//!
//! A [`Lock`] keeps two commands from writing the same files at once: those of a folder ([`Lock::take`]), or one that
//! takes long to make, with what stands beside it ([`Lock::take_file`]). The operating system holds it on the
//! file `.lock` and lets go of it when the process ends, however it ends: a killed one blocks nobody.
//! Its holder's name stands in the file, for whoever comes second.
//!
//! **Invariants:** what somebody has alone is nobody else's; who ends well leaves no file behind.
//!
//! **Absent on purpose:** waiting for whoever works there to be done.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::files::atomic::{folder, target_of};

/// The file that is locked.
pub const FILE: &str = ".lock";

/// How often a lock is tried for that somebody is about to let go of.
const ATTEMPTS: u32 = 10;

/// A folder or a file that is ours until this is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
    claim: Claim,
}

/// With whom a folder may be shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Nobody.
    Alone,
    /// Others who write other files: the shares of a plan.
    Shared,
}

impl Lock {
    /// Makes a folder if there is none, and claims it for a command.
    ///
    /// # Errors
    ///
    /// A folder that somebody else works in, with their name; or one that cannot be written.
    pub fn take(place: &Path, claim: Claim, command: &str) -> Result<Lock> {
        folder(place)?;
        let what = format!("the folder {}", place.display());
        Lock::hold(place.join(FILE), &what, claim, command)
    }

    /// Claims a file that is being made, alone: `mine.safetensors` by `mine.safetensors.cpss-lock`, a name that is nobody
    /// else's (`poetry.lock` is somebody's); behind a link, that of the file itself. Its folder has to be there.
    ///
    /// # Errors
    ///
    /// A file that somebody else makes, with their name; or a folder that cannot be written.
    pub fn take_file(place: &Path, command: &str) -> Result<Lock> {
        let what = place.display().to_string();
        let mut path = target_of(place).into_os_string();
        path.push(".cpss-lock");
        Lock::hold(path.into(), &what, Claim::Alone, command)
    }

    fn hold(path: PathBuf, what: &str, claim: Claim, command: &str) -> Result<Lock> {
        let mut attempts = ATTEMPTS;
        loop {
            attempts -= 1;
            let file = File::options().create(true).append(true).open(&path);
            let mut file = file.with_context(|| format!("cannot write {what}"))?;
            match claim.try_on(&file) {
                Ok(()) => {}
                // A share that ends has the folder alone for a moment, to see whether it is the last.
                Err(TryLockError::WouldBlock) if claim == Claim::Shared && attempts > 0 => {
                    std::thread::sleep(Duration::from_millis(20));
                    continue;
                }
                Err(TryLockError::WouldBlock) => {
                    let holders = fs::read_to_string(&path).unwrap_or_default();
                    let holder = holders.lines().last().unwrap_or("another process");
                    bail!("{what} is in use by {holder}: wait for it, or choose another place");
                }
                // A file system without locks: better unguarded than not at all.
                Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {}
                Err(TryLockError::Error(error)) => {
                    return Err(error).with_context(|| format!("cannot lock {}", path.display()));
                }
            }
            // Whoever had it may have removed it after we opened it; then a lock on it keeps nobody out.
            if !is_at(&file, &path) && attempts > 0 {
                continue;
            }
            // Names are for people: a lock without one is still a lock.
            if claim == Claim::Alone {
                let _ = file.set_len(0);
            }
            let _ = writeln!(file, "{}", Holder { command });
            return Ok(Lock { file, path, claim });
        }
    }
}

impl Claim {
    fn try_on(self, file: &File) -> Result<(), TryLockError> {
        match self {
            Claim::Alone => file.try_lock(),
            Claim::Shared => file.try_lock_shared(),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The last of several shares removes the file: the one who could have it alone.
        let is_last = match self.claim {
            Claim::Alone => true,
            Claim::Shared => self.file.unlock().is_ok() && self.file.try_lock().is_ok(),
        };
        if is_last && is_at(&self.file, &self.path) {
            // Left behind, it is in nobody's way.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether an open file is still the one at a path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity =
        |found: std::io::Result<fs::Metadata>| found.map(|found| (found.dev(), found.ino()));
    matches!((identity(file.metadata()), identity(fs::metadata(path))), (Ok(a), Ok(b)) if a == b)
}

/// Whether an open file is still the one at a path: elsewhere only whether there is one.
#[cfg(not(unix))]
fn is_at(_file: &File, path: &Path) -> bool {
    path.exists()
}

/// This process, as others may look for it.
struct Holder<'a> {
    command: &'a str,
}

impl fmt::Display for Holder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} (`{}`", std::process::id(), self.command)?;
        if let Ok(host) = fs::read_to_string("/proc/sys/kernel/hostname") {
            write!(f, " on {}", host.trim())?;
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_one_commands_at_a_time_or_several_shares() {
        let place = tempfile::tempdir().unwrap();
        let take = |claim, command| Lock::take(place.path(), claim, command);
        let first = take(Claim::Alone, "first").unwrap();
        for claim in [Claim::Alone, Claim::Shared] {
            let refusal = take(claim, "second").unwrap_err().to_string();
            let holder = format!("in use by process {} (`first`", std::process::id());
            assert!(refusal.contains(&holder), "{refusal}");
        }
        drop(first);
        let shares = [take(Claim::Shared, "a").unwrap(), take(Claim::Shared, "b").unwrap()];
        assert!(take(Claim::Alone, "whole").is_err());
        drop(shares);
        take(Claim::Alone, "whole").unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "a lock was left");
    }

    #[test]
    fn regression_a_file_is_made_by_one_command_at_a_time() {
        let place = tempfile::tempdir().unwrap();
        let take = |name: &str| Lock::take_file(&place.path().join(name), "cpss train");
        let first = take("a.safetensors").unwrap();
        let refusal = take("a.safetensors").unwrap_err().to_string();
        assert!(refusal.contains("a.safetensors is in use by process"), "{refusal}");
        let neighbour = take("b.safetensors").unwrap();
        drop((first, neighbour));
        take("a.safetensors").unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "a lock was left");
    }
}
