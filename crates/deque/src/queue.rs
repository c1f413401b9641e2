//! A queue that its user locks, and that gives its memory back to the system.

use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;

use heist_sync::Reserved;

/// A first-in, first-out queue, to be kept under a lock.
///
/// The first items are in a ring. Those for which it has no room are in blocks of memory of their
/// own, which go back to the system when they are empty, whatever the allocator does.
///
/// # Examples
///
/// ```
/// use heist_deque::Queue;
///
/// let mut queue = Queue::new();
/// queue.push(1);
/// queue.push(2);
/// let (item, emptied) = queue.take();
/// drop(emptied); // when the lock is free
/// assert_eq!((item, queue.len()), (Some(1), 1));
/// ```
pub struct Queue<T> {
    ring: VecDeque<T>,
    /// The items in blocks are newer than those in the ring.
    blocks: VecDeque<Block<T>>,
    len: usize,
}

/// The most items in the ring.
const RING: usize = 1024;

/// A queue that has been shrunk keeps room for so many items.
const FEW: usize = 4;

impl<T> Queue<T> {
    /// An empty queue.
    #[must_use]
    pub fn new() -> Self {
        Self {
            ring: VecDeque::new(),
            blocks: VecDeque::new(),
            len: 0,
        }
    }

    /// How many items it holds.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if it holds none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts an item at the end. Allocates when the queue grows.
    #[inline]
    pub fn push(&mut self, item: T) {
        self.len += 1;
        match self.blocks.back_mut() {
            Some(last) if last.has_room() => last.push(item),
            None if self.ring.len() < RING => self.ring.push_back(item),
            _ => self.push_to_new_block(item),
        }
    }

    #[cold]
    #[inline(never)]
    fn push_to_new_block(&mut self, item: T) {
        let mut block = Block::new();
        block.push(item);
        self.blocks.push_back(block);
    }

    /// Takes the oldest item, and the block that this leaves empty: drop the block after unlocking,
    /// because that is a system call.
    #[inline]
    pub fn take(&mut self) -> (Option<T>, Option<Block<T>>) {
        self.len = self.len.saturating_sub(1);
        let item = self.ring.pop_front();
        if item.is_some() {
            return (item, None);
        }
        let Some(first) = self.blocks.front_mut() else {
            return (None, None);
        };
        let item = first.take();
        if !first.is_empty() {
            return (item, None);
        }
        (item, self.blocks.pop_front())
    }

    /// Puts an item at the end, and takes the oldest one, as [`push`](Self::push) and
    /// [`take`](Self::take) do.
    #[expect(clippy::missing_panics_doc, reason = "it holds one item at least")]
    #[inline]
    pub fn exchange(&mut self, item: T) -> (T, Option<Block<T>>) {
        if self.blocks.is_empty() && self.ring.len() < RING {
            let Some(oldest) = self.ring.pop_front() else {
                return (item, None);
            };
            self.ring.push_back(item);
            return (oldest, None);
        }
        self.push(item);
        let (oldest, emptied) = self.take();
        (oldest.expect("just put there"), emptied)
    }

    /// Gives back the memory of a burst, if the queue is empty: room for four items stays.
    pub fn shrink(&mut self) {
        if self.is_empty() && self.ring.capacity() > FEW {
            *self = Self::new();
        }
    }
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Queue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("len", &self.len).finish()
    }
}

/// A block of memory for some thousand items of a [`Queue`], each put in and taken out once, in
/// order.
pub struct Block<T> {
    memory: Reserved,
    /// The items from `first` up to `end`, exclusive, are there.
    first: usize,
    end: usize,
    items: PhantomData<T>,
}

impl<T> Block<T> {
    const BYTES: usize = 4 * Reserved::PIECE;
    const ITEMS: usize = {
        assert!(size_of::<T>() > 0 && align_of::<T>() <= 4096);
        Self::BYTES / size_of::<T>()
    };

    fn new() -> Self {
        let memory = Reserved::new(Self::BYTES).ok();
        let memory = memory.filter(|memory| memory.commit(0, Self::BYTES));
        let layout = std::alloc::Layout::new::<[u8; 4 * Reserved::PIECE]>();
        Self {
            memory: memory.unwrap_or_else(|| std::alloc::handle_alloc_error(layout)),
            first: 0,
            end: 0,
            items: PhantomData,
        }
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.end < Self::ITEMS
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.first == self.end
    }

    /// # Panics
    ///
    /// Panics if there is no room.
    #[inline]
    fn push(&mut self, item: T) {
        assert!(self.has_room(), "a block is full");
        // SAFETY: within the block, which begins a page, and nothing is there.
        unsafe { self.memory.start().cast::<T>().add(self.end).write(item) };
        self.end += 1;
    }

    #[inline]
    fn take(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        // SAFETY: put there by `push`, and taken once.
        let item = unsafe { self.memory.start().cast::<T>().add(self.first).read() };
        self.first += 1;
        Some(item)
    }
}

impl<T> Drop for Block<T> {
    fn drop(&mut self) {
        while let Some(item) = self.take() {
            drop(item);
        }
    }
}

impl<T> fmt::Debug for Block<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block")
            .field("len", &(self.end - self.first))
            .finish()
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Lengths around those at which items go elsewhere.
    #[test]
    fn items_come_out_in_order_however_long_the_queue_is() {
        let block = Block::<u64>::ITEMS;
        for len in [1, RING, RING + 1, RING + block, RING + 2 * block + 1] {
            let mut queue = Queue::new();
            for round in 0..3 {
                (0..len).for_each(|n| queue.push(n as u64));
                assert_eq!(queue.len(), len);
                // The next ones come while some of the first are there.
                let half = len / 2;
                (0..half).for_each(|n| assert_eq!(queue.take().0, Some(n as u64)));
                (len..len + half).for_each(|n| queue.push(n as u64));
                (half..len + half).for_each(|n| assert_eq!(queue.take().0, Some(n as u64)));
                assert_eq!(queue.take().0, None, "{len} items, round {round}");
            }
        }
    }

    #[test]
    fn an_exchange_is_a_push_and_a_take_however_long_the_queue_is() {
        for len in [0, 1, RING - 1, RING, RING + Block::<u64>::ITEMS + 1] {
            let mut queue = Queue::new();
            (0..len).for_each(|n| queue.push(n as u64));
            for n in 0..2 * len + 2 {
                assert_eq!(queue.exchange((len + n) as u64).0, n as u64, "of {len}");
            }
            assert_eq!(queue.len(), len);
        }
    }

    #[test]
    fn items_that_nobody_takes_are_dropped_with_the_queue() {
        let mut queue = Queue::new();
        let item = Arc::new(());
        (0..RING + 10_000).for_each(|_| queue.push(Arc::clone(&item)));
        (0..RING + 10).for_each(|_| drop(queue.take()));
        assert_eq!(Arc::strong_count(&item), 10_000 - 10 + 1);
        drop(queue);
        assert_eq!(Arc::strong_count(&item), 1);
    }

    #[test]
    fn an_empty_queue_gives_back_what_a_burst_took_and_keeps_what_a_few_items_need() {
        for (len, is_kept) in [(1, true), (FEW, true), (FEW + 1, false), (RING + 1, false)] {
            let mut queue = Queue::new();
            (0..len).for_each(|n| queue.push(n as u64));
            queue.shrink();
            assert_eq!(queue.len(), len, "a queue that holds items stays as it is");
            while queue.take().0.is_some() {}
            queue.shrink();
            let kept = (queue.ring.capacity(), queue.blocks.capacity());
            assert_eq!(kept, (if is_kept { FEW } else { 0 }, 0), "{len} items");
        }
    }
}
