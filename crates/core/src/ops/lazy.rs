//! `Lazy`: a [`Once`] with its initialiser.

use std::fmt;
use std::ops::Deref;

use heist_sync::Mutex;

use crate::ops::once::Once;
use crate::worker::region::apart;

/// A value that is made once, when it is first used, perhaps in parallel.
///
/// As [`LazyLock`](std::sync::LazyLock); but its initialiser may call any operation of heist, and
/// workers that wait for the value help. Everything said of [`Once`] applies, including its
/// [deadlocks](Once#deadlocks).
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use heist::{join, Lazy};
///
/// static SQUARES: Lazy<Vec<u64>> = Lazy::new(|| {
///     let squares = |from: u64| (from..from + 50).map(|n| n * n).collect::<Vec<_>>();
///     let (mut low, high) = join(|| squares(0), || squares(50));
///     low.extend(high);
///     low
/// });
///
/// assert_eq!(join(|| SQUARES[7], || SQUARES[70]), (49, 4900));
/// ```
pub struct Lazy<T, F = fn() -> T> {
    once: Once<T>,
    /// The initialiser, until it runs.
    initialiser: Mutex<Option<F>>,
}

impl<T, F> Lazy<T, F> {
    /// Without a value yet, which `f` makes when it is wanted.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// static PORT: heist::Lazy<u16> = heist::Lazy::new(|| 80);
    /// assert_eq!(*PORT, 80);
    /// ```
    #[cfg(not(heist_loom))]
    #[must_use]
    pub const fn new(f: F) -> Self {
        Self {
            once: Once::new(),
            initialiser: Mutex::new(Some(f)),
        }
    }

    /// Without a value yet, which `f` makes when it is wanted.
    #[cfg(heist_loom)]
    #[must_use]
    pub fn new(f: F) -> Self {
        Self {
            once: Once::new(),
            initialiser: Mutex::new(Some(f)),
        }
    }
}

impl<T: Send + Sync, F: FnOnce() -> T + Send> Lazy<T, F> {
    /// The value, which is made if there is none yet. A dereference does the same.
    ///
    /// # Panics
    ///
    /// As [`Once::get_or_init`]. If the initialiser panics, each later call panics, too: it can run
    /// once. So it is not cancelled with the call of [`with_cancellation`](crate::with_cancellation)
    /// in which the value is first wanted: others want it as well.
    ///
    /// # Cost
    ///
    /// One load (acquire), once there is a value; the first use costs as [`Once::get_or_init`]
    /// does, and a lock.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let lazy = heist::Lazy::new(|| 3);
    /// assert_eq!(heist::Lazy::force(&lazy), &3);
    /// ```
    #[inline]
    #[track_caller]
    pub fn force(this: &Self) -> &T {
        this.once.get_or_init(|| {
            let initialiser = this.initialiser.lock().take();
            apart(initialiser.expect("the initialiser of a Lazy has panicked when it ran before"))
        })
    }
}

impl<T: Send + Sync, F: FnOnce() -> T + Send> Deref for Lazy<T, F> {
    type Target = T;

    #[inline]
    #[track_caller]
    fn deref(&self) -> &T {
        Self::force(self)
    }
}

impl<T: Default> Default for Lazy<T> {
    fn default() -> Self {
        Self::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for Lazy<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tuple = f.debug_tuple("Lazy");
        match self.once.get() {
            Some(value) => tuple.field(value).finish(),
            None => tuple.field(&format_args!("<no value>")).finish(),
        }
    }
}
