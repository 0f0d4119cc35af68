//! Who works in this folder?
//!
//! A [`Lock`] keeps two commands from writing the same files of a folder at once. The operating system holds it on the
//! file `.lock` and lets go of it when the process ends, however it ends: a killed one blocks nobody.
//! Its holder's name stands in the file, for whoever comes second.
//!
//! **Absent on purpose:** waiting, and removing the file: somebody else may have it open already.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::keep::folder;

/// The file that is locked.
pub const FILE: &str = ".lock";

/// A folder that is ours until this is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
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
        let path = place.join(FILE);
        let mut file = File::options()
            .create(true)
            .append(true)
            .open(&path)
            .with_context(|| format!("cannot write into the folder {}", place.display()))?;
        let taken = match claim {
            Claim::Alone => file.try_lock(),
            Claim::Shared => file.try_lock_shared(),
        };
        match taken {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = fs::read_to_string(&path).unwrap_or_default();
                let holder = holder.lines().last().unwrap_or("another process");
                bail!(
                    "the folder {} is in use by {holder}: wait for it, or give another --out",
                    place.display()
                );
            }
            // A file system without locks: better unguarded than not at all.
            Err(TryLockError::Error(error)) if error.kind() == std::io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", path.display()));
            }
        }
        // Names are for people: a lock without one is still a lock.
        if claim == Claim::Alone {
            let _ = file.set_len(0);
        }
        let _ = writeln!(file, "{}", Holder { command });
        Ok(Lock { _file: file })
    }
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
    }
}
