//! `heist schedule search`: runs a program by the default schedule, and then with seed after seed,
//! until it fails with one.

use std::io::Write;
use std::iter;
use std::path::PathBuf;
use std::process::ExitCode;

use heist_run::number::whole;
use heist_run::progress;
use heist_run::usage::check_output;

use super::program::{plural, told_path, typed_path, Program};
use super::trial::Trials;

/// Flags of `heist schedule search`
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Seeds to try
    #[arg(short = 'n', long = "seeds", value_name = "N", default_value_t = 1000,
          value_parser = |given: &str| whole(given, 1..=1_000_000_000))]
    seeds: u64,
    /// The first seed; the others follow it
    #[arg(long, value_name = "FIRST", default_value_t = 0,
          value_parser = |given: &str| whole(given, 0..=u64::MAX))]
    seed: u64,
    /// Give workers priorities by the seed, and change them at D - 1 choices only: short schedules,
    /// and faults that take few steps in a long program [default: each choice is random]
    #[arg(long, value_name = "D", value_parser = |given: &str| whole(given, 1..=1000))]
    depth: Option<u64>,
    /// Where the schedule goes under which the program fails
    #[arg(long, value_name = "FILE", default_value = "found.schedule")]
    save: PathBuf,
    #[command(flatten)]
    program: Program,
}

pub(super) const NOTES: &str = "\
The program has to be on heist, or on rayon with heist's rayon-core in its
place. It runs with HEIST_SCHEDULE=default once, and then with random:SEED: one
worker at a time, and the seed says which (with --depth pct:SEED:d=D). By
default nobody steals while a worker has work. A run fails if its exit code is
not 0, if a signal kills it, if it takes longer than the limit, or if nothing
can run any more, which heist reports as a deadlock, with exit code 86.

A program in which a seed is to find something should do the same if heist does,
be small, and check its results: a wrong one is a failure only if the program
ends with another code than 0. A test does. A script has to pass the code of its
program on. Give the program itself, not cargo:
in `target/debug/deps` is that of each file of tests.

The exit code is 1 if a seed was found, 0 if none was. A signal to end (Ctrl-C,
SIGTERM, SIGHUP) is passed on to the program, which is killed if it goes on for
five seconds, or at a second signal; the exit code is 128 and the signal then.";

/// Runs the program until a seed is found.
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    check_output(&args.save)?;
    let program = &args.program;
    let mut trials = Trials::new(program)?;
    let last = args.seed.saturating_add(args.seeds - 1);
    let seeds = last - args.seed + 1;
    let progress = progress::bar(seeds);
    let by_seed = (args.seed..=last).map(Some);
    for seed in iter::once(None).chain(by_seed) {
        let (trial, which) = match seed {
            None => (trials.with_default()?, "The default schedule".to_owned()),
            Some(seed) => {
                progress.set_message(format!("seed {seed}"));
                let trial = trials.with_seed(seed, args.depth)?;
                progress.inc(1);
                (trial, format!("Seed {seed}"))
            }
        };
        let is_failure = trial.outcome.is_failure();
        if !is_failure && trial.schedule.is_some() {
            continue;
        }
        progress.finish_and_clear();
        let name = program.name();
        // Before anything is written, whose reader may have gone away.
        if let Some(schedule) = &trial.schedule {
            schedule.save(&args.save)?;
        }
        if is_failure {
            writeln!(out, "{which}: {name} {}.", trial.outcome)?;
            if let Some(words) = &trial.words {
                writeln!(out, "{words}")?;
            }
        }
        let Some(schedule) = &trial.schedule else {
            return Err(trial.has_no_schedule(&name));
        };
        let deviations = schedule.deviations.len() as u64;
        let (file, rest) = (typed_path(&args.save), program.as_typed());
        let deviations = plural(deviations, "deviation");
        writeln!(
            out,
            "Its schedule is in {}: {deviations} from the default one.\n  \
             heist schedule replay {file} {rest}\n  \
             heist schedule shrink {file} {rest}",
            told_path(&args.save)
        )?;
        return Ok(ExitCode::from(1));
    }
    progress.finish_and_clear();
    let tried = plural(seeds, "seed");
    writeln!(
        out,
        "No failure by the default schedule, nor in {tried}, from {} to {last}.",
        args.seed
    )?;
    Ok(ExitCode::SUCCESS)
}
