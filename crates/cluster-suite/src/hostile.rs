//! Tests of requests that nobody should make: each ends, and those of others go on.

#![expect(clippy::missing_panics_doc, reason = "they panic if a test fails")]

use std::time::Duration;

use heist_cluster::{Calls, Cluster, JobOptions, RemoteError, RemoteFuture};

use crate::calls::{add, note_and_die};
use crate::jobs::Counting;
use crate::stage::{Stage, PATIENCE};
use crate::until;

/// Requests that cannot be met are refused, whatever is asked for and however much.
pub fn what_nobody_has_is_refused(cluster: &Cluster) {
    let long = "x".repeat(1 << 20);
    let anywhere = || cluster.anywhere();
    let refused: [(&str, Calls<'_>); 11] = [
        ("no resource", anywhere().resource("", 1)),
        ("a long resource", anywhere().resource(long.clone(), 1)),
        ("signs in a resource", anywhere().resource("\u{1b}[31m", 1)),
        ("an unknown resource", anywhere().resource("unicorn", 1)),
        // On Ray a node is lost that gives this away.
        ("a store", anywhere().resource("object_store_memory", 1)),
        ("all resources", anywhere().resource("unicorn", u32::MAX)),
        ("all processors", anywhere().cpus(u32::MAX)),
        ("no node", cluster.pin("")),
        ("a long node", cluster.pin(long.clone())),
        ("signs in a node", cluster.pin("n1\u{1b}[31m\n")),
        // For Slurm this is a list.
        ("two nodes", cluster.pin("n1,n2")),
    ];
    for (what, calls) in refused {
        let mut call = calls.call(add, (1, 2));
        let answer = call.wait_timeout(PATIENCE).expect(what);
        let error = answer.expect_err(what).to_string();
        assert!(!error.contains(char::is_control), "{what}: {error:?}");
        assert!(error.len() < 10_000, "{what}: {error}");
    }
    let elsewhere = cluster.on("n1,n2").call(add, (1, 2)).get();
    assert_eq!(elsewhere, Ok(3), "it was only a wish");
    for (name, options) in [
        ("unicorn", JobOptions::new("all").resource("unicorn", 1)),
        ("node", JobOptions::new("lost").pin("nowhere")),
    ] {
        let job = cluster.submit(Counting::new(3, 1), options).expect(name);
        let answer = job.wait_timeout(PATIENCE).expect(name);
        assert!(answer.is_err(), "{name}: {answer:?}");
    }
    let long = JobOptions::new("long").pin(long);
    let error = cluster
        .submit(Counting::new(3, 1), long)
        .expect_err("no node");
    assert!(error.to_string().contains("1048576 bytes"), "{error}");
}

/// Requests for little or much that can be met are met.
pub fn extremes_are_possible(cluster: &Cluster) {
    let calls = [
        cluster.anywhere().cpus(0),
        cluster.anywhere().memory(1),
        cluster.anywhere().resource("unicorn", 0),
        cluster.anywhere().retries(u32::MAX),
        cluster.anywhere().backoff(Duration::MAX, Duration::MAX),
        cluster.within(Duration::MAX),
    ];
    for calls in calls {
        let mut call = calls.call(add, (1, 2));
        assert_eq!(call.wait_timeout(Duration::MAX), Some(Ok(3)), "{calls:?}");
    }
    let at_once = cluster.within(Duration::ZERO).call(add, (1, 2)).get();
    let within = Duration::ZERO;
    let is_over = |answer: &Result<u64, RemoteError>| match answer {
        Ok(sum) => *sum == 3,
        Err(error) => *error == RemoteError::TimedOut { within },
    };
    assert!(is_over(&at_once), "{at_once:?}");
    let jobs = [
        JobOptions::new("no processor").cpus(0.0),
        JobOptions::new("hardly any").cpus(1e-9),
        JobOptions::new("always").within(Duration::MAX),
        JobOptions::new("no checkpoint").checkpoint_every(Duration::MAX),
        JobOptions::new("x".repeat(1 << 20)),
    ];
    let job = Counting::new(3, 1);
    for options in jobs {
        let running = cluster.submit(job.clone(), options.clone()).expect("valid");
        let shown = running.wait_until(Duration::MAX, |_| true);
        assert!(shown.is_some(), "{options:?}");
        let answer = running.wait_timeout(Duration::MAX);
        assert_eq!(answer, Some(Ok(job.expected())), "{options:?}");
    }
}

/// A call that pauses before it is run again, and is cancelled meanwhile, is in nobody's way. The
/// cluster has memory for one call at a time.
pub fn a_cancelled_call_gives_its_memory_back(stage: &Stage<'_>) {
    let (cluster, file) = (stage.cluster, stage.folder.join("notes"));
    let hour = Duration::from_secs(3600);
    let patient = cluster.anywhere().retries(1).backoff(hour, hour);
    let mut call = patient.call(note_and_die, file.clone());
    until("the call to begin", || file.exists());
    // Until it is lost, or most likely so.
    assert_eq!(call.wait_timeout(Duration::from_secs(3)), None);
    let full = cluster.anywhere().try_call(add, (1, 2));
    assert!(full.is_err(), "the memory is taken");
    call.cancel();
    let mut next = None;
    until("the memory", || {
        next = cluster.anywhere().try_call(add, (1, 2)).ok();
        next.is_some()
    });
    assert_eq!(next.map(RemoteFuture::get), Some(Ok(3)));
}
