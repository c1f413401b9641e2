//! Foreign wakers, whose panics are held back.
//!
//! `async-task` aborts the process if the waker of whoever awaits a task panics. The wakers of this
//! crate do not panic; they are recognised by their address while a future is polled with them
//! (`polling.rs`).

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use heist_core::hosting;

use crate::polling;

/// Calls `poll` with a waker that does not panic and wakes the same.
pub(crate) fn shielded<R>(cx: &mut Context<'_>, poll: impl FnOnce(&mut Context<'_>) -> R) -> R {
    if polling::is_present(cx.waker()) {
        return poll(cx);
    }
    let shield = Shield(Some(cx.waker().clone()));
    poll(&mut Context::from_waker(&Waker::from(Arc::new(shield))))
}

/// Around a waker, until it is dropped.
struct Shield(Option<Waker>);

impl Wake for Shield {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        held_back(|| self.0.iter().for_each(Waker::wake_by_ref));
    }
}

impl Drop for Shield {
    fn drop(&mut self) {
        let waker = self.0.take();
        held_back(|| drop(waker));
    }
}

/// Calls `op`, whose panic goes to the handler of the pool on whose worker this is.
fn held_back(op: impl FnOnce()) {
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(op)) {
        hosting::handle_stray_panic(payload);
    }
}
