//! The program `heist-run`: `heist run` alone, which compiles in seconds.
//!
//! Every other command belongs to the whole program, and is answered by how to get that.

#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use heist_run::terminal::harmless;
use heist_run::usage::Usage;
use heist_run::{exit, run};

/// Shows work stealing on real work
#[derive(Parser)]
#[command(name = "heist-run", version, after_help = MORE)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

const MORE: &str = "\
This small program has one command, so that it compiles in seconds. The whole
one has doctor, plan, sim, cluster and more:
  cargo run --release -p heist-cli -- --help
  cargo install --locked --path cli    # it is called heist then";

#[derive(Subcommand)]
enum Command {
    /// Run real work under four strategies and compare time, balance and steals
    Run(Box<run::Args>),
    #[command(external_subcommand)]
    Other(Vec<OsString>),
}

fn main() -> ExitCode {
    let program = match Program::try_parse() {
        Ok(program) => program,
        Err(answer) => return exit::unparsed(&answer),
    };
    let mut out = io::stdout().lock();
    let outcome = match program.command {
        Command::Run(args) => run::run(&args, &mut out),
        Command::Other(words) => Err(elsewhere(&words).into()),
    };
    exit::code(outcome, &mut out)
}

/// The answer to a command of the whole program, or of none.
fn elsewhere(words: &[OsString]) -> Usage {
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let call = harmless(&words.join(" "));
    Usage(format!(
        "this small program has the command run only, and was asked for: {call}\n\
         The whole program takes some minutes to compile:\n  \
         cargo run --release -p heist-cli -- {call}\n\
         or, once and for all,\n  \
         cargo install --locked --path cli\n  \
         heist {call}"
    ))
}
