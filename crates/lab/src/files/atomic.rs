//! How is a file written so that it is whole or not there?
//!
//! Into a neighbour first, which is then renamed. A program that is killed, or a disk that is full,
//! leaves what was there before.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};

/// Writes a file, whole or not at all.
pub(crate) fn write_atomically(place: &Path, bytes: &[u8]) -> Result<()> {
    let draft = draft_of(place);
    let write = || -> std::io::Result<()> {
        let Some(draft) = &draft else { return fs::write(place, bytes) };
        let mut file = fs::File::create(draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(draft, target_of(place))
    };
    write().map_err(|error| {
        // Half a file helps nobody; if it cannot be removed either, the next attempt writes over it.
        if let Some(draft) = &draft {
            let _ = fs::remove_file(draft);
        }
        let hint = hint(error.kind(), place);
        anyhow!(error).context(format!("cannot write {}{hint}", place.display()))
    })
}

/// Whether a file can be written at a place, for those who have long work to do first.
pub(crate) fn can_write(place: &Path) -> Result<()> {
    let Some(draft) = draft_of(place) else { return Ok(()) };
    // The draft is what `write_atomically` will write first, so nothing of anybody's is touched.
    let tried = fs::File::create(&draft).and_then(|_| fs::remove_file(&draft));
    tried.map_err(|error| {
        let hint = hint(error.kind(), place);
        anyhow!(error).context(format!("cannot write {}{hint}", place.display()))
    })
}

/// The neighbour that is written first, of a name that is nobody else's; none of a device or a pipe, whose place nothing may take: `/dev/null` would
/// be a file from then on.
fn draft_of(place: &Path) -> Option<PathBuf> {
    let is_special = fs::metadata(place).is_ok_and(|found| !found.is_file() && !found.is_dir());
    (!is_special).then(|| {
        let mut draft = target_of(place).into_os_string();
        draft.push(".cpss-part");
        draft.into()
    })
}

/// Where a file is, or will be, that may be behind links, which stay what they are.
pub(crate) fn target_of(place: &Path) -> PathBuf {
    /// Links behind links, of which a circle has no end.
    const MOST: usize = 40;
    let mut target = place.to_owned();
    for _ in 0..MOST {
        // One that is there has one name, however many lead to it.
        if let Ok(found) = fs::canonicalize(&target)
            && target != place
        {
            return found;
        }
        let Ok(next) = fs::read_link(&target) else { return target };
        target = target.parent().unwrap_or(Path::new("")).join(next);
    }
    place.to_owned()
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
pub(crate) fn folder(place: &Path) -> Result<()> {
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
        let error = format!("{:#}", write_atomically(&place, b"").unwrap_err());
        assert!(error.contains("there is no folder") && !error.contains("room"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let taken = folder.path().join("taken");
        fs::create_dir(&taken).unwrap();
        assert!(write_atomically(&taken, b"text").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a draft was left");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn regression_nothing_takes_the_place_of_a_link_or_a_device() {
        use std::os::unix::fs::{FileTypeExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        symlink(&file, &link).unwrap();
        write_atomically(&link, b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        // What a link leads to need not be there yet.
        let (later, ahead) = (folder.path().join("later"), folder.path().join("ahead"));
        symlink("later", &ahead).unwrap();
        assert_eq!(target_of(&ahead), later);
        write_atomically(&ahead, b"new").unwrap();
        assert!(fs::symlink_metadata(&ahead).unwrap().is_symlink());
        assert_eq!(fs::read(&later).unwrap(), b"new");
        // Not by their own names: a test that fails should break no machine.
        for (device, is_full) in [("null", false), ("full", true)] {
            let link = folder.path().join(device);
            symlink(Path::new("/dev").join(device), &link).unwrap();
            can_write(&link).unwrap();
            assert_eq!(write_atomically(&link, b"text").is_err(), is_full, "{device}");
            assert!(fs::metadata(&link).unwrap().file_type().is_char_device(), "{device}");
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "{device}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 6, "a draft was left");
    }
}
