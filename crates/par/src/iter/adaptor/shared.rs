//! A closure that all parts of an adaptor call.
#![allow(
    unsafe_code,
    reason = "a closure that captures nothing can be called without being there"
)]

use std::mem::{self, needs_drop};
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

/// A closure that lies in its part until the part is split, and is [`Counted`] from then on. So a
/// loop that nobody helps with allocates nothing for it.
#[derive(Clone)]
pub(crate) struct Shared<F>(Place<F>);

#[derive(Clone)]
enum Place<F> {
    Here(F),
    Counted(Counted<F>),
    /// Within `share`.
    Nowhere,
}

impl<F> Shared<F> {
    #[inline]
    pub(crate) fn new(op: F) -> Self {
        Self(Place::Here(op))
    }

    /// The closure.
    #[inline]
    pub(crate) fn get(&self) -> &F {
        match &self.0 {
            Place::Here(op) => op,
            Place::Counted(op) => op,
            Place::Nowhere => unreachable!("a closure lies somewhere"),
        }
    }

    /// The same closure, for another part.
    #[inline]
    pub(crate) fn share(&mut self) -> Self {
        let op = match mem::replace(&mut self.0, Place::Nowhere) {
            Place::Here(op) => Counted::new(op),
            Place::Counted(op) => op,
            Place::Nowhere => unreachable!("a closure lies somewhere"),
        };
        self.0 = Place::Counted(op.clone());
        Self(Place::Counted(op))
    }
}

/// A closure whose owners are counted. One that captures nothing is not allocated, and not counted
/// either.
pub(crate) struct Counted<F>(Option<Arc<F>>);

impl<F> Counted<F> {
    /// True if there is nothing to the closure but its type.
    const IS_EMPTY: bool = size_of::<F>() == 0 && !needs_drop::<F>();

    #[inline]
    pub(crate) fn new(op: F) -> Self {
        Self((!Self::IS_EMPTY).then(|| Arc::new(op)))
    }
}

impl<F> Clone for Counted<F> {
    #[inline]
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<F> Deref for Counted<F> {
    type Target = F;

    #[inline]
    fn deref(&self) -> &F {
        match &self.0 {
            Some(op) => op,
            // SAFETY: a value without bytes is wherever an address is aligned. There was one, which
            // came to `new`; and as it was dropped without a trace, it is there for good.
            None if Self::IS_EMPTY => unsafe { NonNull::dangling().as_ref() },
            None => unreachable!("`new` has allocated it"),
        }
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn thrice<F: Fn(usize) -> usize>(op: F) -> [usize; 3] {
        let mut first = Shared::new(op);
        let mut second = first.share();
        let third = second.share();
        let kept = first.get()(1);
        drop((first, second));
        [kept, third.get()(2), third.clone_of().get()(3)]
    }

    impl<F> Shared<F> {
        fn clone_of(mut self) -> Self {
            self.share()
        }
    }

    #[test]
    fn closures_with_captures_and_without_are_called_by_all_that_share_them() {
        let (two, boxed) = (2, Box::new(5));
        assert_eq!(thrice(|n| n + 1), [2, 3, 4]);
        assert_eq!(thrice(|n| n + two), [3, 4, 5]);
        assert_eq!(thrice(move |n| n + *boxed), [6, 7, 8]);
    }

    #[test]
    fn a_capture_without_bytes_is_dropped_once_and_last() {
        thread_local! {
            static DROPS: Cell<usize> = const { Cell::new(0) }
        }
        struct Noticed;
        impl Drop for Noticed {
            fn drop(&mut self) {
                DROPS.set(DROPS.get() + 1);
            }
        }
        let noticed = Noticed;
        let drops = thrice(move |_| {
            let _ = &noticed;
            DROPS.get()
        });
        assert_eq!((drops, DROPS.get()), ([0; 3], 1));
    }
}
