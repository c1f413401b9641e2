//! A test's cluster, and how the test hears what happens there.

use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use heist_cluster::event::{ClusterEvent, EventKind};
use heist_cluster::{Cluster, Options};

/// The time within which an expected event must come.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The cluster of a test of jobs, and what the test observes.
#[derive(Debug)]
pub struct Stage<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// The events since the cluster was connected.
    pub events: &'a Receiver<ClusterEvent>,
    /// A folder that vanishes with the test.
    pub folder: &'a Path,
}

/// Options with a listener, and the events that it hears.
#[must_use]
pub fn listening(options: Options) -> (Options, Receiver<ClusterEvent>) {
    let (sender, receiver) = mpsc::channel();
    let options = options.on_event(move |event| drop(sender.send(event.clone())));
    (options, receiver)
}

/// The first event that `wanted` has a use for.
///
/// # Panics
///
/// If there is none in time; a test has failed then.
pub fn wait_for<T>(
    events: &Receiver<ClusterEvent>,
    mut wanted: impl FnMut(&EventKind) -> Option<T>,
) -> T {
    let deadline = Instant::now() + PATIENCE;
    let mut heard = Vec::new();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let event = events
            .recv_timeout(left)
            .unwrap_or_else(|_| panic!("waited in vain; heard {heard:#?}"));
        if let Some(found) = wanted(&event.what) {
            return found;
        }
        heard.push(event.what.to_string());
    }
}
