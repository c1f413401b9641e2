//! `heist schedule`: finds a schedule under which a program fails, repeats it, and makes it short.
//!
//! A program on heist that is started with `HEIST_SCHEDULE` runs one worker at a time, as a seed or
//! a file says, and writes its schedule to the file that `HEIST_SCHEDULE_FILE` names.

mod deadlock;
mod deviations;
mod program;
mod replay;
mod search;
mod shrink;
mod trial;

use std::io::Write;
use std::process::ExitCode;

use self::trial::Interrupted;
use crate::ending::Ending;

/// Find a schedule under which a program fails, repeat it, make it short
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// Run a program once with each of many seeds, until it fails with one
    #[command(after_long_help = search::NOTES)]
    Search(search::Args),
    /// Run a program again by a recorded schedule, and say how often it ends likewise
    #[command(after_long_help = replay::NOTES)]
    Replay(replay::Args),
    /// Look for the fewest deviations from the default schedule under which a program fails
    /// likewise
    #[command(after_long_help = shrink::NOTES)]
    Shrink(shrink::Args),
}

/// Runs one of the commands.
pub(crate) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let outcome = match &args.command {
        Command::Search(args) => search::run(args, out),
        Command::Replay(args) => replay::run(args, out),
        Command::Shrink(args) => shrink::run(args, out),
    };
    match outcome {
        Err(error) => match error.downcast::<Interrupted>() {
            Ok(Interrupted(signal)) => Ok(Ending::Signal(signal).exit_code()),
            Err(error) => Err(error),
        },
        done => done,
    }
}
