//! Tests of jobs.

#![expect(clippy::missing_panics_doc, reason = "they panic if a test fails")]

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use heist_cluster::event::{ClusterEvent, EventKind};
use heist_cluster::planner::{Config, NodeId, Priority};
use heist_cluster::{
    job, Cluster, Job, JobContext, JobHandle, JobOptions, Remote, RemoteError, Stop,
};
use serde::{Deserialize, Deserializer, Serialize};
use serde_bytes::ByteBuf;

use crate::calls;
use crate::stage::{wait_for, Stage, PATIENCE};
use crate::work::{mix, stay};

/// A node that may die; on others of its backend the backend itself may depend.
const MORTAL: &str = "n3";

/// Counts to its end, with a value that depends on each step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Counting {
    next: u64,
    end: u64,
    value: u64,
    /// How long a step takes, at least.
    step_us: u64,
    /// Makes the state large.
    ballast: ByteBuf,
    /// Each step adds a line, with its epoch and number.
    log: Option<PathBuf>,
    #[serde(deserialize_with = "slowly")]
    loading_ms: u64,
    /// Gives up at this step.
    fails_at: Option<u64>,
    /// The first attempt does not pass this step, however long the test takes.
    stays_at: Option<u64>,
    /// From when this file exists on, a step takes no time.
    hurry: Option<PathBuf>,
}

/// Reading the state takes as long as it says.
fn slowly<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let loading_ms = u64::deserialize(deserializer)?;
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(loading_ms) {
        heist_sync::thread::yield_now();
    }
    Ok(loading_ms)
}

impl Counting {
    /// A job of `end` steps that take `step_us` each.
    #[must_use]
    pub fn new(end: u64, step_us: u64) -> Self {
        Self {
            next: 0,
            end,
            value: 0,
            step_us,
            ballast: ByteBuf::new(),
            log: None,
            loading_ms: 0,
            fails_at: None,
            stays_at: None,
            hurry: None,
        }
    }

    /// With so many bytes of state besides.
    #[must_use]
    pub fn ballast(mut self, bytes: usize) -> Self {
        self.ballast = ByteBuf::from(
            (0..bytes)
                .map(|at| mix(at as u64) as u8)
                .collect::<Vec<_>>(),
        );
        self
    }

    fn log(mut self, path: &Path) -> Self {
        self.log = Some(path.to_owned());
        self
    }

    /// Its steps take their time until this file exists.
    fn hurry(mut self, path: &Path) -> Self {
        self.hurry = Some(path.to_owned());
        self
    }

    /// The result that it must have.
    #[must_use]
    pub fn expected(&self) -> (u64, u64) {
        let value = (0..self.end).fold(0, |value, step| mix(value ^ step));
        (value, checksum(&self.ballast))
    }
}

fn checksum(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(0, |sum, part| {
        part.iter()
            .fold(mix(sum), |sum, byte| sum.rotate_left(8) ^ u64::from(*byte))
    })
}

#[job]
impl Job for Counting {
    type Out = (u64, u64);
    const VERSION: u32 = 1;

    fn run(&mut self, context: &JobContext) -> Result<(u64, u64), Stop> {
        let log = self
            .log
            .as_ref()
            .map(|path| OpenOptions::new().create(true).append(true).open(path));
        let mut log = log.transpose().map_err(Stop::fail)?;
        let mut is_hurried = false;
        while self.next < self.end {
            context.safe_point(self)?;
            context.set_progress(self.next as f64 / self.end as f64);
            if self.fails_at == Some(self.next) {
                return Err(Stop::fail(format!("it was to fail at step {}", self.next)));
            }
            if context.epoch() == 0 && self.stays_at == Some(self.next) {
                heist_sync::thread::yield_now();
                continue;
            }
            let began = Instant::now();
            self.value = mix(self.value ^ self.next);
            is_hurried = is_hurried || self.hurry.as_ref().is_some_and(|path| path.exists());
            while !is_hurried && began.elapsed() < Duration::from_micros(self.step_us) {
                std::hint::spin_loop();
            }
            if let Some(log) = &mut log {
                let line = format!("{} {}\n", context.epoch(), self.next);
                log.write_all(line.as_bytes()).map_err(Stop::fail)?;
            }
            self.next += 1;
        }
        Ok((self.value, checksum(&self.ballast)))
    }
}

/// Adds up shared data on two machines: the first attempt waits until it is moved.
#[derive(Debug, Serialize, Deserialize)]
pub struct Adding {
    numbers: Remote<Vec<u64>>,
    sums: Vec<u64>,
}

#[job]
impl Job for Adding {
    type Out = Vec<u64>;
    const VERSION: u32 = 1;

    fn run(&mut self, context: &JobContext) -> Result<Vec<u64>, Stop> {
        let numbers = self.numbers.get().map_err(Stop::fail)?;
        self.sums.push(numbers.iter().sum());
        while context.epoch() == 0 {
            context.safe_point(self)?;
            heist_sync::thread::yield_now();
        }
        Ok(std::mem::take(&mut self.sums))
    }
}

/// Waits until a job runs, and says where.
pub(crate) fn runs_on<T>(job: &JobHandle<T>) -> NodeId {
    let status = job.wait_until(PATIENCE, |status| {
        status.node.is_some() && !status.is_moving
    });
    status
        .and_then(|status| status.node)
        .expect("it runs in time")
}

/// Another living node than this one.
pub(crate) fn another_than(cluster: &Cluster, node: &NodeId) -> NodeId {
    let nodes = cluster.nodes().expect("nodes").into_iter();
    let mut others = nodes.filter(|other| other.is_alive && other.id != *node);
    others.next().expect("there are three nodes").id
}

/// A job has a result; one that gives up has its reason; a name is used once.
pub fn jobs_end(cluster: &Cluster) {
    let counting = Counting::new(200, 1000);
    let expected = counting.expected();
    let job = cluster
        .submit(counting.clone(), JobOptions::new("ends"))
        .expect("submit");
    let again = cluster.submit(counting.clone(), JobOptions::new("ends"));
    assert!(again.is_err_and(|error| error.to_string().contains("unique")));
    assert_eq!(job.wait_timeout(PATIENCE), Some(Ok(expected)));
    // It is given once, and another wait ends at once.
    assert!(matches!(job.get(), Err(RemoteError::Malformed(why)) if why.contains("already")));
    let mut failing = counting;
    failing.fails_at = Some(7);
    let job = cluster
        .submit(failing, JobOptions::new("fails"))
        .expect("submit");
    assert_eq!(
        job.get(),
        Err(RemoteError::Failed("it was to fail at step 7".to_owned()))
    );
}

/// A cancelled job ends.
pub fn a_cancelled_job_ends(cluster: &Cluster) {
    let job = cluster
        .submit(Counting::new(u64::MAX, 1000), JobOptions::new("endless"))
        .expect("submit");
    runs_on(&job);
    job.cancel();
    assert_eq!(job.get(), Err(RemoteError::Cancelled));
}

/// Writes a file, and has no safe point, whoever asks it to end.
#[derive(Debug, Serialize, Deserialize)]
pub struct Deaf {
    begun: PathBuf,
}

impl Deaf {
    /// One that writes `begun`.
    #[must_use]
    pub fn new(begun: &Path) -> Self {
        let begun = begun.to_owned();
        Self { begun }
    }
}

#[job]
impl Job for Deaf {
    type Out = ();
    const VERSION: u32 = 1;

    fn run(&mut self, _: &JobContext) -> Result<(), Stop> {
        stay(&self.begun);
        Ok(())
    }
}

/// Jobs are given up at their deadline, those that wait for room too.
pub fn jobs_end_at_their_deadline(cluster: &Cluster) {
    let within = Duration::from_secs(1);
    let submit = |name: &str| {
        let options = JobOptions::new(name).cpus(2.0).pin("n2").within(within);
        cluster.submit(Counting::new(u64::MAX, 1000), options)
    };
    let jobs = ["first", "second"].map(|name| submit(name).expect("submit"));
    for job in jobs {
        assert_eq!(job.get(), Err(RemoteError::TimedOut { within }));
    }
    let options = JobOptions::new("third").cpus(2.0).pin("n2");
    let within = options.within(Duration::from_secs(3600));
    let (job, expected) = (Counting::new(3, 1), Counting::new(3, 1).expected());
    let job = cluster.submit(job, within).expect("submit");
    assert_eq!(job.get(), Ok(expected), "there is room again");
}

/// A job that does not listen can be killed after it was cancelled, or is so after its deadline;
/// then its processors are free.
pub fn deaf_jobs_can_be_killed(cluster: &Cluster) {
    let folder = tempfile::tempdir().expect("a folder");
    let begun = folder.path().join("killed");
    let options = JobOptions::new("killed").cpus(2.0).pin("n2");
    let job = cluster.submit(Deaf::new(&begun), options).expect("submit");
    crate::until("the job to begin", || begun.exists());
    job.cancel();
    assert_eq!(
        job.wait_timeout(PATIENCE),
        Some(Err(RemoteError::Cancelled))
    );
    job.kill();
    let begun = folder.path().join("late");
    // On a slow machine it may be late before it begins.
    for attempt in 1.. {
        let within = Duration::from_secs(2 * attempt);
        let options = JobOptions::new(format!("late {attempt}")).cpus(2.0);
        let options = options.pin("n2").within(within);
        let late = cluster.submit(Deaf::new(&begun), options).expect("submit");
        assert_eq!(late.get(), Err(RemoteError::TimedOut { within }));
        if begun.exists() {
            break;
        }
    }
    let mut next = cluster.pin("n2").cpus(2).call(calls::add, (1, 2));
    assert_eq!(next.wait_timeout(PATIENCE), Some(Ok(3)));
}

/// Shared data in the state of a job is there wherever the job goes on.
pub fn a_job_uses_shared_data(cluster: &Cluster) {
    let numbers: Vec<u64> = (0..50_000).collect();
    let sum = numbers.iter().sum();
    let shared = cluster.put(&numbers).expect("put");
    let adding = Adding {
        numbers: shared.clone(),
        sums: Vec::new(),
    };
    let job = cluster
        .submit(adding, JobOptions::new("adds"))
        .expect("submit");
    let from = runs_on(&job);
    let to = another_than(cluster, &from);
    job.move_to(to).expect("it is there");
    assert_eq!(job.wait_timeout(PATIENCE), Some(Ok(vec![sum, sum])));
}

/// The state of a job is had before its turn, if it is asked for.
pub fn a_checkpoint_can_be_asked_for(stage: &Stage<'_>) {
    let options = JobOptions::new("asked").checkpoint_every(Duration::from_secs(3600));
    let job = stage
        .cluster
        .submit(Counting::new(u64::MAX, 1000), options)
        .expect("submit");
    runs_on(&job);
    job.checkpoint();
    wait_for(stage.events, |what| {
        matches!(what, EventKind::Checkpoint { job, .. } if job.as_str() == "asked").then_some(())
    });
    job.cancel();
    assert_eq!(job.get(), Err(RemoteError::Cancelled));
}

/// A running job with `ballast` bytes of state moves, and no step is lost or repeated. Returns
/// how long it stood still, and how long it took to pause before that.
pub fn a_job_moves(stage: &Stage<'_>, ballast: usize) -> (Duration, Duration) {
    let Stage {
        cluster,
        events,
        folder,
    } = *stage;
    let log = folder.join(format!("moves-{ballast}.log"));
    let mut counting = Counting::new(1500, 2000).ballast(ballast).log(&log);
    counting.stays_at = Some(750);
    let expected = counting.expected();
    let job = cluster
        .submit(counting, JobOptions::new(format!("moves-{ballast}")))
        .expect("submit");
    let from = runs_on(&job);
    crate::until("a hundred steps", || steps(&log).len() > 100);
    let to = another_than(cluster, &from);
    job.move_to(to.clone()).expect("the node is there");
    let (pausing_ms, standstill_ms) = wait_for(events, |what| match what {
        EventKind::MoveEnded {
            from: Some(was),
            to: is,
            pausing_ms,
            standstill_ms,
            ..
        } => {
            assert_eq!((was, is), (&from, &to));
            Some((*pausing_ms, *standstill_ms))
        }
        EventKind::MoveFailed { why, .. } => panic!("{why}"),
        _ => None,
    });
    assert_eq!(job.get(), Ok(expected));
    let steps = steps(&log);
    assert_eq!(steps.len(), 1500, "each step was done");
    assert!(
        steps.values().all(|epochs| epochs.len() == 1),
        "no step was repeated"
    );
    assert!(steps[&1499] > steps[&0], "a later attempt ended it");
    (
        Duration::from_millis(standstill_ms),
        Duration::from_millis(pausing_ms),
    )
}

/// Which attempts did each step.
fn steps(log: &Path) -> BTreeMap<u64, Vec<u32>> {
    // Nothing is there before the first step.
    let text = fs::read_to_string(log).unwrap_or_default();
    let mut steps = BTreeMap::<u64, Vec<u32>>::new();
    // The last line may be half written.
    for line in text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
    {
        let (epoch, step) = line.split_once(' ').expect("two numbers");
        let step = step.trim_end().parse().expect("a number");
        steps
            .entry(step)
            .or_default()
            .push(epoch.parse().expect("a number"));
    }
    steps
}

/// The node of a running job is lost: another attempt goes on from the last checkpoint, and
/// the result is right, whatever the old one still does.
pub fn a_job_survives_its_node(stage: &Stage<'_>, name: &str, lose: &dyn Fn(&NodeId)) {
    let Stage {
        cluster,
        events,
        folder,
    } = *stage;
    let log = folder.join("survives.log");
    let mut counting = Counting::new(1200, 5000).ballast(100_000).log(&log);
    let expected = counting.expected();
    counting.stays_at = Some(1199);
    let options = JobOptions::new(name)
        .checkpoint_every(Duration::from_secs(1))
        .on(MORTAL);
    let job = cluster.submit(counting, options).expect("submit");
    let node = runs_on(&job);
    assert_eq!(node.as_str(), MORTAL, "there was room");
    let mut checkpoint = wait_for(events, progress_of);
    lose(&node);
    wait_for(events, |what| {
        checkpoint = progress_of(what).unwrap_or(checkpoint);
        matches!(what, EventKind::Lost { .. }).then_some(())
    });
    assert_eq!(job.get(), Ok(expected));
    let steps = steps(&log);
    assert_eq!(steps.len(), 1200, "each step was done");
    let next = |epochs: &Vec<u32>| epochs.iter().any(|epoch| *epoch > 0);
    let began = steps
        .iter()
        .find(|(_, epochs)| next(epochs))
        .map(|(step, _)| *step as f64);
    // The progress was noted in the step before or in this one.
    let saved = checkpoint * 1200.0;
    assert!(
        began >= Some(saved - 1.5),
        "it began with {began:?}, and {saved} steps were saved"
    );
}

/// How much is done, if this is a checkpoint.
fn progress_of(what: &EventKind) -> Option<f64> {
    match what {
        EventKind::Checkpoint { progress, .. } => Some(*progress),
        _ => None,
    }
}

/// The node from which a job moves dies after the pause and before the target has loaded the
/// state: nothing is lost.
pub fn a_paused_state_survives_its_node(stage: &Stage<'_>, kill: &dyn Fn(&NodeId)) {
    let Stage {
        cluster,
        events,
        folder,
    } = *stage;
    let log = folder.join("paused.log");
    let mut counting = Counting::new(600, 2000).ballast(1_000_000).log(&log);
    let expected = counting.expected();
    counting.loading_ms = 2000;
    counting.stays_at = Some(300);
    // The first checkpoint is that of the pause.
    let options = JobOptions::new("paused").on(MORTAL);
    let options = options.checkpoint_every(Duration::from_secs(3600));
    let job = cluster.submit(counting, options).expect("submit");
    let from = runs_on(&job);
    job.move_to(another_than(cluster, &from))
        .expect("the node is there");
    wait_for(events, |what| {
        matches!(what, EventKind::Checkpoint { .. }).then_some(())
    });
    kill(&from);
    let result = job.get();
    let heard: Vec<_> = events.try_iter().map(|it| it.what.to_string()).collect();
    assert_eq!(result, Ok(expected), "after {heard:#?}");
    let repeated: Vec<_> = steps(&log)
        .into_iter()
        .filter(|(_, epochs)| epochs.len() > 1)
        .collect();
    assert!(repeated.is_empty(), "steps {repeated:?}, after {heard:#?}");
}

/// A job that is to be orphaned, and to end when it is told to.
fn orphan(hurry: &Path) -> Counting {
    Counting::new(100_000, 3000).ballast(1000).hurry(hurry)
}

/// Submits a job to a cluster with a store and waits for ever: what a driver does that is
/// going to be lost.
pub fn a_driver_to_be_lost(cluster: &Cluster, hurry: &Path) -> ! {
    let options = JobOptions::new("orphan").checkpoint_every(Duration::from_millis(300));
    let job = cluster.submit(orphan(hurry), options).expect("submit");
    let result = job.get();
    panic!("the driver was to be lost before the job was done: {result:?}");
}

/// Goes on with the job of a driver that was lost.
pub fn a_durable_job_goes_on(cluster: &Cluster, events: &Receiver<ClusterEvent>, hurry: &Path) {
    let found = cluster.unfinished().expect("the store can be read");
    let [job] = found.as_slice() else {
        panic!("one job is open: {found:?}");
    };
    assert_eq!(job.id().as_str(), "orphan");
    assert!(job.progress() > 0.0, "there was a checkpoint");
    let job = cluster.resume::<Counting>(job).expect("it is of that type");
    fs::write(hurry, "").expect("the folder is there");
    let expected = orphan(hurry).expected();
    assert_eq!(job.get(), Ok(expected));
    assert!(
        cluster.unfinished().is_ok_and(|open| open.is_empty()),
        "it is over"
    );
    let stored = cluster.stored_result::<Counting>(&"orphan".into());
    assert_eq!(
        stored.expect("the store can be read"),
        Some(Ok(expected)),
        "it is known for good"
    );
    wait_for(events, |what| match what {
        EventKind::Submitted {
            resumed_after_ms, ..
        } => *resumed_after_ms,
        _ => None,
    });
}

/// A planner for a test: as usual, but quick.
#[must_use]
pub fn quick_planner() -> Config {
    let mut config = Config::default();
    config.sustained_samples = 3;
    config.job_cool_down = Duration::from_secs(5);
    // As on one machine, where a job soon runs again: by the defaults, which are those of real
    // clusters, it would not pay to move jobs as short as those of a test.
    config.pause = Duration::from_millis(50);
    config.cold_start = Duration::from_millis(50);
    // In an emergency an important job may move, if no other can: here that would depend on
    // what else the machine does.
    config.emergency = 1e6;
    config
}

/// Jobs that crowd a node are moved, but not the important one, and all results are right.
pub fn the_rebalancer_moves_jobs(stage: &Stage<'_>) {
    let Stage {
        cluster,
        events,
        folder,
    } = *stage;
    let crowded = &NodeId::from("n1");
    let hurry = folder.join("moved");
    let counting = Counting::new(100_000, 1000).ballast(100_000);
    let counting = counting.hurry(&hurry);
    let expected = counting.expected();
    let submit = |name: &str, priority| {
        let options = JobOptions::new(name)
            .cpus(0.25)
            .threads(1)
            .priority(Priority(priority));
        cluster
            .submit(counting.clone(), options.on(crowded.clone()))
            .expect("submit")
    };
    let jobs = [
        submit("urgent", 0),
        submit("low-1", 3),
        submit("low-2", 3),
        submit("low-3", 3),
    ];
    let moved = wait_for(events, |what| match what {
        EventKind::MoveEnded { job, from, to, .. } => {
            assert_eq!(from.as_ref(), Some(crowded));
            assert_ne!(to, crowded);
            Some(job.clone())
        }
        _ => None,
    });
    assert_ne!(moved.as_str(), "urgent");
    fs::write(hurry, "").expect("the folder is there");
    for job in jobs {
        assert_eq!(job.get(), Ok(expected));
    }
}
