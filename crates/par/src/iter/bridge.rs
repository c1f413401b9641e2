//! Bridges: parallel iterators over the items of an ordinary one.

mod batch;
mod ordered;
mod turns;
mod unordered;

pub use ordered::OrderedBridge;
pub use unordered::IterBridge;

/// Lends an iterator to several workers, which take turns to ask it for items.
///
/// # Examples
///
/// ```
/// use heist::prelude::*;
///
/// let text = "12 and 30 are 42".to_string();
/// let numbers = text.split(' ').filter_map(|word| word.parse::<u32>().ok());
/// assert_eq!(numbers.par_bridge().sum::<u32>(), 84);
/// ```
pub trait ParallelBridge: Iterator + Sized {
    /// Gives the items in no particular order.
    ///
    /// One worker at a time asks for the next item; the others find other work meanwhile. So it
    /// makes sense where an item costs more than it takes to get. No worker waits for a turn:
    /// `next` may itself run parallel work.
    ///
    /// A worker takes one item, gives the iterator back and runs the item. So the iterator may wait
    /// for what is done with earlier items, as that of a channel does or one that hands out
    /// buffers, and, where there are several workers, an item for what is done with later ones. It
    /// is dropped when all items are done.
    ///
    /// # Panics
    ///
    /// The consumer of the items panics if `next` does, which is not called again.
    ///
    /// # Cost
    ///
    /// Some 10 ns for each item, beside what `next` takes, and next to nothing in a pool of one
    /// worker. If items are cheaper than that, [`in_batches`](IterBridge::in_batches) takes several
    /// in a turn.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let powers = std::iter::successors(Some(1_u64), |power| power.checked_mul(3));
    /// assert_eq!(powers.par_bridge().filter(|power| power % 2 == 0).reduce_with(u64::max), None);
    /// ```
    fn par_bridge(self) -> IterBridge<Self>;

    /// Gives the items in their order, so that ordered consumers, such as `collect`, give the same
    /// as one after the other.
    ///
    /// A worker that wants to share its work takes some items for itself and passes the iterator
    /// on, so that there is nothing to wait for. These items are held back until all of them are
    /// there, and then run one after the other: an iterator that waits for what is done with
    /// earlier items, or items that wait for each other, need [`par_bridge`](Self::par_bridge).
    ///
    /// # Panics
    ///
    /// As with [`par_bridge`](Self::par_bridge).
    ///
    /// # Cost
    ///
    /// The items that are taken ahead lie in memory: up to 1,024, or some microseconds' worth, for
    /// each worker.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist::prelude::*;
    ///
    /// let doubled: Vec<_> = "3 1 2".split(' ').par_bridge_ordered().map(str::len).collect();
    /// assert_eq!(doubled, [1, 1, 1]);
    /// ```
    fn par_bridge_ordered(self) -> OrderedBridge<Self>;
}

impl<I> ParallelBridge for I
where
    I: Iterator<Item: Send> + Send,
{
    fn par_bridge(self) -> IterBridge<Self> {
        IterBridge::new(self)
    }

    fn par_bridge_ordered(self) -> OrderedBridge<Self> {
        OrderedBridge::new(self)
    }
}
