//! The driver: calls and jobs with known results, and waits that must end.

use std::collections::{HashMap, VecDeque};
use std::fmt::Debug;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use heist_cluster::planner::JobId;
use heist_cluster::{
    Cluster, ClusterError, JobHandle, JobOptions, Options, Remote, RemoteError, RemoteFuture,
};
use heist_cluster_suite::chaos::{pause, Place, WAIT};
use heist_cluster_suite::jobs::{quick_planner, Counting};
use heist_cluster_suite::work::sum_of_mix;
use heist_cluster_suite::{calls, chaos};
use serde::de::DeserializeOwned;
use serde_bytes::ByteBuf;

/// The exit code of a driver that has right results, not all of which are in the store.
pub(crate) const UNSTORED: u8 = 3;

/// How long a driver has jobs moved. Without an end those on a slow machine would do nothing else.
const MOVES: Duration = Duration::from_secs(30);

/// The exit code of a driver whose side-car has ended, which is what Ray is to it.
pub(crate) const CUT_OFF: u8 = 4;

/// How many calls are open at a time.
const OPEN: usize = 6;

/// The result of a job.
type Out = (u64, u64);

fn name(job: u64) -> JobId {
    JobId::from(format!("job-{job}"))
}

/// Does something again and again while the disk is full.
fn while_full<T>(
    what: &str,
    mut act: impl FnMut() -> Result<T, ClusterError>,
) -> Result<T, String> {
    let began = Instant::now();
    loop {
        match act() {
            Ok(done) => return Ok(done),
            Err(error) if is_full(&error) && began.elapsed() < WAIT => {
                pause(Duration::from_millis(50));
            }
            Err(error) => return Err(format!("{what}: {error}")),
        }
    }
}

fn is_full(error: &ClusterError) -> bool {
    error.to_string().contains("No space left")
}

/// Compares a result with the one that is right.
fn compare<T: PartialEq + Debug>(
    what: &str,
    found: &Result<T, RemoteError>,
    right: &T,
) -> Result<(), String> {
    match found {
        Ok(found) if found == right => Ok(()),
        other => Err(format!("{what} ended with {other:?}, right is {right:?}")),
    }
}

/// Looks into the store after a round: it is not locked, and each job is there with its result.
pub(crate) fn audit(folder: &Path, seed: u64) -> Result<ExitCode, String> {
    let options = Options::new().store(folder.join("disk/store"));
    let cluster = Place::Local.connect(folder, options);
    let cluster = cluster.map_err(|error| format!("the store cannot be opened: {error}"))?;
    let open = cluster.unfinished().map_err(|error| error.to_string())?;
    if !open.is_empty() {
        return Err(format!("{} jobs are open after all", open.len()));
    }
    for job in 0..chaos::JOBS {
        let stored = cluster.stored_result::<Counting>(&name(job));
        let stored = stored.map_err(|error| error.to_string())?;
        let Some(stored) = stored else {
            return Err(format!("the result of job {job} is not in the store"));
        };
        let right = chaos::job(seed, job).expected();
        compare(&format!("job {job}, by the store,"), &stored, &right)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Is a driver until all jobs are over.
pub(crate) fn drive(place: Place, folder: &Path, seed: u64) -> Result<ExitCode, String> {
    let cluster = while_full("the cluster cannot be connected", || {
        let options = Options::new()
            .store(folder.join("disk/store"))
            .rebalance(quick_planner())
            .sample_every(Duration::from_millis(500));
        place.connect(folder, options)
    })?;
    let mut random = fastrand::Rng::with_seed(seed ^ u64::from(std::process::id()));
    let mut jobs = begin(&cluster, seed)?;
    let numbers: Vec<u64> = (0..10_000).collect();
    let shared = cluster.put(&numbers).map_err(|error| error.to_string())?;
    let mut tally = Tally::default();
    let mut open: VecDeque<Pending> = VecDeque::new();
    let began = Instant::now();
    let mut is_stored = true;
    while !jobs.is_empty() || !open.is_empty() {
        while !jobs.is_empty() && open.len() < OPEN {
            tally.calls += 1;
            open.push_back(call(&cluster, &shared, &mut random));
        }
        if let Some(mut pending) = open.pop_front() {
            match (pending.poll)(Duration::from_millis(20)) {
                Some(ended) => tally.lost += u64::from(ended?),
                None if pending.began.elapsed() > WAIT => {
                    return Err(format!("{} did not end in {WAIT:?}", pending.what));
                }
                None => open.push_back(pending),
            }
        }
        if random.u32(..40) == 0 && began.elapsed() < MOVES {
            move_one(&cluster, &jobs, &mut random);
        }
        let numbers: Vec<u64> = jobs.keys().copied().collect();
        for job in numbers {
            let Some(result) = jobs[&job].wait_timeout(Duration::ZERO) else {
                continue;
            };
            let what = format!("job {job}");
            compare(&what, &result, &chaos::job(seed, job).expected())?;
            tally.jobs += 1;
            is_stored &= jobs[&job].not_stored().is_none();
            jobs.remove(&job);
        }
        if began.elapsed() > 2 * WAIT && !jobs.is_empty() {
            let how = jobs.values().map(JobHandle::status).collect::<Vec<_>>();
            return Err(format!("jobs did not end in {:?}: {how:?}", 2 * WAIT));
        }
    }
    tally.write(folder)?;
    drop(cluster);
    Ok(match is_stored {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(UNSTORED),
    })
}

/// The end of a driver whose failure says that.
pub(crate) fn cut_off(why: String) -> Result<ExitCode, String> {
    if !why.contains("side-car") {
        return Err(why);
    }
    // The caller may have closed it.
    let _ = writeln!(std::io::stderr(), "chaos: {why}");
    Ok(ExitCode::from(CUT_OFF))
}

/// The jobs that are not over: those of drivers that were lost, and those that none has begun.
fn begin(cluster: &Cluster, seed: u64) -> Result<HashMap<u64, JobHandle<Out>>, String> {
    let mut jobs = HashMap::new();
    let open = while_full("the store", || cluster.unfinished())?;
    for job in 0..chaos::JOBS {
        let what = format!("job {job}");
        let mut found = open.iter().filter(|open| *open.id() == name(job));
        let handle = if let Some(open) = found.next() {
            if found.next().is_some() {
                return Err(format!("{what} is in the store twice"));
            }
            while_full(&what, || cluster.resume::<Counting>(open))?
        } else {
            let stored = while_full(&what, || cluster.stored_result::<Counting>(&name(job)))?;
            let counting = chaos::job(seed, job);
            if let Some(stored) = stored {
                compare(
                    &format!("{what}, by the store,"),
                    &stored,
                    &counting.expected(),
                )?;
                continue;
            }
            let options = JobOptions::new(name(job))
                .cpus(0.5)
                .threads(1)
                .losses_max(10_000)
                .checkpoint_every(Duration::from_millis(300));
            while_full(&what, || cluster.submit(counting.clone(), options.clone()))?
        };
        jobs.insert(job, handle);
    }
    Ok(jobs)
}

/// Moves some job somewhere.
fn move_one(cluster: &Cluster, jobs: &HashMap<u64, JobHandle<Out>>, random: &mut fastrand::Rng) {
    let (nodes, job) = (cluster.nodes(), random.choice(jobs.values()));
    if let (Ok(nodes), Some(job)) = (nodes, job) {
        if let Some(node) = random.choice(nodes) {
            // The job may be over, or the node gone.
            let _ = job.move_to(node.id);
        }
    }
}

/// The work of a driver.
#[derive(Debug, Default)]
struct Tally {
    calls: u64,
    lost: u64,
    jobs: u64,
}

impl Tally {
    /// Adds it to those of the drivers before.
    fn write(&self, folder: &Path) -> Result<(), String> {
        let line = format!("{} {} {}\n", self.calls, self.lost, self.jobs);
        let path = folder.join("tally");
        let file = OpenOptions::new().create(true).append(true).open(path);
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        written.map_err(|error| format!("the tally cannot be written: {error}"))
    }
}

/// A call that is open.
struct Pending {
    what: String,
    began: Instant,
    /// Waits so long for its end, which is right, or a loss with its node, or an error.
    poll: Box<dyn FnMut(Duration) -> Option<Result<bool, String>>>,
}

fn pending<T: DeserializeOwned + Debug + 'static>(
    what: &str,
    mut future: RemoteFuture<T>,
    is_right: impl Fn(&Result<T, RemoteError>) -> bool + 'static,
) -> Pending {
    let name = what.to_owned();
    let poll = move |patience| {
        let result = future.wait_timeout(patience)?;
        Some(match &result {
            result if is_right(result) => Ok(false),
            Err(error) if error.is_node_death() => Ok(true),
            wrong => {
                let text = format!("{wrong:?}");
                let short: String = text.chars().take(300).collect();
                Err(format!("{name} ended with {short}"))
            }
        })
    };
    Pending {
        what: what.to_owned(),
        began: Instant::now(),
        poll: Box::new(poll),
    }
}

/// Calls something.
fn call(cluster: &Cluster, shared: &Remote<Vec<u64>>, random: &mut fastrand::Rng) -> Pending {
    let anywhere = || cluster.anywhere().retries(1000);
    let (a, b) = (random.u64(..1 << 60), random.u64(..1 << 60));
    let time_ms = random.u64(1..100);
    let worked = sum_of_mix(0..10_000).wrapping_add(a);
    match random.u32(..9) {
        0 => pending("add", anywhere().call(calls::add, (a, b)), move |out| {
            *out == Ok(a + b)
        }),
        1 | 2 => {
            let most = 1 << random.u32(4..22);
            let bytes = vec![a as u8; random.usize(..most)];
            let sent = ByteBuf::from(bytes.clone());
            let call = anywhere().call(calls::mirror, sent);
            let is_right = move |out: &Result<ByteBuf, RemoteError>| {
                out.as_ref().is_ok_and(|out| ***out == *bytes)
            };
            pending("mirror", call, is_right)
        }
        3 => {
            let call = anywhere().call(calls::work_for, (a, time_ms));
            pending("work_for", call, move |out| *out == Ok(worked))
        }
        4 => {
            let call = anywhere().call(calls::sum_in_parallel, 100_000);
            let sum = sum_of_mix(0..100_000);
            pending("sum_in_parallel", call, move |out| *out == Ok((sum, 2)))
        }
        5 => {
            let call = anywhere().call(calls::sum_shared, shared.clone());
            pending("sum_shared", call, |out| *out == Ok(Ok(49_995_000)))
        }
        6 => {
            let call = anywhere().call(calls::panic_with, "chaos".to_owned());
            let is_right = |out: &Result<(), _>| matches!(out, Err(RemoteError::Panicked(why)) if why == "chaos");
            pending("panic_with", call, is_right)
        }
        7 => {
            let call = anywhere().call(calls::work_for, (a, 10_000));
            call.cancel();
            let is_right = move |out: &Result<u64, _>| {
                matches!(out, Err(RemoteError::Cancelled)) || *out == Ok(worked)
            };
            pending("a cancelled call", call, is_right)
        }
        _ => {
            let limit = Duration::from_millis(2 * time_ms);
            let call = cluster.within(limit).call(calls::work_for, (a, time_ms));
            let is_right = move |out: &Result<u64, _>| {
                matches!(out, Err(RemoteError::TimedOut { .. })) || *out == Ok(worked)
            };
            pending("a call with a deadline", call, is_right)
        }
    }
}
