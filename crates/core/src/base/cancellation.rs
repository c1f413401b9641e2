//! Cancellation tokens: flags that form a tree.
//!
//! A check is one load, so a cancelled token has to tell its children: `cancel` visits all tokens
//! below. A child that is made meanwhile is registered under its parent's lock, after a look at the
//! flag; the visit sets the flag before it takes the lock. So one of the two sees the other.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Instant;

use heist_sync::atomic::{AtomicU32, Ordering};
use heist_sync::{fault, Clock, Mutex};

/// A flag that asks work to stop, for [`with_cancellation`](crate::with_cancellation) and for loops.
///
/// Clones share the flag, which is never reset. Tokens form a tree: cancelling one cancels its
/// [children](Self::child) and theirs.
///
/// # Cost
///
/// A check is a load, and for a token with a [deadline](Self::with_deadline) a look at the clock.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use heist::CancellationToken;
///
/// let program = CancellationToken::new();
/// let request = program.child();
/// request.cancel();
/// assert!(!program.is_cancelled());
/// let other = program.child();
/// program.cancel();
/// assert!(other.is_cancelled());
/// ```
#[derive(Clone)]
pub struct CancellationToken {
    node: Arc<Node>,
}

/// Not cancelled.
const LIVE: u32 = 0;
/// Cancelled; tokens below may not be yet.
const CANCELLED: u32 = 1;
/// Cancelled, with all tokens below. Final.
const THROUGHOUT: u32 = 2;

struct Node {
    /// Only grows. Relaxed throughout: it hands nothing over.
    state: AtomicU32,
    /// The earliest of its own deadline and those above.
    deadline: Option<Instant>,
    origin: Option<Origin>,
    children: Mutex<Children>,
}

/// The place of a token among the children of another.
struct Origin {
    parent: Arc<Node>,
    place: usize,
}

#[derive(Default)]
struct Children {
    places: Vec<Weak<Node>>,
    vacant: Vec<usize>,
}

impl CancellationToken {
    /// A token that is not cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// assert!(!heist::CancellationToken::new().is_cancelled());
    /// ```
    #[must_use]
    pub fn new() -> Self {
        let node = Arc::new(Node::new(LIVE, None, None));
        Self { node }
    }

    /// Cancels the token and all below it: each job that checks one of them stops soon.
    ///
    /// # Cost
    ///
    /// The first call visits each token below.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let token = heist::CancellationToken::new();
    /// token.clone().cancel();
    /// assert!(token.is_cancelled());
    /// ```
    pub fn cancel(&self) {
        let root = &self.node;
        let known = if fault::planted("cancellation.throughout") {
            CANCELLED
        } else {
            THROUGHOUT
        };
        if root.state.load(Ordering::Relaxed) >= known {
            return;
        }
        // A list, not a recursion: a chain may be deeper than the stack.
        let mut unvisited = Vec::new();
        root.cancel(&mut unvisited);
        while let Some(node) = unvisited.pop() {
            if node.state.load(Ordering::Relaxed) < THROUGHOUT {
                node.cancel(&mut unvisited);
            }
        }
        root.state.store(THROUGHOUT, Ordering::Relaxed);
    }

    /// True if the token, or one above it, is cancelled or past its deadline.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let token = heist::CancellationToken::new();
    /// token.cancel();
    /// assert!(token.is_cancelled());
    /// ```
    #[inline]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.is_set() || self.node.deadline.is_some_and(|at| self.is_past(at))
    }

    /// As [`is_cancelled`](Self::is_cancelled), without a look at the clock: for each item of a
    /// loop that checks the deadline now and then.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.node.state.load(Ordering::Relaxed) != LIVE
    }

    /// Whether a check of it looks at the clock.
    #[doc(hidden)]
    #[must_use]
    pub fn has_deadline(&self) -> bool {
        self.node.deadline.is_some()
    }

    #[cold]
    fn is_past(&self, deadline: Instant) -> bool {
        let is_past = Clock::start().began().is_some_and(|now| now >= deadline);
        if is_past {
            self.cancel();
        }
        is_past
    }

    /// A token that is cancelled with this one, and can be cancelled alone.
    ///
    /// # Cost
    ///
    /// One allocation, and a lock of this token.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let parent = heist::CancellationToken::new();
    /// let child = parent.child();
    /// parent.cancel();
    /// assert!(child.is_cancelled());
    /// assert!(parent.child().is_cancelled());
    /// ```
    #[must_use]
    pub fn child(&self) -> Self {
        self.below(self.node.deadline)
    }

    /// A [child](Self::child) that also counts as cancelled from time `at` on.
    ///
    /// There is no timer: a check looks at the clock. Where the system has none, as on
    /// `wasm32-unknown-unknown`, the time never comes.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// use std::time::Instant;
    ///
    /// let token = heist::CancellationToken::new();
    /// let hurried = token.with_deadline(Instant::now());
    /// assert!(hurried.is_cancelled());
    /// assert!(!token.is_cancelled());
    /// ```
    #[must_use]
    pub fn with_deadline(&self, at: Instant) -> Self {
        self.below(Some(self.node.deadline.map_or(at, |above| at.min(above))))
    }

    fn below(&self, deadline: Option<Instant>) -> Self {
        let mut children = self.node.children.lock();
        if self.is_set() && !fault::planted("cancellation.child") {
            let node = Arc::new(Node::new(THROUGHOUT, deadline, None));
            return Self { node };
        }
        let place = children.reserve();
        let parent = Arc::clone(&self.node);
        let origin = Some(Origin { parent, place });
        let node = Arc::new(Node::new(LIVE, deadline, origin));
        children.places[place] = Arc::downgrade(&node);
        Self { node }
    }
}

impl Default for CancellationToken {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for CancellationToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancellationToken")
            .field("is_cancelled", &self.is_set())
            .field("deadline", &self.node.deadline)
            .finish_non_exhaustive()
    }
}

impl Node {
    fn new(state: u32, deadline: Option<Instant>, origin: Option<Origin>) -> Self {
        Self {
            state: AtomicU32::new(state),
            deadline,
            origin,
            children: Mutex::new(Children::default()),
        }
    }

    /// Sets the flag, and adds the children to the tokens to visit.
    fn cancel(&self, unvisited: &mut Vec<Arc<Self>>) {
        self.state.fetch_max(CANCELLED, Ordering::Relaxed);
        let children = self.children.lock();
        unvisited.extend(children.places.iter().filter_map(Weak::upgrade));
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // A loop, not a recursion: as in `cancel`.
        let mut origin = self.origin.take();
        while let Some(Origin { parent, place }) = origin {
            parent.children.lock().remove(place);
            origin = Arc::into_inner(parent).and_then(|mut parent| parent.origin.take());
        }
    }
}

impl Children {
    /// A place for one more.
    fn reserve(&mut self) -> usize {
        self.vacant.pop().unwrap_or_else(|| {
            self.places.push(Weak::new());
            self.places.len() - 1
        })
    }

    fn remove(&mut self, place: usize) {
        self.places[place] = Weak::new();
        self.vacant.push(place);
        if self.vacant.len() == self.places.len() {
            // Gives back the memory of a burst.
            *self = Self::default();
        }
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use std::time::{Duration, Instant};

    use super::CancellationToken;

    const MANY: usize = 1_000_000;

    #[test]
    fn a_million_children_are_cancelled_and_leave_nothing_behind() {
        let parent = CancellationToken::new();
        let children: Vec<_> = (0..MANY).map(|_| parent.child()).collect();
        children[7].cancel();
        assert!(!children[8].is_cancelled());
        parent.cancel();
        assert!(children.iter().all(CancellationToken::is_cancelled));
        drop(children);
        assert_eq!(parent.node.children.lock().places.len(), 0);
    }

    #[test]
    fn children_that_come_and_go_take_one_place() {
        let parent = CancellationToken::new();
        let stays = parent.child();
        for _ in 0..1000 {
            drop(parent.child());
        }
        assert_eq!(parent.node.children.lock().places.len(), 2);
        parent.cancel();
        assert!(stays.is_cancelled());
    }

    #[test]
    fn a_chain_longer_than_any_stack_is_cancelled_and_dropped() {
        let root = CancellationToken::new();
        let mut lowest = root.clone();
        for _ in 0..MANY {
            lowest = lowest.child();
        }
        root.cancel();
        assert!(lowest.is_cancelled());
        drop(root);
        drop(lowest);
    }

    #[test]
    fn a_token_between_two_that_nobody_holds_still_passes_the_word_on() {
        let root = CancellationToken::new();
        let lowest = root.child().child();
        root.cancel();
        assert!(lowest.is_cancelled());
    }

    #[test]
    fn the_earliest_deadline_above_counts_and_none_below() {
        let (root, now) = (CancellationToken::new(), Instant::now());
        let hour = Duration::from_secs(3600);
        let late = root.with_deadline(now + hour);
        assert!(!late.is_cancelled());
        let past = late.with_deadline(now);
        let below = past.with_deadline(now + hour).child();
        assert!(below.is_cancelled());
        assert!(past.is_cancelled());
        assert!(!late.is_cancelled());
        assert!(!root.is_cancelled());
    }
}

/// Models under loom: `cargo xtask model`.
#[cfg(all(test, heist_loom))]
mod model {
    use heist_sync::thread;

    use super::CancellationToken;

    #[test]
    fn a_child_that_is_made_while_its_parent_is_cancelled_is_cancelled() {
        loom::model(|| {
            let root = CancellationToken::new();
            let other = root.clone();
            let cancels = thread::spawn(move || other.cancel());
            let child = root.child();
            cancels.join().unwrap();
            assert!(child.is_cancelled());
        });
    }

    /// The one of two calls that comes later does not return before the other is done.
    #[test]
    fn all_below_is_cancelled_when_a_call_returns() {
        loom::model(|| {
            let root = CancellationToken::new();
            let lowest = root.child().child();
            let other = root.clone();
            let cancels = thread::spawn(move || other.cancel());
            // Until the other has begun, and no longer.
            while !root.is_set() {
                thread::yield_now();
            }
            root.cancel();
            assert!(lowest.is_cancelled());
            cancels.join().unwrap();
        });
    }

    #[test]
    fn a_child_may_be_dropped_while_its_parent_is_cancelled() {
        loom::model(|| {
            let root = CancellationToken::new();
            let (child, stays) = (root.child(), root.child());
            let drops = thread::spawn(move || drop(child));
            root.cancel();
            assert!(stays.is_cancelled());
            drops.join().unwrap();
        });
    }
}
