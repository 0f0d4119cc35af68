//! How is a file written so that it is whole or not there?
//!
//! Into a neighbour first, which is then renamed. A program that is killed, or a disk that is full,
//! leaves what was there before.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result, anyhow};

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
    write().map_err(|error| {
        // Half a file helps nobody; if it cannot be removed either, the next attempt writes over it.
        let _ = fs::remove_file(&draft);
        let hint = hint(error.kind(), place);
        anyhow!(error).context(format!("cannot write {}{hint}", place.display()))
    })
}

/// What helps, where that is known: room does not help against a folder that is not there.
fn hint(kind: ErrorKind, place: &Path) -> String {
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            ": nothing finished is lost, free some room and run it again".to_owned()
        }
        ErrorKind::NotFound => match place.parent() {
            Some(parent) if !parent.as_os_str().is_empty() && !parent.exists() => {
                format!(": there is no folder {}", parent.display())
            }
            _ => String::new(),
        },
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => {
            ": nothing may be written there; choose another place".to_owned()
        }
        _ => String::new(),
    }
}

/// Makes a folder, and those above it.
///
/// # Errors
///
/// If it cannot be made, or something else has its name.
pub fn folder(place: &Path) -> Result<()> {
    fs::create_dir_all(place).with_context(|| format!("cannot make the folder {}", place.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regression_room_is_asked_for_only_where_it_is_missing() {
        let hint = |kind| hint(kind, Path::new("absent/file"));
        assert!(hint(ErrorKind::StorageFull).contains("free some room"));
        for kind in [ErrorKind::NotFound, ErrorKind::ReadOnlyFilesystem, ErrorKind::IsADirectory] {
            assert!(!hint(kind).contains("room"), "{kind}");
        }
        let place = tempfile::tempdir().unwrap().path().join("absent").join("file");
        let error = format!("{:#}", keep(&place, b"").unwrap_err());
        assert!(error.contains("there is no folder") && !error.contains("room"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let taken = folder.path().join("taken");
        fs::create_dir(&taken).unwrap();
        assert!(keep(&taken, b"text").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a draft was left");
    }
}
