//! The planner's input as of a run's log of events, for a planner outside of the driver.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use heist_cluster::event::EventKind;
use heist_cluster::planner::{JobSample, NodeSample, Resources};

use super::events::Reader;
use super::folder::RunFolder;
use super::run_state::{Phase, RunState};

/// A run that is followed through the file that it writes its events to.
#[derive(Debug)]
pub(crate) struct Live {
    reader: Reader,
    state: RunState,
}

/// The planner's input at one time.
pub(crate) type Samples = (Duration, Vec<NodeSample>, Vec<JobSample>);

impl Live {
    /// The run in `folder`, or of those in the usual place the one that was written to last.
    pub(crate) fn open(folder: Option<&Path>) -> anyhow::Result<Self> {
        let folder = RunFolder::of_run(folder)?;
        Ok(Self {
            reader: Reader::open(&folder.events())?,
            state: RunState::default(),
        })
    }

    /// The samples since the last call, one for each measurement.
    pub(crate) fn read(&mut self) -> anyhow::Result<Vec<Samples>> {
        let events = self.reader.read();
        let events = events.context("cannot read the events of the run")?;
        let mut measured = Vec::new();
        for event in events {
            self.state.take(&event);
            if matches!(event.what, EventKind::Usage { .. }) {
                let since_ms = event.at_ms.saturating_sub(self.state.began_ms);
                let (nodes, jobs) = samples(&self.state);
                measured.push((Duration::from_millis(since_ms), nodes, jobs));
            }
        }
        Ok(measured)
    }

    /// True once the driver has left.
    pub(crate) fn is_over(&self) -> bool {
        self.state.is_over
    }
}

/// The samples of nodes and of jobs that are known of a run.
///
/// Their times count from the beginning of the run, as does the `now` to decide at, which is
/// `now_ms` less [`RunState::began_ms`]. A node whose utilisation is not known has no sample, and a
/// job that does not run has none either. Memory is not in the events, and so in no sample.
fn samples(state: &RunState) -> (Vec<NodeSample>, Vec<JobSample>) {
    let since_began = |ms: u64| Duration::from_millis(ms.saturating_sub(state.began_ms));
    let nodes = state.nodes.iter().filter(|(_, node)| !node.is_gone);
    let nodes = nodes.filter_map(|(id, node)| {
        let utilisation = *node.utilisation.as_ref()?.as_ref().ok()?;
        let capacity = Resources::cpus(node.cpus);
        let at = since_began(node.measured_ms);
        Some(NodeSample::new(id.clone(), at, capacity, utilisation))
    });
    let running = state.jobs.iter().filter(|job| job.phase == Phase::Running);
    let jobs = running.filter_map(|job| {
        let at_ms = job.measured_ms.max(job.since_ms);
        let (node, at) = (job.node.clone()?, since_began(at_ms));
        let mut sample = JobSample::new(job.id.clone(), node, at, Resources::cpus(job.cpus));
        sample.used_cpus = job.used_cpus;
        sample.priority = job.priority;
        sample.mobility = job.mobility;
        sample.state_bytes = job.state_bytes;
        sample.running_for = Some(Duration::from_millis(at_ms - job.since_ms));
        sample.remaining = job.first_progress.and_then(|(first_ms, first)| {
            let passed = Duration::from_millis(at_ms.saturating_sub(first_ms));
            let done = job.progress - first;
            let is_known = done > 0.0 && passed >= Duration::from_secs(1);
            let left = is_known.then(|| passed.as_secs_f64() * (1.0 - job.progress) / done);
            left.and_then(|left| Duration::try_from_secs_f64(left).ok())
        });
        Some(sample)
    });
    (nodes.collect(), jobs.collect())
}

#[cfg(test)]
mod tests {
    use heist_cluster::event::ClusterEvent;

    use super::*;

    #[test]
    fn the_newest_measurements_of_a_run_become_samples_for_the_planner() {
        let lines = r#"
            {"at_ms":1000,"event":"connected","backend":"local","pid":7}
            {"at_ms":1000,"event":"submitted","job":"a","kind":"K","priority":3,"mobility":"movable","cpus":1.5,"resumed_after_ms":null}
            {"at_ms":1100,"event":"running","job":"a","epoch":0,"node":"n1"}
            {"at_ms":2000,"event":"usage","nodes":[{"node":"n1","cpus":2.0,"utilisation":0.5,"unknown":null},{"node":"n2","cpus":2.0,"utilisation":null,"unknown":"silent"}],"jobs":[{"job":"a","node":"n1","cpus":0.9,"progress":0.25}],"calls":{"open":0,"done":0,"lost":0}}
            {"at_ms":4000,"event":"usage","nodes":[{"node":"n1","cpus":2.0,"utilisation":0.75,"unknown":null}],"jobs":[{"job":"a","node":"n1","cpus":1.0,"progress":0.5}],"calls":{"open":0,"done":0,"lost":0}}
        "#;
        let mut state = RunState::default();
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let event: ClusterEvent = serde_json::from_str(line).expect("an event");
            state.take(&event);
        }
        let (nodes, jobs) = samples(&state);
        let at = Duration::from_secs(3);
        let known = NodeSample::new("n1", at, Resources::cpus(2.0), 0.75);
        assert_eq!(nodes, [known]);
        let mut running = JobSample::new("a", "n1", at, Resources::cpus(1.5));
        running.used_cpus = Some(1.0);
        running.priority = heist_cluster::planner::Priority(3);
        running.running_for = Some(Duration::from_millis(2900));
        running.remaining = Some(Duration::from_secs(4));
        assert_eq!(jobs, [running]);
    }
}
