//! Ranges, above all at the ends of their types.

use heist_par::iter::plumbing::Part;
use heist_par::prelude::*;

use super::{first, in_pieces, together, Dice};

/// All ranges with these bounds are those of the standard library.
macro_rules! check_ranges {
    ($check:ident, $bounds:expr) => {
        for start in $bounds {
            for end in $bounds {
                $check!((start..end).into_par_iter(), start..end);
            }
        }
    };
    ($check:ident, $bounds:expr, inclusive) => {
        for start in $bounds {
            for end in $bounds {
                $check!((start..=end).into_par_iter(), start..=end);
            }
        }
    };
}

#[test]
fn ranges_are_those_of_the_standard_library() {
    check_ranges!(check_indexed, [0_u8, 1, 100, 254, 255]);
    check_ranges!(check_indexed, [-128_i8, -127, 0, 99, 126, 127]);
    check_ranges!(check_indexed, [0_u16, 1, 9999, 65535]);
    check_ranges!(check_indexed, [-32768_i16, 0, 1, 32767]);
    check_ranges!(check, [0_u8, 1, 100, 254, 255], inclusive);
    check_ranges!(check_indexed, [0_u8, 1, 100, 254, 255], inclusive);
    check_ranges!(check_indexed, [-128_i8, -127, 0, 99, 126, 127], inclusive);
    check_ranges!(check_indexed, [0_u16, 1, 9999, 65535], inclusive);
    check_ranges!(check_indexed, [-32768_i16, 0, 1, 32767], inclusive);
}

/// Ranges at both ends of a type, and around 0.
macro_rules! check_ends {
    ($check:ident: $($int:ty),*) => { $({
        let near = |middle: $int| [middle, middle + 1, middle + 2, middle + 300];
        check_ranges!($check, near(<$int>::MIN));
        check_ranges!($check, near(<$int>::MAX - 300));
        check_ranges!($check, near(7));
        check_ranges!(check, near(<$int>::MIN), inclusive);
        check_ranges!(check, near(<$int>::MAX - 300), inclusive);
        check_ranges!(check, near(7), inclusive);
    })* };
}

#[test]
fn ranges_are_right_at_the_ends_of_their_types() {
    check_ends!(check_indexed: u32, i32, usize, isize);
    check_ends!(check: u64, i64, u128, i128);
}

#[test]
fn ranges_of_characters_leave_out_what_is_none() {
    let bounds = ['\0', 'a', '\u{D7F0}', '\u{D7FF}', '\u{E000}', '\u{E00F}'];
    let bounds = &bounds[1..];
    for &start in bounds {
        for &end in &bounds[1..] {
            check_indexed!((start..end).into_par_iter(), start..end);
            check_indexed!((start..=end).into_par_iter(), start..=end);
        }
    }
    check_indexed!(
        ('\u{10FFF0}'..char::MAX).into_par_iter(),
        '\u{10FFF0}'..char::MAX
    );
    check_indexed!((char::MAX..=char::MAX).into_par_iter(), [char::MAX]);
    check_indexed!(('z'..='a').into_par_iter(), ['a'; 0]);
    assert_eq!(('\0'..=char::MAX).into_par_iter().len(), 0x11_0000 - 0x800);
}

#[test]
fn ranges_with_more_items_than_can_be_counted_are_cut_in_the_middle() {
    let mut lower = (i128::MIN..i128::MAX).into_par_iter();
    assert_eq!((lower.steps(), lower.opt_len()), (usize::MAX, None));
    let mut upper = lower.split().expect("an upper half");
    assert_eq!(first(&mut lower), i128::MIN);
    assert_eq!(first(&mut upper), -1);

    let mut lower = (0..=u128::MAX).into_par_iter();
    assert_eq!((lower.steps(), lower.opt_len()), (usize::MAX, None));
    let mut upper = lower.split().expect("an upper half");
    assert_eq!(first(&mut lower), 0);
    assert_eq!(first(&mut upper), 1 << 127);

    let all = (u64::MIN..=u64::MAX).into_par_iter();
    assert_eq!((all.steps(), all.opt_len()), (usize::MAX, None));
    let most = (i64::MIN..i64::MAX).into_par_iter();
    assert_eq!(most.opt_len(), Some(u64::MAX as usize));
}

#[test]
fn a_range_that_was_iterated_over_is_empty() {
    let mut range = 0..=3_u8;
    assert_eq!(range.by_ref().count(), 4);
    check_indexed!(range.clone().into_par_iter(), range.clone());
}

#[test]
fn the_type_of_a_range_is_told_by_what_is_done_with_its_items() {
    fn is_even(n: i64) -> bool {
        n % 2 == 0
    }
    let even = (0..100).into_par_iter().filter(|n| is_even(*n));
    assert_eq!(even.map(|_| 1).sum::<u32>(), 50);
    let even = (0..=100).into_par_iter().filter(|n| is_even(*n));
    assert_eq!(even.map(|_| 1).sum::<u32>(), 51);
    let pairs = (0..100).into_par_iter().zip(0..100);
    let same = pairs.filter(|(a, b)| i16::eq(a, b));
    assert_eq!(same.map(|_| 1).sum::<u32>(), 100);
}
