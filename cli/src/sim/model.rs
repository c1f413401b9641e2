//! A recorded program in the model, on any number of workers and with sites that are faster.

use std::collections::HashMap;

use anyhow::Context as _;
use heist_event::dag::Dag;
use heist_event::short_name;
use heist_observe::replay::{Change, Replay, Row};
use heist_sim::replay::{faster, longest_path, Machine, Plan};

/// How many sites the table of changes has at most.
const SITES_SHOWN: usize = 6;

/// Seeds of which the figures are the means.
const SEEDS: u64 = 3;

/// Of a DAG with more nodes than this, one seed is as good as the mean of several.
const NODES_OF_ONE_SEED: usize = 1 << 18;

/// A DAG, and the machine on which it runs but for the number of workers.
pub(crate) struct Model {
    dag: Dag,
    plan: Plan,
    span: i64,
    machine: Machine,
}

impl Model {
    pub(crate) fn new(dag: Dag, machine: Machine) -> anyhow::Result<Self> {
        Ok(Self {
            plan: Plan::new(&dag).context("the DAG was read")?,
            span: dag.span().context("the DAG was read")?,
            dag,
            machine,
        })
    }

    /// The workers of the recorded run.
    pub(crate) fn recorded_with(&self) -> u64 {
        self.dag.workers.max(1) as u64
    }

    /// The program on these numbers of workers, and, with the last one, with faster sites.
    pub(crate) fn replay(&self, workers: &[u64], at: u64) -> Replay {
        let (alone_ns, ..) = self.run(&self.dag, 1);
        let (at_ns, ..) = self.run(&self.dag, at);
        Replay {
            command: self.dag.command.clone(),
            work_ns: self.dag.work(),
            span_ns: self.span,
            outside_ns: self.dag.outside_ns,
            rows: (workers.iter().map(|&n| self.row(n, alone_ns))).collect(),
            at_workers: at,
            at_ns,
            at_speed_up: alone_ns / at_ns.max(1.0),
            changes: self.changes(at),
        }
    }

    /// The mean time, share of work and steals on so many workers, as nothing but this changes.
    fn run(&self, dag: &Dag, workers: u64) -> (f64, f64, f64) {
        let machine = Machine {
            workers: workers as usize,
            ..self.machine.clone()
        };
        // One worker has no choice.
        let one_will_do = workers == 1 || dag.nodes.len() > NODES_OF_ONE_SEED;
        let seeds = if one_will_do { 1 } else { SEEDS };
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

    /// The sites with the most of the longest path or of the work, and what it would bring if they
    /// were faster.
    fn changes(&self, workers: u64) -> Vec<Change> {
        let mut works = vec![0_i64; self.dag.sites.len()];
        for node in &self.dag.nodes {
            works[usize::from(node.site)] += node.work;
        }
        let of_path = longest_path(&self.dag).unwrap_or_default();
        // Instances of one function that a reader could not tell apart are one.
        let mut named: HashMap<String, Site> = HashMap::new();
        for ((place, name, _), (part, work)) in sites(&self.dag).zip(of_path.iter().zip(works)) {
            let site = named.entry(short_name(name)).or_default();
            site.of_path += *part as f64 / self.span.max(1) as f64;
            site.of_work += work as f64 / self.dag.work().max(1) as f64;
            site.places.push(place);
        }
        let mut named: Vec<_> = named.into_iter().collect();
        named.retain(|(_, site)| site.rank() > 0.0);
        named.sort_by(|(one, of_one), (other, of_other)| {
            let ranks = of_other.rank().total_cmp(&of_one.rank());
            ranks.then_with(|| one.cmp(other))
        });
        named.truncate(SITES_SHOWN);
        named.sort_by(|(_, one), (_, other)| other.of_path.total_cmp(&one.of_path));
        let time = |places: &[u16], times| self.run(&faster(&self.dag, places, times), workers).0;
        let changes = named.into_iter().map(|(name, site)| Change {
            site: name,
            of_longest_path: site.of_path,
            of_work: site.of_work,
            twice_as_fast_ns: time(&site.places, 2.0),
            four_times_as_fast_ns: time(&site.places, 4.0),
        });
        changes.collect()
    }
}

/// All sites of one short name.
#[derive(Default)]
struct Site {
    of_path: f64,
    of_work: f64,
    places: Vec<u16>,
}

impl Site {
    /// The most that making it faster could bring.
    fn rank(&self) -> f64 {
        self.of_path.max(self.of_work)
    }
}

/// The places, names and kinds of the sites.
pub(super) fn sites(dag: &Dag) -> impl Iterator<Item = (u16, &str, &str)> {
    (0..=u16::MAX)
        .zip(&dag.sites)
        .map(|(place, (name, kind))| (place, name.as_str(), kind.as_str()))
}
