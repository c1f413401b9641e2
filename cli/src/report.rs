//! `heist report`: the report about profiles, with a DAG for the model, or timelines that are
//! already there.

mod timeline;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use heist_event::dag::Dag;
use heist_observe::profile::Profile;
use heist_observe::recording::Recording;
use heist_run::terminal::cut;
use heist_run::usage::{check_outputs, Usage};

use crate::profile::{parse, read_text, Asked, OutputArgs};
use crate::sim::parse_dag;

/// The largest timeline or DAG that is read: some twenty million events.
const TIMELINE_BYTES_MAX: u64 = 1 << 29;

/// Flags of `heist report`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Profiles of one command, with a DAG of it for the model, or timelines
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
    let mut dag = None;
    for file in &args.files {
        match read(file)? {
            Found::Dag(_) if dag.is_some() => {
                let why = "is a second DAG, and the model runs one; `heist sim replay` chooses \
                           among several";
                return Err(Usage(format!("{} {why}", file.display())).into());
            }
            Found::Dag(found) => dag = Some((file, found)),
            Found::Timeline(timeline) => timelines.push(timeline),
            Found::Profile(profile) => profiles.push((file, *profile)),
        }
    }
    if let Some((file, _)) = dag.as_ref().filter(|_| profiles.is_empty()) {
        let why = "is a DAG, and there is no profile beside it; `heist sim replay` is for DAGs";
        return Err(Usage(format!("{} {why}", file.display())).into());
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
            let asked = match dag {
                None => Asked::Nothing,
                Some((file, dag)) => Asked::Run(of_one_program(&profiles, file, dag)?),
            };
            args.output.show(&profiles, asked, out)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The content of a file.
enum Found {
    Timeline(Recording),
    Profile(Box<Profile>),
    Dag(Dag),
}

/// The DAG, if it is of the program of the profiles.
fn of_one_program(profiles: &[Profile], file: &Path, dag: Dag) -> Result<Dag, Usage> {
    let of = |command: &[String]| cut(&command.join(" "), 80);
    match profiles.first() {
        Some(profile) if profile.command != dag.command => Err(Usage(format!(
            "{} is the DAG of `{}`, and the profiles are of `{}`; accepted is one of the same \
             program with the same arguments",
            file.display(),
            of(&dag.command),
            of(&profile.command)
        ))),
        _ => Ok(dag),
    }
}

fn read(path: &Path) -> Result<Found, Usage> {
    let text = read_text(path, TIMELINE_BYTES_MAX)?;
    if text
        .trim_start_matches(['{', ' ', '\n'])
        .starts_with("\"heist_dag\"")
    {
        let dag = parse_dag(&text);
        let dag = dag.map_err(|why| Usage(format!("cannot use the DAG {}: {why}", path.display())));
        return Ok(Found::Dag(dag?));
    }
    if !Recording::is_in(&text) {
        return Ok(Found::Profile(Box::new(parse(path, &text)?)));
    }
    let name = path.display();
    let timeline = Recording::parse(&text);
    let timeline =
        timeline.map_err(|error| Usage(format!("cannot use the timeline {name}: {error}")))?;
    Ok(Found::Timeline(timeline))
}
