//! The sub-command `run`: one workload under each strategy, side by side, or three of them.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::slice;

use crate::terminal;
use crate::usage::Usage;
use crate::workload::{
    fib::Fib, files::Files, json::Json, mandelbrot::Mandelbrot, matmul::Matmul,
    mergesort::Mergesort, nqueens::Nqueens, quicksort::Quicksort, skewed_loop::SkewedLoop,
    uts::Uts, Flag, Kind, Setup, Size, Workload,
};

mod args;
mod comparison;
mod document;
mod measure;
mod outcome;
mod page;
mod screen;
mod tour;
mod verdict;
mod workers;

pub use args::Args;

use args::SEED;
use measure::Rounds;
use outcome::{check_results, list_skipped};

/// Prepares the workload, runs it under each strategy, and shows the comparison. Without a
/// workload it shows three.
///
/// # Errors
///
/// Fails if the call cannot work, a strategy gives another result than the serial one, or an
/// output cannot be written.
pub fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let Some(workload) = args.workload else {
        return tour::run(args, out);
    };
    match workload {
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

fn compare<W: Workload>(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let setup = setup::<W>(args)?;
    let workers = workers::number(args.workers)?;
    let makes_picture = W::PROFILE.flags.contains(&Flag::Output);
    args.check_outputs(makes_picture.then_some(&setup.output))?;
    let rounds = Rounds::Number(args.repeat.unwrap_or(3));
    let strategies = args.strategy.strategies();
    let (workload, comparison, output) =
        measure::prepare_and_compare::<W>(&setup, &strategies, workers, rounds)?;
    workers::warn(workers)?;
    if args.json {
        document::write(workers, slice::from_ref(&comparison), None, out)?;
    } else {
        screen::write(&comparison, terminal::width(), out)?;
    }
    let listed = list_skipped(&comparison.skipped);
    workload.save(&output, &setup)?;
    if args.records() {
        let recorded = page::runs(&workload, &comparison, &output)?;
        page::write(args, &page::title(&comparison), recorded)?;
    }
    listed?;
    check_results(slice::from_ref(&comparison))
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
