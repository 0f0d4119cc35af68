//! Which program is this?
//!
//! Records of an experiment are taken up again only by the program that began them. A version number
//! does not change with every edit, so the sources that an episode depends on are hashed, and the
//! hash is a part of every record's fingerprint. Tables and figures are left out: changing those
//! makes no record stale.

use std::fs;
use std::path::{Path, PathBuf};

/// What an episode depends on, besides settings, regimes and policies.
const SOURCES: [&str; 14] = [
    "../shield/src",
    "../highway/src",
    "../risk/src",
    "../learn/src",
    "src/arm.rs",
    "src/branch.rs",
    "src/episode.rs",
    "src/evaluate.rs",
    "src/oracle.rs",
    "src/policy.rs",
    "src/record.rs",
    "src/regime.rs",
    "src/regime",
    "src/what_if.rs",
];

fn main() {
    let mut files = Vec::new();
    for source in SOURCES {
        println!("cargo:rerun-if-changed={source}");
        collect(Path::new(source), &mut files);
    }
    files.sort();
    // FNV-1a: it has to tell edits apart, not to withstand an attack.
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = files
        .iter()
        .map(|file| fs::read(file).unwrap_or_default())
        .fold(0xcbf2_9ce4_8422_2325, |hash, bytes| bytes.iter().fold(hash, mix));
    println!("cargo:rustc-env=CPSS_SOURCES={hash:016x}");
}

/// All files at or below a place.
fn collect(place: &Path, files: &mut Vec<PathBuf>) {
    match fs::read_dir(place) {
        Ok(entries) => entries.flatten().for_each(|entry| collect(&entry.path(), files)),
        Err(_) => files.push(place.to_owned()),
    }
}
