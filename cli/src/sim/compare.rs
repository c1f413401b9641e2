//! `heist sim compare`: work stealing beside the balancing of kernels, at several lengths of tasks.

use std::io::Write;

use clap::ValueEnum;
use heist_run::number::{real, whole};
use heist_sim::balance::{balance, Bag, Balanced, Costs, Scheme};

use crate::table;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Where the tasks are at first, and how long they last
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "one,uneven,growing"
    )]
    bag: Vec<BagName>,
    /// Processors, up to 65,536
    #[arg(long, value_name = "N", default_value_t = 16,
          value_parser = |given: &str| whole(given, 1..=1 << 16))]
    workers: u64,
    /// Lengths of a task in the mean, in us
    #[arg(long, value_name = "US", value_delimiter = ',', default_value = "1,10,100,1000,10000",
          value_parser = |given: &str| real(given, 0.01..=1e6, "us"))]
    grain: Vec<f64>,
    /// Tasks for each processor, and as many more as it takes to work for four ticks
    #[arg(long, value_name = "N", default_value_t = 1_000,
          value_parser = |given: &str| whole(given, 1..=100_000))]
    tasks: u64,
    /// The period of the tick, in us
    #[arg(long, value_name = "US", default_value_t = 4_000, value_parser = |given: &str| whole(given, 1..=1_000_000))]
    tick: u64,
    /// The cost of a look at another processor's queue, in ns
    #[arg(long, value_name = "NS", default_value_t = 60, value_parser = |given: &str| whole(given, 1..=1_000_000))]
    look: u64,
    /// The seed of the first run; four others follow it, and the table has the medians
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print one JSON document instead of the tables
    #[arg(long)]
    json: bool,
}

pub(super) const SCHEMES: &str = "\
The columns, each the time over the least possible (1.00 is perfect, * the best
of a row):
  steal    a processor without tasks asks random others, and takes the oldest
           task of one, as this runtime does
  half     the same, but it takes half of what is there
  idle     it looks at all queues, and pulls half of the longest; if there is
           nothing, it waits for the tick: Linux's idle balancing
  pull     with each tick it looks at all queues, and pulls half of the longest
  push     with each tick a processor with more tasks than the mean pushes half
           of the difference to the shortest queue
  central  one queue for all, with one lock
  static   dealt out beforehand
All pay the same for a look and for a task that moves, so that decisions are
compared, not systems. In a kernel a move costs microseconds, and tasks are
threads, which last for milliseconds.";

/// A bag by its name.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum BagName {
    /// All tasks begin with one processor
    One,
    /// As many with each, but some last a hundred times as long as the mean
    Uneven,
    /// Each task begets others, as the parts of a quicksort do
    Growing,
}

impl BagName {
    fn bag(self, tasks: u64, grain_ns: u64) -> Bag {
        match self {
            Self::One => Bag::OnOne { tasks, grain_ns },
            Self::Uneven => Bag::Uneven { tasks, grain_ns },
            Self::Growing => Bag::Growing { tasks, grain_ns },
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::One => "one: all tasks begin with one processor",
            Self::Uneven => "uneven: as many with each, but some last much longer",
            Self::Growing => "growing: each task begets others, the first is alone",
        }
    }
}

/// One length of tasks, under all schemes.
#[derive(Debug, serde::Serialize)]
struct Row {
    bag: String,
    workers: u64,
    grain_ns: u64,
    tasks: u64,
    schemes: Vec<Cell>,
}

#[derive(Debug, serde::Serialize)]
struct Cell {
    scheme: &'static str,
    over_ideal: f64,
    makespan_ns: u64,
    moves: u64,
    looks: u64,
}

const NAMES: [(Scheme, &str); 7] = [
    (Scheme::Steal, "steal"),
    (Scheme::StealHalf, "half"),
    (Scheme::IdlePull, "idle"),
    (Scheme::PeriodicPull, "pull"),
    (Scheme::PeriodicPush, "push"),
    (Scheme::Central, "central"),
    (Scheme::Static, "static"),
];

impl Row {
    fn new(args: &Args, name: BagName, grain_us: f64) -> Self {
        let grain_ns = ((grain_us * 1e3) as u64).max(1);
        let busy_ns = 4 * args.tick * 1_000;
        let tasks = args.workers * args.tasks.max(busy_ns / grain_ns);
        let bag = name.bag(tasks, grain_ns);
        let costs = Costs {
            look_ns: args.look,
            tick_ns: args.tick * 1_000,
            ..Costs::default()
        };
        let workers = usize::try_from(args.workers).expect("65,536 at most");
        let cell = |(scheme, name)| {
            let run = |at| balance(&bag, workers, scheme, &costs, args.seed.wrapping_add(at));
            let mut runs: Vec<Balanced> = (0..5).map(run).collect();
            let over = |run: &Balanced| run.over_ideal(workers);
            runs.sort_by(|a, b| over(a).total_cmp(&over(b)));
            let middle = runs[2];
            Cell {
                scheme: name,
                over_ideal: over(&middle),
                makespan_ns: middle.makespan_ns,
                moves: middle.moves,
                looks: middle.looks,
            }
        };
        let value = name.to_possible_value().expect("no name is skipped");
        Self {
            bag: value.get_name().to_owned(),
            workers: args.workers,
            grain_ns,
            tasks,
            schemes: NAMES.map(cell).into(),
        }
    }

    fn cells(&self) -> [String; 1 + NAMES.len()] {
        let shown = |cell: &Cell| format!("{:.2}", cell.over_ideal);
        let all = self.schemes.iter().map(|cell| cell.over_ideal);
        let best = format!("{:.2}", all.fold(f64::INFINITY, f64::min));
        std::array::from_fn(|column| match column.checked_sub(1) {
            None => format!("{} us", self.grain_ns as f64 / 1e3),
            Some(at) => {
                let shown = shown(&self.schemes[at]);
                let mark = if shown == best { '*' } else { ' ' };
                format!("{shown}{mark}")
            }
        })
    }
}

/// Prints a table for each bag, or all as JSON.
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    let row = |name: BagName| args.grain.iter().map(move |&us| Row::new(args, name, us));
    if args.json {
        let rows: Vec<_> = args.bag.iter().flat_map(|&name| row(name)).collect();
        serde_json::to_writer_pretty(&mut *out, &rows)?;
        writeln!(out)?;
        return Ok(());
    }
    writeln!(
        out,
        "{} processors, a tick each {} us, {} ns for a look at a queue (model)",
        args.workers, args.tick, args.look
    )?;
    for &name in &args.bag {
        writeln!(out, "\n{}", name.title())?;
        let mut head = vec!["a task".to_owned()];
        head.extend(NAMES.iter().map(|(_, name)| format!("{name} ")));
        let head = <[String; 1 + NAMES.len()]>::try_from(head).expect("a name for each column");
        let mut lines = vec![head];
        lines.extend(row(name).map(|row| row.cells()));
        table::write(&lines, 0, out)?;
    }
    Ok(())
}
