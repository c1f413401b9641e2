//! The benchmark of clusters, backend by backend, and its record.

use std::io::Write;
use std::path::Path;
use std::process::Command;

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
        let record = machine::new_record(&root.join("bench/record"), name)?;
        let text = format!(
            "- Run: {} rounds; three nodes of two processors each, all on this machine\n\
             - Load averages after: {}\n\n{}",
            args.rounds,
            machine::load(),
            std::fs::read_to_string(&tables)?
        );
        machine::write_record(&record, root, &text)?;
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
