//! The context of a call, which applies to all jobs that the call begins, wherever they run.
//!
//! `README.md` says how a job is found to belong to a call, and what RG-1 is.

use std::cell::Cell;
use std::fmt;
use std::iter;
use std::ptr;
use std::sync::Arc;

use heist_sync::thread_local;

use crate::base::around::Around;
use crate::base::cancellation::CancellationToken;

/// One token or surrounding of a region, and the contexts around it.
pub(crate) struct Context {
    held: Held,
    outer: Option<Arc<Self>>,
    /// True if something is to be entered around the jobs of the region.
    surrounds: bool,
}

enum Held {
    /// Jobs stop when this is cancelled.
    Token(CancellationToken),
    /// Jobs run inside this.
    Around(Arc<dyn Around>),
    /// Tokens further out have no effect: jobs of destructors run to their end.
    Shield,
}

thread_local! {
    /// The innermost context whose surroundings the thread has entered, or null.
    static ENTERED: Cell<*const Context> = const { Cell::new(ptr::null()) }
}

impl Context {
    pub(crate) fn new(token: CancellationToken, outer: Option<Arc<Self>>) -> Arc<Self> {
        Self::holding(Held::Token(token), outer)
    }

    pub(crate) fn around(around: Arc<dyn Around>, outer: Option<Arc<Self>>) -> Arc<Self> {
        Self::holding(Held::Around(around), outer)
    }

    /// The same context, in which nothing is cancelled.
    pub(crate) fn uncancelled(this: &Arc<Self>) -> Option<Arc<Self>> {
        this.surrounds
            .then(|| Self::holding(Held::Shield, Some(Arc::clone(this))))
    }

    fn holding(held: Held, outer: Option<Arc<Self>>) -> Arc<Self> {
        let is_around = matches!(held, Held::Around(_));
        let surrounds = is_around || outer.as_ref().is_some_and(|outer| outer.surrounds);
        Arc::new(Self {
            held,
            outer,
            surrounds,
        })
    }

    /// This context, and those around it.
    fn chain(&self) -> impl Iterator<Item = &Self> {
        iter::successors(Some(self), |context| context.outer.as_deref())
    }

    /// True if its jobs are to stop.
    pub(crate) fn is_cancelled(&self) -> bool {
        for context in self.chain() {
            match &context.held {
                Held::Token(token) if token.is_cancelled() => return true,
                Held::Shield => return false,
                Held::Token(_) | Held::Around(_) => {}
            }
        }
        false
    }

    /// True if its jobs may be told to stop.
    pub(crate) fn may_be_cancelled(&self) -> bool {
        let mut held = self.chain().map(|context| &context.held);
        let first = held.find(|held| !matches!(held, Held::Around(_)));
        matches!(first, Some(Held::Token(_)))
    }

    /// True if something is to be entered around its jobs.
    pub(crate) fn surrounds(&self) -> bool {
        self.surrounds
    }

    /// The surroundings that the thread has yet to enter for its jobs, outermost first.
    pub(crate) fn missing(&self) -> Vec<Arc<dyn Around>> {
        let entered = ENTERED.with(Cell::get);
        let mut missing: Vec<_> = self
            .chain()
            .take_while(|context| !ptr::eq(*context, entered))
            .filter_map(|context| match &context.held {
                Held::Around(around) => Some(Arc::clone(around)),
                Held::Token(_) | Held::Shield => None,
            })
            .collect();
        missing.reverse();
        missing
    }

    /// Calls `op` inside these surroundings.
    pub(crate) fn entered<R>(&self, op: impl FnOnce() -> R) -> R {
        struct Leave(*const Context);
        impl Drop for Leave {
            fn drop(&mut self) {
                ENTERED.with(|entered| entered.set(self.0));
            }
        }
        let mut chain = self.chain();
        let innermost = chain.find(|context| matches!(context.held, Held::Around(_)));
        let innermost = innermost.map_or(ptr::null(), ptr::from_ref);
        let _leave = Leave(ENTERED.with(|entered| entered.replace(innermost)));
        op()
    }
}

/// True if the thread is in the surroundings of some region.
pub(crate) fn is_surrounded() -> bool {
    !ENTERED.with(Cell::get).is_null()
}

/// True if a job of this context may run here: the thread has entered only surroundings of the
/// job's own.
pub(crate) fn may_run(context: Option<&Arc<Context>>) -> bool {
    let entered = ENTERED.with(Cell::get);
    let mut chain = context.into_iter().flat_map(|context| context.chain());
    entered.is_null() || chain.any(|context| ptr::eq(context, entered))
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("is_cancelled", &self.is_cancelled())
            .field("surrounds", &self.surrounds)
            .finish_non_exhaustive()
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // A loop, not a recursion: jobs that begin regions that begin jobs make chains of any
        // length.
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
