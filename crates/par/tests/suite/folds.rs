//! A part gives the same items to a fold as one by one, and with those between that do not count,
//! for the same budget.

use std::fmt::Debug;
use std::ops::ControlFlow::Continue;
use std::sync::Mutex;

use either::Either;
use heist_par::iter::plumbing::Part;
use heist_par::iter::{repeat, repeat_n, split};
use heist_par::prelude::*;

/// Runs the part in each way, in grains of several lengths, to its end.
fn same<P: Part<Output: Debug + PartialEq>>(make: impl Fn() -> P) {
    for budget in [1, 2, 3, 5, 17, 1 << 40] {
        let (mut one_by_one, mut folded, mut sparse) = (make(), make(), make());
        while one_by_one.steps() > 0 {
            let (mut left, mut left_of_fold, mut items) = (budget, budget, Vec::new());
            let flow = one_by_one.run(&mut left, |item| {
                items.push(item);
                Continue(())
            });
            assert!(flow.is_continue());
            let items_of_fold =
                folded.run_fold(&mut left_of_fold, Vec::new(), |mut items, item| {
                    items.push(item);
                    items
                });
            assert_eq!(items_of_fold, items, "with a budget of {budget}");
            assert_eq!(left_of_fold, left, "of a budget of {budget}");
            let (mut left_of_sparse, mut those_that_count) = (budget, Vec::new());
            let flow = sparse.run_sparse(&mut left_of_sparse, |item, counts| {
                those_that_count.extend(item.filter(|_| counts));
                Continue(())
            });
            assert!(flow.is_continue());
            assert_eq!(those_that_count, items, "with a budget of {budget}");
            assert_eq!(left_of_sparse, left, "of a budget of {budget}");
            assert_eq!(folded.steps(), one_by_one.steps());
            assert_eq!(sparse.steps(), one_by_one.steps());
            assert_eq!(folded.known_len(), one_by_one.known_len());
        }
    }
}

/// A place for a value that is changed as long as the process lives. It is noted, so that a
/// sanitizer finds no leak.
fn kept<T>(value: T) -> &'static mut T {
    static ALL: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    let place = Box::leak(Box::new(value));
    ALL.lock().unwrap().push(&raw const *place as usize);
    place
}

#[test]
fn texts_are_folded_as_they_are_run() {
    for text in [
        "",
        "a",
        "one two\n\nthree, äöü 𝄞\r\n, ,last",
        ",,\n",
        "no end",
    ] {
        same(|| text.par_chars());
        same(|| text.par_char_indices());
        same(|| text.par_bytes());
        same(|| text.par_encode_utf16());
        same(|| text.par_lines());
        same(|| text.par_split(','));
        same(|| text.par_split_inclusive([',', ' ']));
        same(|| text.par_split_terminator(','));
        same(|| text.par_split_whitespace());
        same(|| text.par_split_ascii_whitespace());
        same(|| text.par_matches(char::is_alphabetic));
        same(|| text.par_match_indices('e'));
        same(|| kept(text.to_owned()).par_drain(..));
    }
}

#[test]
fn pieces_of_slices_are_folded_as_they_are_run() {
    for slice in [
        &[][..],
        &[1],
        &[1, 1, 0, 2, 0, 0, 3, 3, 3, 3, 3, 0],
        &[0, 0],
        &[5; 40],
    ] {
        same(|| slice.par_split(|n| *n == 0));
        same(|| slice.par_split_inclusive(|n| *n == 0));
        same(|| slice.par_chunk_by(|a, b| a == b));
        same(|| kept(slice.to_vec()).par_split_mut(|n| *n == 0));
        same(|| kept(slice.to_vec()).par_split_inclusive_mut(|n| *n == 0));
        same(|| kept(slice.to_vec()).par_chunk_by_mut(|a, b| a <= b));
    }
}

#[test]
fn sources_are_folded_as_they_are_run() {
    for len in [0, 1, 2, 30] {
        same(|| (0..len).into_par_iter());
        same(|| (0..=len).into_par_iter());
        same(|| (0..len).collect::<Vec<_>>().into_par_iter());
        same(|| {
            (0..len)
                .map(|n| n.to_string())
                .collect::<Vec<_>>()
                .into_par_iter()
        });
        same(|| repeat_n("x".to_owned(), len));
        same(|| repeat('x').take(len));
        same(|| {
            split(0..len, |range| match range.len() {
                0 | 1 => (range, None),
                half => (
                    range.start..range.start + half / 2,
                    Some(range.start + half / 2..range.end),
                ),
            })
        });
        same(|| match len {
            1 => Either::Left(vec![7; len].into_par_iter().chain(vec![8])),
            _ => Either::Right((0..len).into_par_iter()),
        });
    }
}

#[test]
fn adaptors_are_folded_as_they_are_run() {
    for len in [0_usize, 1, 2, 7, 40] {
        let all = || (0..len).into_par_iter();
        let odd = || all().filter(|n| n % 2 == 1);
        same(|| all().chunks(3));
        same(|| all().fold_chunks(4, || 1, |a, n| a * 3 + n));
        same(|| all().fold_chunks_with(4, 1, |a, n| a * 3 + n).rev());
        same(|| all().chunks(3).rev().zip(all().chunks(2)));
        same(|| all().by_uniform_blocks(5));
        same(|| all().by_exponential_blocks());
        same(|| all().with_weight(|n| n % 4));
        same(|| all().flat_map(|n| (0..n % 5).into_par_iter()));
        same(|| odd().flat_map(|n| vec![n; n]));
        same(|| all().map(|n| vec![n; n % 3]).flatten());
        same(|| all().flat_map_iter(|n| 0..n % 4));
        same(|| all().map(|n| vec![n; n % 3]).flatten_iter());
        same(|| all().intersperse(99));
        same(|| odd().intersperse(99));
        same(|| all().skip(5));
        same(|| all().skip(5).rev().take(4));
        same(|| all().take(5).skip(2).enumerate());
        same(|| all().positions(|n| n % 3 == 1));
        same(|| {
            all().map_init(
                || 1,
                |made, n| {
                    *made += n;
                    *made % 7
                },
            )
        });
        same(|| {
            odd().map_with(vec![1], |seen, n| {
                seen.push(n);
                seen.len()
            })
        });
        same(|| {
            odd().map_with([0_u64; 20], |seen, n| {
                seen[n % 20] += 1;
                *seen
            })
        });
        same(|| all().fold(|| 1, |a, n| a * 3 % 1001 + n));
        same(|| odd().fold_with(1, |a, n| a * 3 % 1001 + n));
        same(|| all().try_fold(|| 0, |sum: usize, n| (n < 30).then_some(sum + n)));
        same(|| all().interleave(20..25_usize));
        same(|| all().interleave_shortest(20..25_usize));
        same(|| all().chain(odd()));
        same(|| all().zip(all().rev()).step_by(2));
        same(|| odd().update(|n| *n += 1).inspect(|_| ()).map(|n| n * 2));
        same(|| odd().filter_map(|n| n.checked_sub(6)));
        same(|| all().take_any(7));
        same(|| all().skip_any(7));
        same(|| all().map(|n| (n < 9).then_some(n)).while_some());
        same(|| all().panic_fuse().with_max_len(3));
    }
}
