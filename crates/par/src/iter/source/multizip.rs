//! Tuples of parallel iterators: tuples of their items.

use crate::granularity::SplitPolicy;
use crate::iter::plumbing::indexed;
use crate::iter::{IntoParallelIterator, IntoParallelRefIterator, IntoParallelRefMutIterator};
use crate::part::{IndexedPart, Part};

/// Tuples of the items of up to twelve iterators, as many as the shortest one has.
///
/// # Examples
///
/// ```
/// use heist::prelude::*;
///
/// let (names, sizes) = (["a", "b", "c"], vec![30, 10, 20]);
/// let lines: Vec<_> = (1..9, &names[..], &sizes)
///     .into_par_iter()
///     .map(|(line, name, size)| format!("{line} {name} {size}"))
///     .collect();
/// assert_eq!(lines, ["1 a 30", "2 b 10", "3 c 20"]);
/// ```
#[derive(Clone, Debug)]
#[must_use = "a parallel iterator does nothing until it is consumed"]
pub struct MultiZip<T> {
    /// All of the same length.
    tuple: T,
}

/// The pattern `((a, b), c)` of `a => b c`.
macro_rules! nested {
    ($nested:pat =>) => { $nested };
    ($nested:pat => $next:ident $($rest:ident)*) => { nested!(($nested, $next) => $($rest)*) };
}

/// Turns a tuple into a parallel iterator, in one of three ways.
macro_rules! into_multi_zip {
    ($tuple:ty, $into:path, $method:ident, [$($lifetime:lifetime)?], $($name:ident)*) => {
        impl<$($lifetime,)? $($name),*> IntoParallelIterator for $tuple
        where
            $($name: $into,)*
            $(<$name as $into>::Iter: IndexedPart,)*
        {
            type Iter = MultiZip<($(<$name as $into>::Iter,)*)>;
            type Item = ($(<$name as $into>::Item,)*);

            #[expect(non_snake_case, reason = "variables are called as their types")]
            fn into_par_iter(self) -> Self::Iter {
                let ($($name,)*) = self;
                Self::Iter::new(($($name.$method(),)*))
            }
        }
    };
}

macro_rules! multi_zip {
    ($first:ident $($other:ident)*) => {
        into_multi_zip!(
            ($first, $($other,)*), IntoParallelIterator, into_par_iter, [], $first $($other)*
        );
        into_multi_zip!(
            &'a ($first, $($other,)*),
            IntoParallelRefIterator<'a>, par_iter, ['a], $first $($other)*
        );
        into_multi_zip!(
            &'a mut ($first, $($other,)*),
            IntoParallelRefMutIterator<'a>, par_iter_mut, ['a], $first $($other)*
        );

        impl<$first, $($other),*> MultiZip<($first, $($other,)*)>
        where
            $first: IndexedPart,
            $($other: IndexedPart,)*
        {
            /// Cuts all to the length of the shortest.
            #[expect(non_snake_case, reason = "variables are called as their types")]
            fn new(mut tuple: ($first, $($other,)*)) -> Self {
                let ($first, $($other,)*) = &mut tuple;
                let len = $first.part_len()$(.min($other.part_len()))*;
                drop(($first.split_off(len), $($other.split_off(len),)*));
                Self { tuple }
            }
        }

        impl<$first, $($other),*> Part for MultiZip<($first, $($other,)*)>
        where
            $first: IndexedPart,
            $($other: IndexedPart,)*
        {
            type Output = ($first::Output, $($other::Output,)*);

            indexed!();

            #[expect(non_snake_case, reason = "variables are called as their types")]
            fn split_policy(&self) -> SplitPolicy {
                let ($first, $($other,)*) = &self.tuple;
                $first.split_policy()$(.and($other.split_policy()))*
            }
        }

        impl<$first, $($other),*> IndexedPart for MultiZip<($first, $($other,)*)>
        where
            $first: IndexedPart,
            $($other: IndexedPart,)*
        {
            #[inline]
            fn part_len(&self) -> usize {
                self.tuple.0.part_len()
            }

            #[expect(non_snake_case, reason = "variables are called as their types")]
            fn split_off(&mut self, index: usize) -> Self {
                let ($first, $($other,)*) = &mut self.tuple;
                let tuple = ($first.split_off(index), $($other.split_off(index),)*);
                Self { tuple }
            }

            #[expect(non_snake_case, reason = "variables are called as their types")]
            fn into_seq(self) -> impl DoubleEndedIterator<Item = Self::Output> + ExactSizeIterator {
                let ($first, $($other,)*) = self.tuple;
                let zipped = $first.into_seq()$(.zip($other.into_seq()))*;
                zipped.map(|nested!($first => $($other)*)| ($first, $($other,)*))
            }
        }
    };
}

multi_zip!(A);
multi_zip!(A B);
multi_zip!(A B C);
multi_zip!(A B C D);
multi_zip!(A B C D E);
multi_zip!(A B C D E F);
multi_zip!(A B C D E F G);
multi_zip!(A B C D E F G H);
multi_zip!(A B C D E F G H I);
multi_zip!(A B C D E F G H I J);
multi_zip!(A B C D E F G H I J K);
multi_zip!(A B C D E F G H I J K L);
