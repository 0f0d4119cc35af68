//! The `cpss` command. Everything it does is in the library.

fn main() -> std::process::ExitCode {
    cpss::commands::run()
}
