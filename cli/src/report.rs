//! `heist report`: the report about profiles that are already there.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::profile::{read, OutputArgs};

/// Say why a program does not scale, from profiles of its runs
///
/// A program on heist writes a profile when `HEIST_PROFILE` names a file, and `heist profile --out`
/// keeps those of its runs. Several of one command give one report; see `heist profile --help`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The profiles, of one command
    #[arg(value_name = "FILE.json", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Shows the report.
pub(crate) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    args.output.check()?;
    let profiles = args
        .files
        .iter()
        .map(|file| read(file))
        .collect::<Result<Vec<_>, _>>()?;
    args.output.show(&profiles, out)?;
    Ok(ExitCode::SUCCESS)
}
