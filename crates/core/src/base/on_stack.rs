//! The strands that have a job on the calling thread's stack.
//!
//! A wait there for another job of such a strand would never end: that job begins when the one
//! below has ended.

use std::cell::RefCell;

use heist_sync::thread_local;

thread_local! {
    /// Their addresses, outermost first.
    static STRANDS: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) }
}

/// Calls `op`, which runs jobs of the strand at this address.
pub(crate) fn with<R>(strand: usize, op: impl FnOnce() -> R) -> R {
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            let _ = STRANDS.try_with(|strands| strands.borrow_mut().pop());
        }
    }
    // A thread that ends has none any more, and goes without.
    let _ = STRANDS.try_with(|strands| strands.borrow_mut().push(strand));
    let _end = End;
    op()
}

/// Checks a wait for a job of the strand at this address that has not ended.
///
/// # Panics
///
/// Panics if the wait would never end.
pub(crate) fn refuse_to_wait(strand: usize) {
    let is_here = STRANDS.try_with(|strands| strands.borrow().contains(&strand));
    assert!(
        !is_here.unwrap_or(false),
        "could not wait for a job of a strand: the call is made by a job of the same strand, or on top of one that waits, and that has to end first; spawn into the strand what is to follow, instead of waiting for it"
    );
}
