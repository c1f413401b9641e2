//! `heist profile`: runs a program with few and with many workers, and says why it does not scale.
//!
//! The program writes a profile of each run, `heist-observe` makes one report of them. Runs with
//! different numbers of workers alternate, so that a machine that slows down disturbs both alike.

mod absent;
mod child;
mod output;

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use heist_observe::profile::Profile;
use heist_run::number::whole;
use heist_run::progress;
use heist_run::terminal::{cut, harmless};
use heist_run::usage::check_output;

use self::child::{Child, Finished};
pub(crate) use self::output::{parse, read_text, Asked, OutputArgs};
use self::output::{read, report};
use crate::ending::Ending;
use crate::signals::Signals;
use crate::sim;

/// Run a program and say why it does not scale: work and span, bounds, where the span is, idle time
#[derive(clap::Args, Debug)]
#[command(after_long_help = NOTES)]
pub(crate) struct Args {
    /// Runs with each number of workers
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = |given: &str| whole(given, 1..=1000))]
    runs: u64,
    /// Numbers of workers [default: 1 and the number of usable cores]
    #[arg(long, value_name = "N", value_delimiter = ',',
          value_parser = |given: &str| whole(given, 1..=65535))]
    workers: Vec<u64>,
    /// Keep the profile of each run as NAME-WORKERS-RUN.json, and the DAG for the model as
    /// NAME-WORKERS.dag.json, for `heist report`
    #[arg(long, value_name = "NAME")]
    out: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
    /// The file that the program reads as its standard input, in each run from the start
    /// [default: nothing]
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,
    /// Leave out the run that records the program's DAG, and what the model says of it: advice is
    /// arithmetic then
    #[arg(long)]
    no_model: bool,
    /// Let the program's output through, on standard error
    #[arg(long)]
    show_output: bool,
    /// The program and its arguments
    #[arg(value_name = "COMMAND", required = true, num_args = 1.., last = true)]
    command: Vec<OsString>,
}

const NOTES: &str = "\
The program has to be on heist, or on rayon with heist's rayon-core in its
place:

  [patch.crates-io]
  rayon-core = { path = \"../heist/compat/rayon-core\" }

It needs no other change. It runs with HEIST_NUM_THREADS set to each number of
workers and HEIST_PROFILE to a file, which you can set yourself to get a profile
of one run.

At the end it runs once more with the most workers and HEIST_DAG set, which
records its strands (a fork costs some 0.2 us then, in a profile a quarter). A
model runs them again, as `heist sim replay` does: `model` is the speed-up that
the whole program has there, and what a faster site would bring is simulated.
Where no DAG could be recorded the advice is arithmetic, and says why.

The figures are those of the runs with the most workers; those with one show the
speed-up that was measured, and how the work grows. Where the runs forked alike,
work and span are the least of them, and else the medians. If for more than 2 %
of the time its threads waited for a processor, or the host took it, the figures
are called unreliable; above 10 % there are neither bounds nor a model. Without
a model `expected` is what a greedy scheduler makes of the work T1 and the
burdened span: T1 / P + (1 - 1 / P) burdened.

The exit code is that of the first run whose program failed, or 128 and the
signal that killed it; 1 if the program wrote no profile; 2 if it cannot be
started. A signal to end (Ctrl-C, SIGTERM, SIGHUP) is passed on to the program,
which is killed if it goes on for five seconds, or at a second signal; the exit
code is 128 and the signal then, 130 after Ctrl-C.";

/// The most of a command that a note shows.
const COMMAND_SHOWN: usize = 60;

/// The outcome of the runs.
enum Outcome {
    /// The profile of each, how the first one ended that failed, and one more for the model.
    Profiles {
        profiles: Vec<Profile>,
        failure: Option<Ending>,
        asked: Asked,
    },
    /// There is nothing to report on.
    Nothing(ExitCode),
}

/// Runs the program as often as it takes, and shows the report.
pub(crate) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    args.output.check()?;
    let workers = workers(&args.workers);
    if let Some(name) = &args.out {
        for round in 1..=args.runs {
            let mut files = workers.iter().map(|&workers| kept(name, workers, round));
            files.try_for_each(|file| check_output(&file))?;
        }
        if let Some(&most) = workers.last().filter(|_| !args.no_model) {
            check_output(&kept_dag(name, most))?;
        }
    }
    match measure(args, &workers)? {
        Outcome::Nothing(code) => Ok(code),
        Outcome::Profiles {
            profiles,
            failure,
            asked,
        } => {
            args.output.show(&profiles, asked, out)?;
            Ok(failure.map_or(ExitCode::SUCCESS, Ending::exit_code))
        }
    }
}

/// Makes the runs. The folder for their profiles is gone at the end, and so is every program.
fn measure(args: &Args, workers: &[u64]) -> anyhow::Result<Outcome> {
    let mut signals = Signals::listen()?;
    let folder = tempfile::tempdir().context("cannot make a folder for the profiles")?;
    let runs = args.runs * workers.len() as u64 + u64::from(!args.no_model);
    let progress = progress::bar(runs);
    let mut profiles = Vec::new();
    let mut first_failure = None;
    let mut told = Vec::new();
    for round in 1..=args.runs {
        for &workers in workers {
            progress.set_message(format!("with {}", plural(workers, "worker")));
            let finished = child(args, folder.path(), workers).run(&mut signals)?;
            progress.inc(1);
            if let Some(signal) = signals.first() {
                progress.finish_and_clear();
                return Ok(Outcome::Nothing(Ending::Signal(signal).exit_code()));
            }
            let Some(profile) = profile(args, &finished)? else {
                progress.finish_and_clear();
                return Ok(Outcome::Nothing(give_up(args, &finished)?));
            };
            if let Some(name) = &args.out {
                let to = kept(name, workers, round);
                fs::copy(&finished.profile, &to)
                    .with_context(|| format!("cannot keep a profile as {}", to.display()))?;
            }
            for note in notes(workers, &profile, &finished) {
                if !told.contains(&note) {
                    progress.suspend(|| tell(&note));
                    told.push(note);
                }
            }
            if finished.ending != Ending::Code(0) {
                first_failure.get_or_insert(finished.ending);
            }
            profiles.push(profile);
        }
    }
    let mut asked = Asked::Nothing;
    let wants_model = progress.suspend(|| wants_model(args, &profiles))?;
    if let Some(&most) = workers.last().filter(|_| wants_model) {
        progress.set_message("for the model".to_owned());
        let finished = recorder(args, folder.path(), most).run(&mut signals)?;
        if let Some(signal) = signals.first() {
            progress.finish_and_clear();
            return Ok(Outcome::Nothing(Ending::Signal(signal).exit_code()));
        }
        if finished.ending != Ending::Code(0) {
            first_failure.get_or_insert(finished.ending);
        }
        asked = recorded(args, &finished, most)?;
    }
    progress.finish_and_clear();
    Ok(Outcome::Profiles {
        profiles,
        failure: first_failure,
        asked,
    })
}

/// Whether there is to be a run for the model: a profile that allows no conclusion needs none.
fn wants_model(args: &Args, profiles: &[Profile]) -> anyhow::Result<bool> {
    if args.no_model {
        return Ok(false);
    }
    let wants = report(profiles)?.wants_model();
    if args.out.is_some() && !wants {
        tell("no DAG is recorded, and so none is kept: the profiles allow no conclusion");
    }
    Ok(wants)
}

/// The run that records the DAG.
fn recorder<'a>(args: &'a Args, folder: &Path, workers: u64) -> Child<'a> {
    Child {
        records: true,
        ..child(args, folder, workers)
    }
}

/// The DAG of a run, or the reason why there is none that the model can run.
fn recorded(args: &Args, finished: &Finished, workers: u64) -> anyhow::Result<Asked> {
    if !finished.profile.exists() {
        let why = format!(
            "the run that was to record its DAG {} and wrote none{}",
            finished.ending,
            finished
                .why_not()
                .map_or(String::new(), |why| format!(": {why}")),
        );
        return Ok(Asked::Without(why));
    }
    if let Some(name) = &args.out {
        let to = kept_dag(name, workers);
        fs::copy(&finished.profile, &to)
            .with_context(|| format!("cannot keep the DAG as {}", to.display()))?;
    }
    Ok(match sim::read_dag(&finished.profile) {
        Ok(dag) => Asked::Run(dag),
        Err(unusable) => Asked::Without(unusable.why),
    })
}

/// The numbers of workers to run with, each once.
fn workers(given: &[u64]) -> Vec<u64> {
    let mut workers = given.to_vec();
    if workers.is_empty() {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        workers = vec![1, cores as u64];
    }
    workers.sort_unstable();
    workers.dedup();
    workers
}

fn child<'a>(args: &'a Args, folder: &Path, workers: u64) -> Child<'a> {
    Child {
        command: &args.command,
        workers,
        name: folder.join("profile"),
        stdin: args.stdin.as_deref(),
        show_output: args.show_output,
        records: false,
    }
}

/// The file in which the profile of a run is kept.
fn kept(name: &Path, workers: u64, round: u64) -> PathBuf {
    let mut name = name.as_os_str().to_owned();
    name.push(format!("-{workers}-{round}.json"));
    PathBuf::from(name)
}

/// The file in which the DAG is kept.
fn kept_dag(name: &Path, workers: u64) -> PathBuf {
    let mut name = name.as_os_str().to_owned();
    name.push(format!("-{workers}.dag.json"));
    PathBuf::from(name)
}

/// The profile of a run, if it wrote one.
fn profile(args: &Args, finished: &Finished) -> anyhow::Result<Option<Profile>> {
    if !finished.profile.exists() {
        return Ok(None);
    }
    let profile = read(&finished.profile);
    let program = args.command[0].display();
    let profile =
        profile.with_context(|| format!("the profile that {program} wrote is unusable"))?;
    Ok(Some(profile))
}

/// Says why there is no profile.
fn give_up(args: &Args, finished: &Finished) -> anyhow::Result<ExitCode> {
    let mut err = std::io::stderr().lock();
    if let Some(said) = finished.last_words() {
        writeln!(err, "the program's last lines on standard error:\n{said}")?;
    }
    let why = match finished.no_room() {
        Some(error) => format!(
            "no profile can be kept in {}: {error}; accepted is a folder with room for some \
             megabytes, which TMPDIR names",
            std::env::temp_dir().display()
        ),
        None => absent::explain(&args.command[0], finished.ending),
    };
    let why: Vec<_> = why.lines().map(harmless).collect();
    writeln!(err, "error: {}", why.join("\n"))?;
    Ok(match finished.ending {
        Ending::Code(0) => ExitCode::from(1),
        ending => ending.exit_code(),
    })
}

/// Notes on a run that was not as a reader of the report would expect.
fn notes(asked: u64, profile: &Profile, finished: &Finished) -> Vec<String> {
    let mut notes = Vec::new();
    let asked_for = plural(asked, "worker");
    if profile.workers != asked {
        notes.push(format!(
            "asked for {asked_for}, the program had {} in {}: it chooses their number itself",
            profile.workers,
            plural(profile.pools, "pool"),
        ));
    }
    if finished.ending != Ending::Code(0) {
        notes.push(format!("a run with {asked_for} {}", finished.ending));
    }
    if profile.has_replaced {
        notes.push(format!(
            "several programs on heist ran; the figures are those of the one that ended last, `{}`, \
             alone: profile each by itself",
            cut(&profile.command.join(" "), COMMAND_SHOWN),
        ));
    }
    notes
}

fn tell(note: &str) {
    // If stderr is closed, nobody wants to know.
    let _ = writeln!(std::io::stderr(), "note: {note}");
}

fn plural(number: u64, one: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {one}s"),
    }
}
