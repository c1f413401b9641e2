//! The way from the caller's thread to a worker.

/// Runs `op`, a loop of so many items if that is known, on the calling worker, or else on one of
/// the global pool, which is built with rayon's defaults. So a caller from outside runs no item
/// itself, unless there is one at most: that is not split, and runs where it is, as on rayon.
pub(crate) fn enter<R: Send>(len: Option<usize>, op: impl FnOnce() -> R + Send) -> R {
    if len.is_some_and(|len| len <= 1) || rayon_core::current_thread_index().is_some() {
        return op();
    }
    let (mut input, mut output) = (Some(op), None);
    on_worker(&mut || output = input.take().map(|op| op()));
    output.expect("a closure is called once")
}

/// As [`scope`](rayon_core::scope), in one copy for all loops: there are nearly as many as calls of
/// consumers, and each would have all that leads into a pool.
fn on_worker(op: &mut (dyn FnMut() + Send)) {
    rayon_core::scope(|_| op());
}
