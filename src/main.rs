//! The `kvtop` binary: parse, run, exit.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use kvtop::cli::Cli;
use kvtop::{exit, run};

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return ExitCode::from(refused(&error)),
    };
    match run::run(cli) {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(error) => {
            // When nobody reads the error, the exit code is all that is left to say.
            drop(writeln!(std::io::stderr(), "kvtop: {}", exit::chain(&error)));
            ExitCode::from(exit::Exit::Failed.code())
        }
    }
}

/// Prints why the command line was refused, or the help that it asked for, and returns the exit code.
/// Monitoring systems take 2 for critical, so that a `check` which cannot be understood ends with 3, and
/// a `lint` with it.
fn refused(error: &clap::Error) -> u8 {
    // When nobody reads it, the exit code is all that is left to say.
    drop(error.print());
    let mut words = std::env::args_os().skip(1);
    let is_judge = words.any(|word| word == "check" || word == "lint");
    match error.exit_code() {
        2 if is_judge => 3,
        code => u8::try_from(code).unwrap_or(1),
    }
}
