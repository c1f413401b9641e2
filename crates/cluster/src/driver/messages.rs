//! The inputs and actions of the state machine of jobs, and its view of a job.

use std::sync::Arc;
use std::time::Duration;

use crate::backend::{JobEvent, StartSpec};
use crate::error::RemoteError;
use crate::event::EventKind;
use crate::planner::{Move, NodeId};
use crate::protocol::cpus::Cpus;
use crate::protocol::object_id::ObjectId;
use crate::remote::job_options::JobOptions;

/// A state from which an attempt can begin.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Checkpoint {
    /// The epoch of the attempt that wrote it.
    pub(crate) epoch: u32,
    /// The share of the job that is done, from 0 to 1.
    pub(crate) progress: f64,
    pub(crate) state: Arc<Vec<u8>>,
}

/// A submitted job.
#[derive(Clone, Debug)]
pub(crate) struct Submission {
    pub(crate) job: u64,
    pub(crate) kind: String,
    pub(crate) options: JobOptions,
    /// The reservations of the options, in the form in which they are counted.
    pub(crate) cpus: Cpus,
    pub(crate) checkpoint: Checkpoint,
    /// The shared data that the state of a new job refers to. That of a lost driver is gone.
    pub(crate) objects: Vec<ObjectId>,
    /// The first epoch to use.
    pub(crate) epoch: u32,
    pub(crate) resumed_after_ms: Option<u64>,
}

/// An input of the state machine.
#[derive(Debug)]
pub(crate) enum Input {
    Submit(Box<Submission>),
    /// The backend reports an event of an attempt.
    Event {
        job: u64,
        epoch: u32,
        event: JobEvent,
    },
    /// Move a job.
    Move {
        job: u64,
        to: NodeId,
        expected: Option<Move>,
    },
    /// Give a job up.
    Cancel {
        job: u64,
    },
    /// As cancel, and end whatever still runs of the job, even if it was cancelled before.
    Kill {
        job: u64,
    },
    /// Ask for the state of a job now.
    Checkpoint {
        job: u64,
    },
    /// Time has passed.
    Tick,
}

/// An action for the reactor. Actions are taken in their order.
#[derive(Debug)]
pub(crate) enum Action {
    Start(StartSpec),
    Pause {
        job: u64,
        epoch: u32,
    },
    Snapshot {
        job: u64,
        epoch: u32,
    },
    Stop {
        job: u64,
        epoch: u32,
    },
    /// End whatever still runs of a job.
    Kill {
        job: u64,
    },
    /// Keep a state, on disk if there is a store.
    Keep {
        job: u64,
        checkpoint: Checkpoint,
    },
    /// Hand the result to its waiters.
    Finish {
        job: u64,
        result: Result<Vec<u8>, RemoteError>,
    },
    /// Tell the planner that a move is over.
    MoveOver {
        job: u64,
        has_moved: bool,
    },
    Say(EventKind),
}

/// The view of a job, for people and for the planner.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) job: u64,
    pub(crate) epoch: u32,
    pub(crate) options: JobOptions,
    /// The node where it runs, if it does.
    pub(crate) node: Option<NodeId>,
    /// The time since which it runs, or does not.
    pub(crate) since: Duration,
    pub(crate) is_moving: bool,
    pub(crate) is_over: bool,
    pub(crate) moves: u32,
    pub(crate) losses: u32,
    pub(crate) progress: f64,
    pub(crate) state_bytes: u64,
}
