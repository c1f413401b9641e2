//! Ranges and lists, cut into chunks of a target duration that run on the machines of a cluster.
//!
//! The size of a chunk is measured: the first ones are small, each answer says how long its
//! function ran, and the rate so far sizes the next. Growth is bounded, because rates vary along a
//! range, and chunks shrink towards the end, so that all processors end together (guided
//! self-scheduling, Polychronopoulos and Kuck, 1987).

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::ops::Range;
use std::sync::{mpsc, Arc};
use std::time::Duration;

use serde::Serialize;

use super::call::{Call, Returned};
use super::calls::Calls;
use super::cluster::Cluster;
use crate::error::RemoteError;
use crate::protocol;
use crate::remote::function::RemoteFunction;

mod progress;

pub use progress::Progress;
use progress::{Listener, Telling};

/// The default of [`Chunks::target`]: some hundred times the cost of a call on the slowest backend.
const TARGET: Duration = Duration::from_millis(100);

/// Chunks under way for each place where one can run: one runs, one waits there.
const DEPTH: usize = 2;

/// The shortest chunk towards the end, as a part of the target: anything shorter costs more than it
/// balances.
const LAST_PART: f64 = 0.1;

/// How much larger than the last a chunk may be.
const GROWTH_MAX: f64 = 8.0;

/// Something that can be cut: a range of numbers, or a list.
///
/// # Examples
///
/// ```
/// use heist_cluster::Cut;
///
/// let mut left = 0..10_u64;
/// assert_eq!(left.cut(4), 0..4);
/// assert_eq!(left.cut(6), 4..10);
/// assert_eq!((Cut::len(&left), Cut::is_empty(&left)), (0, true));
/// ```
pub trait Cut: Send {
    /// The argument that a function gets for one part.
    type Part: Serialize;

    /// How many items are left.
    fn len(&self) -> u64;

    /// True if there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Cuts off the first `items` items, of which there are at least as many.
    fn cut(&mut self, items: u64) -> Self::Part;
}

impl Cut for Range<u64> {
    type Part = Range<u64>;

    fn len(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    fn cut(&mut self, items: u64) -> Range<u64> {
        let from = self.start;
        self.start = from.saturating_add(items).min(self.end);
        from..self.start
    }
}

impl<T: Serialize + Send> Cut for VecDeque<T> {
    type Part = Vec<T>;

    fn len(&self) -> u64 {
        self.len() as u64
    }

    fn cut(&mut self, items: u64) -> Vec<T> {
        let items = usize::try_from(items).unwrap_or(usize::MAX);
        self.drain(..items.min(VecDeque::len(self))).collect()
    }
}

/// A range or list to be cut; made by [`Cluster::chunks`].
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use heist_cluster::{remote, Cluster, Local};
///
/// #[remote]
/// fn above(least: u64, numbers: Vec<u64>) -> usize {
///     numbers.iter().filter(|number| **number > least).count()
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     heist_cluster::init();
///     let cluster = Cluster::connect(Local::new().nodes(2).cpus(1))?;
///     let numbers: Vec<u64> = (0..1000).collect();
///     // Small chunks, each with a copy of `899` before it.
///     let chunks = cluster.chunks(numbers).target(Duration::from_millis(20));
///     let count = chunks.map_with(899_u64, above).reduce(0, |a, b| a + b)?;
///     assert_eq!(count, 100);
///     Ok(())
/// }
/// ```
#[must_use = "nothing runs before `reduce`"]
pub struct Chunks<'a, C> {
    calls: Calls<'a>,
    items: C,
    target: Duration,
    listener: Option<Listener<'a>>,
}

impl<C: fmt::Debug> fmt::Debug for Chunks<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunks")
            .field("items", &self.items)
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

impl Cluster {
    /// Cuts a range or a list into chunks that many machines share.
    ///
    /// Each chunk is a call of a remote function that takes a `Range<u64>` or a `Vec<T>`. Use heist
    /// inside: the function runs in a pool with the `cpus` of its attribute.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_cluster::{remote, Cluster, Local};
    ///
    /// #[remote(cpus = 2)]
    /// fn count_squares(numbers: std::ops::Range<u64>) -> u64 {
    ///     numbers.filter(|n| n.isqrt().pow(2) == *n).count() as u64
    /// }
    ///
    /// fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     heist_cluster::init();
    ///     let cluster = Cluster::connect(Local::new().cpus(2))?;
    ///     let squares = cluster.chunks(0..1_000_000).map(count_squares).reduce(0, |a, b| a + b)?;
    ///     assert_eq!(squares, 1000);
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Cost
    ///
    /// A [`call`](Self::call) for each chunk, two of them in flight for each place where one can
    /// run.
    pub fn chunks<C: IntoCut>(&self, items: C) -> Chunks<'_, C::Cut> {
        Chunks {
            calls: self.anywhere(),
            items: items.into_cut(),
            target: TARGET,
            listener: None,
        }
    }
}

/// A value that can be made into a [`Cut`].
///
/// # Examples
///
/// ```
/// use heist_cluster::{Cut, IntoCut};
///
/// /// The days of some weeks.
/// struct Weeks(u64);
///
/// impl IntoCut for Weeks {
///     type Cut = std::ops::Range<u64>;
///
///     fn into_cut(self) -> Self::Cut {
///         0..self.0 * 7
///     }
/// }
/// assert_eq!(Weeks(2).into_cut().cut(10), 0..10);
/// ```
pub trait IntoCut {
    /// The type that does the cutting.
    type Cut: Cut;

    /// Makes it so.
    fn into_cut(self) -> Self::Cut;
}

impl IntoCut for Range<u64> {
    type Cut = Self;

    fn into_cut(self) -> Self {
        self
    }
}

impl<T: Serialize + Send> IntoCut for Vec<T> {
    type Cut = VecDeque<T>;

    fn into_cut(self) -> VecDeque<T> {
        self.into()
    }
}

impl<'a, C: Cut> Chunks<'a, C> {
    /// The duration to aim for: 100 ms by default. Shorter chunks balance better and cost more.
    pub fn target(mut self, target: Duration) -> Self {
        self.target = target.max(Duration::from_millis(1));
        self
    }

    /// Calls each chunk by `calls` instead of [`Cluster::anywhere`].
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_cluster::{remote, CallContext, Cluster, Local, Trace};
    ///
    /// #[remote]
    /// fn count_if_traced(numbers: std::ops::Range<u64>) -> u64 {
    ///     let trace = CallContext::current().trace();
    ///     trace.map_or(0, |_| numbers.end - numbers.start)
    /// }
    ///
    /// fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     heist_cluster::init();
    ///     let cluster = Cluster::connect(Local::new().cpus(2))?;
    ///     let calls = cluster.anywhere().trace(Trace::random()).retries(5);
    ///     let chunks = cluster.chunks(0..1000).calls(calls).map(count_if_traced);
    ///     assert_eq!(chunks.reduce(0, |a, b| a + b)?, 1000);
    ///     Ok(())
    /// }
    /// ```
    pub fn calls(mut self, calls: Calls<'a>) -> Self {
        self.calls = calls;
        self
    }

    /// Calls `listener` after each chunk, on the thread that waits for them, which handles no
    /// result meanwhile. If it panics, the remaining chunks are cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_cluster::{remote, Cluster, Local};
    ///
    /// #[remote]
    /// fn sum(numbers: std::ops::Range<u64>) -> u64 {
    ///     numbers.sum()
    /// }
    ///
    /// fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     heist_cluster::init();
    ///     let cluster = Cluster::connect(Local::new())?;
    ///     let mut done = 0.0;
    ///     let chunks = cluster.chunks(0..1_000_000).on_progress(|progress| {
    ///         eprintln!("{progress}"); // 61 % of 1000000 items, ..., 0.2 s left
    ///         done = progress.part();
    ///     });
    ///     assert_eq!(chunks.map(sum).reduce(0, |a, b| a + b)?, 499_999_500_000);
    ///     assert_eq!(done, 1.0);
    ///     Ok(())
    /// }
    /// ```
    pub fn on_progress(mut self, listener: impl FnMut(&Progress) + Send + 'a) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }

    /// Applies `function` to each chunk.
    pub fn map<F: RemoteFunction<Args = C::Part>>(self, _: F) -> Mapped<'a, C, F, Arguments<C, F>> {
        Mapped {
            chunks: self,
            arguments: |part| part,
            function: std::marker::PhantomData,
        }
    }

    /// Applies `function` to a copy of `shared` and each chunk. For large data use a
    /// [`Remote`](crate::Remote).
    pub fn map_with<S, F>(self, shared: S, _: F) -> Mapped<'a, C, F, impl FnMut(C::Part) -> F::Args>
    where
        S: Clone,
        F: RemoteFunction<Args = (S, C::Part)>,
    {
        Mapped {
            chunks: self,
            arguments: move |part| (shared.clone(), part),
            function: std::marker::PhantomData,
        }
    }
}

/// Makes the arguments of a function of a part of what is cut; [`Cluster::chunks`] has an example.
pub type Arguments<C, F> = fn(<C as Cut>::Part) -> <F as RemoteFunction>::Args;

/// Chunks and the function for them; made by [`Chunks::map`].
///
/// # Examples
///
/// ```
/// use heist_cluster::{remote, Cluster, Local, RemoteError};
///
/// #[remote]
/// fn doubled(numbers: std::ops::Range<u64>) -> Vec<u64> {
///     numbers.map(|number| 2 * number).collect()
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     heist_cluster::init();
///     let cluster = Cluster::connect(Local::new().cpus(2))?;
///     let mut all = vec![0; 100];
///     cluster.chunks(0..100).map(doubled).for_each(|at, items, out| {
///         all[at as usize..(at + items) as usize].copy_from_slice(&out);
///         Ok::<(), RemoteError>(())
///     })?;
///     assert_eq!(all[99], 198);
///     Ok(())
/// }
/// ```
#[must_use = "nothing runs before `reduce`"]
pub struct Mapped<'a, C, F, A> {
    chunks: Chunks<'a, C>,
    arguments: A,
    function: std::marker::PhantomData<F>,
}

impl<C: fmt::Debug, F, A> fmt::Debug for Mapped<'_, C, F, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Mapped").field(&self.chunks).finish()
    }
}

impl<C, F, A> Mapped<'_, C, F, A>
where
    C: Cut,
    F: RemoteFunction,
    A: FnMut(C::Part) -> F::Args,
{
    /// Runs all chunks and combines their results, neighbours in order, so that `combine` need only
    /// be associative. The grouping varies from run to run, which can show in the last digits of
    /// floats.
    ///
    /// # Errors
    ///
    /// The error of the first chunk without a result; the others are cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_cluster::{remote, Cluster, Local};
    ///
    /// #[remote]
    /// fn longest(words: Vec<String>) -> String {
    ///     words.into_iter().max_by_key(String::len).unwrap_or_default()
    /// }
    ///
    /// fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     heist_cluster::init();
    ///     let cluster = Cluster::connect(Local::new())?;
    ///     let words: Vec<String> = ["fig", "apple", "pear"].map(str::to_owned).to_vec();
    ///     let found = cluster.chunks(words).map(longest).reduce(String::new(), |a, b| {
    ///         if a.len() < b.len() { b } else { a }
    ///     })?;
    ///     assert_eq!(found, "apple");
    ///     Ok(())
    /// }
    /// ```
    pub fn reduce(
        self,
        identity: F::Out,
        combine: impl Fn(F::Out, F::Out) -> F::Out,
    ) -> Result<F::Out, RemoteError> {
        let mut neighbours = Neighbours::default();
        self.for_each(|at, items, out| {
            neighbours.add(at, items, out, &combine);
            Ok::<(), RemoteError>(())
        })?;
        Ok(match neighbours.into_whole() {
            Some(whole) => combine(identity, whole),
            None => identity,
        })
    }

    /// Runs all chunks and passes each result to `take` as it comes: the index of its first item,
    /// the number of items, and the result.
    ///
    /// # Errors
    ///
    /// The error of the first chunk without a result, or that of `take`; the others are cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_cluster::{remote, Cluster, Local, RemoteError};
    ///
    /// #[remote]
    /// fn squares(numbers: std::ops::Range<u64>) -> Vec<u64> {
    ///     numbers.map(|n| n * n).collect()
    /// }
    ///
    /// fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     heist_cluster::init();
    ///     let cluster = Cluster::connect(Local::new())?;
    ///     let mut all = vec![0; 1000];
    ///     cluster.chunks(0..1000).map(squares).for_each(|first, count, found| {
    ///         all[first as usize..][..count as usize].copy_from_slice(&found);
    ///         Ok::<(), RemoteError>(())
    ///     })?;
    ///     assert_eq!(all[30], 900);
    ///     Ok(())
    /// }
    /// ```
    pub fn for_each<E: From<RemoteError>>(
        mut self,
        mut take: impl FnMut(u64, u64, F::Out) -> Result<(), E>,
    ) -> Result<(), E> {
        let places = self.chunks.calls.places::<F>()?;
        let mut size = Size::new(self.chunks.items.len(), places, self.chunks.target);
        let mut telling = Telling::new(self.chunks.listener.take(), self.chunks.items.len());
        let mut running = Running::default();
        let (sender, finished) = mpsc::channel();
        let mut next = 0;
        loop {
            while running.0.len() < places * DEPTH && !self.chunks.items.is_empty() {
                let items = size.next(self.chunks.items.len());
                let args = (self.arguments)(self.chunks.items.cut(items));
                let (sender, at) = (sender.clone(), next);
                // If nobody listens any more, nobody wants the result.
                let on_result = Box::new(move || sender.send(at).unwrap_or_default());
                let call = self.chunks.calls.begin::<F>(&args, Some(on_result));
                running.0.insert(at, (items, call));
                next += items;
            }
            if running.0.is_empty() {
                return Ok(());
            }
            // The sender is here as well, so there is always one.
            let Ok(at) = finished.recv() else {
                return Ok(());
            };
            let Some((items, result)) = running.take(at) else {
                continue;
            };
            let (bytes, ran) = result?;
            size.learn(items, ran);
            let out = protocol::decode(&bytes).map_err(|error| {
                RemoteError::malformed(format!(
                    "a result of `{}` cannot be understood: {error}",
                    F::NAME
                ))
            })?;
            take(at, items, out)?;
            telling.done(items, running.0.len());
        }
    }
}

/// The chunks under way, by the number of their first item. Those that are left when it is
/// dropped are cancelled.
#[derive(Default)]
struct Running(BTreeMap<u64, (u64, Arc<Call>)>);

impl Running {
    fn take(&mut self, at: u64) -> Option<(u64, Result<Returned, RemoteError>)> {
        let (items, call) = self.0.remove(&at)?;
        Some((items, call.poll()?))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for (_, call) in self.0.values() {
            call.cancel(false);
        }
    }
}

/// How large the next chunk is.
#[derive(Debug)]
struct Size {
    /// Items per second of one chunk's run, as seen lately; 0 before the first answer.
    rate: f64,
    /// Items of the largest chunk so far.
    largest: f64,
    places: f64,
    target_s: f64,
}

impl Size {
    fn new(items: u64, places: usize, target: Duration) -> Self {
        let places = places as f64;
        Self {
            rate: 0.0,
            // So small that the first chunks are hardly ever too large.
            largest: (items as f64 / (places * 1024.0)).max(1.0),
            places,
            target_s: target.as_secs_f64(),
        }
    }

    /// For `left` items, at least one.
    fn next(&mut self, left: u64) -> u64 {
        let wanted = match self.rate > 0.0 {
            true => (self.rate * self.target_s).min(self.largest * GROWTH_MAX),
            false => self.largest,
        };
        // Two more rounds at least for each place.
        let share = left as f64 / (2.0 * self.places);
        let items = wanted.min(share.max(wanted * LAST_PART)).max(1.0);
        self.largest = self.largest.max(items);
        // A float becomes the nearest number there is.
        (items as u64).clamp(1, left)
    }

    /// A chunk of `items` ran for so long.
    fn learn(&mut self, items: u64, ran: Duration) {
        let rate = items as f64 / ran.as_secs_f64().max(1e-6);
        self.rate = match self.rate > 0.0 {
            true => 0.5 * self.rate + 0.5 * rate,
            false => rate,
        };
    }
}

/// Results by position; those that touch are combined.
struct Neighbours<T>(BTreeMap<u64, (u64, T)>);

impl<T> Default for Neighbours<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> Neighbours<T> {
    fn add(&mut self, at: u64, items: u64, value: T, combine: impl Fn(T, T) -> T) {
        let (mut start, mut end, mut value) = (at, at + items, value);
        if let Some((right_end, right)) = self.0.remove(&end) {
            value = combine(value, right);
            end = right_end;
        }
        let left = self
            .0
            .range(..start)
            .next_back()
            .map(|(left, (end, _))| (*left, *end));
        if let Some((left_start, _)) = left.filter(|(_, left_end)| *left_end == start) {
            if let Some((_, left)) = self.0.remove(&left_start) {
                value = combine(left, value);
                start = left_start;
            }
        }
        self.0.insert(start, (end, value));
    }

    /// The value of all, once all are there.
    fn into_whole(mut self) -> Option<T> {
        self.0.pop_first().map(|(_, (_, value))| value)
    }
}

#[cfg(test)]
#[path = "chunks/tests.rs"]
mod tests;
