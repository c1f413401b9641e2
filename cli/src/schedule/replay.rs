//! `heist schedule replay`: runs a program again and again by one schedule.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use heist_run::number::whole;
use heist_run::progress;

use super::deviations::Schedule;
use super::program::{plural, Program};
use super::trial::{Outcome, Trials};

/// Flags of `heist schedule replay`
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The schedule, as it was recorded
    file: PathBuf,
    /// Runs
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = |given: &str| whole(given, 1..=1_000_000_000))]
    times: u64,
    #[command(flatten)]
    program: Program,
}

pub(super) const NOTES: &str = "\
Two runs end likewise if their exit codes or signals are the same, and the place
in the source of the first panic that they tell of, and in a deadlock the
closures in which threads are blocked. The program has to have as
many workers as when the schedule was recorded. Under a debugger it does the
same, too: HEIST_SCHEDULE=replay:FILE makes it.

The exit code is 0 if all runs ended likewise, also if they failed; 1 if they
did not.";

/// Runs the program as often as it takes, and counts.
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let schedule = Schedule::read(&args.file)?;
    let mut trials = Trials::new(&args.program)?;
    let progress = progress::bar(args.times);
    let name = args.program.name();
    let mut kinds: Vec<(Outcome, u64, Option<String>)> = Vec::new();
    let mut schedules = Vec::new();
    let mut left_out = 0;
    for _ in 0..args.times {
        let trial = trials.replay(&schedule)?;
        progress.inc(1);
        let Some(taken) = &trial.schedule else {
            progress.finish_and_clear();
            if let Some(words) = &trial.words {
                writeln!(out, "{words}")?;
            }
            return Err(trial.has_no_schedule(&name));
        };
        left_out = left_out.max(schedule.left_out(taken));
        if !schedules.contains(&trial.schedule) {
            schedules.push(trial.schedule);
        }
        match kinds.iter_mut().find(|kind| kind.0 == trial.outcome) {
            Some(kind) => kind.1 += 1,
            None => kinds.push((trial.outcome, 1, trial.words)),
        }
    }
    progress.finish_and_clear();
    for (outcome, times, words) in &kinds {
        let of = args.times;
        writeln!(out, "In {times} of {} {name} {outcome}.", plural(of, "run"))?;
        if let Some(words) = words.as_ref().filter(|_| outcome.is_failure()) {
            writeln!(out, "{words}")?;
        }
    }
    if schedules.len() > 1 {
        writeln!(
            out,
            "They recorded {} different schedules: the program depends on something else too.",
            schedules.len()
        )?;
    }
    if left_out > 0 {
        let all = plural(schedule.deviations.len() as u64, "deviation");
        writeln!(
            out,
            "Of the {all}, {left_out} could not be taken: the program is not the one of which the \
             schedule was recorded,\nhas another number of workers, or depends on something else \
             too."
        )?;
    }
    Ok(ExitCode::from(u8::from(kinds.len() > 1)))
}
