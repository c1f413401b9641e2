//! Many empty jobs in one serial queue, from several threads outside.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use crate::measure::{peak_rss_kb, timed};
use crate::peer::SerialQueue;
use crate::{Request, Sample};

/// Measures `jobs` jobs that `submitters` threads queue, each as many; a unit is one job.
pub(crate) fn run<P: SerialQueue>(peer: &mut P, request: &Request) -> Result<(), String> {
    let (jobs, submitters) = (request.size("jobs")?, request.size("submitters")?);
    let each = jobs / submitters;
    let before_kb = peak_rss_kb()?;
    // Empty jobs leave no trace, so that the peer runs all in order is checked beforehand.
    let checksum = check::<P>(&peer.queue(), submitters, each / 100);
    let mut memory = Ok(());
    request.repeat(|| {
        let queue = peer.queue();
        let (ns, ()) = timed(|| {
            submit_all::<P>(&queue, submitters, |queue, _| {
                (0..each).for_each(|_| P::submit(queue, || ()));
            });
        });
        let grown_kb = peak_rss_kb().unwrap_or_else(|error| {
            memory = Err(error);
            before_kb
        }) - before_kb;
        let job_bytes = grown_kb as f64 * 1024.0 / jobs as f64;
        Sample::new(ns, jobs, checksum).with("job_bytes", job_bytes)
    })?;
    memory
}

/// Calls `submit` on so many threads, each with its number, and waits until all jobs have run.
fn submit_all<P: SerialQueue>(
    queue: &P::Queue,
    submitters: u64,
    submit: impl Fn(&P::Queue, u64) + Send + Copy,
) {
    thread::scope(|threads| {
        for submitter in 0..submitters {
            let queue = queue.clone();
            threads.spawn(move || submit(&queue, submitter));
        }
    });
    let (say, heard) = channel();
    P::submit(queue, move || {
        // The thread below waits for it.
        let _ = say.send(());
    });
    let _ = heard.recv();
}

/// The number of jobs that have found all earlier ones of their submitter done, and no other.
fn check<P: SerialQueue>(queue: &P::Queue, submitters: u64, each: u64) -> u64 {
    static IN_ORDER: AtomicU64 = AtomicU64::new(0);
    static DONE: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];
    submit_all::<P>(queue, submitters, |queue, submitter| {
        let done = &DONE[submitter as usize];
        for n in 0..each {
            P::submit(queue, move || {
                if done.fetch_add(1, Ordering::Relaxed) == n {
                    IN_ORDER.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    IN_ORDER.load(Ordering::Relaxed)
}
