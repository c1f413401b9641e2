//! One thread: the yardstick of all others.

use std::io;

use super::STACK_BYTES;
use crate::trace::Trace;

/// Counts and traces the pieces of a serial run.
pub(crate) struct Serial<'a> {
    trace: Trace<'a>,
    tasks: u64,
}

impl<'a> Serial<'a> {
    pub(crate) fn new(trace: Trace<'a>) -> Self {
        Self { trace, tasks: 0 }
    }

    /// Runs one piece.
    pub(crate) fn item<R>(
        &mut self,
        label: impl FnOnce() -> String,
        work: impl FnOnce() -> R,
    ) -> R {
        self.tasks += 1;
        self.trace.item(0, label, work)
    }

    /// How many pieces were run.
    pub(crate) fn tasks(&self) -> u64 {
        self.tasks
    }

    /// Runs `body` on a thread with the same stack as all other strategies use.
    ///
    /// # Errors
    ///
    /// Fails if the thread cannot be started.
    pub(crate) fn on_its_thread<R: Send>(body: impl FnOnce() -> R + Send) -> io::Result<R> {
        let (mut body, mut result) = (Some(body), None);
        on_thread(&mut || result = body.take().map(|body| body()))?;
        Ok(result.expect("the thread ran it"))
    }
}

/// Runs `body`, once, on a new thread. The compiler makes one copy of it for all workloads.
fn on_thread(body: &mut (dyn FnMut() + Send)) -> io::Result<()> {
    std::thread::scope(|scope| {
        let handle = std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, body)?;
        handle
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok(())
    })
}
