//! The state of a connection to Ray: the side-car, and the actors of jobs.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use heist_sync::atomic::{AtomicU64, Ordering};
use heist_sync::Mutex;

use super::printed::Printed;
use super::sidecar::{self, Op, Sidecar};
use crate::backend::hosted::{Host, Opened};
use crate::backend::{Node, Placement, Reply};
use crate::error::BackendError;
use crate::log::LogOrigin;
use crate::planner::NodeId;
use crate::protocol::cpus::Cpus;
use crate::protocol::fingerprint::{Build, Fingerprint};
use crate::protocol::{Ask, Frame, FrameReader, Limits, Request};

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) sidecar: Arc<Sidecar>,
    pub(super) fingerprint: Fingerprint,
    pub(super) build: Arc<Build>,
    pub(super) next_host: AtomicU64,
    /// The output of calls and hosts.
    pub(super) printed: Arc<Printed>,
    /// The actors of jobs, and where they are.
    pub(super) hosts: Mutex<HashMap<u64, NodeId>>,
}

impl Shared {
    pub(super) fn nodes(&self, patience: Duration) -> Result<Vec<Node>, BackendError> {
        let nodes = self.sidecar.ask(&Op::Nodes, Vec::new(), patience)?;
        serde_json::from_slice(&nodes).map_err(|error| {
            BackendError::lost(format!("what Ray says of its nodes has no use: {error}"))
        })
    }

    pub(super) fn open(
        self: &Arc<Self>,
        cpus: Cpus,
        placement: &Placement,
        objects: Vec<String>,
        origin: LogOrigin,
        opened: Opened,
    ) {
        // Only uniqueness matters.
        let host = self.next_host.fetch_add(1, Ordering::Relaxed);
        self.printed.begin(host, Arc::new(origin));
        let op = Op::Open {
            host,
            cpus: cpus.into(),
            node: placement.node.as_ref(),
            is_pinned: placement.is_pinned,
            needs: &placement.needs,
            objects,
        };
        let shared = Arc::clone(self);
        let ready = move |answer: Result<Vec<u8>, BackendError>| {
            if answer.is_err() {
                shared.printed.end(host);
            }
            opened(answer.map(|name| {
                let node = NodeId::from(String::from_utf8_lossy(&name).into_owned());
                shared.hosts.lock().insert(host, node.clone());
                let id = host;
                Arc::new(RayHost { shared, id, node }) as Arc<dyn Host>
            }));
        };
        self.sidecar.send(&op, Vec::new(), Box::new(ready));
    }

    pub(super) fn ask_host(&self, host: u64, request: &Frame, reply: Reply) {
        self.sidecar
            .send(&Op::Ask { host }, request.to_bytes(), answer_to(reply));
    }
}

/// The actor of an attempt at a job.
#[derive(Debug)]
struct RayHost {
    shared: Arc<Shared>,
    id: u64,
    node: NodeId,
}

impl Host for RayHost {
    fn node(&self) -> NodeId {
        self.node.clone()
    }

    fn send(&self, _: u64, request: Frame, reply: Reply) {
        self.shared.ask_host(self.id, &request, reply);
    }

    fn ended(&self) {
        self.shared.printed.end(self.id);
    }

    fn kill(&self) {
        self.ended();
        self.shared.hosts.lock().remove(&self.id);
        let op = Op::Close { host: self.id };
        self.shared.sidecar.tell(&op, Vec::new());
    }
}

impl Drop for RayHost {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(super) fn request(id: u64, fingerprint: Fingerprint, ask: Ask) -> Frame {
    Request::frame(id, fingerprint, ask, Vec::new())
}

/// Passes on the frame in an answer of the side-car.
pub(super) fn answer_to(reply: Reply) -> sidecar::Answered {
    Box::new(move |answer| reply(answer.and_then(|bytes| frame(&bytes))))
}

pub(super) fn frame(bytes: &[u8]) -> Result<Frame, BackendError> {
    FrameReader::new(bytes, Limits::default())
        .read()
        .map_err(|error| BackendError::lost(format!("an answer cannot be understood: {error}")))
}
