//! The driver of jobs over a backend that says what a test wants.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::Arc;
use std::time::Duration;

use heist_sync::Mutex;

use super::handle::Driver;
use super::messages::Input;
use super::options::Options;
use super::store::Description;
use crate::backend::{
    Backend, BackendError, CallSpec, JobEvent, JobEvents, Node, Reply, StartSpec,
};
use crate::event::{CallCounts, EventKind};
use crate::planner::NodeId;
use crate::protocol::object_id::ObjectId;
use crate::protocol::reading::Reading;
use crate::protocol::JobOutcome;
use crate::remote::job_options::JobOptions;

/// A watchdog, and no bar.
const PATIENCE: Duration = Duration::from_secs(60);

/// The kind of a job that ends as soon as it runs.
const SHORT: &str = "short";

/// A request of the driver.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    Start(u64),
    Snapshot(u64),
}

/// The kind of a job at whose start the backend is gone.
const STRANDED: &str = "stranded";

/// A backend of one node, on which jobs run without end unless they are of one of these kinds.
struct Stand(Mutex<Sender<Asked>>);

impl Stand {
    fn note(&self, asked: Asked) {
        // The test may have heard enough.
        let _ = self.0.lock().send(asked);
    }
}

impl Backend for Stand {
    fn name(&self) -> &'static str {
        "stand"
    }

    fn nodes(&self) -> Result<Vec<Node>, BackendError> {
        Ok(vec![Node::new(NodeId::from("n1"), 4.0)])
    }

    fn call(&self, _: CallSpec, _: Reply) {}

    fn cancel(&self, _: u64, _: bool) {}

    fn put(&self, _: ObjectId, _: Vec<u8>) -> Result<(), BackendError> {
        Err(BackendError::impossible("it keeps nothing"))
    }

    fn fetch(&self, _: ObjectId) -> Result<Vec<u8>, BackendError> {
        Err(BackendError::impossible("it keeps nothing"))
    }

    fn forget(&self, _: ObjectId) {}

    fn start(&self, start: StartSpec, events: JobEvents) {
        self.note(Asked::Start(start.job));
        if start.kind == STRANDED {
            let gone = BackendError::setup("nobody is there any more");
            return events(start.epoch, JobEvent::Lost(gone));
        }
        let node = NodeId::from("n1");
        events(start.epoch, JobEvent::Running { node });
        if start.kind == SHORT {
            let (outcome, payload) = (JobOutcome::Finished, vec![7]);
            events(start.epoch, JobEvent::Ended { outcome, payload });
        }
    }

    fn pause(&self, _: u64, _: u32) {}

    fn snapshot(&self, job: u64, _: u32) {
        self.note(Asked::Snapshot(job));
    }

    fn stop(&self, _: u64, _: u32) {}

    fn usage(&self) -> Vec<(NodeId, Result<Reading, BackendError>)> {
        Vec::new()
    }

    fn close(&self) {}
}

fn driver(options: Options) -> (Driver, Receiver<Asked>) {
    let (sender, asked) = mpsc::channel();
    let backend: Arc<dyn Backend> = Arc::new(Stand(Mutex::new(sender)));
    let driver = Driver::start(&backend, options, CallCounts::default);
    // The threads of the driver keep the backend.
    (driver.expect("a driver"), asked)
}

fn submit(driver: &Driver, job: u64, kind: &str) {
    let options = JobOptions::new(format!("job {job}"));
    let description = Description {
        job,
        kind: kind.to_owned(),
        version: 1,
        options: options.checkpoint_every(Duration::from_millis(1)),
        place: 0,
    };
    driver
        .submit(description, Default::default())
        .expect("it begins");
}

/// A million messages keep the driver busy for longer than a tick; between the first and the last
/// of them time passes for a job.
#[test]
fn time_passes_however_much_is_said() {
    let (driver, asked) = driver(Options::new());
    submit(&driver, 1, "long");
    for _ in 0..1_000_000 {
        driver.tell(Input::Cancel { job: 3 });
    }
    submit(&driver, 2, "long");
    assert_eq!(asked.recv_timeout(PATIENCE), Ok(Asked::Start(1)));
    assert_eq!(asked.recv_timeout(PATIENCE), Ok(Asked::Snapshot(1)));
}

#[test]
fn a_listener_that_panics_is_told_no_more_and_jobs_go_on() {
    let (sender, told) = mpsc::channel();
    let options = Options::new().on_event(move |event| {
        let is_running = matches!(event.what, EventKind::Running { .. });
        sender.send(is_running).expect("the test waits");
        assert!(!is_running, "a fault of the listener");
    });
    let (driver, _asked) = driver(options);
    submit(&driver, 1, SHORT);
    assert_eq!(driver.result(1, PATIENCE), Some(Ok(vec![7])));
    submit(&driver, 2, SHORT);
    assert_eq!(driver.result(2, PATIENCE), Some(Ok(vec![7])));
    drop(driver);
    let told: Vec<_> = told.iter().collect();
    let at = told.iter().position(|is_running| *is_running);
    assert_eq!(at, told.len().checked_sub(1), "it was told more: {told:?}");
}

/// The one who waits hears why, and the next driver goes on with the job.
#[test]
fn a_job_is_open_if_only_its_backend_is_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = || Options::new().store(folder.path());
    let (first, _asked) = driver(options());
    submit(&first, 1, STRANDED);
    let result = first.result(1, PATIENCE).expect("the wait ends");
    assert!(result.is_err_and(|error| error.to_string().contains("nobody is there")));
    assert!(first.not_stored(1).is_some());
    drop(first);
    let (next, _asked) = driver(options());
    assert_eq!(next.unfinished().expect("it can be read").len(), 1);
}
