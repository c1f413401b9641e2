//! `heist schedule shrink`: leaves deviations of a schedule out while the program fails likewise.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use heist_event::schedule::Deviation;
use heist_run::progress;
use heist_run::usage::check_output;
use indicatif::ProgressBar;

use super::deviations::{self, Schedule};
use super::program::{plural, told_path, typed_path, Program};
use super::trial::{Outcome, Trial, Trials};

/// Runs by the shortest schedule, to see whether it is repeated.
const RUNS: u64 = 3;

/// Flags of `heist schedule shrink`
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The schedule, as it was recorded
    file: PathBuf,
    /// Where the shorter one goes [default: FILE.shrunk]
    #[arg(long, value_name = "OUT")]
    save: Option<PathBuf>,
    #[command(flatten)]
    program: Program,
}

pub(super) const NOTES: &str = "\
A schedule is a list of deviations from the default one, in which a worker goes
on as long as it has work. Parts of the list are left out, first halves, in the
end single deviations, as long as the program fails as it did under the whole:
with the same exit code or signal, and with its first panic at the same place.
In a deadlock no thread may be blocked in another closure than under the whole,
or, if none is blocked, wait for something else. In the end none can be left out
any more.

The exit code is 0; it is 1 if the program does not fail under the schedule.";

/// Makes the schedule shorter.
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let schedule = Schedule::read(&args.file)?;
    let save = args.save.clone().unwrap_or_else(|| {
        let mut name = args.file.as_os_str().to_owned();
        name.push(".shrunk");
        name.into()
    });
    check_output(&save)?;
    let name = args.program.name();
    let mut trials = Trials::new(&args.program)?;
    let best = trials.replay(&schedule)?;
    let outcome = best.outcome.clone();
    if !outcome.is_failure() {
        let file = told_path(&args.file);
        writeln!(
            out,
            "By {file} {name} {outcome}: there is nothing to shrink."
        )?;
        return Ok(ExitCode::from(1));
    }
    let Some(recorded) = best.schedule.clone() else {
        if let Some(words) = &best.words {
            writeln!(out, "{words}")?;
        }
        return Err(best.has_no_schedule(&name));
    };
    let progress = progress::spinner("runs");
    let (runs, best) = shortest(&mut trials, best, recorded.deviations, &progress)?;
    let Some(shortest) = best.schedule else {
        unreachable!("it was replayed with a schedule");
    };
    let mut alike = 0;
    for _ in 0..RUNS {
        alike += u64::from(trials.replay(&shortest)?.outcome.is_likewise(&outcome));
    }
    progress.finish_and_clear();
    shortest.save(&save)?;
    let before = plural(schedule.deviations.len() as u64, "deviation");
    let after = shortest.deviations.len();
    writeln!(
        out,
        "{before} became {after}, in {}: {name} still {outcome}.",
        plural(runs, "run")
    )?;
    if let Some(words) = &best.words {
        writeln!(out, "{words}")?;
    }
    writeln!(
        out,
        "The schedule is in {}; {alike} of {RUNS} runs by it ended likewise.\n  \
         heist schedule replay {} {}",
        told_path(&save),
        typed_path(&save),
        args.program.as_typed()
    )?;
    Ok(ExitCode::SUCCESS)
}

/// The number of runs, and the last of those that ended as the first one did: by fewer and fewer
/// of the deviations.
fn shortest(
    trials: &mut Trials<'_>,
    first: Trial,
    deviations: Vec<Deviation>,
    progress: &ProgressBar,
) -> anyhow::Result<(u64, Trial)> {
    let outcome = first.outcome.clone();
    let (mut runs, mut best) = (1, first);
    deviations::shrink(deviations, |deviations| {
        runs += 1;
        progress.inc(1);
        let trial = trials.replay(&Schedule::new(deviations.to_vec()))?;
        let used = same(&trial, &outcome).map(|schedule| schedule.deviations.clone());
        if used.is_some() {
            best = trial;
        }
        Ok(used)
    })?;
    Ok((runs, best))
}

/// The schedule of a run that ended so.
fn same<'a>(trial: &'a Trial, outcome: &Outcome) -> Option<&'a Schedule> {
    trial
        .schedule
        .as_ref()
        .filter(|_| trial.outcome.is_likewise(outcome))
}
