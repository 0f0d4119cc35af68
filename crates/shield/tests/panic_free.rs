//! Contract: the compiled shield cannot panic.
//!
//! The crate and a caller of all its functions are compiled to assembly, optimised but *with*
//! overflow checks, and no call in it may lead to a panic. A control that indexes, slices, unwraps,
//! overflows, divides, clamps and copies carelessly goes through the same scanner, which must catch all
//! seven.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const MANIFEST: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn the_shield_contains_no_panic() {
    let dir = scratch("shield");
    let library = compile(&dir, "cpss_shield", &format!("{MANIFEST}/src/lib.rs"), &[]);
    let link = format!("cpss_shield={}", dir.join("libcpss_shield.rlib").display());
    let caller = format!("{MANIFEST}/tests/panic_free/caller.rs");
    let caller = compile(&dir, "caller", &caller, &["--extern", &link]);
    for function in [
        "judge",
        "settle",
        "judge_batch",
        "settle_batch",
        "candidates",
        "risk_rules",
        "risk_costs",
        "enter",
        "close",
        "novelty",
        "end_scored",
        "fleet",
        "recall",
        "certify",
    ] {
        let mangled = format!("6caller{}{function}", function.len());
        assert!(caller.contains(&mangled), "{function} was not compiled, so this proves nothing");
    }
    assert_eq!(panicking(&library), BTreeSet::new());
    assert_eq!(panicking(&caller), BTreeSet::new());
}

#[test]
fn the_scanner_finds_every_kind_of_panic() {
    let control = format!("{MANIFEST}/tests/panic_free/control.rs");
    let assembly = compile(&scratch("control"), "control", &control, &[]);
    let functions = panicking(&assembly);
    for function in ["indexes", "slices", "unwraps", "overflows", "divides", "clamps", "copies"] {
        let mangled = format!("7control{}{function}", function.len());
        assert!(functions.iter().any(|name| name.contains(&mangled)), "{function}: {functions:?}");
    }
}

/// Compiles one file to a library and returns its assembly.
fn compile(dir: &Path, name: &str, file: &str, more: &[&str]) -> String {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let output = Command::new(rustc)
        .args(["--edition", "2024", "--crate-type", "rlib", "--crate-name", name])
        .args(["-C", "opt-level=3", "-C", "codegen-units=1", "-C", "overflow-checks=on"])
        .args(["--emit=asm,link", "--cap-lints=allow", "--out-dir"])
        .arg(dir)
        .args(more)
        .arg(file)
        .output()
        .expect("rustc runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read_to_string(dir.join(format!("{name}.s"))).unwrap()
}

/// The functions, by mangled name, whose assembly refers to anything that panics.
fn panicking(assembly: &str) -> BTreeSet<String> {
    let marks = [
        "panic",
        "unwrap_failed",
        "expect_failed",
        "index_fail",
        "slice_error_fail",
        "len_mismatch_fail",
    ];
    let mut function = "";
    let mut found = BTreeSet::new();
    for line in assembly.lines() {
        match line.strip_suffix(':') {
            // Either mangling, with the extra underscore that some systems put before a symbol.
            Some(label) if ["_R", "_ZN", "__R", "__ZN"].iter().any(|p| label.starts_with(p)) => {
                function = label;
            }
            _ => {
                if line.starts_with('\t')
                    && !line.trim_start().starts_with('.')
                    && marks.iter().any(|mark| line.contains(mark))
                {
                    found.insert(function.to_owned());
                }
            }
        }
    }
    found
}

fn scratch(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("panic_free").join(name);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}
