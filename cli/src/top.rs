//! `heist top`: shows a program on heist while it runs, through the file that it writes.

mod files;

use std::io::{self, IsTerminal as _, Write};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use heist_observe::live::{lines, Reading};
use heist_run::number::whole;
use heist_run::terminal::{cut, width};
use heist_run::usage::Usage;
use serde_json::json;

use self::files::{Found, Program};
use crate::cluster::{Line, Screen, Tone};

/// How often the file is read; the program writes it as often.
const PERIOD: Duration = Duration::from_millis(250);

/// Flags of `heist top`
#[derive(clap::Args, Debug)]
#[command(after_long_help = NOTES)]
pub(crate) struct Args {
    /// The number of the process [default: the only one that there is, or a list]
    #[arg(value_name = "PID", value_parser = pid)]
    pid: Option<u32>,
    /// Print one snapshot as a JSON document
    #[arg(long)]
    json: bool,
}

const NOTES: &str = "\
The program has to be on heist, or on rayon with heist's rayon-core in its
place, on Linux, and to have been started with HEIST_LIVE=1. It then writes
four times a second what its workers do, into a file that only its user can
read. With HEIST_PROFILE as well the view has the causes of idleness and the
hot sites, with HEIST_STALL the stalls.

On a terminal the view is drawn again and again until the program ends, or q
ends it. Elsewhere one view is printed. A program that was killed leaves its
last view for a minute, or until the next program with a live view starts.

This is about one program on this machine. `heist cluster top` follows a run
of jobs on the machines of a cluster.

The exit code is 0 if there was something to show, and 2 if there was not.";

/// Reads the number of a process.
fn pid(given: &str) -> Result<u32, String> {
    let number = whole(given, 1..=u32::MAX.into())?;
    u32::try_from(number).map_err(|error| error.to_string())
}

/// Shows the program that was asked for, or lists those that there are.
pub(crate) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let found = Found::look();
    for problem in &found.problems {
        writeln!(io::stderr(), "heist top: {}", cut(problem, usize::MAX))?;
    }
    let Some(program) = found.chosen(args.pid)? else {
        if args.json {
            let which = found.numbers();
            let why = format!("--json needs the number of one program; there are {which}");
            return Err(Usage(why).into());
        }
        list(&found, out)?;
        return Ok(ExitCode::SUCCESS);
    };
    if args.json {
        writeln!(out, "{}", document(program)?)?;
    } else if io::stdout().is_terminal() && io::stdin().is_terminal() {
        let last = draw(program.clone())?;
        // The content of the screen is gone with it.
        print(&last, out)?;
    } else {
        print(program, out)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The snapshot, whether the process is alive, and how old it is.
fn document(program: &Program) -> anyhow::Result<String> {
    let mut document = serde_json::to_value(&program.snapshot)?;
    document["is_alive"] = json!(program.is_alive());
    document["age_ns"] = json!(age_ns(program));
    Ok(serde_json::to_string_pretty(&document)?)
}

fn print(program: &Program, out: &mut impl Write) -> io::Result<()> {
    view(program)
        .iter()
        .try_for_each(|line| writeln!(out, "{line}"))
}

fn view(program: &Program) -> Vec<String> {
    let reading = Reading::new(program.is_alive(), age_ns(program), width());
    lines(&program.snapshot, reading)
}

/// Draws views until the program ends or a key quits. Gives the last one.
fn draw(mut program: Program) -> anyhow::Result<Program> {
    let mut screen = Screen::enter().context("cannot take over the terminal")?;
    loop {
        // Asked first, so that the last thing it wrote is read.
        let is_alive = program.is_alive();
        // A program that ended in order has removed its file.
        let is_there = program.read_again()?;
        let tone = |n| if n == 0 { Tone::Head } else { Tone::Plain };
        let lines = view(&program).into_iter().enumerate();
        let lines: Vec<_> = lines.map(|(n, line)| Line::new(tone(n), line)).collect();
        screen.draw(&lines)?;
        if !is_alive || !is_there || screen.is_left_within(PERIOD)? {
            return Ok(program);
        }
    }
}

/// A line for each program.
fn list(found: &Found, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "{:>8}  {:<5}  {:>7}  {:>11}  program",
        "PID", "state", "workers", "parallelism"
    )?;
    for program in &found.programs {
        let snapshot = &program.snapshot;
        let line = format!(
            "{:>8}  {:<5}  {:>7}  {:>11.1}  {}",
            program.process.pid,
            if program.is_alive() { "alive" } else { "dead" },
            snapshot.workers(),
            snapshot.parallelism(),
            snapshot.command.join(" "),
        );
        writeln!(out, "{}", cut(&line, width()))?;
    }
    writeln!(out, "heist top PID shows one of them")
}

/// How long ago the snapshot was written.
fn age_ns(program: &Program) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let written = Duration::from_millis(program.snapshot.written_unix_ms);
    let age = now.unwrap_or_default().saturating_sub(written);
    u64::try_from(age.as_nanos()).unwrap_or(u64::MAX)
}
