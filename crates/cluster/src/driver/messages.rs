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
    /// Of the attempt that wrote it.
    pub(crate) epoch: u32,
    /// How much of the job is done, from 0 to 1.
    pub(crate) progress: f64,
    pub(crate) state: Arc<Vec<u8>>,
}

/// A job to be run.
#[derive(Clone, Debug)]
pub(crate) struct Submission {
    pub(crate) job: u64,
    pub(crate) kind: String,
    pub(crate) options: JobOptions,
    /// As the options say, in the form in which they are counted.
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
    /// A job is to move.
    Move {
        job: u64,
        to: NodeId,
        expected: Option<Move>,
    },
    /// A job is to be given up.
    Cancel {
        job: u64,
    },
    /// As cancel, and whatever still runs of it is to end, even if it was cancelled before.
    Kill {
        job: u64,
    },
    /// The state of a job is wanted now.
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
    /// Bring a state to safety.
    Keep {
        job: u64,
        checkpoint: Checkpoint,
    },
    /// Hand the result to those who wait for it.
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

/// Where a job stands, for people and for the planner.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) job: u64,
    pub(crate) epoch: u32,
    pub(crate) options: JobOptions,
    /// Where it runs, if it does.
    pub(crate) node: Option<NodeId>,
    /// Since when, or since when it does not.
    pub(crate) since: Duration,
    pub(crate) is_moving: bool,
    pub(crate) is_over: bool,
    pub(crate) moves: u32,
    pub(crate) losses: u32,
    pub(crate) progress: f64,
    pub(crate) state_bytes: u64,
}
