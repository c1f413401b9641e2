//! Consumers that keep the places of the items, and are cut at places only.

use std::ops::Range;

use rayon::iter::plumbing::{Consumer, Folder, Reducer, UnindexedConsumer};
use rayon::prelude::*;

/// Takes the items with their places, and is cut at places only.
struct Places(Range<usize>);

struct Placed {
    places: Range<usize>,
    items: Vec<(usize, usize)>,
}

struct Join;

impl Consumer<usize> for Places {
    type Folder = Placed;
    type Reducer = Join;
    type Result = Vec<(usize, usize)>;

    fn split_at(self, index: usize) -> (Self, Self, Join) {
        let middle = self.0.start + index;
        assert!(middle <= self.0.end);
        (Self(self.0.start..middle), Self(middle..self.0.end), Join)
    }

    fn into_folder(self) -> Placed {
        let (places, items) = (self.0, Vec::new());
        Placed { places, items }
    }

    fn full(&self) -> bool {
        false
    }
}

impl UnindexedConsumer<usize> for Places {
    fn split_off_left(&self) -> Self {
        unreachable!("it is cut at places");
    }

    fn to_reducer(&self) -> Join {
        unreachable!("it is cut at places");
    }
}

impl Folder<usize> for Placed {
    type Result = Vec<(usize, usize)>;

    fn consume(mut self, item: usize) -> Self {
        let place = self.places.next().expect("as many places as items");
        self.items.push((place, item));
        self
    }

    fn complete(self) -> Vec<(usize, usize)> {
        assert!(self.places.is_empty());
        self.items
    }

    fn full(&self) -> bool {
        false
    }
}

impl Reducer<Vec<(usize, usize)>> for Join {
    fn reduce(self, left: Vec<(usize, usize)>, right: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
        [left, right].concat()
    }
}

/// Rayon's promise of `opt_len`.
#[test]
fn an_iterator_that_tells_its_length_cuts_consumers_at_places() {
    fn check(iter: impl ParallelIterator<Item = usize> + Clone) {
        let items: Vec<_> = iter.clone().collect();
        let len = iter.opt_len().expect("it tells its length");
        let places: Vec<_> = items.into_iter().enumerate().collect();
        assert_eq!(iter.drive_unindexed(Places(0..len)), places);
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build();
    pool.unwrap().install(|| {
        let range = || (0..1000).into_par_iter();
        check(range());
        check((0..=1000).into_par_iter().map(|n| n % 7).inspect(|_| ()));
        check(vec![3; 1000].into_par_iter());
        check([1, 2, 3].into_par_iter());
        check(range().chain(0..77).rev().skip(3).take(900));
        check(range().step_by(3).with_min_len(9).with_max_len(10));
        check(range().chunks(9).map(|chunk| chunk[0]));
        check(range().zip(5..300).map(|(a, b)| a * b));
        check(range().interleave_shortest(vec![1; 90]).intersperse(4));
        check(rayon::iter::repeat_n(5, 100).map_init(|| 0, |_, n| n));
        let set = std::collections::BTreeSet::from_iter(0..100);
        check(set.par_iter().copied());
    });
}
