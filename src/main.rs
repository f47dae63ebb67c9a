//! The `kvtop` binary: parse, run, exit.

use std::io::Write as _;
use std::process::ExitCode;

use kvtop::cli::{Cli, Command};
use kvtop::{exit, run};

/// Stack of the thread that does the work, whatever `ulimit -s` allows the first one: what nests 64 levels deep
/// needs 1.5 MiB of it in a debug build.
const STACK: usize = 16 << 20;

fn main() -> ExitCode {
    if run::terminal::stand_guard(std::env::args_os()) {
        return ExitCode::SUCCESS;
    }
    let thread = std::thread::Builder::new().name("main".to_owned()).stack_size(STACK);
    match thread.spawn(work) {
        // A panic has been reported by its hook.
        Ok(thread) => thread.join().unwrap_or(ExitCode::from(101)),
        // Without room for a thread it runs on this one.
        Err(_) => work(),
    }
}

fn work() -> ExitCode {
    run::answer_shell();
    let cli = match Cli::read(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => return ExitCode::from(refused(&error)),
    };
    let failed = match cli.command {
        // Monitoring systems take 1 and 2 for findings.
        Some(Command::Check(_) | Command::Lint(_)) => Some(exit::Exit::Check(3)),
        // 1 says that two states differ.
        Some(Command::Diff(_)) => Some(exit::Exit::Usage),
        _ => None,
    };
    match run::run(cli) {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(error) => {
            // When nobody reads the error, the exit code is all that is left to say.
            drop(writeln!(std::io::stderr(), "kvtop: {}", error.said()));
            ExitCode::from(failed.unwrap_or_else(|| error.exit()).code())
        }
    }
}

/// Prints why the command line was refused, or the help that it asked for, and returns the exit code.
/// Monitoring systems take 2 for critical, so that a `check` which cannot be understood ends with 3, and
/// a `lint` with it.
fn refused(error: &clap::Error) -> u8 {
    // When nobody reads it, the exit code is all that is left to say.
    let plain = error.render().to_string();
    let shown = run::without_logins(&run::printable_lines(&plain));
    if shown == plain {
        drop(error.print());
    } else {
        // What was typed could steer the terminal, or holds a login; then it goes without colours.
        drop(write!(std::io::stderr(), "{shown}"));
    }
    let mut words = std::env::args_os().skip(1);
    let is_judge = words.any(|word| word == "check" || word == "lint");
    match error.exit_code() {
        2 if is_judge => 3,
        code => u8::try_from(code).unwrap_or(1),
    }
}
