//! `heist report`: the report about profiles or timelines that are already there.

mod timeline;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use heist_observe::recording::Recording;
use heist_run::limited;
use heist_run::usage::{check_outputs, Usage};

use crate::profile::{read, OutputArgs};

/// The largest timeline that is read: some twenty million events.
const TIMELINE_BYTES_MAX: u64 = 1 << 29;

/// Flags of `heist report`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Profiles of one command, or timelines
    #[arg(value_name = "FILE.json", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
    /// Write timelines as a trace, which Perfetto and `chrome://tracing` show
    #[arg(long, value_name = "FILE.json")]
    trace: Option<PathBuf>,
}

/// Shows the report.
pub(crate) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    check_outputs(&[
        ("--html", args.output.html()),
        ("--trace", args.trace.as_deref()),
    ])?;
    let timelines = args.files.iter().map(|file| timeline(file));
    let timelines = timelines.collect::<Result<Vec<_>, _>>()?;
    let other = args.files.iter().zip(&timelines);
    let other = other
        .filter(|(_, timeline)| timeline.is_none())
        .map(|(file, _)| file);
    match other.clone().next() {
        None => {
            args.output.demand_page_only()?;
            let timelines: Vec<Recording> = timelines.into_iter().flatten().collect();
            let page = args.output.html();
            timeline::show(&timelines, page, args.trace.as_deref(), out)?;
        }
        Some(file) if other.count() < args.files.len() => {
            let why = "is no timeline, and others are; name files of one kind";
            return Err(Usage(format!("{} {why}", file.display())).into());
        }
        Some(file) if args.trace.is_some() => {
            let why =
                "is no timeline, of which alone --trace makes something; HEIST_TIMELINE=NAME \
                       lets a program write one";
            return Err(Usage(format!("{} {why}", file.display())).into());
        }
        Some(_) => {
            let profiles = args.files.iter().map(|file| read(file));
            let profiles = profiles.collect::<Result<Vec<_>, _>>()?;
            args.output.show(&profiles, out)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The timeline in a file, if there is one.
fn timeline(path: &Path) -> Result<Option<Recording>, Usage> {
    let name = path.display();
    // An unreadable file is refused as a profile, too.
    let Ok(text) = limited::read_text(path, TIMELINE_BYTES_MAX) else {
        return Ok(None);
    };
    if !Recording::is_in(&text) {
        return Ok(None);
    }
    let recording = Recording::parse(&text);
    let recording =
        recording.map_err(|error| Usage(format!("cannot use the timeline {name}: {error}")))?;
    Ok(Some(recording))
}
