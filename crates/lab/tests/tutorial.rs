//! Contract: every `cpss` command of the tutorial works, in the order in which a reader gives them.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::path::Path;
use std::process::Command;

/// The lines of a page's shell blocks, without comments.
fn commands(page: &str) -> Vec<String> {
    let mut is_shell = false;
    let mut found = Vec::new();
    for line in page.lines() {
        if let Some(language) = line.strip_prefix("```") {
            is_shell = language == "sh";
        } else if is_shell {
            let command = line.split(" #").next().unwrap_or_default().trim();
            found.push(command.to_owned());
        }
    }
    found
}

#[test]
fn every_command_works() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/tutorial.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut played = 0;
    for command in commands(&page) {
        let Some(arguments) = command.strip_prefix("cpss ") else {
            assert!(command.starts_with("cargo install"), "neither ours nor cargo's: {command}");
            continue;
        };
        let done = Command::new(env!("CARGO_BIN_EXE_cpss"))
            .args(arguments.split_whitespace())
            // No desktop, whatever the machine has.
            .env("PATH", "")
            .current_dir(folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{command}: {said}");
        played += 1;
    }
    assert!(played >= 10, "only {played} commands were found");
    for file in ["mine.safetensors", "risk.safetensors"] {
        assert!(folder.path().join(file).is_file(), "{file} was not made");
    }
    let page = folder.path().join("traces/merge-v0_high_cpss_mine.safetensors_1000000.html");
    assert!(page.is_file(), "no replay was made");
}
