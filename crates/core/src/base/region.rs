//! A call's context, which holds for all that the call begins, wherever that runs.
//!
//! A push and a join say nothing of it. A job is known by the slot in which it lies: a region
//! ([`WaitModes`](crate::base::waiting::WaitModes)) notes the slot that comes next when it begins,
//! and the jobs in that slot and above, below the next region's, are its own. A thief looks there
//! under the deque's lock, and opens a region with the same context for its run.
//!
//! Lent jobs have ended when the region does. Detached ones may be left: the worker takes them out,
//! and puts them back with the context beside them. So (RG-1) each detached job lies in the slots
//! of its own region, or carries its context.

use std::sync::Arc;

use crate::base::cancellation::CancellationToken;

/// One thing that holds in a region, and all that holds around it.
#[derive(Debug)]
pub(crate) struct Context {
    token: CancellationToken,
    outer: Option<Arc<Self>>,
}

impl Context {
    pub(crate) fn new(token: CancellationToken, outer: Option<Arc<Self>>) -> Arc<Self> {
        Arc::new(Self { token, outer })
    }

    /// True if its jobs are to stop.
    pub(crate) fn is_cancelled(&self) -> bool {
        let mut chain = std::iter::successors(Some(self), |context| context.outer.as_deref());
        chain.any(|context| context.token.is_cancelled())
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // A loop, not a recursion: jobs that begin regions that begin jobs may go on for ever.
        let mut outer = self.outer.take();
        while let Some(context) = outer {
            outer = Arc::into_inner(context).and_then(|mut context| context.outer.take());
        }
    }
}

/// True if both are the same context, or there is none.
pub(crate) fn is_same(a: Option<&Arc<Context>>, b: Option<&Arc<Context>>) -> bool {
    a.map(Arc::as_ptr) == b.map(Arc::as_ptr)
}
