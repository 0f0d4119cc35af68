//! How is a file written so that it is whole or not there?
//!
//! Into a neighbour first, which is then renamed. A program that is killed, or a disk that is full,
//! leaves what was there before.

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};

/// Writes a file, whole or not at all.
///
/// # Errors
///
/// A folder that cannot be written, or a full disk.
pub fn keep(place: &Path, bytes: &[u8]) -> Result<()> {
    let mut draft = place.as_os_str().to_owned();
    draft.push(".part");
    let write = || -> std::io::Result<()> {
        let mut file = fs::File::create(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, place)
    };
    write().with_context(|| {
        format!(
            "cannot write {}: nothing finished is lost, free some room and run it again",
            place.display()
        )
    })
}

/// Makes a folder, and those above it.
///
/// # Errors
///
/// If it cannot be made, or something else has its name.
pub fn folder(place: &Path) -> Result<()> {
    fs::create_dir_all(place).with_context(|| format!("cannot make the folder {}", place.display()))
}
