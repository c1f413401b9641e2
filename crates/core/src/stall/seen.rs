//! A pool as the watchdog sees it.

use heist_sync::thread_state::ThreadState;

use crate::state::{Doing, Frame, Wait};

/// A worker, its frames, and the thread that is in the program's code, if it is.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) index: usize,
    /// The outermost first.
    pub(super) frames: Vec<Frame>,
    pub(super) thread: Option<ThreadState>,
}

/// True if a thread with these frames runs the program's code, and does not wait in heist.
pub(super) fn is_in_program(frames: &[Frame]) -> bool {
    let innermost = frames.last();
    innermost.is_some_and(|frame| !matches!(frame.doing, Doing::Waits(_)))
}

impl Seen {
    /// True if it waits in the program's code, for nothing but another thread.
    pub(super) fn is_in_futex(&self) -> bool {
        self.thread.as_ref().is_some_and(ThreadState::is_in_futex)
    }

    /// The address of the word for which it waits there.
    pub(super) fn futex(&self) -> Option<u64> {
        let thread = self.thread.as_ref().filter(|thread| thread.is_in_futex())?;
        thread.call?.futex
    }

    /// True if it may go on by itself.
    pub(super) fn sleeps(&self) -> bool {
        match self.frames.last().map(|frame| frame.doing) {
            Some(Doing::Blocks | Doing::Waits(Wait::Event)) => true,
            Some(Doing::Waits(_)) | None => false,
            Some(_) => !self.is_in_futex(),
        }
    }

    /// The waits of its frames, the outermost first.
    pub(super) fn waits(&self) -> impl Iterator<Item = Wait> + '_ {
        self.frames.iter().filter_map(|frame| match frame.doing {
            Doing::Waits(wait) => Some(wait),
            _ => None,
        })
    }

    /// True if one of its frames satisfies that.
    pub(super) fn has(&self, mut is: impl FnMut(Doing) -> bool) -> bool {
        self.frames.iter().any(|frame| is(frame.doing))
    }

    /// True if one of its frames is the job for which that one waits.
    pub(super) fn makes(&self, wait: Wait) -> bool {
        self.has(|doing| match (wait, doing) {
            (Wait::Half { slot, .. }, Doing::Runs { slot: runs, .. }) => runs == Some(slot),
            (Wait::Value(once), Doing::Initialises(of)) => once == of,
            _ => false,
        })
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
pub(super) mod tests {
    use heist_sync::thread_state::Call;

    use super::*;

    pub(in crate::stall) fn seen(
        index: usize,
        frames: &[Doing],
        thread: Option<ThreadState>,
    ) -> Seen {
        let frame = |&doing| Frame {
            doing,
            since_ns: 1_000_000_000,
        };
        Seen {
            index,
            frames: frames.iter().map(frame).collect(),
            thread,
        }
    }

    pub(in crate::stall) fn runs(slot: Option<usize>) -> Doing {
        let name = Some((|| "prog::update::{{closure}}") as fn() -> _);
        Doing::Runs { name, slot }
    }

    pub(in crate::stall) fn waits(wait: Wait) -> Doing {
        Doing::Waits(wait)
    }

    pub(in crate::stall) fn half(slot: usize) -> Wait {
        let name = || "heist_core::ops::join::join<prog::stats::{{closure}}>::{{closure}}";
        Wait::Half { name, slot }
    }

    /// A thread that is blocked in the futex at this address.
    pub(in crate::stall) fn blocked(at: u64) -> ThreadState {
        waiting(Some(Call {
            number: 202,
            futex: Some(at),
            is_limited: false,
        }))
    }

    /// A thread that waits in this call, or where the system does not tell.
    pub(in crate::stall) fn waiting(call: Option<Call>) -> ThreadState {
        ThreadState {
            letter: 'S',
            cpu_ns: 0,
            place: None,
            call,
        }
    }

    #[test]
    fn a_thread_whose_call_is_not_told_may_go_on_by_itself() {
        let of = |thread| seen(0, &[waits(Wait::Jobs), runs(None)], thread);
        assert!(!of(Some(blocked(1))).sleeps());
        assert!(of(Some(waiting(None))).sleeps());
        assert!(of(None).sleeps());
        assert!(seen(0, &[runs(None), waits(Wait::Event)], None).sleeps());
        assert!(!seen(0, &[runs(None), waits(Wait::Jobs)], None).sleeps());
    }
}
