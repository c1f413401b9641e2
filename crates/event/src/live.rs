//! The live view: a program that runs, at one moment.
//!
//! The program writes it as JSON four times a second, if it is asked to. Sums are since a pool was
//! built; those of the *last second* are of the looks that are a second old, or a little more.

use crate::json::Json;
use crate::profile::Idle;
use crate::WorkerCounters;

/// The most workers of all pools together that are told one by one.
pub const WORKERS_MAX: usize = 1024;

/// The most pools that are told.
pub const POOLS_MAX: usize = 64;

/// A program at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The version of heist.
    pub heist: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The number of the process.
    pub pid: u32,
    /// When it was first looked at, in milliseconds since 1970.
    pub began_unix_ms: u64,
    /// When it was looked at now.
    pub written_unix_ms: u64,
    /// The processors that it may use.
    pub processors: usize,
    /// Its pools, the oldest first.
    pub pools: Vec<Pool>,
    /// How many more pools there are.
    pub other_pools: usize,
    /// The figures of its meter, if it has one.
    pub metered: Option<Metered>,
}

/// A pool at one moment.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    /// The number of the pools that the process had built before it.
    pub number: usize,
    /// How long ago it was built.
    pub age_ns: u64,
    /// How many workers it has, without compensation workers.
    pub len: usize,
    /// True if a job waits for a worker.
    pub has_a_job: bool,
    /// The sums of all workers.
    pub total: WorkerCounters,
    /// The sums of all workers in the last second.
    pub last: WorkerCounters,
    /// How long that was.
    pub last_ns: u64,
    /// Those that have a thread, with compensation workers.
    pub workers: Vec<Worker>,
    /// How many more there are.
    pub other_workers: usize,
    /// The report of its stall, if it stands still.
    pub stall: Option<String>,
}

/// A worker at one moment.
#[derive(Clone, Debug, Default)]
pub struct Worker {
    /// Its index in the pool.
    pub index: usize,
    /// The use that it makes of its time: working, searching or asleep.
    pub state: &'static str,
    /// For how long it has done so.
    pub for_ns: u64,
    /// Its sums.
    pub total: WorkerCounters,
}

/// The figures that only a profiled program has, of all its pools together.
#[derive(Clone, Debug, Default)]
pub struct Metered {
    /// The sum of all strands.
    pub work_ns: u64,
    /// The longest path.
    pub span_ns: u64,
    /// How long the last second was.
    pub last_ns: u64,
    /// The time of workers without a job, by cause.
    pub idle: Idle,
    /// That of the last second.
    pub last_idle: Idle,
    /// The places where most of the work of the last second was, the hottest first.
    pub sites: Vec<Site>,
}

/// A place in the program where jobs are made.
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// The user's innermost closure in it.
    pub name: String,
    /// The operation.
    pub kind: &'static str,
    /// The work of its strands.
    pub work_ns: u64,
    /// That of the last second.
    pub last_work_ns: u64,
    /// The part of the longest path that is in its strands.
    pub span_ns: u64,
    /// How many jobs it has offered to other workers.
    pub forks: u64,
    /// How many of those other workers ran.
    pub stolen: u64,
}

impl Snapshot {
    /// The version of the document.
    pub const VERSION: u32 = 1;

    /// The document.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut json = Json::default();
        json.object(|json| {
            json.number("heist_live", Self::VERSION);
            json.text("heist", &self.heist);
            json.texts("command", &self.command);
            json.number("pid", self.pid);
            json.number("began_unix_ms", self.began_unix_ms);
            json.number("written_unix_ms", self.written_unix_ms);
            json.number("processors", self.processors);
            json.array("pools", &self.pools, Json::pool);
            json.number("other_pools", self.other_pools);
            if let Some(metered) = &self.metered {
                json.named("metered", |json| json.metered(metered));
            }
        });
        json.finish()
    }
}

impl Json {
    fn pool(&mut self, pool: &Pool) {
        self.number("number", pool.number);
        self.number("age_ns", pool.age_ns);
        self.number("len", pool.len);
        self.number("has_a_job", pool.has_a_job);
        self.named("total", |json| json.counters(&pool.total));
        self.number("last_ns", pool.last_ns);
        self.named("last", |json| json.counters(&pool.last));
        self.array("workers", &pool.workers, |json, worker| {
            json.number("index", worker.index);
            json.text("state", worker.state);
            json.number("for_ns", worker.for_ns);
            json.named("total", |json| json.counters(&worker.total));
        });
        self.number("other_workers", pool.other_workers);
        if let Some(stall) = &pool.stall {
            self.text("stall", stall);
        }
    }

    fn counters(&mut self, counters: &WorkerCounters) {
        self.number("jobs", counters.jobs);
        self.number("steals", counters.steals);
        self.number("steals_failed", counters.steals_failed());
        self.number("injected", counters.injected);
        self.number("sleeps", counters.sleeps);
        self.number("working_ns", counters.working_ns);
        self.number("searching_ns", counters.searching_ns);
        self.number("asleep_ns", counters.asleep_ns);
    }

    fn metered(&mut self, metered: &Metered) {
        self.number("work_ns", metered.work_ns);
        self.number("span_ns", metered.span_ns);
        self.named("idle_ns", |json| json.idle(&metered.idle));
        self.number("last_ns", metered.last_ns);
        self.named("last_idle_ns", |json| json.idle(&metered.last_idle));
        self.array("sites", &metered.sites, |json, site| {
            json.text("name", &site.name);
            json.text("kind", site.kind);
            json.number("work_ns", site.work_ns);
            json.number("last_work_ns", site.last_work_ns);
            json.number("span_ns", site.span_ns);
            json.number("forks", site.forks);
            json.number("stolen", site.stolen);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::halves;

    #[test]
    fn there_is_room_for_the_largest_snapshot_in_a_half() {
        let mut counters = WorkerCounters::default();
        for count in [
            &mut counters.jobs,
            &mut counters.steals,
            &mut counters.steals_empty,
            &mut counters.injected,
            &mut counters.sleeps,
            &mut counters.working_ns,
            &mut counters.searching_ns,
            &mut counters.asleep_ns,
        ] {
            *count = u64::MAX;
        }
        let worker = Worker {
            index: usize::MAX,
            state: "searching",
            for_ns: u64::MAX,
            total: counters,
        };
        let pool = |n| Pool {
            number: usize::MAX,
            age_ns: u64::MAX,
            len: usize::MAX,
            has_a_job: false,
            total: counters,
            last: counters,
            last_ns: u64::MAX,
            workers: vec![worker.clone(); if n == 0 { WORKERS_MAX } else { 0 }],
            other_workers: usize::MAX,
            // More room than 4096 bytes of text with line ends take.
            stall: Some("\u{1}".repeat(1024)),
        };
        let snapshot = Snapshot {
            pools: (0..POOLS_MAX).map(pool).collect(),
            ..Snapshot::default()
        };
        assert!(halves::half(u64::MAX, &snapshot.to_json()).is_some());
    }
}
