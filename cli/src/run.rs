//! The sub-command `run`: one workload under each strategy, side by side.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::builder::PossibleValue;
use clap::ValueEnum;

use crate::number::whole;
use crate::strategy::{Stealing, Strategy};
use crate::usage::{check_output, Usage};
use crate::workload::{
    fib::Fib, files::Files, json::Json, mandelbrot::Mandelbrot, matmul::Matmul,
    mergesort::Mergesort, nqueens::Nqueens, quicksort::Quicksort, skewed_loop::SkewedLoop,
    uts::Uts, Flag, Kind, Setup, Size, Skipped, Workload,
};

mod comparison;
mod document;
mod measure;
mod page;
mod screen;
mod workers;

/// The most skipped parts of the input that are listed one by one.
const SKIPPED_LISTED: usize = 10;

/// The seed of generated input where none is given. With it the tree of `uts` has
/// 3.2 million nodes; its size varies widely from seed to seed.
const SEED: u64 = 46;

/// Flags of `heist run`
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The workload to run
    #[arg(value_enum, default_value = "files")]
    workload: Kind,
    /// Number of threads [default: `HEIST_NUM_THREADS` if that is set,
    /// else the number of usable cores]
    #[arg(long, value_name = "N", value_parser = workers::parse)]
    workers: Option<usize>,
    /// Strategy to compare with the serial one
    #[arg(long, default_value = "all")]
    strategy: Selection,
    /// The input of `files` (a folder) or `json` (a file, one document a line)
    #[arg(long, value_name = "PATH")]
    input: Option<PathBuf>,
    /// Problem size of a generated workload; see the list of workloads
    #[arg(long, value_name = "N", value_parser = |given: &str| whole(given, 0..=u64::MAX))]
    size: Option<u64>,
    /// Seed of a generated workload [default: 46]
    #[arg(long, value_name = "N", value_parser = |given: &str| whole(given, 0..=u64::MAX))]
    seed: Option<u64>,
    /// File for the picture of `mandelbrot` [default: mandelbrot.png]
    #[arg(long, value_name = "FILE.png")]
    output: Option<PathBuf>,
    /// Number of measured rounds; the median is shown
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = |given: &str| whole(given, 1..=1000))]
    repeat: u64,
    /// Record one more round and write a page that shows the jobs of each worker over time
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Print one JSON document instead of the table
    #[arg(long)]
    json: bool,
}

/// The strategy to compare with the serial one; `None` for all.
#[derive(Clone, Copy, Debug)]
struct Selection(Option<Strategy>);

impl Selection {
    /// The strategies to run. The serial one is always among them: all others
    /// are checked against its result and compared with its time.
    fn strategies(self) -> Vec<Strategy> {
        match self.0 {
            None => Strategy::value_variants().to_vec(),
            Some(Strategy::Serial) => vec![Strategy::Serial],
            Some(other) => vec![Strategy::Serial, other],
        }
    }
}

impl ValueEnum for Selection {
    fn value_variants<'a>() -> &'a [Self] {
        const {
            &[
                Self(Some(Strategy::Serial)),
                Self(Some(Strategy::Static)),
                Self(Some(Strategy::Central)),
                Self(Some(Strategy::Stealing)),
                Self(None),
            ]
        }
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self.0 {
            Some(strategy) => strategy.to_possible_value(),
            None => Some(PossibleValue::new("all").help("All four")),
        }
    }
}

/// Prepares the workload, runs it under each strategy, and shows the comparison.
pub(crate) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    match args.workload {
        Kind::Files => compare::<Files>(args, out),
        Kind::Json => compare::<Json>(args, out),
        Kind::Mandelbrot => compare::<Mandelbrot>(args, out),
        Kind::Mergesort => compare::<Mergesort>(args, out),
        Kind::Quicksort => compare::<Quicksort>(args, out),
        Kind::Nqueens => compare::<Nqueens>(args, out),
        Kind::Uts => compare::<Uts>(args, out),
        Kind::Matmul => compare::<Matmul>(args, out),
        Kind::Fib => compare::<Fib>(args, out),
        Kind::Loop => compare::<SkewedLoop>(args, out),
    }
}

fn compare<W: Workload>(args: &Args, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let setup = setup::<W>(args)?;
    let workers = workers::number(args.workers)?;
    for file in [&args.report, &Some(setup.output.clone())]
        .into_iter()
        .flatten()
    {
        check_output(file)?;
    }
    let strategies = args.strategy.strategies();
    let usage = |error: anyhow::Error| Usage(format!("{error:#}"));
    // Before the input is read: heist may refuse the number of workers, or a variable.
    let pool = Stealing::new(workers).map_err(usage)?;
    let workload = W::prepare(&setup).map_err(usage)?;
    let (comparison, output) =
        measure::compare(&workload, &strategies, workers, pool, args.repeat)?;
    if args.json {
        document::write(&comparison, out)?;
    } else {
        screen::write(&comparison, out)?;
    }
    let listed = list_skipped(&comparison.skipped);
    workload.save(&output, &setup)?;
    if let Some(path) = &args.report {
        let page = page::html(&workload, &comparison, &output)?;
        std::fs::write(path, page)
            .with_context(|| format!("cannot write the report to {}", path.display()))?;
    }
    listed?;
    let wrong: Vec<_> = comparison.wrong().map(Strategy::as_str).collect();
    if !wrong.is_empty() {
        anyhow::bail!(
            "{} gave another result than serial (if the input changed meanwhile, run again)",
            wrong.join(" and ")
        );
    }
    Ok(if comparison.skipped.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The flags that the workload knows, checked, with its defaults.
fn setup<W: Workload>(args: &Args) -> Result<Setup, Usage> {
    let profile = W::PROFILE;
    let given = [
        (Flag::Seed, "--seed", args.seed.is_some()),
        (Flag::Input, "--input", args.input.is_some()),
        (Flag::Output, "--output", args.output.is_some()),
    ];
    let mut known: Vec<&str> = profile.size.iter().map(|_| "--size").collect();
    known.extend(
        given
            .iter()
            .filter(|(flag, ..)| profile.flags.contains(flag))
            .map(|(_, name, _)| name),
    );
    let unknown = |name: &str| {
        let accepted = if known.is_empty() {
            "no such flag".to_owned()
        } else {
            known.join(" and ")
        };
        Usage(format!(
            "{name} means nothing to the workload {}, which accepts {accepted}",
            profile.name
        ))
    };
    for (_, name, is_given) in given {
        if is_given && !known.contains(&name) {
            return Err(unknown(name));
        }
    }
    if args.input.is_some() && known.contains(&"--size") {
        for (name, is_given) in [
            ("--size", args.size.is_some()),
            ("--seed", args.seed.is_some()),
        ] {
            if is_given {
                return Err(Usage(format!(
                    "{name} is about generated documents and cannot be combined with --input"
                )));
            }
        }
    }
    let size = match (profile.size, args.size) {
        (None, None) => 0,
        (None, Some(_)) => return Err(unknown("--size")),
        (Some(rule), None) => rule.default,
        (Some(rule), Some(size)) => checked_size(profile.name, &rule, size)?,
    };
    let picture = profile.flags.contains(&Flag::Output);
    Ok(Setup {
        size,
        seed: args.seed.unwrap_or(SEED),
        input: args.input.clone(),
        output: match &args.output {
            Some(path) => path.clone(),
            None if picture => PathBuf::from("mandelbrot.png"),
            None => PathBuf::new(),
        },
    })
}

fn checked_size(workload: &str, rule: &Size, size: u64) -> Result<u64, Usage> {
    if rule.accepted.contains(&size) {
        return Ok(size);
    }
    Err(Usage(format!(
        "invalid value '{size}' for --size ({} of {workload}): accepted are {} to {}, default {}",
        rule.what,
        rule.accepted.start(),
        rule.accepted.end(),
        rule.default
    )))
}

/// Tells on stderr which parts of the input were not used.
fn list_skipped(skipped: &[Skipped]) -> std::io::Result<()> {
    if skipped.is_empty() {
        return Ok(());
    }
    let mut err = std::io::stderr().lock();
    for Skipped { what, reason } in skipped.iter().take(SKIPPED_LISTED) {
        writeln!(err, "skipped {what}: {reason}")?;
    }
    let more = skipped.len().saturating_sub(SKIPPED_LISTED);
    if more > 0 {
        writeln!(err, "... and {more} more")?;
    }
    let plural = if skipped.len() == 1 {
        "part of the input was"
    } else {
        "parts of the input were"
    };
    writeln!(err, "{} {plural} skipped", skipped.len())
}
