//! `heist report`: the report about profiles or timelines that are already there.

mod timeline;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use heist_observe::profile::Profile;
use heist_observe::recording::Recording;
use heist_run::usage::{check_outputs, Usage};

use crate::profile::{parse, read_text, OutputArgs};

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
    for (n, file) in args.files.iter().enumerate() {
        if args.files[..n].contains(file) {
            let why = "is named twice; a run counts once";
            return Err(Usage(format!("{} {why}", file.display())).into());
        }
    }
    // Each is read once, as it may be a pipe.
    let mut timelines = Vec::new();
    let mut profiles = Vec::new();
    for file in &args.files {
        match read(file)? {
            Found::Timeline(timeline) => timelines.push(timeline),
            Found::Profile(profile) => profiles.push((file, *profile)),
        }
    }
    match profiles.first() {
        None => {
            args.output.demand_page_only()?;
            let page = args.output.html();
            timeline::show(&timelines, page, args.trace.as_deref(), out)?;
        }
        Some((file, _)) if !timelines.is_empty() => {
            let why = "is no timeline, and others are; name files of one kind";
            return Err(Usage(format!("{} {why}", file.display())).into());
        }
        Some((file, _)) if args.trace.is_some() => {
            let why =
                "is no timeline, of which alone --trace makes something; HEIST_TIMELINE=NAME \
                       lets a program write one";
            return Err(Usage(format!("{} {why}", file.display())).into());
        }
        Some(_) => {
            let profiles: Vec<Profile> = profiles.into_iter().map(|(_, it)| it).collect();
            args.output.show(&profiles, out)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The content of a file.
enum Found {
    Timeline(Recording),
    Profile(Box<Profile>),
}

fn read(path: &Path) -> Result<Found, Usage> {
    let text = read_text(path, TIMELINE_BYTES_MAX)?;
    if !Recording::is_in(&text) {
        return Ok(Found::Profile(Box::new(parse(path, &text)?)));
    }
    let name = path.display();
    let timeline = Recording::parse(&text);
    let timeline =
        timeline.map_err(|error| Usage(format!("cannot use the timeline {name}: {error}")))?;
    Ok(Found::Timeline(timeline))
}
