//! `heist cluster top`: follows a run through the file that it writes its events to.

use std::io::{self, IsTerminal as _, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;

use super::events::{self, Reader};
use super::folder::RunFolder;
use super::run_state::RunState;
use super::screen::Screen;
use super::view::{self, Room};

/// How often the file is polled.
const PERIOD: Duration = Duration::from_millis(250);

/// The jobs in a view without a screen.
const JOBS_SHOWN: usize = 1000;

/// Flags of `heist cluster top`
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The folder of the run [default: of those in the usual place, the one that was
    /// written to last]
    #[arg(value_name = "RUN_FOLDER")]
    run_folder: Option<PathBuf>,
    /// Print one view and end
    #[arg(long)]
    once: bool,
}

/// Redraws the run until it ends or a key quits.
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let folder = RunFolder::of_run(args.run_folder.as_deref())?;
    let mut followed = Followed {
        reader: Reader::open(&folder.events())?,
        state: RunState::default(),
        name: folder.name(),
    };
    if args.once {
        followed.read()?;
        for line in followed.view(JOBS_SHOWN) {
            writeln!(out, "{}", line.text())?;
        }
    } else if io::stdout().is_terminal() && io::stdin().is_terminal() {
        draw(&mut followed)?;
        // The content of the screen is gone with it.
        for line in followed.view(JOBS_SHOWN) {
            writeln!(out, "{}", line.text())?;
        }
    } else {
        print(&mut followed, out)?;
    }
    if followed.reader.not_understood > 0 {
        let (count, path) = (followed.reader.not_understood, folder.events());
        writeln!(
            io::stderr(),
            "{count} lines of {} could not be understood; another version of heist may have \
             written them",
            path.display()
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A run and how it stands.
struct Followed {
    reader: Reader,
    state: RunState,
    name: String,
}

impl Followed {
    fn read(&mut self) -> anyhow::Result<Vec<heist_cluster::event::ClusterEvent>> {
        let events = self
            .reader
            .read()
            .context("cannot read the events of the run")?;
        events.iter().for_each(|event| self.state.take(event));
        Ok(events)
    }

    fn view(&self, jobs: usize) -> Vec<view::Line> {
        let columns = heist_run::terminal::room();
        view::lines(&self.state, &self.name, now_ms(), Room { columns, jobs })
    }
}

/// Draws views until the run ends or a key quits.
fn draw(followed: &mut Followed) -> anyhow::Result<()> {
    let mut screen = Screen::enter().context("cannot take over the terminal")?;
    loop {
        followed.read()?;
        let rows = screen.rows()?;
        let all = followed.view(JOBS_SHOWN).len();
        let jobs = followed.state.jobs.len();
        // Jobs give up lines first where the view does not fit.
        let excess = (all + 1).saturating_sub(rows);
        let shown = jobs
            .saturating_sub(if excess > 0 { excess + 1 } else { 0 })
            .max(3);
        screen.draw(&followed.view(shown))?;
        if followed.state.is_over || screen.is_left_within(PERIOD)? {
            return Ok(());
        }
    }
}

/// Prints a line for each event until the run is over.
fn print(followed: &mut Followed, out: &mut impl Write) -> anyhow::Result<()> {
    loop {
        for event in followed.read()? {
            writeln!(out, "{}", events::line(&event, followed.state.began_ms))?;
        }
        out.flush()?;
        if followed.state.is_over {
            return Ok(());
        }
        std::thread::sleep(PERIOD);
    }
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(now.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}
