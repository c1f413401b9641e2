//! The queue for submissions from threads that own no deque.

use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;

use heist_sync::atomic::{AtomicUsize, Ordering};
use heist_sync::{Mutex, Reserved};

/// A first-in, first-out queue that anybody may push to and take from.
///
/// A locked ring: submissions from outside are rare beside the jobs that they set off, and a lock
/// held for some ten instructions keeps their order strict. Whether it is empty can be asked
/// without the lock, so that idle workers do not contend for it. A long queue lies in blocks of
/// memory that are the system's again when they are empty, whatever the allocator keeps.
///
/// # Examples
///
/// ```
/// use heist_deque::Injector;
///
/// let injector = Injector::new();
/// injector.push(Box::new(1));
/// injector.push(Box::new(2));
/// assert_eq!(injector.take(), Some(Box::new(1)));
/// assert_eq!(injector.len(), 1);
/// ```
pub struct Injector<T: Send> {
    queue: Mutex<Queue<T>>,
    /// The queue's length, written under the lock.
    len: AtomicUsize,
}

impl<T: Send> Injector<T> {
    /// An empty queue.
    #[must_use]
    pub fn new() -> Self {
        Self {
            queue: Mutex::new(Queue::new()),
            len: AtomicUsize::new(0),
        }
    }

    /// Puts an item at the end. Allocates when the queue grows.
    pub fn push(&self, item: T) {
        let mut queue = self.queue.lock();
        queue.push(item);
        // Relaxed: a hint; whoever sleeps on it runs a barrier before.
        self.len.store(queue.len, Ordering::Relaxed);
    }

    /// Takes the item at the front.
    #[inline]
    pub fn take(&self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let mut queue = self.queue.lock();
        let (item, empty) = queue.take();
        self.len.store(queue.len, Ordering::Relaxed);
        drop(queue);
        // Not under the lock: the system takes its time.
        drop(empty);
        item
    }

    /// True if the queue held no item at some moment during the call.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items the queue held at some moment during the call.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }
}

impl<T: Send> Default for Injector<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send> fmt::Debug for Injector<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Injector")
            .field("len", &self.len())
            .finish()
    }
}

/// The first items are in a ring, and those for which it has no room in blocks.
struct Queue<T> {
    ring: VecDeque<T>,
    /// All of them are newer than those in the ring.
    blocks: VecDeque<Block<T>>,
    len: usize,
}

/// So many items lie in the ring at most.
const RING: usize = 1024;

impl<T> Queue<T> {
    fn new() -> Self {
        Self {
            ring: VecDeque::new(),
            blocks: VecDeque::new(),
            len: 0,
        }
    }

    fn push(&mut self, item: T) {
        self.len += 1;
        if self.blocks.is_empty() && self.ring.len() < RING {
            return self.ring.push_back(item);
        }
        let last = match self.blocks.back_mut() {
            Some(last) if last.has_room() => last,
            _ => {
                self.blocks.push_back(Block::new());
                self.blocks.back_mut().expect("just put there")
            }
        };
        last.push(item);
    }

    /// The oldest item, and the block of which it was the last.
    fn take(&mut self) -> (Option<T>, Option<Block<T>>) {
        self.len = self.len.saturating_sub(1);
        let item = self.ring.pop_front();
        if item.is_some() {
            return (item, None);
        }
        let Some(first) = self.blocks.front_mut() else {
            return (None, None);
        };
        let item = first.take();
        let empty = first.is_empty().then(|| self.blocks.pop_front());
        (item, empty.flatten())
    }
}

/// Room for some thousand items, which are put in and taken out once each, in order.
struct Block<T> {
    memory: Reserved,
    /// Those from `first` on and below `end` are there.
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

    fn has_room(&self) -> bool {
        self.end < Self::ITEMS
    }

    fn is_empty(&self) -> bool {
        self.first == self.end
    }

    /// # Panics
    ///
    /// Panics if there is no room.
    fn push(&mut self, item: T) {
        assert!(self.has_room(), "a block is full");
        // SAFETY: within the block, which begins a page, and nothing is there.
        unsafe { self.memory.start().cast::<T>().add(self.end).write(item) };
        self.end += 1;
    }

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

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Lengths around those at which items go elsewhere.
    #[test]
    fn items_come_out_in_order_however_long_the_queue_is() {
        let block = Block::<u64>::ITEMS;
        for len in [1, RING, RING + 1, RING + block, RING + 2 * block + 1] {
            let injector = Injector::new();
            for round in 0..3 {
                (0..len).for_each(|n| injector.push(n as u64));
                assert_eq!(injector.len(), len);
                // The next ones come while some of the first are there.
                let half = len / 2;
                (0..half).for_each(|n| assert_eq!(injector.take(), Some(n as u64)));
                (len..len + half).for_each(|n| injector.push(n as u64));
                (half..len + half).for_each(|n| assert_eq!(injector.take(), Some(n as u64)));
                assert_eq!(injector.take(), None, "{len} items, round {round}");
            }
        }
    }

    #[test]
    fn items_that_nobody_takes_are_dropped_with_the_queue() {
        let injector = Injector::new();
        let item = Arc::new(());
        (0..RING + 10_000).for_each(|_| injector.push(Arc::clone(&item)));
        (0..RING + 10).for_each(|_| drop(injector.take()));
        assert_eq!(Arc::strong_count(&item), 10_000 - 10 + 1);
        drop(injector);
        assert_eq!(Arc::strong_count(&item), 1);
    }
}
