//! The program `heist`.
//!
//! `heist run` executes real irregular work serially, with two strategies that need no runtime,
//! and on heist, and shows them side by side. `heist doctor` says what heist finds on this
//! machine, or whether a project runs on heist. `heist profile` runs a program and says why it does
//! not scale; `heist report` says it from profiles that are there. `heist cluster` runs a program's
//! functions and jobs on many machines; `heist plan` says which job of a fleet should move. `heist
//! sim` runs a computation in a model, on as many workers as one likes.
//!
//! The exit code is:
//!
//! - 0 if all is well;
//! - 1 if a strategy gave a wrong result, a part of the input could not be used, an output could
//!   not be written, a job or call has no result, or the model breaks a promise of theory; also if
//!   doctor finds that no pool can start, that a setting would be refused, or that a project does
//!   not run on heist;
//! - 2 if the program was called wrongly, or with something that it cannot work on, such as a
//!   number of workers that heist refuses;
//! - 130 if Ctrl-C ended a run on a cluster, or a profile;
//! - of `heist profile`, that of the program if it failed, or 128 and the signal that killed it.

#![forbid(unsafe_code)]

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use heist_run::{exit, run};

mod cluster;
mod doctor;
mod plan;
mod profile;
mod report;
mod sim;
mod table;

/// Shows work stealing on real work, examines machines, projects and programs that do not scale,
/// and runs jobs on a cluster
#[derive(Parser)]
#[command(name = "heist", version)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run real work under four strategies and compare time, balance and steals
    Run(Box<run::Args>),
    /// Say what heist finds on this machine, or whether a project runs on heist
    Doctor(doctor::Args),
    /// Run a program and say why it does not scale: work, span, bounds, idle time, advice
    Profile(profile::Args),
    /// Say why a program does not scale, from profiles of its runs
    Report(report::Args),
    /// Say which job of a fleet should move now, or why none does
    Plan(plan::Args),
    /// Simulate a computation on any number of workers, step by step
    Sim(sim::Args),
    /// Run a program's functions and jobs on many machines, and watch jobs move
    Cluster(cluster::Args),
}

fn main() -> ExitCode {
    let program = Program::parse();
    let mut out = io::stdout().lock();
    let outcome = match &program.command {
        Command::Run(args) => run::run(args, &mut out),
        Command::Doctor(args) => doctor::run(args, &mut out),
        Command::Profile(args) => profile::run(args, &mut out),
        Command::Report(args) => report::run(args, &mut out),
        Command::Plan(args) => plan::run(args, &mut out),
        Command::Sim(args) => sim::run(args, &mut out),
        Command::Cluster(args) => cluster::run(args, &mut out),
    };
    exit::code(outcome, &mut out)
}
