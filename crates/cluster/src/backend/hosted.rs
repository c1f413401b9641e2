//! Jobs on backends that can give each attempt a worker to talk to while it runs.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use heist_sync::atomic::{AtomicU64, Ordering};
use heist_sync::Mutex;

use super::{BackendError, Cpus, JobEvent, JobEvents, Placement, Reply, StartSpec};
use crate::planner::NodeId;
use crate::protocol::fingerprint::{Build, Fingerprint};
use crate::protocol::refusal::Refusal;
use crate::protocol::{Answer, Ask, Frame, Outcome, Request};

/// A worker that belongs to an attempt, until it is dropped.
pub(super) trait Host: Send + Sync {
    /// Where it is.
    fn node(&self) -> NodeId;

    /// Has it answer a request, beside others.
    fn send(&self, id: u64, request: Frame, reply: Reply);

    /// Others run in the same process: an attempt that is given up is asked to stop, and its room
    /// is free when it has.
    fn is_shared(&self) -> bool {
        false
    }

    /// The attempt has ended, and prints no more.
    fn ended(&self) {}

    /// Ends what runs there for the attempt, in whatever way there is.
    fn kill(&self);
}

/// Takes a host, when there is room for one.
pub(super) type Opened = Box<dyn FnOnce(Result<Arc<dyn Host>, BackendError>) + Send>;

/// Takes the answer to a request, understood.
type Answered = Box<dyn FnOnce(Result<(Outcome, Vec<u8>), BackendError>) + Send>;

/// The attempts that run.
pub(super) struct Attempts {
    fingerprint: Fingerprint,
    build: Arc<Build>,
    next_id: AtomicU64,
    table: Mutex<HashMap<(u64, u32), Attempt>>,
}

#[derive(Clone)]
struct Attempt {
    /// None when it is given up, and still runs in a process with others.
    events: Option<JobEvents>,
    /// None before there is room.
    host: Option<Arc<dyn Host>>,
}

impl fmt::Debug for Attempts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempts").finish_non_exhaustive()
    }
}

impl Attempts {
    pub(super) fn new(fingerprint: Fingerprint, build: Arc<Build>) -> Arc<Self> {
        Arc::new(Self {
            fingerprint,
            build,
            // Calls count from below; see the driver.
            next_id: AtomicU64::new(1 << 63),
            table: Mutex::default(),
        })
    }

    /// Starts an attempt on the host that `open` finds.
    pub(super) fn start(
        self: &Arc<Self>,
        start: StartSpec,
        events: JobEvents,
        open: impl FnOnce(Cpus, Placement, Opened),
    ) {
        let key = (start.job, start.epoch);
        let attempt = Attempt {
            events: Some(events),
            host: None,
        };
        self.table.lock().insert(key, attempt);
        let this = Arc::clone(self);
        let (cpus, placement) = (start.cpus, start.placement.clone());
        open(
            cpus,
            placement,
            Box::new(move |host| match host {
                Ok(host) => this.begin(start, host),
                Err(error) => this.tell(key, JobEvent::Lost(error), true),
            }),
        );
    }

    fn begin(self: &Arc<Self>, start: StartSpec, host: Arc<dyn Host>) {
        let StartSpec {
            job,
            epoch,
            kind,
            state,
            threads,
            trace,
            ..
        } = start;
        let key = (job, epoch);
        match self.table.lock().get_mut(&key) {
            Some(attempt) => attempt.host = Some(Arc::clone(&host)),
            // It was stopped while it waited for room.
            None => return,
        }
        let ask = Ask::Start {
            job,
            epoch,
            kind,
            cpus: threads,
            trace,
        };
        let this = Arc::clone(self);
        let ending = Arc::clone(&host);
        self.send(
            &host,
            ask,
            state.to_vec(),
            Box::new(move |answer| {
                ending.ended();
                let event = match answer {
                    Err(error) => JobEvent::Lost(error),
                    Ok((Outcome::Job(outcome), payload)) => JobEvent::Ended { outcome, payload },
                    Ok((Outcome::Refused(refusal), payload)) => {
                        JobEvent::Refused(refusal.explained(&this.build, &payload))
                    }
                    Ok((other, _)) => JobEvent::Lost(unexpected("a start", &other)),
                };
                this.tell(key, event, true);
            }),
        );
        if self.is_given_up(key) {
            // The request to stop may have come before that to start.
            return self.ask_to_stop(key, &host);
        }
        let this = Arc::clone(self);
        let node = host.node();
        self.send(
            &host,
            Ask::Await { job, epoch },
            Vec::new(),
            Box::new(move |answer| {
                // If it did not begin, the answer to the start says why.
                if let Ok((Outcome::Done, _)) = answer {
                    this.tell(key, JobEvent::Running { node }, false);
                }
            }),
        );
    }

    pub(super) fn pause(self: &Arc<Self>, job: u64, epoch: u32) {
        if let Some(host) = self.host(job, epoch) {
            let this = Arc::clone(self);
            self.send(
                &host,
                Ask::Pause { job, epoch },
                Vec::new(),
                // The answer to the start tells the outcome.
                Box::new(move |answer| this.refused((job, epoch), answer)),
            );
        }
    }

    fn is_given_up(&self, key: (u64, u32)) -> bool {
        let table = self.table.lock();
        table.get(&key).is_some_and(|it| it.events.is_none())
    }

    fn ask_to_stop(&self, (job, epoch): (u64, u32), host: &Arc<dyn Host>) {
        let ask = Ask::Stop { job, epoch };
        self.send(host, ask, Vec::new(), Box::new(|_| ()));
    }

    /// Tells of a state that the worker could not send, if that is the answer.
    fn refused(&self, key: (u64, u32), answer: Result<(Outcome, Vec<u8>), BackendError>) {
        if let Ok((Outcome::Refused(Refusal::Failed { error }), _)) = answer {
            self.tell(key, JobEvent::Unsent(error), false);
        }
    }

    pub(super) fn snapshot(self: &Arc<Self>, job: u64, epoch: u32) {
        let Some(host) = self.host(job, epoch) else {
            return;
        };
        let this = Arc::clone(self);
        self.send(
            &host,
            Ask::Snapshot { job, epoch },
            Vec::new(),
            Box::new(move |answer| {
                // If there is none, the job is over, or the next one will be asked for.
                match answer {
                    Ok((Outcome::Snapshot { progress }, state)) => {
                        this.tell((job, epoch), JobEvent::Snapshot { progress, state }, false);
                    }
                    other => this.refused((job, epoch), other),
                }
            }),
        );
    }

    /// Gives up an attempt, which is not listened to any more.
    pub(super) fn stop(&self, job: u64, epoch: u32) {
        let key = (job, epoch);
        let mut table = self.table.lock();
        match table.get_mut(&key) {
            None => {}
            Some(Attempt {
                events,
                host: Some(host),
            }) if host.is_shared() => {
                *events = None;
                let host = Arc::clone(host);
                drop(table);
                self.ask_to_stop(key, &host);
            }
            Some(_) => {
                let attempt = table.remove(&key);
                drop(table);
                if let Some(host) = attempt.and_then(|attempt| attempt.host) {
                    host.kill();
                }
            }
        }
    }

    /// Ends what still runs of all attempts of a job, and those with it that run in the same
    /// process.
    pub(super) fn kill(&self, job: u64) {
        let mut killed = Vec::new();
        self.table.lock().retain(|key, attempt| {
            if key.0 == job {
                attempt.events = None;
                killed.extend(attempt.host.clone());
            }
            // Those that run have their room until they are dead.
            key.0 != job || attempt.host.is_some()
        });
        for host in killed {
            host.kill();
        }
    }

    fn host(&self, job: u64, epoch: u32) -> Option<Arc<dyn Host>> {
        let table = self.table.lock();
        let attempt = table.get(&(job, epoch));
        attempt.and_then(|it| it.events.as_ref().and(it.host.clone()))
    }

    /// Tells of an attempt, unless it was stopped; of the last event nothing follows.
    fn tell(&self, key: (u64, u32), event: JobEvent, is_last: bool) {
        let attempt = match is_last {
            true => self.table.lock().remove(&key),
            false => self.table.lock().get(&key).cloned(),
        };
        if let Some(events) = attempt.as_ref().and_then(|it| it.events.as_ref()) {
            events(key.1, event);
        }
    }

    fn send(&self, host: &Arc<dyn Host>, ask: Ask, payload: Vec<u8>, reply: Answered) {
        // Only uniqueness matters.
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let frame = Request::frame(id, self.fingerprint, ask, payload);
        host.send(
            id,
            frame,
            Box::new(move |answer| {
                reply(answer.and_then(|frame| match frame.understand::<Answer>() {
                    Ok(answer) => Ok((answer.outcome, frame.payload)),
                    Err(error) => Err(BackendError::lost(format!(
                        "an answer cannot be understood: {error}"
                    ))),
                }));
            }),
        );
    }
}

fn unexpected(to: &str, outcome: &Outcome) -> BackendError {
    BackendError::lost(format!("the answer to {to} was {outcome:?}"))
}
