//! The use of resources by the nodes of a Ray cluster and the jobs on them.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::shared::{answer_to, request, Shared};
use super::sidecar::Op;
use crate::backend::Reply;
use crate::error::BackendError;
use crate::planner::NodeId;
use crate::protocol::fingerprint::Build;
use crate::protocol::reading::Reading;
use crate::protocol::{Answer, Ask, Frame, Outcome};

/// How long all nodes together have for that.
const PATIENCE: Duration = Duration::from_secs(2);

type Answered = mpsc::Receiver<Result<Frame, BackendError>>;

/// Asks a worker on each node, and the worker of each job, because a worker knows only the
/// jobs in its own process.
pub(super) fn read(shared: &Shared) -> Vec<(NodeId, Result<Reading, BackendError>)> {
    let deadline = Instant::now() + PATIENCE;
    let Ok(nodes) = shared.nodes(PATIENCE) else {
        return Vec::new();
    };
    let request = request(0, shared.fingerprint, Ask::Usage { with_family: true });
    let bytes = request.to_bytes();
    let mut asked = Vec::new();
    for node in nodes {
        let (told, answered) = waiting();
        if node.is_alive {
            let op = Op::Probe { node: &node.id };
            shared.sidecar.send(&op, bytes.clone(), answer_to(told));
        } else {
            told(Err(BackendError::node_died(format!("{} is gone", node.id))));
        }
        asked.push((node.id, answered));
    }
    let hosts: Vec<_> = shared.hosts.lock().clone().into_iter().collect();
    let mut jobs = Vec::new();
    for (host, node) in hosts {
        let (told, answered) = waiting();
        shared.ask_host(host, &request, told);
        jobs.push((node, answered));
    }

    let mut readings: Vec<_> = asked
        .into_iter()
        .map(|(node, answered)| {
            let reading = wait(&node, &answered, deadline, &shared.build);
            (node, reading)
        })
        .collect();
    for (at, answered) in jobs {
        // A job whose worker says nothing has no reading, like one that has just ended.
        let of_job = wait(&at, &answered, deadline, &shared.build);
        let node = readings.iter_mut().find(|(node, _)| *node == at);
        if let (Some((_, Ok(reading))), Ok(of_job)) = (node, of_job) {
            reading.jobs.extend(of_job.jobs);
        }
    }
    readings
}

fn waiting() -> (Reply, Answered) {
    let (sender, answered) = mpsc::channel();
    // A caller that has stopped waiting needs no answer.
    (Box::new(move |answer| drop(sender.send(answer))), answered)
}

fn wait(
    node: &NodeId,
    answered: &Answered,
    deadline: Instant,
    build: &Build,
) -> Result<Reading, BackendError> {
    let left = deadline.saturating_duration_since(Instant::now());
    let answer = answered.recv_timeout(left).unwrap_or_else(|_| {
        Err(BackendError::lost(format!(
            "{node} did not say in time what it used"
        )))
    });
    understand(&answer?, build)
}

/// The reading in an answer.
pub(super) fn understand(answer: &Frame, build: &Build) -> Result<Reading, BackendError> {
    match answer.understand::<Answer>().map(|answer| answer.outcome) {
        Ok(Outcome::Usage(reading)) => Ok(reading),
        Ok(Outcome::Refused(refusal)) => {
            let refusal = refusal.explained(build, &answer.payload);
            Err(BackendError::impossible(refusal.to_string()))
        }
        other => Err(BackendError::lost(format!(
            "the answer to a question for usage was {other:?}"
        ))),
    }
}
