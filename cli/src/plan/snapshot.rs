//! A fleet at one time, as somebody wrote it down.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{anyhow, ensure, Context as _};
use heist_cluster::planner::{JobSample, Mobility, NodeSample, Priority, Resources};
use serde::{Deserialize, Deserializer};

/// The age of a job of which nothing else is known.
const AGE_UNKNOWN: Duration = Duration::from_secs(3600);

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Snapshot {
    pub(super) nodes: Vec<Node>,
    #[serde(default)]
    pub(super) jobs: Vec<Job>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Node {
    pub(super) id: String,
    pub(super) cpus: f64,
    pub(super) utilisation: Utilisation,
    #[serde(default)]
    pub(super) memory_bytes: u64,
    used_memory_bytes: Option<u64>,
    #[serde(default = "one")]
    pub(super) speed: f64,
    #[serde(default, rename = "age_s", deserialize_with = "seconds")]
    age: Duration,
    #[serde(default)]
    resources: BTreeMap<String, f64>,
}

/// A value that has been so for long, or one for each second.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a number or a list of numbers")]
pub(super) enum Utilisation {
    Lasting(f64),
    History(Vec<f64>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Job {
    pub(super) id: String,
    pub(super) node: String,
    pub(super) cpus: f64,
    pub(super) used_cpus: Option<f64>,
    #[serde(default)]
    pub(super) memory_bytes: u64,
    used_memory_bytes: Option<u64>,
    #[serde(default)]
    pub(super) state_bytes: u64,
    #[serde(default, deserialize_with = "priority")]
    pub(super) priority: Priority,
    #[serde(default)]
    pub(super) mobility: Mobility,
    #[serde(default, rename = "running_s", deserialize_with = "seconds_if_known")]
    running: Option<Duration>,
    #[serde(default, rename = "remaining_s", deserialize_with = "seconds_if_known")]
    remaining: Option<Duration>,
    #[serde(default, rename = "age_s", deserialize_with = "seconds")]
    age: Duration,
    #[serde(default)]
    resources: BTreeMap<String, f64>,
}

impl Snapshot {
    pub(super) fn from_json(text: &str) -> anyhow::Result<Self> {
        let mut json = serde_json::Deserializer::from_str(text);
        let snapshot = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            let path = error.path().to_string();
            anyhow!("{path}: {}", error.into_inner())
        })?;
        json.end().context("after the document")?;
        Ok(snapshot)
    }

    /// Checks what holds between the parts; the planner checks the values.
    pub(super) fn checked(self) -> anyhow::Result<Self> {
        let known: BTreeSet<&str> = self.nodes.iter().map(|node| node.id.as_str()).collect();
        for node in &self.nodes {
            ensure!(!node.id.is_empty(), "a node has an empty id");
            let is_empty = matches!(&node.utilisation, Utilisation::History(all) if all.is_empty());
            ensure!(
                !is_empty,
                "the utilisation of node {} is an empty list",
                node.id
            );
        }
        for job in &self.jobs {
            ensure!(!job.id.is_empty(), "a job has an empty id");
            ensure!(
                known.contains(job.node.as_str()),
                "job {} is on node '{}', which is not in the snapshot",
                job.id,
                job.node
            );
        }
        Ok(self)
    }

    /// How many values the longest history has.
    pub(super) fn history_len(&self) -> usize {
        let lens = self.nodes.iter().map(|node| match &node.utilisation {
            Utilisation::Lasting(_) => 1,
            Utilisation::History(all) => all.len(),
        });
        lens.max().unwrap_or(1)
    }

    /// The age of the oldest measurement.
    pub(super) fn age_max(&self) -> Duration {
        let nodes = self.nodes.iter().map(|node| node.age);
        let all = nodes.chain(self.jobs.iter().map(|job| job.age));
        all.max().unwrap_or(Duration::ZERO)
    }

    /// The nodes as measured `back` seconds ago, when it was `now`.
    pub(super) fn node_samples(&self, now: Duration, back: usize) -> Vec<NodeSample> {
        let sample = |node: &Node| {
            let capacity = Resources {
                cpus: node.cpus,
                memory_bytes: node.memory_bytes,
                named: node.resources.clone(),
            };
            let level = node.utilisation.ago(back);
            let mut sample = NodeSample::new(node.id.as_str(), now - node.age, capacity, level);
            sample.speed = node.speed;
            sample.used_memory_bytes = node.used_memory_bytes;
            sample
        };
        self.nodes.iter().map(sample).collect()
    }

    /// The jobs, when it was `now`.
    pub(super) fn job_samples(&self, now: Duration) -> Vec<JobSample> {
        let sample = |job: &Job| {
            let demand = Resources {
                cpus: job.cpus,
                memory_bytes: job.memory_bytes,
                named: job.resources.clone(),
            };
            let at = now - job.age;
            let mut sample = JobSample::new(job.id.as_str(), job.node.as_str(), at, demand);
            sample.used_cpus = job.used_cpus;
            sample.used_memory_bytes = job.used_memory_bytes;
            sample.priority = job.priority;
            sample.mobility = job.mobility;
            sample.state_bytes = job.state_bytes;
            sample.remaining = job.remaining;
            sample.running_for = Some(job.running.unwrap_or(AGE_UNKNOWN));
            sample
        };
        self.jobs.iter().map(sample).collect()
    }
}

impl Utilisation {
    /// The value of so many seconds ago; before its history a node was as at its beginning.
    fn ago(&self, seconds: usize) -> f64 {
        match self {
            Self::Lasting(level) => *level,
            Self::History(all) => all[all.len().saturating_sub(seconds + 1)],
        }
    }

    /// The newest value.
    pub(super) fn newest(&self) -> f64 {
        self.ago(0)
    }
}

fn one() -> f64 {
    1.0
}

/// Seconds, for three centuries at most, so that nothing overflows.
fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let seconds = f64::deserialize(from)?;
    if !(0.0..=1e10).contains(&seconds) {
        let message = format!("{seconds} s is no time, accepted are 0 to 1e10");
        return Err(serde::de::Error::custom(message));
    }
    Ok(Duration::from_secs_f64(seconds))
}

fn seconds_if_known<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    #[derive(Deserialize)]
    struct Seconds(#[serde(deserialize_with = "seconds")] Duration);
    Ok(Option::<Seconds>::deserialize(from)?.map(|known| known.0))
}

/// `"P2"` or `2`.
fn priority<'de, D: Deserializer<'de>>(from: D) -> Result<Priority, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "expected a priority such as \"P2\" or 2, up to 255"
    )]
    enum Either {
        Number(u8),
        Name(String),
    }
    match Either::deserialize(from)? {
        Either::Number(number) => Ok(Priority(number)),
        Either::Name(name) => {
            let number = name.strip_prefix(['P', 'p']).unwrap_or(&name).parse();
            number.map(Priority).map_err(|_| {
                let accepted = "accepted are P0 to P255";
                serde::de::Error::custom(format!("invalid priority '{name}', {accepted}"))
            })
        }
    }
}
