//! How is a file read that a person writes?
//!
//! Regimes, sensors, shields and plans are a page of text each. What is much longer is another file, or none that ever ends,
//! and is refused before it fills the memory.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Far more than anybody writes.
const MOST_BYTES: u64 = 1 << 20;

/// Reads a file's text.
pub(crate) fn read_sheet(path: impl AsRef<Path>) -> Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(Error::new(ErrorKind::InvalidData, "it is larger than 1 MiB"));
    }
    Ok(text)
}
