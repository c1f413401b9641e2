//! The benchmark of clusters, backend by backend, and its record.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use xtask::machine;

use super::lifecycle::available;
use super::options::{Options, BACKENDS};
use super::with::with;

/// How to measure.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Args {
    /// How many rounds; the median of their ratios is shown.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Keep the tables in bench/record/DATE-NAME.md.
    #[arg(long, value_name = "NAME")]
    record: Option<String>,
}

/// Measures, and returns whether all backends that are here could be measured.
pub(super) fn run(root: &Path, args: &Args, out: &mut impl Write) -> anyhow::Result<bool> {
    let date = jiff::Zoned::now().date();
    let tables = table_file(root)?;
    let mut command = vec![
        "cargo",
        "run",
        "--quiet",
        "--release",
        "--ignore-rust-version",
    ];
    command.extend([
        "--manifest-path",
        "bench/Cargo.toml",
        "-p",
        "heist-bench-cluster",
        "--",
    ]);
    let rounds = args.rounds.to_string();
    let path = tables.display().to_string();
    command.extend(["--rounds", &rounds, "--append", &path, "--backend"]);
    let mut passed = Command::new(command[0])
        .args(&command[1..])
        .arg("local")
        .current_dir(root)
        .status()?
        .success();
    for backend in BACKENDS {
        if let Err(reason) = available(root, backend) {
            let line = format!("{backend} was left out: {reason}");
            writeln!(out, "{line}")?;
            append(&tables, &format!("{line}\n\n"))?;
            continue;
        }
        let name = backend.to_string();
        let command = command
            .iter()
            .copied()
            .chain([name.as_str()])
            .map(Into::into);
        passed &= with(root, &Options::new(backend), &command.collect::<Vec<_>>())? == 0;
    }
    if let Some(name) = &args.record {
        let record = root.join(format!("bench/record/{date}-{name}.md"));
        let text = std::fs::read_to_string(&tables)?;
        let head = format!(
            "# {date}: {name}\n\n{}\n{text}",
            machine(root, args.rounds)?
        );
        std::fs::write(&record, format!("{}\n", head.trim_end()))
            .with_context(|| format!("could not write {}", record.display()))?;
        writeln!(out, "{}", record.display())?;
    }
    std::fs::remove_file(&tables)?;
    Ok(passed)
}

/// Where the backends' tables are put together.
fn table_file(root: &Path) -> anyhow::Result<std::path::PathBuf> {
    let folder = xtask::build::target_folder(root, "cluster");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join("bench.md");
    std::fs::write(&path, "")?;
    Ok(path)
}

fn append(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new().append(true).open(path)?;
    file.write_all(text.as_bytes())
}

/// The conditions of the measurement.
fn machine(root: &Path, rounds: u32) -> anyhow::Result<String> {
    Ok(format!(
        "{}- Run: {rounds} rounds; three nodes of two processors each, all on this machine\n\
         - Load averages after: {}\n",
        machine::described(root),
        machine::load()
    ))
}
