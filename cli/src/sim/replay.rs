//! `heist sim replay`: how a program that was recorded would run on other machines, and how if one
//! of its functions were faster.

use std::cmp::Reverse;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use heist_event::dag::Dag;
use heist_event::short_name;
use heist_observe::replay::{html, Replay};
use heist_observe::words::{duration, percent};
use heist_run::limited;
use heist_run::number::whole;
use heist_run::terminal::{cut, harmless};
use heist_run::usage::{check_output, Usage};
use heist_sim::replay::{faster, Costs, Machine};

use super::json::as_json;
use super::model::{sites, Model};
use crate::table;

/// A program writes no more: eight million nodes and edges.
const DAG_BYTES_MAX: u64 = 1 << 29;

/// A hundred days: the longest that all strands may take together, one after the other.
const WORK_NS_MAX: f64 = 100.0 * 86_400e9;

/// The most columns of the lines.
const WIDE: usize = 80;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Files that the program has written, as `HEIST_DAG` names them; of several runs the one with
    /// the least work is taken, and named
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Numbers of workers
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,2,4,8,16,64,256,1024",
          value_parser = |given: &str| whole(given, 1..=1 << 20))]
    workers: Vec<u64>,
    /// Let the strands of a site be N times as fast, as in merge=/4; a part of its name is enough
    #[arg(long, value_name = "SITE=/N", value_parser = change)]
    site: Vec<(String, f64)>,
    /// Let nobody steal the jobs of a site
    #[arg(long, value_name = "SITE")]
    serial: Vec<String>,
    /// Let a worker have another speed, as in 3=0.5: worker 3 takes twice as long
    #[arg(long, value_name = "WORKER=SPEED", value_parser = speed)]
    slow: Vec<(usize, f64)>,
    /// The workers with which the table of changes is made [default: those of the recorded run]
    #[arg(long, value_name = "N", value_parser = |given: &str| whole(given, 1..=1 << 20))]
    at: Option<u64>,
    /// Nanoseconds that a steal takes
    #[arg(long, value_name = "NS", default_value_t = Costs::default().steal_ns,
          value_parser = |given: &str| whole(given, 0..=1_000_000_000))]
    steal_ns: u64,
    /// Nanoseconds in which a worker wakes
    #[arg(long, value_name = "NS", default_value_t = Costs::default().wake_ns,
          value_parser = |given: &str| whole(given, 0..=1_000_000_000))]
    wake_ns: u64,
    /// Print one JSON document instead of the tables
    #[arg(long)]
    json: bool,
    /// Write a page as well, which needs nothing but a browser
    #[arg(long, value_name = "FILE.html")]
    html: Option<PathBuf>,
}

pub(super) const NOTES: &str = "\
HEIST_DAG=run path/to/the/program writes run.dag.json when the program ends. Its
strands are as long here as they were there, whatever the number of workers:
memory and locks are not in the model. rayon's iterators cut a loop by the
number of workers, so that a run with more of them has more to steal. The time
outside of any pool is added to each time, as it was.

The columns:
  workers   their number
  time      from the start to the end, the mean of three seeds (one, of a
            DAG with more than a quarter of a million nodes)
  speed-up  against the time with one worker
  bound     the most that the work and the longest path allow
  busy      the share of the workers' time that was work
  steals    how many were made

The second table is about the sites with the most of the longest path or of the
work: their parts of both, and the time if their strands were twice, or four
times, as fast.";

/// A site and how many times as fast it is to be.
fn change(given: &str) -> Result<(String, f64), String> {
    let accepted = "accepted is a part of a site's name and a number from 0.001 to 1000000, as in \
                    merge=/4";
    let (site, times) = given.rsplit_once("=/").ok_or(accepted)?;
    let times: f64 = times.parse().map_err(|_| accepted)?;
    match !site.is_empty() && (0.001..=1e6).contains(&times) {
        true => Ok((site.to_owned(), times)),
        false => Err(accepted.to_owned()),
    }
}

/// A worker and its speed.
fn speed(given: &str) -> Result<(usize, f64), String> {
    let accepted = "accepted is the number of a worker and its speed from 0.001 to 1000, as in \
                    3=0.5";
    let (worker, speed) = given.split_once('=').ok_or(accepted)?;
    let worker: u32 = worker.parse().map_err(|_| accepted)?;
    let speed: f64 = speed.parse().map_err(|_| accepted)?;
    match (0.001..=1e3).contains(&speed) {
        true => Ok((worker as usize, speed)),
        false => Err(accepted.to_owned()),
    }
}

/// Simulates and shows.
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    args.html.as_deref().map_or(Ok(()), check_output)?;
    let (file, model) = model(args)?;
    let at = args.at.unwrap_or(model.recorded_with());
    let replay = model.replay(&args.workers, at);
    if let Some(path) = &args.html {
        fs::write(path, html(&replay))
            .with_context(|| format!("cannot write the page {}", path.display()))?;
    }
    if args.json {
        let text = serde_json::to_string_pretty(&replay)?;
        for line in text.lines() {
            // Within a text JSON allows signs that a terminal would obey.
            writeln!(out, "{}", as_json(line))?;
        }
        return Ok(());
    }
    if args.files.len() > 1 {
        // Where runs are cut into nodes by their own times, there are no equal nodes to merge.
        let runs = args.files.len();
        let file = harmless(&file.to_string_lossy());
        writeln!(out, "of {runs} runs that with the least work, {file}\n")?;
    }
    show(&replay, out)
}

/// The model that the arguments ask for.
fn model(args: &Args) -> anyhow::Result<(&Path, Model)> {
    let (file, mut dag) = dag(&args.files)?;
    for (name, times) in &args.site {
        dag = faster(&dag, &places(&dag, name, "--site")?, *times);
    }
    let mut serial = Vec::new();
    for name in &args.serial {
        serial.extend(places(&dag, name, "--serial")?);
    }
    let workers = args.workers.iter().chain(&args.at).max();
    let most = workers.copied().max(Some(dag.workers as u64)).unwrap_or(1);
    for (worker, speed) in &args.slow {
        if *worker as u64 >= most {
            return Err(Usage(format!(
                "--slow {worker}={speed} names worker {worker}, and there are at most {most}, \
                 numbered from 0"
            ))
            .into());
        }
    }
    let slowest = args.slow.iter().map(|(_, speed)| *speed);
    let longest = dag.work() as f64 / slowest.fold(1.0, f64::min);
    if longest > WORK_NS_MAX {
        return Err(Usage(format!(
            "one worker would have work for {:.0} days; accepted is what makes at most {:.0}",
            longest / 86_400e9,
            WORK_NS_MAX / 86_400e9
        ))
        .into());
    }
    let costs = Costs {
        steal_ns: args.steal_ns,
        wake_ns: args.wake_ns,
        ..Costs::default()
    };
    let machine = Machine {
        costs,
        slow: args.slow.clone(),
        serial,
        ..Machine::new(1)
    };
    Ok((file, Model::new(dag, machine)?))
}

/// The run with the least work, of several runs of one program.
fn dag(files: &[PathBuf]) -> Result<(&Path, Dag), Usage> {
    let mut least: Option<(&Path, Dag)> = None;
    for file in files {
        let dag = read(file)?;
        least = match least {
            Some((other, least)) if least.command != dag.command => {
                let (told, of) = (other.display(), spoken(&least.command));
                let (file, its) = (file.display(), spoken(&dag.command));
                return Err(Usage(format!(
                    "{told} is a run of `{of}`, and {file} one of `{its}`; accepted are several \
                     runs of one program with the same arguments"
                )));
            }
            Some(least) if least.1.work() <= dag.work() => Some(least),
            _ => Some((file, dag)),
        };
    }
    least.ok_or_else(|| Usage("no file is given; accepted is one or more".to_owned()))
}

/// A command as somebody would write it, or the beginning of a long one.
fn spoken(command: &[String]) -> String {
    cut(&command.join(" "), WIDE)
}

/// The DAG that a file holds, or why it cannot be used.
pub(crate) fn read(file: &Path) -> Result<Dag, Unusable> {
    let refuse = |why: &dyn std::fmt::Display| Unusable {
        file: file.to_owned(),
        why: why.to_string(),
    };
    let text = limited::read_text(file, DAG_BYTES_MAX).map_err(|error| refuse(&error))?;
    parse(&text).map_err(|why| refuse(&why))
}

/// The DAG in a text, or why it cannot run.
pub(crate) fn parse(text: &str) -> Result<Dag, String> {
    let dag = heist_observe::dag::parse(text).map_err(|error| error.to_string())?;
    if dag.dropped_ns > 0 {
        let missing = duration(dag.dropped_ns as f64);
        return Err(format!(
            "there was no room for strands of {missing}: it offered too many jobs"
        ));
    }
    if dag.nodes.is_empty() {
        return Err("it has no strand: no pool had a job".to_owned());
    }
    Ok(dag)
}

/// A file that is no DAG that could run.
#[derive(Debug)]
pub(crate) struct Unusable {
    file: PathBuf,
    /// The reason.
    pub(crate) why: String,
}

impl From<Unusable> for Usage {
    fn from(Unusable { file, why }: Unusable) -> Self {
        Self(format!(
            "cannot use {}: {why}; accepted is a file that a program has written with HEIST_DAG",
            file.display()
        ))
    }
}

/// The places of the sites whose names contain this.
fn places(dag: &Dag, name: &str, flag: &str) -> Result<Vec<u16>, Usage> {
    // The table shows short names, so both are known.
    let is_it = |site: &str| site.contains(name) || short_name(site).contains(name);
    let found = sites(dag).filter(|(_, site, _)| is_it(site));
    let found: Vec<u16> = found.map(|(place, ..)| place).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let mut known: Vec<String> = dag.sites.iter().map(|(name, _)| short_name(name)).collect();
    known.sort_unstable();
    known.dedup();
    known.sort_by_cached_key(|known| {
        // From 0 to 1; the most alike first.
        Reverse((strsim::jaro_winkler(known, name) * 1e9) as u64)
    });
    known.truncate(5);
    let known: Vec<_> = known
        .iter()
        .map(|name| format!("`{}`", harmless(name)))
        .collect();
    Err(Usage(format!(
        "{flag} names the site {name:?}, which is not in the file; the nearest of those that are: {}",
        known.join(", ")
    )))
}

fn show(replay: &Replay, out: &mut impl Write) -> anyhow::Result<()> {
    let program = replay.command.first().map_or("", String::as_str);
    let program = Path::new(program).file_name().unwrap_or_default();
    let (work, span) = (replay.work_ns as f64, replay.span_ns as f64);
    writeln!(
        out,
        "{}: work T1 {}, span Tinf {}, parallelism {:.1} (model)\noutside of any pool {}\n",
        harmless(&program.to_string_lossy()),
        duration(work),
        duration(span),
        work / span.max(1.0),
        duration(replay.outside_ns as f64),
    )?;
    let head = ["workers", "time", "speed-up", "bound", "busy", "steals"];
    let mut lines = vec![head.map(str::to_owned)];
    lines.extend(replay.rows.iter().map(|row| {
        [
            row.workers.to_string(),
            duration(row.time_ns),
            format!("{:.2}", row.speed_up),
            format!("{:.2}", row.bound),
            percent(row.busy),
            format!("{:.0}", row.steals),
        ]
    }));
    table::write(&lines, 0, out)?;
    writeln!(out)?;
    show_changes(replay, out)
}

/// Says what it would bring if sites were faster.
fn show_changes(replay: &Replay, out: &mut impl Write) -> anyhow::Result<()> {
    let with = match replay.at_workers {
        1 => "1 worker".to_owned(),
        n => format!("{n} workers"),
    };
    writeln!(
        out,
        "in the model, with {with}, instead of {}, if strands were faster:\n",
        duration(replay.at_ns)
    )?;
    let head = ["site", "of the path", "of the work", "twice", "four times"];
    let mut lines = vec![head.map(str::to_owned)];
    lines.extend(replay.changes.iter().map(|change| {
        [
            harmless(&change.site),
            percent(change.of_longest_path),
            percent(change.of_work),
            duration(change.twice_as_fast_ns),
            duration(change.four_times_as_fast_ns),
        ]
    }));
    table::shorten_names(&mut lines, &[0], WIDE);
    table::write(&lines, 1, out)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_and_speeds_are_read_and_others_are_refused() {
        assert_eq!(change("a::b=/4"), Ok(("a::b".to_owned(), 4.0)));
        assert_eq!(change("a=/b=/0.5"), Ok(("a=/b".to_owned(), 0.5)));
        for given in ["", "a", "a=4", "=/4", "a=/0", "a=/-1", "a=/NaN", "a=/inf"] {
            assert!(change(given).unwrap_err().contains("merge=/4"), "{given}");
        }
        assert_eq!(speed("3=0.5"), Ok((3, 0.5)));
        for given in ["", "3", "x=1", "3=0", "3=-1", "3=NaN", "-1=1"] {
            assert!(speed(given).unwrap_err().contains("3=0.5"), "{given}");
        }
    }
}
