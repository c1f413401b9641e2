//! `cargo xtask`: the project's own chores from the command line.

#![forbid(unsafe_code)]

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask::steps::Runner;
use xtask::{
    book, ci, fuzz, miri, model, mutate, newcomer, release, repository_root, sanitize, soak,
    targets, tidy,
};

/// The project's own chores.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Check the rules about the source that no compiler checks.
    Tidy,
    /// Check that the version of the manifest can be released, write its notes, and print the
    /// commands that release it.
    Release,
    /// Build the book, with the documentation of the libraries beside it.
    Book(book::Args),
    /// Do everything in the book's first chapter, from an empty folder, and say how long it takes.
    Newcomer,
    /// Run the models of the protocols, under loom and then under shuttle.
    Model,
    /// Weaken each named ordering and leave out each named fence, and say which model notices.
    Mutate(mutate::Args),
    /// Check the libraries for other systems and by their oldest compilers, and run them as
    /// WebAssembly in node.
    Targets(targets::Args),
    /// Run everything that a change must pass, cheapest first.
    Ci(ci::Args),
    /// Let a fuzzer choose pipelines of parallel iterators, and compare them with std's.
    Fuzz(fuzz::Args),
    /// Mix everything that heist offers for minutes or hours, with delays at the instants that
    /// matter: books must balance, and memory, threads and latencies must not grow.
    Soak(soak::Args),
    /// Run the tests of the crates with unsafe code under the compiler's sanitizers.
    Sanitize(sanitize::Args),
    /// Run every operation at its smallest in an interpreter that sees undefined behaviour (Miri).
    Miri(miri::Args),
}

fn main() -> anyhow::Result<ExitCode> {
    let chore = Arguments::parse().chore;
    let root = repository_root()?;
    let mut out = std::io::stdout();
    let passed = match chore {
        Chore::Tidy => {
            let report = tidy::check(&root)?;
            writeln!(out, "{report}")?;
            report.violations.is_empty()
        }
        Chore::Release => release::run(&root, &mut out)?,
        Chore::Book(arguments) => book::run(&root, arguments, &mut out)?,
        Chore::Newcomer => newcomer::run(&root, &mut out)?,
        Chore::Model => {
            let mut runner = Runner::new(&root, &mut out);
            model::add_steps(&mut runner)?;
            runner.finish()?
        }
        Chore::Mutate(arguments) => mutate::run(&root, &arguments, &mut out)?,
        Chore::Targets(arguments) => targets::run(&root, &arguments, &mut out)?,
        Chore::Ci(arguments) => ci::run(&root, &arguments, &mut out)?,
        Chore::Fuzz(arguments) => fuzz::run(&root, &arguments, &mut out)?,
        Chore::Soak(arguments) => soak::run(&root, &arguments, &mut out)?,
        Chore::Sanitize(arguments) => sanitize::run(&root, arguments, &mut out)?,
        Chore::Miri(arguments) => miri::run(&root, arguments, &mut out)?,
    };
    Ok(if passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
