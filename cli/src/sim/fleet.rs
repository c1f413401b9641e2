//! `heist sim fleet`: which rule for moving jobs serves a fleet best, in a model.

mod alibaba;
mod azure;
mod bounded;
mod build;
mod compared;
mod document;
mod google;
mod packing;
mod read;
mod screen;
mod skips;
mod table;
mod time;
mod trace;

use std::io::Write;
use std::path::PathBuf;

use clap::ValueEnum;
use heist_run::number::{real, whole};
use heist_run::usage::Usage;
use heist_sim::fleet::{
    bound, simulate, thrash, Generated, Mix, Named, Run, Scenario, Score, Setup, SECOND,
};

use self::compared::Compared;
use self::time::{seconds, shown};
use self::trace::Input;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The mishap of the fleet; several with commas between them, or all
    #[arg(
        value_name = "SCENARIO",
        value_delimiter = ',',
        conflicts_with = "trace"
    )]
    scenario: Vec<Happening>,
    /// Run the jobs of a public trace: google, alibaba, azure or packing, and its file; - is stdin
    #[arg(long, value_name = "FORMAT:FILE")]
    trace: Option<Input>,
    /// The table that belongs to it: machine events (google), machine meta (alibaba), VM types
    /// (packing)
    #[arg(long, value_name = "FILE", requires = "trace")]
    machines: Option<PathBuf>,
    /// Rules, with commas between them
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "ours,d4,push,pull,random,none"
    )]
    rule: Vec<RuleName>,
    /// Nodes [default: 8; synthetic: 64; of a trace those of its machines, or as many as it loads
    /// to 60 %]
    #[arg(long, value_name = "N", value_parser = |given: &str| whole(given, 2..=100_000))]
    nodes: Option<u64>,
    /// Runs of each rule, with seeds of their own [default: 5; synthetic and traces: 1]
    #[arg(long, value_name = "N", value_parser = |given: &str| whole(given, 1..=1000))]
    seeds: Option<u64>,
    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Jobs of the synthetic fleet [default: 10000]
    #[arg(long, value_name = "N", value_parser = |given: &str| whole(given, 1..=10_000_000))]
    jobs: Option<u64>,
    /// The share of its CPUs that the jobs of the synthetic fleet want, in per cent [default: 60]
    #[arg(long, value_name = "PERCENT",
          value_parser = |given: &str| real(given, 1.0..=1000.0, "per cent"))]
    load: Option<f64>,
    /// How wrong estimates are: the deviation of the logarithm of demand over estimate, in the
    /// synthetic fleet, and in traces that do not tell the demand [default: 0.5]
    #[arg(long, value_name = "SIGMA",
          value_parser = |given: &str| real(given, 0.0..=3.0, "the logarithm"))]
    error: Option<f64>,
    /// The time between two measurements, and two decisions [default: 1 s; of a trace a
    /// two-thousandth of its time, if that is more]
    #[arg(long, value_name = "TIME", value_parser = time::period)]
    period: Option<f64>,
    /// Measure a full node as full, however much waits there
    #[arg(long)]
    capped: bool,
    /// Jobs that are read of a trace at most [default: 100000]
    #[arg(long, value_name = "N", value_parser = |given: &str| whole(given, 1..=10_000_000))]
    limit: Option<u64>,
    /// The time in the trace at which the simulation begins, such as 36h
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = seconds)]
    from: f64,
    /// For how long it goes on; jobs that last longer are cut there [default: all]
    #[arg(long = "for", value_name = "TIME", value_parser = seconds)]
    span: Option<f64>,
    /// Print one JSON document instead of the tables
    #[arg(long)]
    json: bool,
}

pub(super) const NOTES: &str = "\
The columns, each over all runs of a rule:
  p50, p99  the slowdown of half of the jobs at most, and of 99 in 100: the time
            from when a job could begin to its end, over that of its work alone
  miss      per cent of the jobs that were slowed down to more than 1.5
  delay     seconds that a CPU-second of work was delayed in the mean
  spread    utilisation of the hottest node less that of the coldest
  moves     jobs that were moved
  /h        moves for each hour that a job ran
  back      moves to where the job had been before
  GiB       the state that was moved
  pause     seconds that jobs stood still on their way

The rules:
  ours      heist's planner, as it moves the jobs of a cluster (heist plan)
  d4        the rule that is often taught: if hottest and coldest node differ by
            30 %, the hottest gives the job that is cheapest to move
  push      each node above 80 % gives its cheapest job to the coldest
  pull      the coldest, if below 50 %, takes the largest job of the hottest
  random    once in ten decisions some job goes anywhere
  none      nothing moves
  bound     no rule: the least that any could reach, though it knew everything
            and moved for nothing

All of them decide once in each period and see measurements only, which are
late; a move pauses the job for 0.5 s, shares 100 MiB/s with other moves, and
costs a second of cold caches.

Traces, which you fetch yourself; the program skips rows that it cannot use, and
says how many and why:
  google    ClusterData 2019 (v3): instance_events as lines of JSON, or as CSV
            with heads (time, type, collection_id, instance_index, machine_id,
            priority, resource_request.cpus, resource_request.memory); sorted by
            time, since an export has no order;
            --machines takes machine_events in either form
  alibaba   cluster-trace-v2018: batch_task.csv; the DAG is in the names of its
            tasks. --machines takes machine_meta.csv
  azure     VM traces V1 and V2: vmtable.csv; \">24\" cores count as 32
  packing   Azure Traces for Packing 2020: sqlite3 -header -csv FILE 'select *
            from vm' > vm.csv, and the same of vmType for --machines
A compressed file is read as zcat FILE.gz | heist sim fleet --trace FORMAT:-.
One unit of google counts as 64 CPUs and 256 GiB, one machine of packing too,
and 100 of alibaba's memory as 512 GiB: the traces do not tell.";

/// A scenario by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Happening {
    /// One node of eight has far more than it can do
    Hotspot,
    /// Jobs were placed by estimates that are wrong by up to four times
    Misestimate,
    /// One node of eight loses most of its speed and does not tell
    Throttled,
    /// Many jobs arrive at one node at once
    Burst,
    /// One node of eight dies and comes back, twice
    Failing,
    /// The jobs of one node of eight swing between much and little
    Oscillating,
    /// All are full but one of eight, and measurements are old
    Herd,
    /// The hottest node can give nothing; the second hottest could
    Unmovable,
    /// Of two nodes one is hot
    Pair,
    /// As hotspot, but away from the rack of their data jobs take a quarter longer
    Affinity,
    /// Two nodes, and a job four times as large as its estimate, for 100 decisions
    Thrash,
    /// Made-up jobs of all kinds: bursts, long tails, DAGs, wrong estimates
    Synthetic,
    /// All of those above, but for synthetic
    All,
}

impl Happening {
    fn name(self) -> String {
        let value = self.to_possible_value().expect("no name is skipped");
        value.get_name().to_owned()
    }

    fn scenario(self) -> Option<Scenario> {
        Some(match self {
            Self::Hotspot => Scenario::Hotspot,
            Self::Misestimate => Scenario::Misestimate,
            Self::Throttled => Scenario::Throttled,
            Self::Burst => Scenario::Burst,
            Self::Failing => Scenario::Failing,
            Self::Oscillating => Scenario::Oscillating,
            Self::Herd => Scenario::Herd,
            Self::Unmovable => Scenario::Unmovable,
            Self::Pair => Scenario::Pair,
            Self::Affinity => Scenario::Affinity,
            Self::Thrash | Self::Synthetic | Self::All => return None,
        })
    }

    fn expanded(self) -> Vec<Self> {
        let is_single = |one: &Self| !matches!(one, Self::Synthetic | Self::All);
        match self {
            Self::All => Self::value_variants()
                .iter()
                .copied()
                .filter(is_single)
                .collect(),
            one => vec![one],
        }
    }
}

/// A rule by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RuleName {
    /// Heist's planner
    Ours,
    /// The rule that is often taught
    D4,
    /// Hot nodes push
    Push,
    /// The coldest node pulls
    Pull,
    /// Anything goes anywhere
    Random,
    /// Nothing moves
    None,
}

impl RuleName {
    fn name(self) -> String {
        let value = self.to_possible_value().expect("no name is skipped");
        value.get_name().to_owned()
    }

    fn named(self) -> Named {
        match self {
            Self::Ours => Named::Ours,
            Self::D4 => Named::Taught,
            Self::Push => Named::Push,
            Self::Pull => Named::Pull,
            Self::Random => Named::Random,
            Self::None => Named::None,
        }
    }
}

impl Args {
    /// Refuses options that would change nothing, since somebody expects them to.
    fn fit(&self) -> Result<(), Usage> {
        let is_trace = self.trace.is_some();
        let is_synthetic = self.scenario.contains(&Happening::Synthetic);
        let is_thrash = self.scenario.contains(&Happening::Thrash);
        let error = if !is_trace && self.scenario.is_empty() {
            "a comparison needs a fleet: name a scenario, such as hotspot, or all of them with \
             all, or a trace with --trace FORMAT:FILE"
        } else if !is_trace && (self.span.is_some() || self.from > 0.0 || self.limit.is_some()) {
            "--from, --for and --limit choose a part of a trace; name one with --trace \
             FORMAT:FILE"
        } else if !is_synthetic && (self.jobs.is_some() || self.load.is_some()) {
            "--jobs and --load shape the synthetic fleet only; leave them out, or name the \
             scenario synthetic"
        } else if !is_synthetic && !is_trace && self.error.is_some() {
            "--error is for the synthetic fleet and for traces; leave it out, or name the \
             scenario synthetic"
        } else if is_thrash && self.nodes.is_some() {
            "thrash is about two nodes; leave --nodes out, or name other scenarios only"
        } else {
            return Ok(());
        };
        Err(Usage(error.to_owned()))
    }

    /// How wrong estimates are.
    fn error(&self) -> f64 {
        self.error.unwrap_or(0.5)
    }
}

/// Simulates each fleet under each rule.
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    args.fit()?;
    let mut compared = Vec::new();
    if let Some(input) = &args.trace {
        compared.push(of_trace(args, input)?);
    }
    for happening in args.scenario.iter().flat_map(|one| one.expanded()) {
        let fleet = of_scenario(args, happening)?;
        if args.json {
            compared.push(fleet);
        } else {
            screen::write(&fleet, out)?;
        }
    }
    if args.json {
        return document::write(&compared, out);
    }
    compared
        .iter()
        .try_for_each(|fleet| Ok(screen::write(fleet, out)?))
}

/// Runs all rules in the fleets of all seeds.
fn compare(
    args: &Args,
    title: String,
    seeds: u64,
    setup: &dyn Fn(u64) -> Setup,
) -> anyhow::Result<Compared> {
    let first = setup(args.seed);
    let mut runs: Vec<Vec<Run>> = vec![Vec::new(); args.rule.len()];
    let (mut delay_s, mut work_cpu_s, mut end_ns) = (0.0, 0.0, 0);
    let mut last = None;
    for at in 0..seeds {
        let seed = args.seed.wrapping_add(at);
        let fleet = if at == 0 { first.clone() } else { setup(seed) };
        for (name, runs) in args.rule.iter().zip(&mut runs) {
            let mut rule = name.named().rule(&fleet, seed);
            runs.push(simulate(&fleet, &mut *rule, seed));
        }
        let bound = bound(&fleet);
        delay_s += bound.delay_s / seeds as f64;
        work_cpu_s += bound.work_cpu_s / seeds as f64;
        end_ns = end_ns.max(bound.end_ns);
        last = Some(bound);
    }
    let Some(mut bound) = last else {
        return Err(Usage("a comparison needs one seed at least".to_owned()).into());
    };
    (bound.delay_s, bound.work_cpu_s, bound.end_ns) = (delay_s, work_cpu_s, end_ns);
    let scores = runs.iter().map(|runs| Score::of(runs));
    Ok(Compared {
        title,
        notes: Vec::new(),
        nodes: first.nodes.len(),
        jobs: first.jobs.len(),
        tasks: first.tasks.len(),
        runs: seeds,
        period_s: first.measuring.period_ns as f64 / SECOND as f64,
        rules: args
            .rule
            .iter()
            .map(|rule| rule.name())
            .zip(scores)
            .collect(),
        bound,
        trace: None,
    })
}

/// Changes how a fleet is measured, if that was asked for.
fn measured(mut setup: Setup, period_s: Option<f64>, is_capped: bool) -> Setup {
    setup.measuring.is_capped = is_capped;
    if let Some(period_s) = period_s {
        let period_ns = ((period_s * SECOND as f64) as u64).max(1_000_000);
        setup.measuring.period_ns = period_ns;
        setup.measuring.delay_ns = setup.measuring.delay_ns.min(period_ns);
        setup.decision_ns = period_ns;
        setup.wobble_ns = period_ns;
    }
    setup
}

fn of_scenario(args: &Args, happening: Happening) -> anyhow::Result<Compared> {
    if happening == Happening::Synthetic {
        return synthetic(args);
    }
    let nodes = u32::try_from(args.nodes.unwrap_or(8))?;
    let setup = |seed| {
        let setup = match happening.scenario() {
            Some(Scenario::Pair) if args.nodes.is_none() => Scenario::Pair.setup(2, seed),
            Some(scenario) => scenario.setup(nodes, seed),
            None => thrash(),
        };
        measured(setup, args.period, args.capped)
    };
    compare(args, happening.name(), args.seeds.unwrap_or(5), &setup)
}

fn synthetic(args: &Args) -> anyhow::Result<Compared> {
    let mix = Mix {
        nodes: u32::try_from(args.nodes.unwrap_or(64))?,
        jobs: args.jobs.unwrap_or(10_000),
        load: args.load.unwrap_or(60.0) / 100.0,
        error: args.error(),
        ..Mix::default()
    };
    let setup = |seed| measured(mix.generate(seed).setup, args.period, args.capped);
    let seeds = args.seeds.unwrap_or(1);
    let mut compared = compare(args, "synthetic".to_owned(), seeds, &setup)?;
    compared.notes = described(&mix, &mix.generate(args.seed), args.seed);
    Ok(compared)
}

/// The parameters of a made-up fleet, as lines.
fn described(mix: &Mix, made: &Generated, seed: u64) -> Vec<String> {
    let censored = made.setup.jobs.iter().filter(|job| job.is_censored).count();
    vec![
        format!(
            "seed {seed}: load {:.0} %, arrivals over {}, {:.0} % in bursts, the rest swings by \
             {:.0} %",
            mix.load * 100.0,
            shown(made.span_s),
            mix.bursts * 100.0,
            mix.swing * 100.0,
        ),
        format!(
            "durations lognormal ({:.0} s, sigma {}), {:.0} % Pareto (from {:.0} s, exponent {})",
            mix.median_s,
            mix.deviation,
            mix.tail * 100.0,
            mix.median_s * 5.0,
            mix.exponent,
        ),
        format!(
            "cut at {}, which flags {censored} jobs as censored",
            shown(mix.longest_s)
        ),
        format!(
            "{:.0} % of arrivals are DAGs, with {} dependencies; estimates wrong by sigma {}",
            mix.dags * 100.0,
            made.dependencies,
            mix.error,
        ),
        format!("{:.0} % of the jobs must not move", mix.pinned * 100.0),
    ]
}

fn of_trace(args: &Args, input: &Input) -> anyhow::Result<Compared> {
    let window = trace::Window {
        from_s: args.from,
        span_s: args.span,
        limit: args.limit.unwrap_or(100_000),
    };
    let mut trace = read::read(input, args.machines.as_deref(), &window)?;
    let mut built = build::setup(&mut trace, args.nodes, args.error(), args.period, args.seed);
    built.setup.measuring.is_capped = args.capped;
    let seeds = args.seeds.unwrap_or(1);
    let mut compared = compare(args, input.title(), seeds, &|_| built.setup.clone())?;
    compared.notes = built.notes;
    compared.trace = Some(trace);
    Ok(compared)
}
