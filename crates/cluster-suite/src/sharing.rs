//! Tests of jobs and calls that share the nodes.

#![expect(clippy::missing_panics_doc, reason = "they panic if a test fails")]

use std::time::Duration;

use heist_cluster::event::EventKind;
use heist_cluster::{JobOptions, RemoteError};

use crate::calls;
use crate::jobs::Counting;
use crate::stage::{wait_for, Stage, PATIENCE};

/// Jobs with parts of a processor come and go; then all of the node is free again.
pub fn parts_of_a_processor_add_up(stage: &Stage<'_>) {
    let begun = [0.3, 0.1].map(|cpus| {
        let name = format!("{cpus} of a processor");
        let options = JobOptions::new(name.as_str()).pin("n2").cpus(cpus);
        let job = Counting::new(u64::MAX, 1000);
        let job = stage.cluster.submit(job, options).expect("submit");
        wait_for(stage.events, |what| match what {
            EventKind::Running { job, .. } => (job.as_str() == name).then_some(()),
            _ => None,
        });
        job
    });
    // In this order a sum of fractions would not come back to the whole.
    for job in begun {
        job.cancel();
        let end = job.wait_timeout(PATIENCE);
        assert_eq!(end, Some(Err(RemoteError::Cancelled)));
    }
    let all = stage.cluster.pin("n2").cpus(2);
    let mut call = all.call(calls::add, (1, 2));
    assert_eq!(call.wait_timeout(PATIENCE), Some(Ok(3)));
}

/// However many jobs come and go, one that is long has its checkpoints.
pub fn checkpoints_are_taken_while_jobs_come_and_go(stage: &Stage<'_>) {
    let options = JobOptions::new("long").pin("n1");
    let options = options.checkpoint_every(Duration::from_millis(100));
    let long = stage.cluster.submit(Counting::new(u64::MAX, 1000), options);
    let long = long.expect("submit");
    let mut names = (0..).map(|number| format!("short {number}"));
    let mut submit = |jobs| {
        for name in names.by_ref().take(jobs) {
            let (job, options) = (Counting::new(1, 1), JobOptions::new(name).cpus(0.1));
            stage.cluster.submit(job, options).expect("submit");
        }
    };
    submit(5);
    for _ in 0..5 {
        wait_for(stage.events, |what| match what {
            EventKind::Checkpoint { job, .. } => (job.as_str() == "long").then_some(()),
            EventKind::Finished { .. } => {
                submit(1);
                None
            }
            _ => None,
        });
    }
    long.cancel();
    let end = long.wait_timeout(PATIENCE);
    assert_eq!(end, Some(Err(RemoteError::Cancelled)));
}
