//! The benchmark: builds the peers, runs them interleaved, checks every
//! result against the definitions, prints tables and keeps a dated record.
#![forbid(unsafe_code)]

mod args;
mod build;
mod definition;
mod figures;
mod group;
mod lock;
mod machine;
mod peer;
mod record;
mod report;
mod run;
mod sample;
mod stats;
mod summary;
mod table;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

fn main() -> ExitCode {
    match benchmark(&args::Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Does everything; false if a result was wrong or a peer failed.
fn benchmark(args: &args::Args) -> Result<bool> {
    let runner = Path::new(env!("CARGO_MANIFEST_DIR"));
    let bench = runner.parent().unwrap_or(runner);
    let definitions = definition::load(&bench.join("definitions"))?;
    let groups = group::load(&bench.join("groups"), &definitions)?;
    let definitions = args.choose_workloads(definitions)?;
    let peers = args.choose_peers(peer::load(&bench.join("peers"))?)?;
    let built = build::build(bench, peers)?;
    let machine = machine::Machine::look(bench);
    let plan = run::Plan::new(args, definitions, groups, built.peers);
    let runs = plan.run()?;
    let report = report::Report {
        plan: &plan,
        runs: &runs,
        skipped: &built.skipped,
        machine,
    };
    let text = report.text();
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")?;
    if let Some(name) = &args.record {
        let path = record::keep(&bench.join("record"), name, &report, &text)?;
        writeln!(out, "\nrecord: {}", path.display())?;
    }
    Ok(runs.iter().all(|run| run.failure.is_none()))
}
