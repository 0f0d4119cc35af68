//! Which program is this, and what is shipped with it?
//!
//! Records of an experiment are taken up again only by the program that began them. A version number
//! does not change with every edit, so the sources that an episode depends on are hashed, and the
//! hash is a part of every record's fingerprint. Tables and figures are left out: changing those
//! makes no record stale.
//!
//! And every file of a task's folder, below `tasks/`, is listed for the program to compile in: a policy or critic that is put
//! there is shipped by the next build, and no code has to be told.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// What an episode depends on, besides settings, regimes and policies.
const SOURCES: [&str; 9] = [
    "../shield/src",
    "../highway/src",
    "../risk/src",
    "../learn/src",
    "src/measure/contest.rs",
    "src/play",
    "src/record.rs",
    "src/record",
    "src/tasks.rs",
];

/// Where the tasks' folders are: a link to the repository's, which is followed when the crate is published.
const TASKS: &str = "tasks";

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
    list_tasks();
}

/// Writes the list of the tasks' files as Rust: folder, name and bytes of each.
fn list_tasks() {
    println!("cargo:rerun-if-changed={TASKS}");
    let mut files = Vec::new();
    collect(Path::new(TASKS), &mut files);
    files.sort();
    let mut list = String::from("&[\n");
    for file in &files {
        let of =
            |part: Option<&std::ffi::OsStr>| part.and_then(|part| part.to_str()).map(str::to_owned);
        let folder = of(file.parent().and_then(Path::file_name));
        let (Some(folder), Some(name), Ok(path)) =
            (folder, of(file.file_name()), file.canonicalize())
        else {
            continue;
        };
        let shipped = name.ends_with(".safetensors") || name.ends_with(".toml");
        if shipped && file.components().count() == Path::new(TASKS).components().count() + 2 {
            let _ = writeln!(list, "({folder:?}, {name:?}, include_bytes!({path:?})),");
        }
    }
    list.push(']');
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("tasks.rs");
    fs::write(out, list).expect("cargo's own folder can be written to");
}

/// All files at or below a place.
fn collect(place: &Path, files: &mut Vec<PathBuf>) {
    match fs::read_dir(place) {
        Ok(entries) => entries.flatten().for_each(|entry| collect(&entry.path(), files)),
        Err(_) => files.push(place.to_owned()),
    }
}
