//! Small fleets made by hand, and a planner that watches them second by second.

use std::time::Duration;

use heist_cluster::planner::{
    Config, Decision, JobSample, Move, NodeSample, Outcome, Planner, Resources,
};

/// A planner and the time.
pub(crate) struct Fleet {
    pub(crate) planner: Planner,
    pub(crate) now: Duration,
    last: Option<Decision>,
}

/// A node of 8 CPUs and 64 GiB, measured at this utilisation.
pub(crate) fn node(name: &str, utilisation: f64) -> NodeSample {
    let capacity = Resources {
        memory_bytes: 64 << 30,
        ..Resources::cpus(8.0)
    };
    NodeSample::new(name, Duration::ZERO, capacity, utilisation)
}

/// A job that was found to use this many CPUs and has ten minutes behind it.
pub(crate) fn job(name: &str, node: &str, cpus: f64) -> JobSample {
    let mut job = JobSample::new(name, node, Duration::ZERO, Resources::cpus(cpus));
    job.used_cpus = Some(cpus);
    job.running_for = Some(Duration::from_secs(600));
    job
}

/// A fleet that has been like this for ten seconds.
pub(crate) fn settled(nodes: &[NodeSample], jobs: &[JobSample]) -> Fleet {
    let mut fleet = Fleet::new();
    for _ in 0..10 {
        fleet.after(nodes, jobs);
    }
    fleet
}

impl Fleet {
    pub(crate) fn new() -> Self {
        Self::with(Config::default())
    }

    pub(crate) fn with(config: Config) -> Self {
        Self {
            planner: Planner::new(config).expect("the settings are in range"),
            now: Duration::ZERO,
            last: None,
        }
    }

    /// A second later everything is measured and this is found.
    pub(crate) fn after(&mut self, nodes: &[NodeSample], jobs: &[JobSample]) -> Decision {
        self.measured_at(self.now + Duration::from_secs(1), nodes, jobs)
    }

    /// A second later this is known, which was measured at `at`.
    pub(crate) fn measured_at(
        &mut self,
        at: Duration,
        nodes: &[NodeSample],
        jobs: &[JobSample],
    ) -> Decision {
        self.now += Duration::from_secs(1);
        let (mut nodes, mut jobs) = (nodes.to_vec(), jobs.to_vec());
        nodes.iter_mut().for_each(|node| node.at = at);
        jobs.iter_mut().for_each(|job| job.at = at);
        let decision = self.planner.decide(self.now, &nodes, &jobs);
        self.last = Some(decision.clone());
        decision
    }

    pub(crate) fn start(&mut self, chosen: &Move) {
        let told = self.planner.move_started(self.now, chosen);
        told.expect("it is not in flight");
    }

    pub(crate) fn end(&mut self, chosen: &Move) {
        let told = self.planner.move_ended(self.now, &chosen.job);
        told.expect("it is in flight");
    }

    /// The last decision.
    pub(crate) fn last(&self) -> Decision {
        self.last.clone().expect("something was decided")
    }

    /// The move of the last decision.
    pub(crate) fn moved(&self) -> Move {
        match self.last().outcome {
            Outcome::Move(chosen) => chosen,
            Outcome::Stay => panic!("nothing moves: {:#?}", self.last().reasons),
        }
    }

    /// The sentences of the last decision.
    pub(crate) fn said(&self) -> Vec<String> {
        self.last()
            .reasons
            .iter()
            .map(ToString::to_string)
            .collect()
    }
    /// Whether the last decision gives this sentence as a reason.
    pub(crate) fn says(&self, sentence: &str) -> bool {
        self.said().iter().any(|said| said == sentence)
    }
}
