//! `heist cluster`: runs the functions and jobs of a program on many machines, shows a run
//! while it lasts, and draws a page about it.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use heist_run::usage::check_output;

mod backend;
pub(crate) mod events;
mod folder;
mod history;
mod job_file;
mod live_page;
mod log;
mod page;
mod results;
mod run;
mod run_state;
pub(crate) mod samples;
mod screen;
mod top;
mod view;

pub(crate) use screen::Screen;
pub(crate) use view::{Line, Tone};

/// Flags of `heist cluster`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// Run the jobs and calls of a job file
    ///
    /// The log, and on a terminal a line that says how the run stands, go to stderr, results to
    /// stdout.
    Run(run::Args),
    /// Watch a run
    ///
    /// Shows the nodes, the jobs, the last moves and what the rebalancer decided last, until
    /// the run is over. On a terminal the view is drawn again and again, and q ends it.
    /// Elsewhere each event is a line. It reads the file that the run writes its events to,
    /// and nothing else. `heist top`, without cluster, shows one program on this machine.
    Top(top::Args),
    /// Write a page about a run: its nodes, jobs, moves and decisions over time
    Report(ReportArgs),
}

/// Flags of `heist cluster report`
#[derive(clap::Args, Debug)]
struct ReportArgs {
    /// The folder of the run [default: of those in the usual place, the one that was
    /// written to last]
    #[arg(value_name = "RUN_FOLDER")]
    run_folder: Option<PathBuf>,
    /// The file for the page
    #[arg(short, long, value_name = "FILE.html")]
    output: PathBuf,
}

/// Runs a job file, or watches a run.
pub(crate) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Run(args) => run::run(args, out),
        Command::Top(args) => top::run(args, out),
        Command::Report(args) => {
            check_output(&args.output)?;
            let folder = folder::RunFolder::of_run(args.run_folder.as_deref())?;
            page::write(&folder, &args.output)?;
            writeln!(out, "{}", args.output.display())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
