//! The workers of a driver on this machine: started, given work, watched and replaced.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use heist_sync::{thread, Mutex};

use super::process::{self, Running};
use super::words::Words;
use crate::backend::hosted::{Attempts, Host, Opened};
use crate::backend::link::{Closing, Link};
use crate::backend::poller::Poller;
use crate::backend::queue::{Queue, Room, Standing};
use crate::backend::silence::{self, Pulse, LOOKS};
use crate::backend::{BackendError, CallSpec, Cpus, Placement, Reply};
use crate::log::{LogOrigin, Logs};
use crate::planner::NodeId;
use crate::private::Folder;
use crate::protocol::environment::{
    DRIVER_VARIABLE, NODE_VARIABLE, OBJECTS_VARIABLE, WORKER_VARIABLE,
};
use crate::protocol::{Frame, Limits};

/// A worker that lives for less without work, or that never answers, does so again.
const SHORT_LIFE: Duration = Duration::from_secs(1);
/// How many short lives in a row a node may have before it is given up.
const SHORT_LIVES_MAX: u32 = 5;

#[derive(Debug)]
pub(super) struct Shared {
    /// Speaks to all workers.
    pub(super) poller: Arc<Poller>,
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) silence: Duration,
    /// Shared data, a file each.
    pub(super) folder: Folder,
    pub(super) fingerprint: crate::Fingerprint,
    pub(super) limits: Limits,
    pub(super) logs: Logs,
    pub(super) state: Mutex<State>,
    pub(super) attempts: Arc<Attempts>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) workers: Vec<Process>,
    pub(super) queue: Queue<Item>,
    /// Where each call is, for cancelling.
    pub(super) calls: HashMap<u64, Whereabouts>,
    /// Workers that have ended, on their way to whoever replaces them. None once the cluster has
    /// ended.
    pub(super) ended: Option<Sender<Ended>>,
}

/// A worker that has ended.
#[derive(Debug)]
pub(super) struct Ended {
    at: usize,
    running: Running,
    /// It had one request to work on.
    is_alone: bool,
    closing: Closing,
}

/// Where a call is.
#[derive(Debug)]
pub(super) enum Whereabouts {
    /// In the queue, under this number.
    Waits(u64),
    /// At the worker of this connection.
    Runs(Arc<Link>),
}

/// The process of a node.
#[derive(Debug)]
pub(super) struct Process {
    node: NodeId,
    pub(super) running: Option<Running>,
    short_lives: u32,
}

impl Process {
    pub(super) fn absent(node: NodeId) -> Self {
        Self {
            node,
            running: None,
            short_lives: 0,
        }
    }
}

/// Work that waits for room.
pub(super) enum Item {
    Call(CallSpec, Reply),
    Host(Arc<LogOrigin>, Opened),
}

impl std::fmt::Debug for Item {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Call(..) => "Call",
            Self::Host(..) => "Host",
        })
    }
}

impl Item {
    pub(super) fn fail(self, error: BackendError) {
        match self {
            Self::Call(_, reply) => reply(Err(error)),
            Self::Host(_, opened) => opened(Err(error)),
        }
    }
}

impl Shared {
    /// Starts the process of a node, which takes work once it has answered.
    pub(super) fn launch(self: &Arc<Self>, at: usize) -> io::Result<()> {
        let mut state = self.state.lock();
        if state.ended.is_none() {
            return Ok(());
        }
        let node = state.workers[at].node.clone();
        // A node that starts makes no wait vain.
        drop(state.queue.set_standing(&node, Standing::Starting));
        // Others go on meanwhile.
        drop(state);
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env(WORKER_VARIABLE, "socket")
            .env(DRIVER_VARIABLE, std::process::id().to_string())
            .env(NODE_VARIABLE, node.to_string())
            .env(OBJECTS_VARIABLE, self.folder.path());
        let started = process::start(command, &self.poller, &node, &self.logs)?;
        let name = format!("the worker {} (process {})", node, started.child.id());
        let weak = Arc::downgrade(self);
        let on_close = move |closing| closed(&weak, at, closing);
        // Locked until the process is noted: it may end before that.
        let mut state = self.state.lock();
        if state.ended.is_none() {
            drop(state);
            started.abandon();
            return Ok(());
        }
        let running = started.connect(&self.poller, name, self.limits, on_close)?;
        let link = Arc::clone(&running.link);
        state.workers[at].running = Some(running);
        drop(state);
        self.greet(at, &link);
        Ok(())
    }

    /// Asks a worker for a sign of life.
    fn greet(self: &Arc<Self>, at: usize, link: &Link) {
        let weak = Arc::downgrade(self);
        let reply = move |answer: Result<Frame, BackendError>| {
            if let (Ok(_), Some(shared)) = (answer, weak.upgrade()) {
                shared.answered(at);
            }
        };
        silence::greet(link, self.fingerprint, Box::new(reply));
    }

    /// A worker has answered: it takes work, if it did not before.
    fn answered(self: &Arc<Self>, at: usize) {
        let mut state = self.state.lock();
        let State { workers, queue, .. } = &mut *state;
        let worker = &mut workers[at];
        let first = worker.running.as_mut().filter(|it| !it.is_proven);
        let Some(running) = first else {
            return;
        };
        running.is_proven = true;
        drop(queue.set_standing(&worker.node, Standing::Ready));
        drop(state);
        self.dispatch();
    }

    /// Ends the workers that have been silent for too long, and asks the others for a sign.
    fn look(self: &Arc<Self>) {
        let mut heard = Vec::new();
        let mut state = self.state.lock();
        for (at, worker) in state.workers.iter_mut().enumerate() {
            let Some(running) = &mut worker.running else {
                continue;
            };
            match running.look() {
                Pulse::Heard => heard.push((at, Arc::clone(&running.link))),
                Pulse::Silent => {}
                Pulse::Lost => running.kill(format!("it was silent for {:?}", self.silence)),
            }
        }
        drop(state);
        for (at, link) in heard {
            self.greet(at, &link);
        }
    }

    /// No worker will run on a node again.
    fn give_up(&self, at: usize, reason: String) {
        let mut state = self.state.lock();
        let State {
            workers,
            queue,
            calls,
            ..
        } = &mut *state;
        let in_vain = queue.set_standing(&workers[at].node, Standing::GivenUp(reason));
        for (_, item) in &in_vain {
            if let Item::Call(call, _) = item {
                calls.remove(&call.id);
            }
        }
        drop(state);
        for (error, item) in in_vain {
            item.fail(error);
        }
    }

    /// Gives room to those who can have it.
    fn dispatch(self: &Arc<Self>) {
        loop {
            let (room, worker, item) = {
                let mut state = self.state.lock();
                let Some((mut room, item)) = state.queue.pop() else {
                    return;
                };
                if let Item::Host(..) = item {
                    state.queue.keep(&mut room);
                }
                let at = state.queue.place(&room.node);
                let worker = at.and_then(|at| state.workers[at].running.as_ref());
                let worker =
                    worker.map(|running| (Arc::clone(&running.link), Arc::clone(&running.words)));
                if let Item::Call(call, _) = &item {
                    state.calls.remove(&call.id);
                    let link = worker.as_ref().map(|(link, _)| Arc::clone(link));
                    let runs = link.map(Whereabouts::Runs);
                    state.calls.extend(runs.map(|runs| (call.id, runs)));
                }
                (room, worker, item)
            };
            let Some((link, words)) = worker else {
                // It died a moment ago.
                self.state.lock().queue.release(&room);
                item.fail(BackendError::node_died(format!("{} is gone", room.node)));
                continue;
            };
            match item {
                Item::Call(call, reply) => {
                    let this = Arc::clone(self);
                    let (id, origin) = (call.id, call.origin);
                    words.begin(&origin);
                    let reply = Box::new(move |answer| {
                        words.end(&origin);
                        let mut state = this.state.lock();
                        state.calls.remove(&id);
                        state.queue.release(&room);
                        drop(state);
                        reply(answer);
                        this.dispatch();
                    });
                    link.send(id, call.request, reply);
                }
                Item::Host(origin, opened) => {
                    words.begin(&origin);
                    opened(Ok(Arc::new(LocalHost {
                        shared: Arc::clone(self),
                        link,
                        room,
                        words,
                        origin,
                    })));
                }
            }
        }
    }

    pub(super) fn enqueue(self: &Arc<Self>, cpus: Cpus, placement: &Placement, item: Item) {
        let call = match &item {
            Item::Call(call, _) => Some(call.id),
            Item::Host(..) => None,
        };
        let mut state = self.state.lock();
        match state.queue.push(cpus, placement, item) {
            Ok(number) => {
                let waits = call.map(|call| (call, Whereabouts::Waits(number)));
                state.calls.extend(waits);
                drop(state);
                self.dispatch();
            }
            Err((error, item)) => {
                drop(state);
                item.fail(error);
            }
        }
    }

    pub(super) fn links(&self) -> Vec<(NodeId, Option<Arc<Link>>)> {
        let state = self.state.lock();
        let link = |worker: &Process| {
            let running = worker.running.as_ref()?;
            Some(Arc::clone(&running.link))
        };
        state
            .workers
            .iter()
            .map(|worker| (worker.node.clone(), link(worker)))
            .collect()
    }

    /// Ends the process at the other end of `link`, together with `what` runs there.
    pub(super) fn kill(&self, link: &Arc<Link>, what: &str) {
        let mut state = self.state.lock();
        let mut workers = state.workers.iter_mut();
        // Another process may have taken its place.
        let is_it = |running: &&mut Running| Arc::ptr_eq(&running.link, link);
        let running = workers.find_map(|worker| worker.running.as_mut().filter(is_it));
        if let Some(running) = running {
            running.kill(format!(
                "it was ended together with {what} that was to be killed"
            ));
        }
    }
}

/// Replaces workers that have ended, and looks for silent ones, on a thread of its own, which may
/// wait for processes as the poller's may not. It ends when nobody can send any more.
pub(super) fn keep(shared: &Arc<Shared>, ended: Receiver<Ended>) -> io::Result<()> {
    let (weak, period) = (Arc::downgrade(shared), shared.silence / LOOKS);
    let keeping = move || {
        let mut look_at = Instant::now() + period;
        loop {
            let left = look_at.saturating_duration_since(Instant::now());
            match ended.recv_timeout(left) {
                Ok(worker) => replace(&weak, worker),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if Instant::now() >= look_at {
                look_at = Instant::now() + period;
                weak.upgrade().inspect(Shared::look);
            }
        }
    };
    thread::Builder::new()
        .name("heist-cluster-keeper".to_owned())
        .spawn(keeping)?;
    Ok(())
}

/// The connection to a worker has ended: the node takes no work until another has its place.
fn closed(shared: &Weak<Shared>, at: usize, closing: Closing) {
    let Some(shared) = shared.upgrade() else {
        return;
    };
    let mut state = shared.state.lock();
    let State {
        workers,
        queue,
        ended,
        ..
    } = &mut *state;
    let worker = &mut workers[at];
    let (Some(running), Some(ended)) = (worker.running.take(), ended) else {
        // The cluster has ended.
        return;
    };
    let taken = queue.taken(&worker.node);
    let is_idle = taken == 0 && running.began.elapsed() < SHORT_LIFE;
    worker.short_lives = match is_idle || !running.is_proven {
        true => worker.short_lives + 1,
        false => 0,
    };
    drop(queue.set_standing(&worker.node, Standing::Starting));
    let is_alone = taken == 1;
    // The keeper outlives the sender.
    let _ = ended.send(Ended {
        at,
        running,
        is_alone,
        closing,
    });
}

/// Says how a worker has ended, and starts another in its place, unless that does no good.
fn replace(shared: &Weak<Shared>, ended: Ended) {
    let Ended {
        at,
        running,
        is_alone,
        closing,
    } = ended;
    let end = running.end(&closing.why, is_alone);
    closing.tell(&end);
    if let Some(shared) = shared.upgrade() {
        let short_lives = shared.state.lock().workers[at].short_lives;
        if short_lives >= SHORT_LIVES_MAX {
            let why = &end.why;
            shared.give_up(
                at,
                format!(
                    "{short_lives} workers in a row ended there without work; of the last one: \
                     {why}"
                ),
            );
        } else if let Err(error) = shared.launch(at) {
            shared.give_up(at, format!("no worker could be started: {error}"));
        }
    }
}

/// The worker of a node, with room for an attempt at a job.
#[derive(Debug)]
struct LocalHost {
    shared: Arc<Shared>,
    link: Arc<Link>,
    room: Room,
    words: Arc<Words>,
    origin: Arc<LogOrigin>,
}

impl Host for LocalHost {
    fn node(&self) -> NodeId {
        self.room.node.clone()
    }

    fn send(&self, id: u64, request: Frame, reply: Reply) {
        self.link.send(id, request, reply);
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn kill(&self) {
        self.shared.kill(&self.link, "a job");
    }
}

impl Drop for LocalHost {
    fn drop(&mut self) {
        self.words.end(&self.origin);
        self.shared.state.lock().queue.release(&self.room);
        self.shared.dispatch();
    }
}
