//! Surroundings of the jobs of a region: code of the program that is entered around each of them.

use std::sync::Arc;

/// Surroundings for a piece of code: an entered tracing span, the handle of a runtime, a value in a
/// thread-local variable. [`with_propagation`] establishes them wherever the code of a call runs.
///
/// A closure of the same form implements it, too.
///
/// [`with_propagation`]: crate::with_propagation
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use std::cell::Cell;
///
/// thread_local!(static REQUEST: Cell<u32> = const { Cell::new(0) });
///
/// struct Request(u32);
///
/// impl heist::Around for Request {
///     fn around(&self, run: &mut dyn FnMut()) {
///         let before = REQUEST.replace(self.0);
///         run();
///         REQUEST.set(before);
///     }
/// }
///
/// let request = std::sync::Arc::new(Request(7));
/// let both = || heist::join(|| REQUEST.get(), || REQUEST.get());
/// assert_eq!(heist::with_propagation(request, both), (7, 7));
/// ```
pub trait Around: Send + Sync {
    /// Enters, calls `run` once, and leaves.
    ///
    /// `run` does not unwind: a panic in it is resumed when this method has returned.
    ///
    /// # Panics
    ///
    /// `run` panics if it is called a second time.
    fn around(&self, run: &mut dyn FnMut());
}

impl<F: Fn(&mut dyn FnMut()) + Send + Sync> Around for F {
    fn around(&self, run: &mut dyn FnMut()) {
        self(run);
    }
}

/// Calls `run` inside all of these, of which the first is the outermost.
pub(crate) fn nested(arounds: &[Arc<dyn Around>], run: &mut dyn FnMut()) {
    match arounds {
        [] => run(),
        [outermost, inner @ ..] => outermost.around(&mut || nested(inner, run)),
    }
}
