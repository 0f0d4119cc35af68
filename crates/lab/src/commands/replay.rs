//! What happened in a trace, for somebody who wants to see it? (`cpss replay`)
//!
//! `cpss replay` audits a trace, writes the page that replays it and opens the page in the browser. A
//! trace that does not audit is shown as far as it can be read, under a banner that says what is wrong, and
//! the command fails: a script that looks at nothing but the exit status must not take it for sound.
//! A machine without a browser is no failure: the page is written, and its path is said.
//!
//! **Absent on purpose:** a shell. A trace's name is anybody's, and a shell would run what stands in it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::files::atomic::write_atomically;
use crate::report::page::single::{Single, single};
use crate::terminal::{note, say};

/// Options of `cpss replay`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cpss evaluate --env merge-v0 --method cpss --episodes 3 --trace traces
  cpss replay traces/merge-v0_stationary_cpss_builtin-0_1000000.jsonl
  cpss replay episode.jsonl --out episode.html --no-open")]
pub(super) struct Options {
    /// The trace
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Where to write the page; beside the trace unless told otherwise
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Do not open it in the browser
    #[arg(long)]
    no_open: bool,
}

/// Runs `cpss replay`.
pub(super) fn run(options: &Options) -> Result<()> {
    let trace = &options.trace;
    let bytes = std::fs::read(trace)
        .with_context(|| format!("cannot read the trace {}", trace.display()))?;
    let file = trace.file_name().unwrap_or_default().to_string_lossy();
    let Single { page, unsound } =
        single(&file, &bytes).with_context(|| format!("cannot replay {}", trace.display()))?;
    match &unsound {
        Some(problem) => note!("{file}: {problem}\nthe page says so in red"),
        None => note!("{file}: audited, every threshold and verdict comes out as written"),
    }
    let out = options.out.clone().unwrap_or_else(|| trace.with_extension("html"));
    ensure!(
        !is_same(&out, trace),
        "the page would take the place of the trace: give another --out"
    );
    write_atomically(&out, page.as_bytes())?;
    say!("{}", out.display())?;
    if !options.no_open
        && let Err(problem) = open(&out)
    {
        note!("no browser was opened ({problem}); open the page above yourself");
    }
    ensure!(unsound.is_none(), "the trace does not audit");
    Ok(())
}

/// Whether two paths lead to one file.
fn is_same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// How long a desktop may take to say that it cannot.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Asks the desktop to open a page; only a refusal is waited for.
fn open(page: &Path) -> Result<(), String> {
    // From the root on, no name can be taken for an option or an address.
    let page = std::path::absolute(page).map_err(|error| error.to_string())?;
    let (program, arguments) = opener(std::env::consts::OS, &page);
    let mut command = Command::new(program);
    command.args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("{program}: {error}"))?;
    let asked = Instant::now();
    while asked.elapsed() < PATIENCE {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("{program}: {status}")),
            Ok(None) => std::thread::sleep(Duration::from_millis(50)),
            Err(error) => return Err(format!("{program}: {error}")),
        }
    }
    // It is still at it: a browser that was started by it, most likely.
    Ok(())
}

/// The program that opens a file on an operating system, and its arguments: the page is one of them, whole.
fn opener(system: &str, page: &Path) -> (&'static str, Vec<OsString>) {
    match system {
        "macos" => ("open", vec![page.into()]),
        // What a double click does: one path, which nothing parses for commands.
        "windows" => ("rundll32.exe", vec!["url.dll,FileProtocolHandler".into(), page.into()]),
        _ => ("xdg-open", vec![page.into()]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regression_no_shell_opens_a_page_on_any_system() {
        for system in ["windows", "macos", "linux", "freebsd"] {
            for name in ["/x&calc&.html", "/a b.html", "/\"&calc.html", "/$(id).html"] {
                let (program, arguments) = opener(system, Path::new(name));
                assert!(["rundll32.exe", "open", "xdg-open"].contains(&program), "{program}");
                // The name is the whole of the last argument and no part of any other.
                let (last, before) = arguments.split_last().unwrap();
                assert_eq!(last, name, "{system}");
                assert!(before.iter().all(|word| word == "url.dll,FileProtocolHandler"));
            }
        }
    }
}
