//! The queue for submissions from threads that own no deque.

use std::fmt;

use heist_sync::atomic::{AtomicUsize, Ordering};
use heist_sync::Mutex;

use crate::queue::Queue;

/// A first-in, first-out queue that any thread may push to and take from.
///
/// A locked ring: submissions from outside are rare beside the jobs that they set off, and a lock
/// held for some ten instructions keeps their order strict. Idle workers do not contend for the
/// lock: whether the queue is empty can be read without it.
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
        // Relaxed: a hint; a worker that goes to sleep because of it runs a barrier before.
        self.len.store(queue.len(), Ordering::Relaxed);
    }

    /// Takes the oldest item, if there is one.
    #[inline]
    pub fn take(&self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let mut queue = self.queue.lock();
        let (item, empty) = queue.take();
        self.len.store(queue.len(), Ordering::Relaxed);
        drop(queue);
        // Not under the lock: giving memory back is a system call.
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
