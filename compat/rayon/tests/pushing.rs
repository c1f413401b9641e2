//! Iterators of other crates that do with a consumer what few do: push on when it is full, or drop
//! a part of it.

use std::ops::Range;

use rayon::iter::plumbing::{bridge_unindexed, Folder, UnindexedConsumer, UnindexedProducer};
use rayon::prelude::*;

/// Numbers, all of which are pushed into the folder, whether it is full or not.
struct Pushed(Range<usize>);

impl ParallelIterator for Pushed {
    type Item = usize;

    fn drive_unindexed<C: UnindexedConsumer<usize>>(self, consumer: C) -> C::Result {
        bridge_unindexed(self, consumer)
    }
}

impl UnindexedProducer for Pushed {
    type Item = usize;

    fn split(self) -> (Self, Option<Self>) {
        (self, None)
    }

    fn fold_with<F: Folder<usize>>(self, folder: F) -> F {
        let push = |folder: F, number| folder.consume(number).consume_iter([number + 1]);
        self.0.step_by(2).fold(folder, push)
    }
}

#[test]
fn items_that_are_pushed_into_a_full_folder_change_nothing() {
    let first = |found| Pushed(0..100).find_first(|number| number % 4 == found);
    assert_eq!([0, 1, 2, 3].map(first), [0, 1, 2, 3].map(Some));
}

/// Numbers, by one of the two halves of the consumer.
struct Half {
    numbers: Range<usize>,
    is_lower: bool,
}

impl ParallelIterator for Half {
    type Item = usize;

    fn drive_unindexed<C: UnindexedConsumer<usize>>(self, consumer: C) -> C::Result {
        let lower = consumer.split_off_left();
        if self.is_lower {
            drop(consumer);
            bridge_unindexed(Pushed(self.numbers), lower)
        } else {
            drop(lower);
            consumer.into_folder().consume_iter(self.numbers).complete()
        }
    }
}

#[test]
fn an_iterator_may_drop_either_half_of_its_consumer() {
    for is_lower in [true, false] {
        let numbers = 0..10;
        let half = Half { numbers, is_lower };
        assert_eq!(half.map(|number| number * 2).sum::<usize>(), 90);
    }
}
