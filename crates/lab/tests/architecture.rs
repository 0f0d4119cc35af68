//! Contract: what ARCHITECTURE.md says of files and functions is so.
//!
//! The way from `cpss evaluate` to the comparison and back: every named file has the named function, and on the way
//! there each calls the next. The code map: every named file is there, and none of the lab's rooms lacks one.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::path::{Path, PathBuf};

/// A step of the way.
struct Hop {
    file: String,
    function: String,
    what: String,
}

#[test]
fn the_way_to_the_comparison_and_back_is_as_listed() {
    let hops = hops();
    assert_eq!(hops.len(), 16);
    let bodies: Vec<String> = hops.iter().map(body).collect();
    let there = hops.iter().position(|hop| hop.function == "admits").unwrap();
    for (place, next) in hops[1..=there].iter().enumerate() {
        let call = format!("{}(", next.function);
        assert!(bodies[place].contains(&call), "{} does not call {call}", hops[place].function);
    }
    // The line that all of this is about.
    assert!(bodies[there].contains(hops[there].what.trim_matches('`')), "{}", bodies[there]);
    assert!(bodies[4].contains("self.settle(") && bodies[4].contains("tally.add("));
}

#[test]
fn every_file_of_the_code_map_is_there() {
    let text = page();
    let map = &text[text.find("## Code map").unwrap()..text.find("## Invariants").unwrap()];
    let mut folder = PathBuf::new();
    let mut count = 0;
    for line in map.lines() {
        if let Some(part) = line.strip_prefix("### `").and_then(|rest| rest.strip_suffix('`')) {
            let part = root().join(part);
            folder = if part.join("Cargo.toml").is_file()
                && part.join("src/lib.rs").is_file()
                && !part.ends_with("python")
            {
                part.join("src")
            } else {
                part
            };
        }
        let questions = line.rfind(" | ").filter(|_| line.starts_with('|')).unwrap_or(0);
        for name in line[..questions].split('`').skip(1).step_by(2) {
            let is_file = [".rs", ".py", ".js", ".html"].iter().any(|end| name.ends_with(end));
            if is_file || name.ends_with('/') {
                assert!(folder.join(name).exists(), "{} of {}", name, folder.display());
                count += 1;
            }
        }
    }
    assert!(count > 100, "only {count} files are named");
}

#[test]
fn every_file_of_the_lab_is_in_the_code_map() {
    let text = page();
    let source = root().join("crates/lab/src");
    for room in std::fs::read_dir(&source).unwrap().map(|entry| entry.unwrap().path()) {
        let files = if room.is_dir() {
            std::fs::read_dir(&room).unwrap().map(|e| e.unwrap().path()).collect()
        } else {
            vec![]
        };
        for file in files.iter().filter(|file| file.is_file() && !file.ends_with("tests.rs")) {
            let name = file.strip_prefix(&source).unwrap().display().to_string();
            assert!(text.contains(&format!("`{name}`")), "{name}");
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> String {
    std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap()
}

fn hops() -> Vec<Hop> {
    let text = page();
    let from = text.find("## From `cpss evaluate`").unwrap();
    let rows = text[from..text.find("## Code map").unwrap()].lines();
    let rows = rows.filter(|line| line.starts_with("| ") && line.as_bytes()[2].is_ascii_digit());
    let cells =
        rows.map(|row| row.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>());
    let plain = |cell: &str| cell.trim_matches('`').to_owned();
    cells
        .map(|row| Hop { file: plain(&row[2]), function: plain(&row[3]), what: row[4].clone() })
        .collect()
}

/// The text of a function, to the brace that closes it.
fn body(hop: &Hop) -> String {
    let text = std::fs::read_to_string(root().join(&hop.file)).unwrap();
    let start = text.find(&format!("fn {}(", hop.function));
    let start = start.unwrap_or_else(|| panic!("{} has no function {}", hop.file, hop.function));
    let indent = start - text[..start].rfind('\n').map_or(0, |line| line + 1);
    let line = &text[start - indent..];
    let spaces = line.len() - line.trim_start().len();
    let end = line.find(&format!("\n{}}}", " ".repeat(spaces))).unwrap();
    line[..end].to_owned()
}
