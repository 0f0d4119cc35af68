//! Contract: `cpss replay` makes a page of any trace that can be read at all, says on it whether the trace
//! audits, fails if it does not, and does not fail for want of a browser. Nothing in a trace gets out of its place in the page.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn cpss(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cpss"))
        .current_dir(folder)
        .args(arguments)
        // No desktop, whatever the machine has.
        .env("PATH", "")
        .output()
        .unwrap()
}

/// A folder with the trace of one episode.
fn folder_with_trace() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let run = ["evaluate", "--env", "merge-v0", "--episodes", "1", "--trace", "traces"];
    assert!(cpss(folder.path(), &run).status.success());
    let entry = fs::read_dir(folder.path().join("traces")).unwrap().next().unwrap().unwrap();
    let trace = folder.path().join("trace.jsonl");
    fs::copy(entry.path(), &trace).unwrap();
    (folder, trace)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_trace_becomes_a_page_even_without_a_browser() {
    let (folder, _) = folder_with_trace();
    let run = cpss(folder.path(), &["replay", "trace.jsonl"]);
    assert!(run.status.success());
    assert_eq!(text(&run.stdout).trim(), "trace.html");
    let said = text(&run.stderr);
    assert!(said.contains("audited") && said.contains("no browser was opened"), "{said}");
    let page = fs::read_to_string(folder.path().join("trace.html")).unwrap();
    assert!(page.contains("Audited when this page was made"));
    assert!(page.contains("<title>merge-v0, cpss, stationary drift, seed 1000000</title>"));

    let run = cpss(folder.path(), &["replay", "trace.jsonl", "--no-open", "--out", "there.html"]);
    assert!(run.status.success() && !text(&run.stderr).contains("browser"));
    assert_eq!(fs::read_to_string(folder.path().join("there.html")).unwrap(), page);
}

#[test]
fn a_page_promises_nothing_where_the_critic_was_not_calibrated() {
    let promised = |regime: &str| {
        let folder = tempfile::tempdir().unwrap();
        let run = ["evaluate", "--env", "merge-v0", "--episodes", "1", "--trace", "traces"];
        let run = [run.as_slice(), &["--regime", regime]].concat();
        assert!(cpss(folder.path(), &run).status.success());
        let trace = fs::read_dir(folder.path().join("traces")).unwrap().next().unwrap().unwrap();
        let trace = trace.path().into_os_string().into_string().unwrap();
        let run = ["replay", &trace, "--no-open", "--out", "page.html"];
        assert!(cpss(folder.path(), &run).status.success());
        let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
        assert!(page.contains("\"promise\":"), "{regime}");
        !page.contains("\"promise\":null")
    };
    assert!(promised("high"));
    assert!(!promised("high-0.1"));
}

#[test]
fn regression_a_forged_trace_is_shown_with_what_is_wrong_and_fails() {
    let (folder, trace) = folder_with_trace();
    let original = fs::read_to_string(&trace).unwrap();
    let forged = original.replacen("\"verdict\":\"admit\"", "\"verdict\":\"admot\"", 1);
    assert_ne!(forged, original);
    fs::write(&trace, forged).unwrap();
    let run = cpss(folder.path(), &["replay", "trace.jsonl", "--no-open"]);
    assert!(!run.status.success(), "a script goes by the exit status");
    assert_eq!(text(&run.stdout).trim(), "trace.html");
    let said = text(&run.stderr);
    assert!(said.contains("line 2") && said.contains("error: the trace does not audit"), "{said}");
    let page = fs::read_to_string(folder.path().join("trace.html")).unwrap();
    assert!(page.contains("This trace does not audit: line 2"));
    assert!(!page.contains("Audited when this page was made"));
}

#[test]
fn nothing_in_a_trace_breaks_out_of_the_page() {
    let (folder, trace) = folder_with_trace();
    let evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>";
    let original = fs::read_to_string(&trace).unwrap();
    let forged = original
        .replacen("\"task\":\"merge-v0\"", &format!("\"task\":\"{evil}\""), 1)
        .replacen("\"LANE_LEFT\"", &format!("\"{evil}\""), 1);
    assert_ne!(forged, original);
    fs::write(&trace, forged).unwrap();
    assert!(!cpss(folder.path(), &["replay", "trace.jsonl", "--no-open"]).status.success());
    let page = fs::read_to_string(folder.path().join("trace.html")).unwrap();
    assert!(page.contains("alert(2)"), "it is shown");
    assert!(!page.contains("<script>alert") && !page.contains("<img"));
}

#[test]
fn what_is_no_trace_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("notes.txt"), "no trace").unwrap();
    let run = cpss(folder.path(), &["replay", "notes.txt", "--no-open"]);
    assert!(!run.status.success());
    let said = text(&run.stderr);
    assert!(said.contains("notes.txt") && said.contains("not the header of a trace"), "{said}");
    let run = cpss(folder.path(), &["replay", "nowhere.jsonl", "--no-open"]);
    assert!(!run.status.success() && text(&run.stderr).contains("nowhere.jsonl"));
}
