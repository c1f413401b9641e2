//! Tests of traces that pass through calls and jobs.

#![expect(clippy::missing_panics_doc, reason = "they panic if a test fails")]

use heist_cluster::{job, remote, CallContext, Cluster, Job, JobContext, JobOptions, Stop, Trace};
use serde::{Deserialize, Serialize};

use crate::jobs::{another_than, runs_on};
use crate::stage::PATIENCE;

/// The place in a trace that the caller has set.
#[remote]
pub fn traced() -> Option<Trace> {
    CallContext::current().trace()
}

/// A function reads the trace that its caller has set, and no other.
pub fn a_function_knows_its_trace(cluster: &Cluster) {
    let trace = Trace::random();
    let calls = cluster.anywhere().trace(trace);
    let (with, without) = (calls.call(traced, ()), cluster.call(traced, ()));
    assert_eq!((with.get(), without.get()), (Ok(Some(trace)), Ok(None)));
}

/// Says which trace it has when it has moved.
#[derive(Debug, Serialize, Deserialize)]
pub struct Traced;

#[job]
impl Job for Traced {
    type Out = Option<Trace>;
    const VERSION: u32 = 1;

    fn run(&mut self, context: &JobContext) -> Result<Option<Trace>, Stop> {
        while context.epoch() == 0 {
            context.safe_point(self)?;
            heist_sync::thread::yield_now();
        }
        Ok(context.trace())
    }
}

/// A job has the trace of whoever submitted it, wherever it runs.
pub fn a_job_knows_its_trace(cluster: &Cluster) {
    let trace = Trace::random();
    let options = JobOptions::new("traced").on("n1").trace(trace);
    let job = cluster.submit(Traced, options).expect("a job");
    let to = another_than(cluster, &runs_on(&job));
    job.move_to(to).expect("it is there");
    assert_eq!(job.wait_timeout(PATIENCE), Some(Ok(Some(trace))));
}
