//! `heist sim`: how a computation would run on any number of workers, or jobs in a fleet, in a
//! model.

mod compare;
mod fleet;
mod json;
mod model;
mod replay;
mod workload;

use std::io::Write;
use std::process::ExitCode;

use clap::ValueEnum;
use heist_run::number::whole;
use heist_sim::validate::validate;
use heist_sim::{End, Order, Outcome, Policy, Source, Take, Victim};

pub(crate) use self::model::Model;
pub(crate) use self::replay::{parse as parse_dag, read as read_dag};
use self::workload::Workload;
use crate::table;

/// Simulate a computation, a program that was recorded, or a fleet whose jobs move
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// Run a computation in the model: in each step each worker runs one unit of work or tries one
    /// victim
    #[command(after_long_help = COLUMNS)]
    Run(RunArgs),
    /// Compare work stealing with the balancing of kernels, at several lengths of tasks
    #[command(after_long_help = compare::SCHEMES)]
    Compare(compare::Args),
    /// Run a program that was recorded (`HEIST_DAG`) on other machines, or with faster functions
    #[command(after_long_help = replay::NOTES)]
    Replay(replay::Args),
    /// Compare rules that move jobs between machines: in a fleet with a mishap, or with the jobs of
    /// a public trace
    #[command(after_long_help = fleet::NOTES)]
    Fleet(Box<fleet::Args>),
    /// Hold the model against what theory promises of work stealing; the exit code is 1 if
    /// anything is broken
    Validate {
        /// Print one JSON document instead of the table
        #[arg(long)]
        json: bool,
    },
}

#[derive(clap::Args, Debug)]
struct RunArgs {
    /// The computation: fib:N (N to 50), loop:N (a balanced loop of N units), skewed:N (the last
    /// of N indices is as much work as all others), uts:N (an unbalanced tree of some 100 N nodes),
    /// bag:N (N independent tasks, all with the first worker)
    #[arg(value_name = "WORKLOAD")]
    workload: Workload,
    /// Numbers of workers, each up to 1,048,576
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,2,4,16,64,256,1024",
          value_parser = |given: &str| whole(given, 1..=1 << 20))]
    workers: Vec<u64>,
    /// Schedulers, one or several with commas between them
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "continuation"
    )]
    policy: Vec<Named>,
    /// Steps that an attempt to steal lasts beyond its own
    #[arg(long, value_name = "STEPS", default_value_t = 0,
          value_parser = |given: &str| whole(given, 0..=1_000_000))]
    latency: u64,
    /// Runs of each, with seeds of their own; the table has the means
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = |given: &str| whole(given, 1..=1000))]
    seeds: u64,
    /// Print one JSON document instead of the table
    #[arg(long)]
    json: bool,
}

const COLUMNS: &str = "\
The columns:
  P         workers
  T         steps to the end
  speed-up  T1 / T, of the work T1
  bound     the most that the work and the span Tinf allow: min(P, T1 / Tinf)
  c         of T = T1/P + c Tinf
  attempts  the share of all steps that went into attempts to steal
  steals    the attempts that brought something
  calls     the most that were under way at any time";

/// A scheduler by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Named {
    /// Work stealing: continuations are stolen, the oldest first
    Continuation,
    /// The same, but children are stolen
    Child,
    /// The same as `continuation`, but thieves take half of a deque
    Half,
    /// One queue for all, at no cost
    Central,
    /// As `continuation`, with victims in turn
    RoundRobin,
    /// As `continuation`, but the newest is stolen
    Newest,
}

impl Named {
    fn name(self) -> String {
        let value = self.to_possible_value().expect("no name is skipped");
        value.get_name().to_owned()
    }

    fn policy(self) -> Policy {
        let mut policy = Policy::default();
        match self {
            Self::Continuation => (),
            Self::Child => policy.order = Order::Child,
            Self::Half => policy.take = Take::Half,
            Self::Central => policy.source = Source::Central,
            Self::RoundRobin => policy.victim = Victim::RoundRobin,
            Self::Newest => policy.end = End::Newest,
        }
        policy
    }
}

/// The means of some runs.
#[derive(Debug, serde::Serialize)]
struct Row {
    policy: String,
    workers: u64,
    steps: f64,
    attempts: f64,
    steals: f64,
    calls_max: f64,
    work: u64,
    span: u64,
}

impl Row {
    fn new(policy: Named, workers: u64, runs: &[Outcome]) -> Self {
        let mean = |of: fn(&Outcome) -> u64| {
            runs.iter().map(|run| of(run) as f64).sum::<f64>() / runs.len() as f64
        };
        Self {
            policy: policy.name(),
            workers,
            steps: mean(|run| run.steps),
            attempts: mean(|run| run.attempts),
            steals: mean(|run| run.steals),
            calls_max: mean(|run| run.calls_max),
            work: runs[0].work,
            span: runs[0].span,
        }
    }

    fn cells(&self) -> [String; 9] {
        let (p, work, span) = (self.workers as f64, self.work as f64, self.span as f64);
        [
            self.policy.clone(),
            self.workers.to_string(),
            format!("{:.0}", self.steps),
            format!("{:.2}", work / self.steps),
            format!("{:.2}", p.min(work / span)),
            format!("{:.2}", (self.steps - work / p) / span),
            format!("{:.1} %", 100.0 * self.attempts / (p * self.steps)),
            format!("{:.0}", self.steals),
            format!("{:.0}", self.calls_max),
        ]
    }
}

/// Simulates, or validates the simulation.
pub(crate) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Run(args) => simulate(args, out),
        Command::Compare(args) => compare::run(args, out).map(|()| ExitCode::SUCCESS),
        Command::Replay(args) => replay::run(args, out).map(|()| ExitCode::SUCCESS),
        Command::Fleet(args) => fleet::run(args, out).map(|()| ExitCode::SUCCESS),
        Command::Validate { json } => validated(*json, out),
    }
}

fn simulate(args: &RunArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let mut rows = Vec::new();
    for named in &args.policy {
        let mut policy = named.policy();
        policy.latency = u32::try_from(args.latency)?;
        for &workers in &args.workers {
            let run = |seed| args.workload.simulate(workers as usize, &policy, seed);
            let runs: Vec<_> = (0..args.seeds).map(run).collect();
            rows.push(Row::new(*named, workers, &runs));
        }
    }
    if args.json {
        serde_json::to_writer_pretty(&mut *out, &rows)?;
        writeln!(out)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (work, span) = (rows[0].work, rows[0].span);
    let parallelism = work as f64 / span as f64;
    writeln!(
        out,
        "{}: work T1 {work}, span Tinf {span}, parallelism {parallelism:.1} (model)\n",
        args.workload
    )?;
    let head = [
        "policy", "P", "T", "speed-up", "bound", "c", "attempts", "steals", "calls",
    ];
    let mut lines = vec![head.map(str::to_owned)];
    lines.extend(rows.iter().map(Row::cells));
    table::write(&lines, 1, out)?;
    Ok(ExitCode::SUCCESS)
}

fn validated(json: bool, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let policy = Policy::default();
    let mut checks: Vec<_> = validate(&policy).collect();
    let broken = checks.iter().filter(|check| !check.holds).count();
    let exit = ExitCode::from(u8::from(broken > 0));
    if json {
        let document: Vec<_> = checks
            .drain(..)
            .map(|check| {
                serde_json::json!({
                    "claim": check.claim, "promised": check.promised,
                    "found": check.found, "holds": check.holds,
                })
            })
            .collect();
        serde_json::to_writer_pretty(&mut *out, &document)?;
        writeln!(out)?;
        return Ok(exit);
    }
    let verdict = |holds| if holds { "holds" } else { "BROKEN" };
    let mut lines = vec![["claim", "promised", "found", ""].map(str::to_owned)];
    lines.extend(checks.iter().map(|check| {
        let found = format!("{:.2}", check.found);
        let verdict = verdict(check.holds).to_owned();
        [check.claim.clone(), check.promised.clone(), found, verdict]
    }));
    table::write(&lines, 1, out)?;
    let all = checks.len();
    writeln!(out, "\n{} of {all} promises are kept", all - broken)?;
    Ok(exit)
}
