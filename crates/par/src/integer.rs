//! The bounds of ranges: integers, and characters.
//!
//! The traits are public, since what is public is bounded by them, but out of reach.

#![expect(
    unnameable_types,
    reason = "nobody else is to implement or to call this"
)]

use std::ops::{Range, RangeInclusive};

/// An integer or a character.
pub trait RangeInteger: Copy + PartialOrd + Send {
    /// An empty range.
    const NONE: RangeInclusive<Self>;

    /// The distance to there: 0 if that is lower. `None` if a `usize` cannot tell.
    fn distance(self, to: Self) -> Option<usize>;

    /// The value so far ahead, which must exist.
    fn forward(self, distance: usize) -> Self;

    /// Half the way to there, which must not be lower; rounded down.
    fn middle(self, to: Self) -> Self;
}

/// One whose distances all fit into a `usize`.
pub trait IndexedRangeInteger: RangeInteger {
    /// The range one by one.
    fn seq(range: Range<Self>) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator;
}

/// One of whose kind there are no more than a `usize` can tell.
pub trait InclusiveRangeInteger: RangeInteger {
    /// The range one by one.
    fn seq(
        range: RangeInclusive<Self>,
    ) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator;
}

macro_rules! integers {
    ($($int:ty: $unsigned:ty),*) => { $(
        impl RangeInteger for $int {
            const NONE: RangeInclusive<Self> = RangeInclusive::new(1, 0);

            #[inline]
            fn distance(self, to: Self) -> Option<usize> {
                if self < to {
                    // Modulo 2^bits, where it is right even if it overflows `Self`.
                    (to.wrapping_sub(self) as $unsigned).try_into().ok()
                } else {
                    Some(0)
                }
            }

            #[inline]
            fn forward(self, distance: usize) -> Self {
                self.wrapping_add(distance as Self)
            }

            fn middle(self, to: Self) -> Self {
                let half = to.wrapping_sub(self) as $unsigned / 2;
                self.wrapping_add(half as Self)
            }
        }
    )* };
}

integers!(u8: u8, u16: u16, u32: u32, u64: u64, u128: u128, usize: usize);
integers!(i8: u8, i16: u16, i32: u32, i64: u64, i128: u128, isize: usize);

macro_rules! indexed_integers {
    ($($int:ty),*) => { $(
        impl IndexedRangeInteger for $int {
            fn seq(
                range: Range<Self>,
            ) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
                range
            }
        }
    )* };
}

indexed_integers!(u8, u16, u32, usize, i8, i16, i32, isize);

macro_rules! inclusive_integers {
    ($($int:ty),*) => { $(
        impl InclusiveRangeInteger for $int {
            fn seq(
                range: RangeInclusive<Self>,
            ) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
                range
            }
        }
    )* };
}

inclusive_integers!(u8, u16, i8, i16);

/// No character has a code from here on,
const GAP: u32 = 0xD800;
/// and so many.
const GAP_LEN: u32 = 0x800;

/// The number of characters before this one.
fn number(character: char) -> u32 {
    let code = u32::from(character);
    if code < GAP {
        code
    } else {
        code - GAP_LEN
    }
}

/// The character before which there are so many.
fn nth_char(number: u32) -> char {
    let code = if number < GAP {
        number
    } else {
        number + GAP_LEN
    };
    char::from_u32(code).expect("a number of a character")
}

impl RangeInteger for char {
    const NONE: RangeInclusive<Self> = RangeInclusive::new('b', 'a');

    fn distance(self, to: Self) -> Option<usize> {
        number(self).distance(number(to))
    }

    fn forward(self, distance: usize) -> Self {
        nth_char(number(self).forward(distance))
    }

    fn middle(self, to: Self) -> Self {
        nth_char(number(self).middle(number(to)))
    }
}

impl IndexedRangeInteger for char {
    fn seq(range: Range<Self>) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
        (number(range.start)..number(range.end)).map(nth_char)
    }
}

impl InclusiveRangeInteger for char {
    fn seq(
        range: RangeInclusive<Self>,
    ) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
        let numbers = if range.is_empty() {
            0..0
        } else {
            number(*range.start())..number(*range.end()) + 1
        };
        numbers.map(nth_char)
    }
}
