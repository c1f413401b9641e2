//! `cargo lab`: long experiments that a change may need, and that nothing else does.
//!
//! - `cluster` (on Linux): test clusters of real backends on one machine.
//! - `programs`: published programs on rayon and on heist, with times.
//! - `rayon_tests`: rayon's own tests on the stand-in.
//! - `rayon_iterators`: rayon's own tests of iterators on the package in its place, or on heist.
//! - `coverage`: how much of rayon's public iterators heist has.
//! - `findings`: the tests of what once broke the scheduler, many times over.
//! - `instructions`: the cost of a join and of a spawn, in instructions.
//! - `machines`: virtual machines of several shapes, whose limits change.
//! - `page`: the page of a pool in a browser, at three widths, by an accessibility checker.
//! - `replay`: what `heist sim replay` predicts, beside what is measured.
//! - `schedules` (on Linux): deadlocks of rayon's users, by their seeds, again and again.
//! - `size`: what the compiler takes and makes of five chains, beside rayon.
//! - `vectors`: whether loops are vectorised as their plain forms are.
//!
//! Below them lie packages, `published` and prepared to run on rayon or on the stand-in.

#![forbid(unsafe_code)]

// It stands on what only Linux has: a whole network of loopback addresses, `/proc`, namespaces.
#[cfg(target_os = "linux")]
mod cluster;
mod coverage;
mod cut;
mod findings;
mod instructions;
mod machines;
mod page;
mod programs;
mod published;
mod rayon_iterators;
mod rayon_tests;
mod replay;
#[cfg(target_os = "linux")]
mod schedules;
mod size;
mod vectors;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask::repository_root;
use xtask::steps::Outcome;

/// Laboratories, which a newcomer need not open.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo lab")]
struct Arguments {
    #[command(subcommand)]
    laboratory: Laboratory,
}

#[derive(Debug, Subcommand)]
enum Laboratory {
    /// Start, disturb and stop three-node test clusters of real backends on this machine.
    #[cfg(target_os = "linux")]
    Cluster(cluster::Args),
    /// Run published programs on rayon and on heist: their own tests, equal results, times.
    Programs(programs::Args),
    /// Run rayon's own tests, as published, on the stand-in for rayon-core.
    RayonTests(rayon_tests::Args),
    /// Run rayon's own tests, as published, on the package in rayon's place, or on heist.
    RayonIterators(rayon_iterators::IteratorArgs),
    /// Say how much of rayon's public iterators heist has, and what is missing.
    Coverage(coverage::Args),
    /// Run the tests of what once broke the scheduler, many times, short of room and beside load.
    Findings(findings::Args),
    /// Count the instructions of a join and of a spawn, and compare them with the record.
    Instructions(instructions::Args),
    /// Start virtual machines of several shapes, and change the limits on a pool's process there.
    Machines(machines::Args),
    /// Look at a page with a million spans in a browser: pictures, loading times, accessibility.
    Page(page::Args),
    /// Predict the speed-up of recorded programs, and measure it.
    Replay(replay::Args),
    /// Find, repeat and shorten the deadlocks that rayon's users met, and try many seeds.
    #[cfg(target_os = "linux")]
    Schedules(schedules::Args),
    /// Compile five chains on heist and on rayon, and compare the times and the code.
    Size,
    /// Compile loops on heist and in their plain form, and compare their vector instructions.
    Vectors,
}

fn main() -> anyhow::Result<ExitCode> {
    let laboratory = Arguments::parse().laboratory;
    let root = repository_root()?;
    let mut out = std::io::stdout();
    let passed = match laboratory {
        #[cfg(target_os = "linux")]
        Laboratory::Cluster(arguments) => return cluster::run(&root, &arguments, &mut out),
        Laboratory::Programs(arguments) => programs::run(&root, &arguments, &mut out)?,
        Laboratory::RayonTests(arguments) => rayon_tests::run(&root, &arguments, &mut out)?,
        Laboratory::RayonIterators(arguments) => rayon_iterators::run(&root, &arguments, &mut out)?,
        Laboratory::Coverage(arguments) => coverage::run(&root, &arguments, &mut out)?,
        Laboratory::Findings(arguments) => findings::run(&root, arguments, &mut out)?,
        Laboratory::Instructions(arguments) => {
            let outcome = instructions::run(&root, arguments, &mut out)?;
            writeln!(out, "{outcome}")?;
            return Ok(outcome.exit_code());
        }
        Laboratory::Machines(arguments) => {
            let outcome = machines::run(&root, &arguments, &mut out)?;
            writeln!(out, "{outcome}")?;
            return Ok(outcome.exit_code());
        }
        Laboratory::Page(arguments) => {
            let outcome = page::run(&root, &arguments, &mut out)?;
            writeln!(out, "{outcome}")?;
            return Ok(outcome.exit_code());
        }
        Laboratory::Replay(arguments) => replay::run(&root, &arguments, &mut out)?,
        #[cfg(target_os = "linux")]
        Laboratory::Schedules(arguments) => schedules::run(&root, arguments, &mut out)?,
        Laboratory::Size => {
            let outcome = size::run(&root, &mut out)?;
            writeln!(out, "{outcome}")?;
            return Ok(outcome.exit_code());
        }
        Laboratory::Vectors => {
            let outcome = vectors::run(&root, &mut out)?;
            writeln!(out, "{outcome}")?;
            return Ok(outcome.exit_code());
        }
    };
    Ok(Outcome::of(passed).exit_code())
}
