//! Chunks, windows and pieces of slices.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};

use heist_par::iter::plumbing::{IndexedPart, Part};
use heist_par::prelude::*;

use super::{first, in_pieces, numbers, together, Dice, SIZES};

fn own(items: &mut [u32]) -> Vec<u32> {
    items.to_vec()
}

#[test]
fn chunks_are_those_of_the_standard_library() {
    for len in SIZES {
        let mut items = numbers(len);
        for size in [1, 2, 3, 99, 10_001, usize::MAX] {
            let copy = items.clone();
            check_indexed!(items.par_chunks(size), items.chunks(size));
            check_indexed!(items.par_rchunks(size), items.rchunks(size));
            check_indexed!(items.par_chunks_exact(size), items.chunks_exact(size));
            check_indexed!(items.par_rchunks_exact(size), items.rchunks_exact(size));
            check_indexed!(
                items.par_chunks_mut(size).map(own),
                copy.chunks(size).map(<[_]>::to_vec)
            );
            check_indexed!(
                items.par_rchunks_mut(size).map(own),
                copy.rchunks(size).map(<[_]>::to_vec)
            );
            check_indexed!(
                items.par_chunks_exact_mut(size).map(own),
                copy.chunks_exact(size).map(<[_]>::to_vec)
            );
            check_indexed!(
                items.par_rchunks_exact_mut(size).map(own),
                copy.rchunks_exact(size).map(<[_]>::to_vec)
            );
        }
    }
}

#[test]
fn exact_chunks_leave_a_remainder() {
    let mut items = [1, 2, 3, 4, 5];
    assert_eq!(items.par_chunks_exact(3).remainder(), [4, 5]);
    assert_eq!(items.par_rchunks_exact(3).remainder(), [1, 2]);
    assert_eq!(items.par_chunks_exact_mut(3).remainder(), [4, 5]);
    assert_eq!(items.par_rchunks_exact_mut(3).into_remainder(), [1, 2]);
    let mut chunks = items.par_chunks_exact_mut(2);
    assert_eq!(chunks.take_remainder(), [5]);
    assert_eq!(chunks.take_remainder(), [0; 0]);
}

#[test]
fn windows_are_those_of_the_standard_library() {
    for len in SIZES {
        let items = numbers(len);
        for size in [1, 2, 3, 100, usize::MAX] {
            check_indexed!(items.par_windows(size), items.windows(size));
        }
        check_indexed!(
            items.par_array_windows::<3>(),
            items
                .windows(3)
                .map(|window| <&[u32; 3]>::try_from(window).unwrap())
        );
    }
}

#[test]
fn a_slice_of_items_without_size_may_be_as_long_as_can_be() {
    let items = [(); usize::MAX];
    let half = usize::MAX / 2 + 2;
    for mut chunks in [items.par_chunks(half), items.par_chunks(usize::MAX)] {
        let len = chunks.len();
        assert_eq!(chunks.split_off(len).len(), 0);
        assert_eq!(chunks.len(), len);
    }
    let mut back = items.par_rchunks(half);
    let upper = back.split_off(1).into_seq();
    assert!(upper.map(<[()]>::len).eq([half - 3]));
    assert_eq!(items.par_windows(usize::MAX).len(), 1);
}

#[test]
fn chunks_and_windows_of_no_items_are_refused() {
    let mut items = [1, 2];
    let refused = |op: &mut dyn FnMut()| catch_unwind(AssertUnwindSafe(op)).is_err();
    assert!(refused(&mut || drop(items.par_chunks(0))));
    assert!(refused(&mut || drop(items.par_rchunks(0))));
    assert!(refused(&mut || drop(items.par_chunks_exact(0))));
    assert!(refused(&mut || drop(items.par_rchunks_exact(0))));
    assert!(refused(&mut || drop(items.par_chunks_mut(0))));
    assert!(refused(&mut || drop(items.par_rchunks_mut(0))));
    assert!(refused(&mut || drop(items.par_chunks_exact_mut(0))));
    assert!(refused(&mut || drop(items.par_rchunks_exact_mut(0))));
    assert!(refused(&mut || drop(items.par_windows(0))));
    assert!(refused(&mut || drop(items.par_array_windows::<0>())));
}

#[test]
fn pieces_are_those_of_the_standard_library() {
    for len in SIZES {
        let mut items = numbers(len);
        let copy = items.clone();
        for rare in [0, 1, 5, 50] {
            let is_mark = |item: &u32| *item < rare;
            let is_same = |a: &u32, b: &u32| *a + rare > *b;
            check!(items.par_split(is_mark), copy.split(is_mark));
            check!(
                items.par_split_inclusive(is_mark),
                copy.split_inclusive(is_mark)
            );
            check!(items.par_chunk_by(is_same), copy.chunk_by(is_same));
            check!(
                items.par_split_mut(is_mark).map(own),
                copy.split(is_mark).map(<[_]>::to_vec)
            );
            check!(
                items.par_split_inclusive_mut(is_mark).map(own),
                copy.split_inclusive(is_mark).map(<[_]>::to_vec)
            );
            check!(
                items.par_chunk_by_mut(is_same).map(own),
                copy.chunk_by(is_same).map(<[_]>::to_vec)
            );
        }
    }
}

#[test]
fn no_item_is_looked_at_twice_for_a_separator() {
    for only in [0, 1, 50, 51, 98, 99, 100] {
        for seed in 1..30 {
            let looks = Vec::from_iter((0..100).map(|_| AtomicUsize::new(0)));
            let items = Vec::from_iter(0..100);
            let pieces = items.par_split(|item: &usize| {
                looks[*item].fetch_add(1, Ordering::Relaxed);
                *item == only
            });
            in_pieces(pieces, &mut Dice(seed), &mut Vec::new());
            assert!(looks.iter().all(|looks| looks.load(Ordering::Relaxed) == 1));
        }
    }
}

#[test]
fn a_search_for_the_end_of_a_piece_stops_when_the_budget_is_used_up() {
    let looks = AtomicUsize::new(0);
    let items = [1; 100];
    let mut pieces = items.par_split(|item| {
        looks.fetch_add(1, Ordering::Relaxed);
        *item == 0
    });
    for round in 1..=10 {
        let flow = pieces.run(&mut 10, |_| panic!("the piece is longer than that"));
        assert!(flow.is_continue());
        assert_eq!(looks.load(Ordering::Relaxed), round * 10);
        assert_eq!(pieces.steps(), 101 - round * 10);
    }
    assert_eq!(first(&mut pieces), items);
    assert_eq!(pieces.steps(), 0);
}
