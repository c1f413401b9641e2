//! Jobs on a real Slurm, driven through the backend's interface; skipped where there is none.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use heist_sync::MutexGuard;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use tempfile::TempDir;

use super::*;
use crate::backend::{JobEvent, Placement};
use crate::log::Logs;
use crate::protocol::cpus::Cpus;
use crate::protocol::job_folder::{JobFolder, Kind, Name};
use crate::protocol::JobOutcome;
use crate::protocol::{self, Answer, Frame, Limits, Outcome};
use crate::{job, Fingerprint, Job, JobContext, RegisteredJob, Stop};

mod lost_workers;

/// How long a test waits for what must happen.
const PATIENCE: Duration = Duration::from_secs(120);

/// Adds up numbers, slowly, with a state of a mebibyte.
#[derive(Clone, Serialize, Deserialize)]
struct Sum {
    next: u64,
    end: u64,
    sum: u64,
    ballast: ByteBuf,
}

#[job]
impl Job for Sum {
    type Out = (u64, usize);
    const VERSION: u32 = 1;

    fn run(&mut self, context: &JobContext) -> Result<(u64, usize), Stop> {
        while self.next < self.end {
            context.safe_point(self)?;
            context.set_progress(self.next as f64 / self.end as f64);
            let (_sender, never) = mpsc::channel::<()>();
            let _ = never.recv_timeout(Duration::from_millis(10));
            self.sum += self.next;
            self.next += 1;
        }
        Ok((self.sum, self.ballast.len()))
    }
}

const BALLAST_BYTES: usize = 1 << 20;

const DATA: ObjectId = ObjectId {
    cluster: 1,
    number: 2,
};

/// A job as the driver sees it.
struct Driven {
    backend: Arc<dyn Backend>,
    spec: StartSpec,
    events: Receiver<(u32, JobEvent)>,
    sender: Sender<(u32, JobEvent)>,
}

impl Driven {
    fn new(backend: &Arc<dyn Backend>, job: u64, steps: u64) -> Self {
        let state = Sum {
            next: 0,
            end: steps,
            sum: 0,
            ballast: ByteBuf::from(vec![7; BALLAST_BYTES]),
        };
        let (sender, events) = mpsc::channel();
        Self {
            backend: Arc::clone(backend),
            spec: StartSpec {
                job,
                epoch: 0,
                kind: Sum::NAME.to_owned(),
                name: format!("sum-{job}"),
                state: Arc::new(protocol::encode(&state).expect("a state can be written")),
                cpus: Cpus::from(1),
                threads: 1,
                placement: Placement::default(),
                checkpoint_every_ms: 500,
                objects: Vec::new(),
                trace: None,
            },
            events,
            sender,
        }
    }

    fn start(&self, epoch: u32, node: Option<&NodeId>) {
        let sender = self.sender.clone();
        let mut spec = self.spec.clone();
        spec.epoch = epoch;
        spec.placement.node = node.cloned();
        let events: JobEvents = Arc::new(move |epoch, event| drop(sender.send((epoch, event))));
        self.backend.start(spec, events);
    }

    /// The first event of this attempt that `wanted` has a use for.
    fn wait<T>(&self, epoch: u32, wanted: impl Fn(&JobEvent) -> Option<T>) -> T {
        loop {
            let (of, event) = self.events.recv_timeout(PATIENCE).expect("an event");
            if let Some(found) = (of == epoch).then(|| wanted(&event)).flatten() {
                return found;
            }
            let is_harmless = matches!(event, JobEvent::Running { .. } | JobEvent::Snapshot { .. });
            assert!(of == epoch && is_harmless, "{of}: {event:?}");
        }
    }

    fn runs(&self, epoch: u32) -> NodeId {
        self.wait(epoch, |event| match event {
            JobEvent::Running { node } => Some(node.clone()),
            _ => None,
        })
    }

    fn is_lost(&self, epoch: u32) -> BackendError {
        self.wait(epoch, |event| match event {
            JobEvent::Lost(error) => Some(error.clone()),
            _ => None,
        })
    }

    fn is_done_up_to(&self, epoch: u32) -> u64 {
        self.wait(epoch, |event| match event {
            JobEvent::Snapshot { state, .. } => {
                Some(protocol::decode::<Sum>(state).expect("a state").next)
            }
            _ => None,
        })
    }

    /// Waits for the result, which must be right.
    fn finishes(&self, epoch: u32, steps: u64) {
        let result = self.wait(epoch, |event| match event {
            JobEvent::Ended { outcome, payload } => {
                assert_eq!(*outcome, JobOutcome::Finished);
                Some(protocol::decode::<(u64, usize)>(payload).expect("a result"))
            }
            _ => None,
        });
        assert_eq!(result, (steps * (steps - 1) / 2, BALLAST_BYTES));
    }

    /// Pauses it, and says how far it has come.
    fn pauses(&self, epoch: u32) -> u64 {
        self.backend.pause(self.spec.job, epoch);
        self.wait(epoch, |event| match event {
            JobEvent::Ended { outcome, payload } => {
                assert!(matches!(outcome, JobOutcome::Paused { .. }), "{outcome:?}");
                Some(protocol::decode::<Sum>(payload).expect("a state").next)
            }
            _ => None,
        })
    }
}

/// The cluster, for one test at a time, since some kill nodes.
struct Fixture {
    /// The program that looks after the cluster.
    lab: OsString,
    /// The folder that drivers share with the nodes.
    folder: TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Fixture {
    /// None, with a line that says why, where there is no cluster.
    fn found_or_skipped() -> Option<Self> {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let variables = ["SLURM_CONF", "HEIST_CLUSTER_STATE", "HEIST_LAB"];
        if let Some(name) = variables
            .iter()
            .find(|name| std::env::var_os(name).is_none())
        {
            let how = "`cargo lab cluster with slurm` sets it";
            let line = format!("test skipped: {name} is not set; {how}\n");
            let _ = io::stderr().write_all(line.as_bytes());
        }
        Some(Self {
            lab: variables.iter().filter_map(std::env::var_os).nth(2)?,
            folder: tempfile::tempdir().expect("a folder"),
            _turn: ONE_AT_A_TIME.lock(),
        })
    }

    fn connect(&self) -> Arc<dyn Backend> {
        connect(Slurm::new().folder(self.folder.path()))
    }

    /// A job under way, of so many steps.
    fn begin(&self, job: u64, steps: u64) -> Driven {
        let job = Driven::new(&self.connect(), job, steps);
        job.start(0, None);
        job
    }

    fn files(&self, job: u64) -> JobFolder {
        JobFolder::new(self.folder.path().join("jobs").join(format!("{job:016x}")))
    }

    fn slurm_job(&self, job: u64) -> Option<u64> {
        let start = self.files(job).start().expect("it can be read");
        start.expect("it was started").slurm_job
    }
}

fn connect(slurm: Slurm) -> Arc<dyn Backend> {
    let program = Program {
        limits: Limits::default(),
        executable: None,
        fingerprint: Fingerprint::of_this_program(),
        build: Arc::clone(crate::remote::registry::registry().build()),
        libraries: Vec::new(),
        logs: Logs::new(None),
    };
    let slurm = slurm.under_test_harness();
    slurm.connect(program).expect("Slurm can be used")
}

fn another_than(backend: &Arc<dyn Backend>, node: &NodeId) -> NodeId {
    let nodes = backend.nodes().expect("nodes").into_iter();
    let mut others = nodes.filter(|other| other.is_alive && other.id != *node);
    others.next().expect("there is another node").id
}

/// Another process of this program, as the driver that a test of it is.
fn lost_driver(test: &str, is: impl AsRef<OsStr>) -> Command {
    let mut driver = Command::new(std::env::current_exe().expect("this program"));
    let name = format!("backend::slurm::tests::{test}");
    driver
        .args(["--exact", &name, "--include-ignored", "--nocapture"])
        .env(LOST_DRIVER, is);
    driver
}

/// Starts the driver, and kills it when its job runs.
fn lose(mut driver: Command) {
    let mut lost = driver.stderr(Stdio::piped()).spawn().expect("a driver");
    let says = BufReader::new(lost.stderr.take().expect("a pipe"));
    let runs = says
        .lines()
        .any(|line| line.is_ok_and(|line| line == JOB_RUNS));
    assert!(runs, "the driver ended");
    lost.kill().expect("it is a child");
    lost.wait().expect("it is a child");
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + PATIENCE;
    while !is_so() {
        assert!(std::time::Instant::now() < deadline, "waited for {what}");
        thread::yield_now();
    }
}

#[test]
fn a_job_moves_under_the_number_that_it_has_in_slurm() {
    let Some(cluster) = Fixture::found_or_skipped() else {
        return;
    };
    let job = cluster.begin(1, 600);
    let from = job.runs(0);
    let number = cluster.slurm_job(1);
    let snapshot = job.is_done_up_to(0);
    let paused = job.pauses(0);
    assert!((snapshot..600).contains(&paused), "{snapshot} {paused}");
    let to = another_than(&job.backend, &from);
    job.start(1, Some(&to));
    assert_eq!(job.runs(1), to);
    assert_eq!(cluster.slurm_job(1), number);
    assert!(job.is_done_up_to(1) >= paused, "it went on from there");
    let is_read = |(node, reading): (NodeId, Result<Reading, _>)| {
        let is_ours = |reading: Reading| {
            let mut jobs = reading.jobs.iter();
            jobs.any(|read| (read.job, read.epoch) == (1, 1))
        };
        node == to && reading.is_ok_and(is_ours)
    };
    // The process writes it now and then, beside what it does.
    until("a reading of the job", || {
        job.backend.usage().into_iter().any(is_read)
    });
    job.finishes(1, 600);
}

#[test]
fn a_job_survives_its_node_and_late_words_of_it() {
    let Some(cluster) = Fixture::found_or_skipped() else {
        return;
    };
    let node = |action: &str, node: &NodeId| {
        let mut command = Command::new(&cluster.lab);
        command.args(["cluster", action, "slurm", &node.to_string()]);
        assert!(
            command.status().expect("it starts").success(),
            "{command:?}"
        );
    };
    let job = cluster.begin(2, 900);
    let died = job.runs(0);
    let number = cluster.slurm_job(2);
    job.is_done_up_to(0);
    let files = cluster.files(2);
    let before = files.start().expect("read").expect("started");
    node("kill", &died);
    assert!(job.is_lost(0).is_node_death());
    job.backend.stop(2, 0);
    job.start(1, None);
    assert_ne!(job.runs(1), died);
    assert_eq!(cluster.slurm_job(2), number, "Slurm has requeued it");
    // As if the node had only been cut off.
    let outcome = Outcome::Job(JobOutcome::Finished);
    let late = Frame::new(&Answer { id: 0, outcome }, b"late".to_vec());
    files
        .write(Name::new(Kind::Over, before.attempt), &late)
        .expect("write");
    job.finishes(1, 900);
    node("start", &died);
}

/// Makes a process of this test program a driver that starts a job, in the folder which it may
/// name, and is killed then.
const LOST_DRIVER: &str = "HEIST_CLUSTER_TEST_LOST_DRIVER";
/// The line by which such a driver says so.
const JOB_RUNS: &str = "the job runs";

/// Begins the job, says so and waits to be killed.
fn be_lost(job: &Driven) {
    job.start(0, None);
    job.is_done_up_to(0);
    eprintln!("{JOB_RUNS}");
    job.finishes(0, u64::MAX);
}

#[test]
fn another_driver_finds_what_a_lost_one_has_begun() {
    if let Some(folder) = std::env::var_os(LOST_DRIVER) {
        be_lost(&Driven::new(&connect(Slurm::new().folder(folder)), 3, 300));
    }
    let Some(cluster) = Fixture::found_or_skipped() else {
        return;
    };
    lose(lost_driver(
        "another_driver_finds_what_a_lost_one_has_begun",
        cluster.folder.path(),
    ));
    // A node dies while there is no driver; to Slurm this is the same.
    let number = cluster.slurm_job(3).expect("it was submitted");
    let requeue = command("scontrol")
        .args(["requeue", &number.to_string()])
        .status();
    assert!(requeue.expect("it starts").success());
    let job = Driven::new(&cluster.connect(), 3, 300);
    job.start(1000, None);
    job.runs(1000);
    assert_eq!(cluster.slurm_job(3), Some(number), "it goes on");
    job.finishes(1000, 300);
    // If nobody had heard the result, it would still be there.
    job.start(2000, None);
    job.finishes(2000, 300);
}

/// Drivers without a folder, in processes of their own: the first one is lost with a job under way,
/// the next one only connects.
#[test]
fn the_jobs_and_the_data_of_a_lost_driver_end_when_the_next_one_connects() {
    let Some(cluster) = Fixture::found_or_skipped() else {
        return;
    };
    let state = cluster.folder.path();
    let driver = |is: &str| {
        let mut driver = lost_driver("folderless_driver", is);
        driver.env("XDG_STATE_HOME", state);
        driver
    };
    lose(driver("first"));
    let folders = || {
        let folders = fs::read_dir(state.join("heist-cluster")).expect("it was made");
        let folders = folders.flatten().map(|entry| entry.path());
        folders.collect::<Vec<_>>()
    };
    let left = folders();
    assert_eq!(left.len(), 1, "{left:?}");
    let jobs = || batch::of_folder(&left[0]).expect("Slurm is there");
    assert_eq!(jobs().len(), 1, "it runs on");
    let next = driver("next").stderr(Stdio::null()).status();
    assert!(next.expect("a driver").success());
    assert_eq!(folders(), Vec::<PathBuf>::new());
    let deadline = std::time::Instant::now() + PATIENCE;
    while !jobs().is_empty() {
        assert!(std::time::Instant::now() < deadline, "{:?}", jobs());
    }
}

#[test]
#[ignore = "is a driver that is lost; run by another test"]
fn folderless_driver() {
    let is = std::env::var_os(LOST_DRIVER).expect("another test runs it");
    let backend = connect(Slurm::new());
    if is == "first" {
        backend.put(DATA, vec![1, 2, 3]).expect("it is written");
        be_lost(&Driven::new(&backend, 6, u64::MAX));
    }
}

/// They are more than Slurm's commands can do in that time.
#[test]
fn wishes_without_end_keep_no_job_from_ending() {
    let Some(cluster) = Fixture::found_or_skipped() else {
        return;
    };
    let job = cluster.begin(8, 200);
    job.runs(0);
    let (sender, over) = mpsc::channel::<()>();
    let wishing = Arc::clone(&job.backend);
    let wishes = thread::spawn(move || {
        let pause = Duration::from_millis(1);
        while over.recv_timeout(pause) == Err(mpsc::RecvTimeoutError::Timeout) {
            wishing.snapshot(8, 0);
        }
    });
    job.finishes(0, 200);
    drop(sender);
    wishes.join().expect("it ends");
}

#[test]
fn only_the_user_can_read_what_nodes_share() {
    use std::os::unix::fs::PermissionsExt as _;

    let Some(cluster) = Fixture::found_or_skipped() else {
        return;
    };
    let shared = cluster.folder.path().join("shared");
    let backend = connect(Slurm::new().folder(&shared));
    backend.put(DATA, vec![1, 2, 3]).expect("it is written");
    let job = Driven::new(&backend, 7, u64::MAX);
    job.start(0, None);
    job.is_done_up_to(0);
    let mut folders = vec![shared];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            // The attempt replaces files meanwhile.
            let Ok(data) = entry.metadata() else {
                continue;
            };
            let mode = data.permissions().mode() & 0o777;
            if data.is_dir() {
                assert_eq!(mode, 0o700, "{}", entry.path().display());
                folders.push(entry.path());
            } else if entry.file_name() != batch::LOG {
                // That one is Slurm's own.
                assert_eq!(mode, 0o600, "{}", entry.path().display());
                files += 1;
            }
        }
    }
    assert!(files >= 4, "{files}");
    backend.stop(7, 0);
}

#[test]
fn a_job_that_is_stopped_goes_on_from_its_last_state_in_another_submission() {
    let Some(cluster) = Fixture::found_or_skipped() else {
        return;
    };
    let job = cluster.begin(4, 300);
    job.runs(0);
    let done = job.is_done_up_to(0);
    let number = cluster.slurm_job(4);
    job.backend.stop(4, 0);
    job.start(1, None);
    job.runs(1);
    assert_ne!(cluster.slurm_job(4), number);
    assert!(job.is_done_up_to(1) >= done);
    job.finishes(1, 300);
}

#[test]
fn a_node_that_does_not_exist_is_an_error_at_once() {
    let Some(cluster) = Fixture::found_or_skipped() else {
        return;
    };
    let mut job = Driven::new(&cluster.connect(), 5, 10);
    job.spec.placement.is_pinned = true;
    job.start(0, Some(&NodeId::from("no-such-node")));
    let error = job.is_lost(0);
    assert!(
        !error.is_passing() && error.to_string().contains("no-such-node"),
        "{error}"
    );
}
