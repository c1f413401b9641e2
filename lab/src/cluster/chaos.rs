//! A chaos run on one backend, and its record.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use xtask::machine;
use xtask::steps::Outcome;

use super::lifecycle::available;
use super::namespaces::{can_isolate, can_mount};
use super::options::{Backend, Options};
use super::with::with;

/// How chaos is made.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Args {
    /// How long, in minutes; the last round comes to its end.
    #[arg(long, default_value_t = 2)]
    minutes: u32,
    /// Where calls and jobs run.
    #[arg(long, value_enum, default_value_t = Place::Local)]
    backend: Place,
    /// The seed of the first round, the next one having the next; a new one each time if none is
    /// given.
    #[arg(long)]
    seed: Option<u64>,
    /// Keep what was done in bench/record/DATE-NAME.md.
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "chaos")]
    record: Option<String>,
}

/// A backend, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Place {
    /// Worker processes of this machine.
    Local,
    Ray,
    Slurm,
}

/// Makes chaos, and returns the exit code.
pub(super) fn run(root: &Path, args: &Args, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    if !cfg!(target_os = "linux") {
        let reason = "processes are found as Linux shows them".to_owned();
        return skipped(reason, out);
    }
    let backend = match args.backend {
        Place::Local => None,
        Place::Ray => Some(Backend::Ray),
        Place::Slurm => Some(Backend::Slurm),
    };
    let name = backend.map_or_else(|| "local".to_owned(), |backend| backend.to_string());
    let seed = match args.seed {
        Some(seed) => seed,
        None => SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs(),
    };
    let folder = xtask::build::target_folder(root, "cluster");
    fs::create_dir_all(&folder)?;
    let report = folder.join(format!("chaos-{name}.md"));
    let mut command = Vec::<OsString>::new();
    // A disk that can be filled is mounted where nobody else sees it.
    if can_mount() {
        command.extend(["unshare", "--mount"].map(Into::into));
    }
    let build = "cargo run --quiet -p heist-cluster-suite --bin heist-chaos --";
    command.extend(build.split(' ').map(Into::into));
    let seconds = (u64::from(args.minutes) * 60).to_string();
    command.extend([name.into(), seconds.into(), seed.to_string().into()]);
    command.push(report.clone().into());
    build_library(root)?;
    let code = match backend {
        None => {
            let mut command = process(&command);
            let status = command.current_dir(root).status().context("no cargo")?;
            u8::from(!status.success())
        }
        Some(backend) => {
            if let Err(reason) = available(root, backend) {
                return skipped(reason, out);
            }
            let mut options = Options::new(backend);
            options.netns = backend == Backend::Ray && can_isolate();
            if options.netns {
                command.splice(0..0, ["env", "HEIST_CLUSTER_NETNS=1"].map(Into::into));
            }
            with(root, &options, &command)?
        }
    };
    if code != 0 {
        return Ok(ExitCode::from(code));
    }
    let found = fs::read_to_string(&report)?;
    write!(out, "{found}")?;
    if let Some(name) = &args.record {
        let path = machine::new_record(&root.join("bench/record"), name)?;
        let text = format!("- Load averages after: {}\n{found}", machine::load());
        machine::write_record(&path, root, &text)?;
        writeln!(out, "{}", path.display())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Builds the library that workers of Ray load; it is not built with the program beside it.
fn build_library(root: &Path) -> anyhow::Result<()> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "-p", "heist-cluster-suite"]);
    let built = cargo.current_dir(root).status().context("no cargo")?;
    anyhow::ensure!(built.success(), "heist-cluster-suite could not be built");
    Ok(())
}

fn process(line: &[OsString]) -> Command {
    let mut command = Command::new(&line[0]);
    command.args(&line[1..]);
    command
}

fn skipped(reason: String, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let outcome = Outcome::Skipped(reason);
    writeln!(out, "{outcome}")?;
    Ok(outcome.exit_code())
}
