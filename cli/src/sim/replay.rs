//! `heist sim replay`: how a program that was recorded would run on other machines, and how if one
//! of its functions were faster.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use heist_event::dag::Dag;
use heist_event::short_name;
use heist_observe::words::{duration, percent};
use heist_run::limited;
use heist_run::number::whole;
use heist_run::terminal::{cut, harmless};
use heist_run::usage::Usage;
use heist_sim::replay::{faster, longest_path, Costs, Machine, Plan};

use super::json::as_json;
use crate::table;

/// A program writes no more: eight million nodes and edges.
const DAG_BYTES_MAX: u64 = 1 << 29;

/// How many sites the table of changes has at most.
const SITES_SHOWN: usize = 6;

/// Seeds of which the table has the mean.
const SEEDS: u64 = 3;

/// A hundred days: the longest that all strands may take together, one after the other.
const WORK_NS_MAX: f64 = 100.0 * 86_400e9;

/// The most columns of the lines.
const WIDE: usize = 80;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Files that the program has written, as `HEIST_DAG` names them; of several runs the one with
    /// the least work is taken
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
}

pub(super) const NOTES: &str = "\
HEIST_DAG=run path/to/the/program writes run.dag.json when the program ends. Its
strands are as long here as they were there, whatever the number of workers:
memory and locks are not in the model. rayon's iterators cut a loop by the
number of workers, so that a run with more of them has more to steal. The time
outside of any pool is added to each time, as it was.

The columns:
  workers   their number
  time      from the start to the end, the mean of three seeds
  speed-up  against the time with one worker
  bound     the most that the work and the longest path allow
  busy      the share of the workers' time that was work
  steals    how many were made

The second table is about the sites with the most of the longest path: their
part of it, and the time if their strands were twice, or four times, as fast.";

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

/// The DAG on one number of workers.
#[derive(Clone, Copy, Debug, serde::Serialize)]
struct Row {
    workers: u64,
    time_ns: f64,
    speed_up: f64,
    bound: f64,
    busy: f64,
    steals: f64,
}

/// The time if one site were faster.
#[derive(Clone, Debug, serde::Serialize)]
struct Change {
    site: String,
    of_longest_path: f64,
    twice_as_fast_ns: f64,
    four_times_as_fast_ns: f64,
}

#[derive(Debug, serde::Serialize)]
struct Document {
    command: Vec<String>,
    work_ns: i64,
    span_ns: i64,
    outside_ns: u64,
    rows: Vec<Row>,
    at_workers: u64,
    at_ns: f64,
    changes: Vec<Change>,
}

/// A DAG, and the machine on which it runs but for the number of workers.
struct Model {
    dag: Dag,
    plan: Plan,
    span: i64,
    machine: Machine,
}

impl Model {
    fn new(dag: Dag, machine: Machine) -> anyhow::Result<Self> {
        Ok(Self {
            plan: Plan::new(&dag).context("the DAG was read")?,
            span: dag.span().context("the DAG was read")?,
            dag,
            machine,
        })
    }

    /// The mean time, share of work and steals on so many workers, as nothing but this changes.
    fn run(&self, dag: &Dag, workers: u64) -> (f64, f64, f64) {
        let machine = Machine {
            workers: workers as usize,
            ..self.machine.clone()
        };
        // One worker has no choice.
        let seeds = if workers == 1 { 1 } else { SEEDS };
        let (mut ns, mut busy, mut steals) = (0.0, 0.0, 0);
        for seed in 0..seeds {
            let outcome = self.plan.run(dag, &machine, seed);
            ns += outcome.ns as f64;
            busy += outcome.busy_ns as f64;
            steals += outcome.steals;
        }
        let share = busy / (ns * workers as f64).max(1.0);
        let seeds = seeds as f64;
        let outside = self.dag.outside_ns as f64;
        (ns / seeds + outside, share, steals as f64 / seeds)
    }

    /// The workers of the recorded run.
    fn recorded_with(&self) -> u64 {
        self.dag.workers.max(1) as u64
    }

    fn row(&self, workers: u64, alone_ns: f64) -> Row {
        let (time_ns, busy, steals) = self.run(&self.dag, workers);
        let outside = self.dag.outside_ns as f64;
        let work = self.dag.work() as f64;
        let least = outside + (self.span as f64).max(work / workers as f64);
        Row {
            workers,
            time_ns,
            speed_up: alone_ns / time_ns.max(1.0),
            bound: (outside + work) / least.max(1.0),
            busy,
            steals,
        }
    }

    /// The sites with the most of the longest path, and what it would bring if they were faster.
    fn changes(&self, workers: u64) -> Vec<Change> {
        let of_path = longest_path(&self.dag).unwrap_or_default();
        // Instances of one function that a reader could not tell apart are one.
        let mut named: HashMap<String, (i64, Vec<u16>)> = HashMap::new();
        for (part, (place, name, _)) in of_path.iter().zip(sites(&self.dag)) {
            let (sum, places) = named.entry(short_name(name)).or_default();
            *sum += part;
            places.push(place);
        }
        let mut named: Vec<_> = named.into_iter().collect();
        named.retain(|(_, (part, _))| *part > 0);
        named.sort_by(|(one, (of_one, _)), (other, (of_other, _))| {
            of_other.cmp(of_one).then_with(|| one.cmp(other))
        });
        named.truncate(SITES_SHOWN);
        let time = |places: &[u16], times| self.run(&faster(&self.dag, places, times), workers).0;
        let changes = named.into_iter().map(|(name, (part, places))| Change {
            site: name,
            of_longest_path: part as f64 / self.span.max(1) as f64,
            twice_as_fast_ns: time(&places, 2.0),
            four_times_as_fast_ns: time(&places, 4.0),
        });
        changes.collect()
    }
}

/// The places, names and kinds of the sites.
fn sites(dag: &Dag) -> impl Iterator<Item = (u16, &str, &str)> {
    (0..=u16::MAX)
        .zip(&dag.sites)
        .map(|(place, (name, kind))| (place, name.as_str(), kind.as_str()))
}

/// Simulates and shows.
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    let model = model(args)?;
    let at = args.at.unwrap_or(model.recorded_with());
    let (alone_ns, ..) = model.run(&model.dag, 1);
    let rows = args.workers.iter().map(|&n| model.row(n, alone_ns));
    let document = Document {
        command: model.dag.command.clone(),
        work_ns: model.dag.work(),
        span_ns: model.span,
        outside_ns: model.dag.outside_ns,
        rows: rows.collect(),
        at_workers: at,
        at_ns: model.run(&model.dag, at).0,
        changes: model.changes(at),
    };
    if args.json {
        let text = serde_json::to_string_pretty(&document)?;
        for line in text.lines() {
            // Within a text JSON allows signs that a terminal would obey.
            writeln!(out, "{}", as_json(line))?;
        }
        return Ok(());
    }
    show(&document, out)
}

/// The model that the arguments ask for.
fn model(args: &Args) -> anyhow::Result<Model> {
    let mut dag = dag(&args.files)?;
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
    Model::new(dag, machine)
}

/// The run with the least work, of several runs of one program.
fn dag(files: &[PathBuf]) -> Result<Dag, Usage> {
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
    let least = least.map(|(_, dag)| dag);
    least.ok_or_else(|| Usage("no file is given; accepted is one or more".to_owned()))
}

/// A command as somebody would write it, or the beginning of a long one.
fn spoken(command: &[String]) -> String {
    cut(&command.join(" "), WIDE)
}

/// The DAG that a file holds.
///
/// # Errors
///
/// Fails if there is none that could run.
pub(crate) fn read(file: &Path) -> Result<Dag, Usage> {
    let accepted = "accepted is a file that a program has written with HEIST_DAG";
    let refuse = |why: &dyn std::fmt::Display| {
        Usage(format!("cannot use {}: {why}; {accepted}", file.display()))
    };
    let text = limited::read_text(file, DAG_BYTES_MAX).map_err(|error| refuse(&error))?;
    let dag = heist_observe::dag::parse(&text).map_err(|error| refuse(&error))?;
    if dag.dropped_ns > 0 {
        let missing = duration(dag.dropped_ns as f64);
        return Err(refuse(&format!(
            "there was no room for strands of {missing}: it offered too many jobs"
        )));
    }
    if dag.nodes.is_empty() {
        return Err(refuse(&"it has no strand: no pool had a job"));
    }
    Ok(dag)
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

fn show(document: &Document, out: &mut impl Write) -> anyhow::Result<()> {
    let program = document.command.first().map_or("", String::as_str);
    let program = Path::new(program).file_name().unwrap_or_default();
    let (work, span) = (document.work_ns as f64, document.span_ns as f64);
    writeln!(
        out,
        "{}: work T1 {}, span Tinf {}, parallelism {:.1} (model)\noutside of any pool {}\n",
        harmless(&program.to_string_lossy()),
        duration(work),
        duration(span),
        work / span.max(1.0),
        duration(document.outside_ns as f64),
    )?;
    let head = ["workers", "time", "speed-up", "bound", "busy", "steals"];
    let mut lines = vec![head.map(str::to_owned)];
    lines.extend(document.rows.iter().map(|row| {
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
    write_changes(document.at_workers, document.at_ns, &document.changes, out)
}

/// Says what it would bring if the sites with the most of the longest path were faster.
pub(crate) fn show_changes(dag: &Dag, out: &mut impl Write) -> anyhow::Result<()> {
    let model = Model::new(dag.clone(), Machine::new(1))?;
    let at = model.recorded_with();
    write_changes(at, model.run(dag, at).0, &model.changes(at), out)
}

fn write_changes(
    workers: u64,
    now_ns: f64,
    changes: &[Change],
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let with = match workers {
        1 => "1 worker".to_owned(),
        n => format!("{n} workers"),
    };
    writeln!(
        out,
        "in the model, with {with}, instead of {}, if strands were faster:\n",
        duration(now_ns)
    )?;
    let head = ["site", "of the path", "twice", "four times"];
    let mut lines = vec![head.map(str::to_owned)];
    lines.extend(changes.iter().map(|change| {
        [
            harmless(&change.site),
            percent(change.of_longest_path),
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
