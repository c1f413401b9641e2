//! `panic_fuse`: a panic in one part stops the others soon.

use std::ops::ControlFlow;

use heist_sync::thread::panicking;

use super::quota::Quota;
use crate::part::{adaptor, forward, open, IndexedPart, Part};

/// The items, until something panics: see
/// [`panic_fuse`](crate::iter::ParallelIterator::panic_fuse).
///
/// When it blows, the whole operation is about to panic, and no one will look at the items that are
/// missing.
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct PanicFuse<I> {
    base: I,
    /// Spent when it has blown.
    fuse: Quota,
}

impl<I> PanicFuse<I> {
    pub(crate) fn new(base: I) -> Self {
        let fuse = Quota::new(1);
        Self { base, fuse }
    }

    /// The same over another part.
    fn over(&self, base: I) -> Self {
        let fuse = self.fuse.share();
        Self { base, fuse }
    }
}

impl<I: Part> Part for PanicFuse<I> {
    type Output = I::Output;

    #[inline]
    fn steps(&self) -> usize {
        if self.fuse.is_spent() {
            0
        } else {
            self.base.steps()
        }
    }

    fn split(&mut self) -> Option<Self> {
        let upper = self.base.split()?;
        Some(self.over(upper))
    }

    /// `Break` too if the fuse has blown: then there is no more to do either.
    #[inline]
    fn run<C>(&mut self, budget: &mut usize, mut consume: C) -> ControlFlow<()>
    where
        C: FnMut(I::Output) -> ControlFlow<()>,
    {
        let fuse = Armed::new(&self.fuse);
        if fuse.has_blown() {
            return ControlFlow::Break(());
        }
        self.base.run(budget, |item| {
            if fuse.has_blown() {
                return ControlFlow::Break(());
            }
            consume(item)
        })
    }

    fn known_len(&self) -> Option<usize> {
        self.base.known_len()
    }

    forward!(base);
    open!(PanicFuse { fuse });
}

adaptor!(both [T: Send] PanicFuse<> { fuse } T => T);

impl<I: IndexedPart> IndexedPart for PanicFuse<I> {
    fn part_len(&self) -> usize {
        self.base.part_len()
    }

    fn split_off(&mut self, index: usize) -> Self {
        let upper = self.base.split_off(index);
        self.over(upper)
    }

    /// All or nothing: iterators of known length cannot end before their time. But they are short,
    /// where others go on from here.
    fn into_seq(mut self) -> impl DoubleEndedIterator<Item = I::Output> + ExactSizeIterator {
        let fuse = Armed::new(&self.fuse);
        if fuse.has_blown() {
            drop(self.base.split_off(0));
        }
        self.base.into_seq().inspect(move |_| {
            // Here, so that it blows if the code that goes through the items panics.
            let _ = &fuse;
        })
    }

    open!(indexed PanicFuse { fuse });
}

/// Blows when it is dropped by a panic.
struct Armed {
    fuse: Quota,
    /// The thread was panicking before, and does this while it cleans up.
    panicking: bool,
}

impl Armed {
    fn new(fuse: &Quota) -> Self {
        let fuse = fuse.share();
        let panicking = panicking();
        Self { fuse, panicking }
    }

    #[inline]
    fn has_blown(&self) -> bool {
        self.fuse.is_spent()
    }
}

impl Drop for Armed {
    fn drop(&mut self) {
        if panicking() && !self.panicking {
            self.fuse.spend();
        }
    }
}
