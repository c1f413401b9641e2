//! The program `heist`.
//!
//! `heist run` executes real irregular work serially, with two strategies that need no runtime,
//! and on heist, and shows them side by side. `heist doctor` says what heist finds on this
//! machine, or whether a project runs on heist. `heist profile` runs a program and says why it does
//! not scale; `heist report` says it from profiles that are there; `heist top` shows a program
//! while it runs. `heist schedule` finds a schedule under which a program fails, and repeats it.
//! `heist cluster` runs a program's functions and jobs on many machines; `heist plan` says which
//! job of a fleet should move. `heist sim` runs a computation in a model, on as many workers as one
//! likes, and rules that move jobs in fleets of any size. `heist completions` and `heist man` are
//! about these commands.
//!
//! The exit code is:
//!
//! - 0 if all is well;
//! - 1 if a strategy gave a wrong result, a part of the input could not be used, an output could
//!   not be written, a job or call has no result, or the model breaks a promise of theory; also if
//!   doctor finds that no pool can start, that a setting would be refused, or that a project does
//!   not run on heist; also if a seed makes a program fail, or runs by one schedule end
//!   differently;
//! - 2 if the program was called wrongly, or with something that it cannot work on, such as a
//!   number of workers that heist refuses;
//! - 130 if Ctrl-C or its like ended a run on a cluster, and 128 and the signal if one ended a
//!   profile or the runs of a schedule;
//! - of `heist profile`, that of the program if it failed, or 128 and the signal that killed it.

#![forbid(unsafe_code)]

use std::io;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use heist_run::{exit, run};

mod cluster;
mod doctor;
mod ending;
mod examples;
mod manual;
mod plan;
mod profile;
mod report;
mod schedule;
mod signals;
mod sim;
mod table;
mod top;

/// Shows work stealing on real work, examines machines, projects and programs that do not scale,
/// and runs jobs on a cluster
#[derive(Parser)]
#[command(name = "heist", version, max_term_width = 100, after_long_help = doctor::settings_help())]
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
    /// Say why a program does not scale, or who ran what when, from files of its runs
    ///
    /// A program on heist writes a profile when `HEIST_PROFILE` names a file, and `heist profile
    /// --out` keeps those of its runs. Several of one command give one report.
    ///
    /// It writes a timeline when `HEIST_TIMELINE` names a file: what each worker did when. With
    /// `--html` that becomes a page to look at, with `--trace` a file for Perfetto.
    Report(report::Args),
    /// Watch a program that runs on this machine: workers at work, idle time, hot sites, stalls
    Top(top::Args),
    /// Find a schedule under which a program fails, repeat it, make it short
    Schedule(schedule::Args),
    /// Say which job of a fleet should move now, or why none does
    Plan(plan::Args),
    /// Simulate a computation, a program that was recorded, or a fleet whose jobs move
    Sim(sim::Args),
    /// Run a program's functions and jobs on many machines, and watch jobs move
    Cluster(cluster::Args),
    /// Print a file that teaches a shell these commands
    Completions(manual::CompletionsArgs),
    /// Print the manual page, or write those of all commands
    Man(manual::ManArgs),
}

fn main() -> ExitCode {
    let commands = examples::added(Program::command());
    let matches = commands.clone().try_get_matches();
    let program = matches.and_then(|matches| Program::from_arg_matches(&matches));
    let program = match program {
        Ok(program) => program,
        Err(answer) => return exit::unparsed(&answer),
    };
    let mut out = io::stdout().lock();
    let outcome = match &program.command {
        Command::Run(args) => run::run(args, &mut out),
        Command::Doctor(args) => doctor::run(args, &mut out),
        Command::Profile(args) => profile::run(args, &mut out),
        Command::Report(args) => report::run(args, &mut out),
        Command::Top(args) => top::run(args, &mut out),
        Command::Schedule(args) => schedule::run(args, &mut out),
        Command::Plan(args) => plan::run(args, &mut out),
        Command::Sim(args) => sim::run(args, &mut out),
        Command::Cluster(args) => cluster::run(args, &mut out),
        Command::Completions(args) => manual::completions(args, commands, &mut out),
        Command::Man(args) => manual::man(args, commands, &mut out),
    };
    exit::code(outcome, &mut out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calls of the program in the README and in the book: in blocks of shell commands.
    fn documented() -> Vec<String> {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let chapters = std::fs::read_dir(format!("{root}/book/src")).expect("the book");
        let mut paths: Vec<_> = chapters
            .map(|entry| entry.expect("a file").path())
            .collect();
        paths.push(format!("{root}/README.md").into());
        let mut calls = Vec::new();
        for path in paths {
            let text = std::fs::read_to_string(&path).expect("readable");
            for block in text.split("```sh\n").skip(1) {
                let block = block.split("```").next().unwrap_or_default();
                calls.extend(block.lines().filter_map(call));
            }
        }
        calls
    }

    /// The call in a line, without what the shell keeps for itself.
    fn call(line: &str) -> Option<String> {
        let line = line.split(['#', '>']).next().unwrap_or_default().trim();
        let arguments = line
            .strip_prefix("heist ")
            .or_else(|| line.strip_prefix("cargo run --release -- "))?;
        Some(format!("heist {arguments}"))
    }

    #[test]
    fn every_call_in_the_readme_and_the_book_is_understood() {
        let calls = documented();
        assert!(calls.len() > 10, "{calls:?}");
        for call in calls {
            if let Err(error) = Program::try_parse_from(call.split_whitespace()) {
                assert!(!error.use_stderr(), "{call}: {error}");
            }
        }
    }

    #[test]
    fn what_is_laid_out_by_hand_fits_a_terminal_of_80_columns() {
        fn check(command: &clap::Command) {
            let text = command.get_after_long_help().map(ToString::to_string);
            for line in text.unwrap_or_default().lines() {
                assert!(line.chars().count() <= 80, "{}: {line}", command.get_name());
            }
            command.get_subcommands().for_each(check);
        }
        check(&examples::added(Program::command()));
    }

    /// A line that ends where the source's does is broken once more by a terminal that is narrower.
    #[test]
    fn paragraphs_about_arguments_are_left_to_the_terminal_to_wrap() {
        fn check(command: &clap::Command) {
            for argument in command.get_arguments() {
                let text = argument.get_long_help().map(ToString::to_string);
                for paragraph in text.unwrap_or_default().split("\n\n") {
                    let name = command.get_name();
                    assert!(!paragraph.contains('\n'), "{name} {argument}: {paragraph}");
                }
            }
            command.get_subcommands().for_each(check);
        }
        check(&examples::added(Program::command()));
    }

    #[test]
    fn the_description_of_the_arguments_contradicts_itself_nowhere() {
        Program::command().debug_assert();
    }
}
