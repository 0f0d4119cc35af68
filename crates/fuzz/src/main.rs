//! `cpss-fuzz --seconds 600 [TARGET]`: tries readers for as long as one likes.

#![expect(clippy::print_stdout, reason = "what it finds is its output")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use cpss_fuzz::campaign::{Until, run};
use cpss_fuzz::targets::{Answer, TARGETS};
use cpss_fuzz::watch::Watch;

/// Damages good files, and looks at what the project's readers do with them.
#[derive(Debug, Parser)]
struct Options {
    /// Only this one; all, one after the other, if none is named
    target: Option<String>,
    /// How long each is tried
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The seed that all damage follows from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where an input that fails is kept
    #[arg(long, default_value = "target/fuzz")]
    out: PathBuf,
    /// Read this file once instead, such as one that was kept
    #[arg(long, requires = "target")]
    input: Option<PathBuf>,
}

fn main() -> anyhow::Result<ExitCode> {
    let options = Options::parse();
    let name = options.target.as_deref();
    let targets: Vec<_> =
        TARGETS.iter().filter(|target| name.is_none_or(|name| name == target.name)).collect();
    anyhow::ensure!(
        !targets.is_empty(),
        "there is no target `{}`; there are {}",
        name.unwrap_or_default(),
        TARGETS.map(|target| target.name).join(", ")
    );
    std::fs::create_dir_all(&options.out)?;
    if let Some(input) = &options.input {
        return match Watch::new(targets[0], &options.out).look(&std::fs::read(input)?) {
            Ok(Answer::Accepted) => {
                println!("accepted");
                Ok(ExitCode::SUCCESS)
            }
            Ok(Answer::Refused(reason)) => {
                println!("refused: {reason}");
                Ok(ExitCode::SUCCESS)
            }
            Err(fault) => {
                println!("FAILED: {fault}");
                Ok(ExitCode::FAILURE)
            }
        };
    }
    let mut code = ExitCode::SUCCESS;
    let until = Until::Time(Duration::from_secs(options.seconds));
    for target in targets {
        match run(target, options.seed, until, &options.out) {
            Ok(tried) => println!("{:<16} {tried}", target.name),
            Err(found) => {
                println!("{:<16} FAILED: {}; {}", target.name, found.fault, found.input.display());
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}
