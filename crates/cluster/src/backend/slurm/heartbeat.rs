//! Signs of life of a batch job's process, by which one that is stopped for good is found.

use std::time::{Duration, Instant, UNIX_EPOCH};

use super::batch::Row;
use crate::backend::silence::{Pulse, Silence, LOOKS};
use crate::protocol::job_folder::{Attempt, JobFolder, Kind, Name};

/// The heartbeat of an attempt's process.
///
/// It writes its usage twice a second, and where that fails, because the disk is full, it only
/// marks the file as changed, which takes no room. Slurm does not notice a stopped process. One
/// that Slurm itself has stopped is not silent, and nor is one that it has not started.
#[derive(Debug)]
pub(super) struct Heartbeat {
    silence: Silence,
    looked_at: Instant,
}

impl Heartbeat {
    pub(super) fn new() -> Self {
        Self {
            silence: Silence::default(),
            looked_at: Instant::now(),
        }
    }

    /// Looks at an attempt now and then, of which Slurm says this; true if its process has shown no
    /// sign of life for `patience`.
    pub(super) fn is_lost(
        &mut self,
        folder: &JobFolder,
        attempt: Attempt,
        row: &Row,
        patience: Duration,
    ) -> bool {
        if !row.is_running() {
            *self = Self::new();
            return false;
        }
        if self.looked_at.elapsed() < patience / LOOKS {
            return false;
        }
        self.looked_at = Instant::now();
        let changed = folder.changed_at(Name::new(Kind::Usage, attempt));
        let since = changed
            .ok()
            .and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        // No clocks are compared, only times of one.
        let sign = since.map_or(0, |since| since.as_nanos() as u64);
        self.silence.look(sign) == Pulse::Lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Frame;

    const ATTEMPT: Attempt = Attempt {
        submission: 1,
        restarts: 0,
    };

    /// Whether a process is lost that does this before each look but the first.
    fn is_lost_if(act: impl Fn(&JobFolder), state: &str) -> bool {
        let path = tempfile::tempdir().expect("a folder");
        let folder = JobFolder::new(path.path().to_owned());
        let usage = Name::new(Kind::Usage, ATTEMPT);
        folder
            .show(usage, &Frame::default())
            .expect("it is written");
        let mut heartbeat = Heartbeat::new();
        let row = Row::in_state(state);
        let mut look = || heartbeat.is_lost(&folder, ATTEMPT, &row, Duration::ZERO);
        assert!(!look(), "it was heard");
        (0..2 * LOOKS).any(|_| {
            act(&folder);
            look()
        })
    }

    #[test]
    fn a_process_is_lost_that_slurm_runs_and_that_is_silent() {
        assert!(is_lost_if(|_| (), "RUNNING"));
        for state in ["PENDING", "SUSPENDED", "STOPPED", "COMPLETING"] {
            assert!(!is_lost_if(|_| (), state), "{state}");
        }
    }

    #[test]
    fn a_full_disk_does_not_look_like_a_stopped_process() {
        let usage = Name::new(Kind::Usage, ATTEMPT);
        let beats = |folder: &JobFolder| folder.beat(usage, &Frame::default());
        assert!(!is_lost_if(beats, "RUNNING"));
        let beats_in_vain = |folder: &JobFolder| {
            // The place of the new file is taken, so that it cannot be written.
            let beside = folder.path().join(format!("{usage}.new"));
            std::fs::create_dir_all(beside).expect("a folder");
            folder
                .show(usage, &Frame::default())
                .expect_err("it is not written");
            folder.beat(usage, &Frame::default());
        };
        assert!(!is_lost_if(beats_in_vain, "RUNNING"));
    }
}
