//! An attempt at a job that runs in this process, between its job and the driver's requests.

use std::time::{Duration, Instant};

use heist_sync::atomic::{AtomicU32, AtomicU64, Ordering};
use heist_sync::{Condvar, Mutex};
use serde::Serialize;

use crate::protocol;
use crate::protocol::refusal::Refusal;
use crate::protocol::{Limits, PAYLOAD_VARIABLE};

/// How long a request waits for a job to begin or to reach a safe point.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Somebody wants the job to pause.
const PAUSE: u32 = 1;
/// Somebody wants its state.
const SNAPSHOT: u32 = 2;
/// The job is given up.
const STOP: u32 = 4;

/// An attempt at a job, as the job and those who ask about it see it.
#[derive(Debug)]
pub(crate) struct RunningJob {
    job: u64,
    epoch: u32,
    /// [`PAUSE`], [`SNAPSHOT`], [`STOP`]. The side that sets a bit waits under the lock for the
    /// answer; the word itself says only that there is something to look at.
    wants: AtomicU32,
    /// The bits of a float from 0 to 1.
    progress: AtomicU64,
    /// The numbers that the system gave to the threads of its pool.
    threads: Mutex<Vec<i32>>,
    /// How large a state may be that is sent to the driver.
    state_bytes_max: u64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Why it did not pause when it was asked to, until somebody is told.
    not_paused: Option<String>,
    has_begun: bool,
    is_over: bool,
    /// The state that the last safe point wrote, and the progress there, until it is taken.
    snapshot: Option<(f64, Result<Vec<u8>, String>)>,
}

impl RunningJob {
    pub(crate) fn new(job: u64, epoch: u32) -> Self {
        // A variable that cannot be used has been an error already.
        let limits = Limits::from_environment().unwrap_or_default();
        Self {
            state_bytes_max: limits.payload_bytes_max,
            job,
            epoch,
            wants: AtomicU32::new(0),
            progress: AtomicU64::new(0),
            threads: Mutex::default(),
            state: Mutex::default(),
            changed: Condvar::default(),
        }
    }

    pub(crate) fn epoch(&self) -> u32 {
        self.epoch
    }

    pub(crate) fn job(&self) -> u64 {
        self.job
    }

    pub(crate) fn progress(&self) -> f64 {
        // A number for people; nothing is read because of it.
        f64::from_bits(self.progress.load(Ordering::Relaxed))
    }

    pub(crate) fn set_progress(&self, done: f64) {
        let done = if done.is_nan() {
            0.0
        } else {
            done.clamp(0.0, 1.0)
        };
        self.progress.store(done.to_bits(), Ordering::Relaxed);
    }

    /// Notes a thread of its pool, by the number that the system gave to it.
    pub(crate) fn note_thread(&self, thread: Option<i32>) {
        self.threads.lock().extend(thread);
    }

    pub(crate) fn threads(&self) -> Vec<i32> {
        self.threads.lock().clone()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state.lock().is_over
    }

    pub(crate) fn has_begun(&self) {
        self.state.lock().has_begun = true;
        self.changed.notify_all();
    }

    /// Does what is wanted of `job` at a safe point; false if it is to pause there.
    pub(crate) fn goes_on(&self, job: &impl Serialize) -> bool {
        // If it comes late, the next safe point sees it; what it stands for is under the lock.
        let wants = self.wants.load(Ordering::Relaxed);
        if wants & STOP != 0 {
            return false;
        }
        if wants & PAUSE != 0 {
            // One that cannot be sent would be lost; if it cannot be written, the end says so.
            let admitted = protocol::encoded_bytes(job).map(|bytes| self.admit(bytes));
            let Ok(Err(error)) = admitted else {
                return false;
            };
            let mut state = self.state.lock();
            self.wants.fetch_and(!PAUSE, Ordering::Relaxed);
            state.not_paused = Some(error);
        }
        if wants & SNAPSHOT != 0 {
            let written = (self.progress(), protocol::encode(job));
            let mut state = self.state.lock();
            self.wants.fetch_and(!SNAPSHOT, Ordering::Relaxed);
            state.snapshot = Some(written);
            drop(state);
            self.changed.notify_all();
        }
        true
    }

    /// Whether a state can be sent, or why not.
    fn admit(&self, bytes: u64) -> Result<(), String> {
        let most = self.state_bytes_max;
        if bytes <= most {
            return Ok(());
        }
        Err(format!(
            "the state has {bytes} bytes, and at most {most} can be sent; set {PAYLOAD_VARIABLE} \
             for the driver and its workers"
        ))
    }

    /// Asks the job to pause at its next safe point.
    ///
    /// # Errors
    ///
    /// Says why it did not pause when it was asked before.
    pub(crate) fn ask_to_pause(&self) -> Result<(), Refusal> {
        if let Some(error) = self.state.lock().not_paused.take() {
            return Err(Refusal::Failed { error });
        }
        self.wants.fetch_or(PAUSE, Ordering::Relaxed);
        Ok(())
    }

    /// Has the job stop at its next safe point, with a state for which nobody waits.
    pub(crate) fn stop(&self) {
        self.wants.fetch_or(STOP, Ordering::Relaxed);
    }

    /// Waits until the job has its state and runs.
    pub(crate) fn await_begun(&self) -> Result<(), Refusal> {
        self.wait_for(|state| state.has_begun.then_some(()))
    }

    /// Asks for progress and state at the next safe point, and waits for them.
    pub(crate) fn snapshot(&self) -> Result<(f64, Vec<u8>), Refusal> {
        self.wants.fetch_or(SNAPSHOT, Ordering::Relaxed);
        let (progress, written) = self.wait_for(|state| state.snapshot.take())?;
        let state = written.map_err(|error| Refusal::Malformed {
            what: format!("the state of job {}", self.job),
            error,
        })?;
        let admitted = self.admit(state.len() as u64);
        admitted.map_err(|error| Refusal::Failed { error })?;
        Ok((progress, state))
    }

    pub(crate) fn end(&self) {
        let mut state = self.state.lock();
        state.is_over = true;
        state.snapshot = None;
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until `look` finds something, the job is over, or patience is.
    fn wait_for<T>(&self, mut look: impl FnMut(&mut State) -> Option<T>) -> Result<T, Refusal> {
        let deadline = Instant::now() + PATIENCE;
        let mut state = self.state.lock();
        loop {
            if let Some(found) = look(&mut state) {
                return Ok(found);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if state.is_over || left.is_zero() {
                return Err(not_running(self.job, self.epoch));
            }
            state = self.changed.wait_timeout(state, left);
        }
    }
}

pub(crate) fn not_running(job: u64, epoch: u32) -> Refusal {
    Refusal::NotRunning { job, epoch }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_cannot_be_sent_stays_and_says_so() {
        let mut running = RunningJob::new(1, 0);
        running.state_bytes_max = 3;
        let (small, large) = ([1_u8; 3], [1_u8; 4]);
        running.ask_to_pause().unwrap();
        assert!(running.goes_on(&large), "it would be lost");
        let why = running.ask_to_pause().unwrap_err().to_string();
        assert!(why.contains("4 bytes, and at most 3"), "{why}");
        assert!(running.goes_on(&large), "nobody asks it any more");
        running.ask_to_pause().unwrap();
        assert!(!running.goes_on(&small), "it can be sent");
        running.wants.fetch_or(SNAPSHOT, Ordering::Relaxed);
        running.wants.fetch_and(!PAUSE, Ordering::Relaxed);
        assert!(running.goes_on(&large));
        let why = running.snapshot().unwrap_err().to_string();
        assert!(why.contains("4 bytes, and at most 3"), "{why}");
        running.stop();
        assert!(!running.goes_on(&large), "nobody wants its state");
    }

    #[test]
    fn the_progress_of_a_snapshot_is_that_of_its_safe_point() {
        let running = RunningJob::new(1, 0);
        running.wants.fetch_or(SNAPSHOT, Ordering::Relaxed);
        running.set_progress(0.25);
        assert!(running.goes_on(&7_u8));
        // The job is faster than the request.
        running.set_progress(0.5);
        let (progress, state) = running.snapshot().unwrap();
        assert_eq!(progress, 0.25);
        assert_eq!(Ok(state), protocol::encode(&7_u8));
    }
}
