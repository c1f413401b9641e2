//! The costs of a driver: a large fleet, many calls that wait, many jobs one after the other:
//! `cargo run --release -p heist-cluster --example driver-speed`. With `calls WAITING CALLS` behind
//! it only calls are made, for valgrind to count the instructions.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use heist_cluster::backend::{
    Backend, BackendError, BackendOptions, CallSpec, JobEvent, JobEvents, Node, Program, Reply,
    StartSpec,
};
use heist_cluster::planner::{Config, NodeId};
use heist_cluster::protocol::JobOutcome;
use heist_cluster::{
    job, remote, Cluster, Job, JobContext, JobOptions, JobReading, Local, ObjectId, Options,
    Reading, Stop,
};
use rustix::time::{clock_gettime, ClockId};
use serde::{Deserialize, Serialize};

/// The nodes of the fleet, and its jobs.
const FLEET: u64 = 1000;
/// How long the fleet is watched.
const WATCHED: Duration = Duration::from_secs(30);
/// How many calls wait.
const WAITING: [usize; 4] = [100, 1_000, 10_000, 100_000];
/// How many calls are counted meanwhile.
const CALLS: usize = 20_000;
/// How many jobs have their turn between two looks at the clock, and how many looks there are.
const JOBS: usize = 5_000;
const PARTS: usize = 4;
/// The interval between checkpoints of the fleet.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(10);
/// How long a job may take to begin.
const PATIENCE: Duration = Duration::from_secs(120);

type Fault = Box<dyn std::error::Error>;

fn main() -> Result<(), Fault> {
    heist_cluster::init();
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    if let [what, waiting, counted] = &arguments[..] {
        if what != "calls" {
            return Err(format!("{what:?}; `calls` is possible").into());
        }
        // Valgrind does not know the clock of a process.
        return calls(&[waiting.parse()?], counted.parse()?, false);
    }
    let folder = tempfile::tempdir()?;
    let options = Options::new()
        .store(folder.path())
        .rebalance(Config::default())
        .sample_every(Duration::from_secs(1));
    fleet(&Cluster::connect_with(Simulated, options)?)?;
    calls(&WAITING, CALLS, true)?;
    jobs()
}

/// A fleet that works: as many jobs as nodes, with a checkpoint every ten seconds.
fn fleet(cluster: &Cluster) -> Result<(), Fault> {
    let job = |number| {
        let options = JobOptions::new(format!("job {number}"));
        cluster.submit(Idle, options.checkpoint_every(CHECKPOINT_EVERY))
    };
    let jobs = (0..FLEET).map(job).collect::<Result<Vec<_>, _>>()?;
    for job in &jobs {
        let runs = job.wait_until(PATIENCE, |status| status.node.is_some());
        runs.ok_or("a job does not begin")?;
    }
    let (at, before) = (Instant::now(), cpu());
    std::thread::sleep(WATCHED);
    let share = (cpu() - before).as_secs_f64() / at.elapsed().as_secs_f64();
    say(&format!(
        "{FLEET} simulated nodes and {FLEET} jobs: {share:.3} of a core, at most {} MiB, {} \
         threads",
        status("VmHWM:")? / 1024,
        status("Threads:")?,
    ))
}

/// The driver's time for a call while others wait.
fn calls(waiting: &[usize], counted: usize, is_timed: bool) -> Result<(), Fault> {
    let cluster = Cluster::connect(Local::new().nodes(2).cpus(1))?;
    for &waiting in waiting {
        let call = || cluster.call(nothing, ());
        let mut open: VecDeque<_> = (0..waiting).map(|_| call()).collect();
        let before = is_timed.then(cpu);
        for _ in 0..counted {
            open.push_back(call());
            open.pop_front().ok_or("none waits")?.get()?;
        }
        let each = before.map(|before| us(cpu() - before, counted));
        for call in open {
            call.get()?;
        }
        let Some(each) = each else {
            continue;
        };
        say(&format!(
            "{waiting} calls wait: {each:.1} us of the driver's time for one"
        ))?;
    }
    Ok(())
}

/// The driver's time for a job, at the beginning of its life and later.
fn jobs() -> Result<(), Fault> {
    let cluster = Cluster::connect(Simulated)?;
    for part in 0..PARTS {
        let before = cpu();
        for number in 0..JOBS {
            let options = JobOptions::new(format!("job {part}.{number}"));
            cluster.submit(Short, options)?.get()?;
        }
        let (each, over) = (us(cpu() - before, JOBS), part * JOBS);
        say(&format!(
            "{over} jobs are over: {each:.1} us of the driver's time for one"
        ))?;
    }
    Ok(())
}

fn say(what: &str) -> Result<(), Fault> {
    Ok(writeln!(std::io::stdout(), "{what}")?)
}

/// The processor time of this process.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

fn us(time: Duration, parts: usize) -> f64 {
    time.as_secs_f64() * 1e6 / parts as f64
}

/// A figure from what the system says of this process.
fn status(name: &str) -> Result<u64, Fault> {
    let status = fs::read_to_string("/proc/self/status")?;
    let figure = status.lines().find_map(|line| line.strip_prefix(name));
    let figure = figure.and_then(|figure| figure.split_whitespace().next());
    Ok(figure.ok_or("the system does not say")?.parse()?)
}

#[remote]
fn nothing() {}

/// A job that runs until it is told to stop, and uses nothing.
#[derive(Serialize, Deserialize)]
struct Idle;

#[job]
impl Job for Idle {
    type Out = ();
    const VERSION: u32 = 1;

    fn run(&mut self, context: &JobContext) -> Result<(), Stop> {
        loop {
            context.safe_point(self)?;
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// A job that ends at once.
#[derive(Serialize, Deserialize)]
struct Short;

#[job]
impl Job for Short {
    type Out = ();
    const VERSION: u32 = 1;

    fn run(&mut self, _: &JobContext) -> Result<(), Stop> {
        Ok(())
    }
}

/// A backend whose nodes and jobs are figures. Every tenth node is hot.
struct Simulated;

impl BackendOptions for Simulated {
    fn connect(self, _: Program) -> Result<Arc<dyn Backend>, BackendError> {
        Ok(Arc::new(Fleet {
            began: Instant::now(),
            jobs: Mutex::default(),
        }))
    }
}

struct Fleet {
    began: Instant,
    jobs: Mutex<HashMap<u64, Attempt>>,
}

struct Attempt {
    start: StartSpec,
    node: u64,
    events: JobEvents,
}

impl Attempt {
    fn tell(&self, event: JobEvent) {
        (self.events)(self.start.epoch, event);
    }
}

impl Fleet {
    /// Has something done by the attempt of this epoch, if it runs.
    fn with(&self, job: u64, epoch: u32, act: impl FnOnce(&Attempt)) {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let attempt = jobs.get(&job);
        attempt.filter(|it| it.start.epoch == epoch).map(act);
    }

    fn end(&self, job: u64, outcome: JobOutcome, payload: Vec<u8>) {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(attempt) = jobs.remove(&job) {
            attempt.tell(JobEvent::Ended { outcome, payload });
        }
    }
}

impl Backend for Fleet {
    fn name(&self) -> &'static str {
        "simulated"
    }

    fn nodes(&self) -> Result<Vec<Node>, BackendError> {
        let node = |number| Node::new(format!("n{number}").into(), 2.0);
        Ok((0..FLEET).map(node).collect())
    }

    fn call(&self, _: CallSpec, reply: Reply) {
        reply(Err(BackendError::cancelled()));
    }

    fn cancel(&self, _: u64, _: bool) {}

    fn put(&self, _: ObjectId, _: Vec<u8>) -> Result<(), BackendError> {
        Err(BackendError::lost("nothing is kept"))
    }

    fn fetch(&self, _: ObjectId) -> Result<Vec<u8>, BackendError> {
        Err(BackendError::lost("nothing is kept"))
    }

    fn forget(&self, _: ObjectId) {}

    fn start(&self, start: StartSpec, events: JobEvents) {
        let wished = start.placement.node.as_ref();
        let wished = wished.and_then(|node| node.as_str().strip_prefix('n')?.parse().ok());
        let (job, is_short) = (start.job, start.kind.ends_with("Short"));
        let attempt = Attempt {
            // Two at every tenth node, and none at its neighbour.
            node: wished.unwrap_or(job % FLEET - u64::from(job % 10 == 1)),
            start,
            events,
        };
        let node = NodeId::from(format!("n{}", attempt.node));
        attempt.tell(JobEvent::Running { node });
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.insert(job, attempt);
        drop(jobs);
        if is_short {
            self.end(job, JobOutcome::Finished, Vec::new());
        }
    }

    fn pause(&self, job: u64, epoch: u32) {
        let mut state = None;
        self.with(job, epoch, |it| state = Some(it.start.state.to_vec()));
        if let Some(state) = state {
            self.end(job, JobOutcome::Paused { progress: 0.5 }, state);
        }
    }

    fn snapshot(&self, job: u64, epoch: u32) {
        self.with(job, epoch, |attempt| {
            let state = attempt.start.state.to_vec();
            let progress = 0.5;
            attempt.tell(JobEvent::Snapshot { progress, state });
        });
    }

    fn stop(&self, job: u64, _: u32) {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.remove(&job);
    }

    fn usage(&self) -> Vec<(NodeId, Result<Reading, BackendError>)> {
        let at_ms = self.began.elapsed().as_millis() as u64;
        let mut readings: Vec<_> = (0..FLEET)
            .map(|number| Reading {
                at_ms,
                pid: 1,
                machine: format!("m{number}"),
                machine_cpus: 2,
                machine_memory_available_bytes: 1 << 34,
                ..Reading::default()
            })
            .collect();
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        for (job, attempt) in jobs.iter() {
            // One processor each.
            let reading = &mut readings[attempt.node as usize];
            reading.process_cpu_ms += at_ms;
            reading.machine_busy_ms += at_ms;
            reading.jobs.push(JobReading {
                job: *job,
                epoch: attempt.start.epoch,
                cpu_ms: at_ms,
                ..JobReading::default()
            });
        }
        let named = readings.into_iter().enumerate();
        let named = named.map(|(number, reading)| (format!("n{number}").into(), Ok(reading)));
        named.collect()
    }

    fn close(&self) {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.clear();
    }
}
