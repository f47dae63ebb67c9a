//! The `kvtop` binary: parse, run, exit.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use kvtop::cli::Cli;
use kvtop::{exit, run};

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run::run(&cli) {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(error) => {
            // When nobody reads the error, the exit code is all that is left to say.
            drop(writeln!(std::io::stderr(), "kvtop: {}", exit::chain(&error)));
            ExitCode::from(exit::Exit::Failed.code())
        }
    }
}
