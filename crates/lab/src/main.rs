//! The `cpss` command. Everything it does is in the library; this file only reports failure.

use std::process::ExitCode;

fn main() -> ExitCode {
    match cpss::commands::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            cpss::terminal::aside(format_args!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
