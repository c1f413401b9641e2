//! Adaptors that stop before the end: all parts of an iterator stop, and no clone does.

use super::*;

/// They are some of the numbers below `size`, in ascending order, each once.
fn some_below(size: usize, items: &[usize]) {
    assert!(items.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(items.last().is_none_or(|last| *last < size));
}

#[test]
fn until_an_empty_one_is_found() {
    for size in SIZES {
        let all: Vec<_> = (0..size).collect();
        gives((0..size).into_par_iter().map(Some).while_some(), &all);
        let below = |end| {
            let options = (0..size)
                .into_par_iter()
                .map(move |n| (n < end).then_some(n));
            options.while_some()
        };
        for end in [0, 1, 50, 9_000] {
            let first = end.min(size);
            assert_eq!(in_sequence(below(end)), all[..first]);
            some_below(first, &gathered(below(end)));
        }
    }
}

#[test]
fn the_end_that_one_part_finds_is_the_end_of_all_but_not_of_clones() {
    let mut lower = (0..10_usize)
        .into_par_iter()
        .map(|n| (n != 2).then_some(n))
        .while_some();
    let mut clone = lower.clone();
    let upper = lower.split().expect("half");
    assert_eq!(in_sequence(lower), [0, 1]);
    assert_eq!(upper.steps(), 0);
    assert_eq!(in_sequence(clone.split().expect("half")), [5, 6, 7, 8, 9]);

    let mut lower = (0..10_usize).into_par_iter().take_any(3);
    let clone = lower.clone();
    let upper = lower.split().expect("half");
    assert_eq!(in_sequence(lower), [0, 1, 2]);
    assert_eq!(upper.steps(), 0);
    assert_eq!(in_sequence(clone), [0, 1, 2]);

    let mut lower = (0..10_usize).into_par_iter().take_any_while(|n| *n < 3);
    let mut clone = lower.clone();
    let upper = lower.split().expect("half");
    assert_eq!(in_sequence(lower), [0, 1, 2]);
    assert_eq!(upper.steps(), 0);
    drop(clone.split());
    assert_eq!(in_sequence(clone), [0, 1, 2]);

    let mut lower = (0..10_usize).into_par_iter().skip_any(6);
    let clone = lower.clone();
    let upper = lower.split().expect("half");
    assert_eq!(
        (in_sequence(lower), in_sequence(upper)),
        (vec![], vec![6, 7, 8, 9])
    );
    assert_eq!(in_sequence(clone), [6, 7, 8, 9]);

    let mut lower = (0..10_usize).into_par_iter().skip_any_while(|n| *n != 3);
    let mut clone = lower.clone();
    let upper = lower.split().expect("half");
    assert_eq!(
        (in_sequence(lower), in_sequence(upper)),
        (vec![3, 4], vec![5, 6, 7, 8, 9])
    );
    assert_eq!(in_sequence(clone.split().expect("half")), []);
}

#[test]
fn so_many_items_are_taken_or_skipped() {
    for size in SIZES {
        for n in [0, 1, 2, 50, 20_000] {
            let made = AtomicUsize::new(0);
            let numbers = || {
                (0..size).into_par_iter().inspect(|_| {
                    made.fetch_add(1, Relaxed);
                })
            };
            let taken = in_sequence(numbers().take_any(n));
            assert_eq!(taken, Vec::from_iter(0..size.min(n)));
            assert_eq!(made.load(Relaxed), size.min(n), "none is made in vain");
            let taken = gathered(numbers().take_any(n));
            assert_eq!(taken.len(), size.min(n));
            some_below(size, &taken);
            assert_eq!(
                in_sequence(numbers().skip_any(n)),
                Vec::from_iter(n.min(size)..size)
            );
            let rest = gathered(numbers().skip_any(n));
            assert_eq!(rest.len(), size.saturating_sub(n));
            some_below(size, &rest);
        }
    }
}

#[test]
fn items_are_taken_or_skipped_until_the_closure_says_no() {
    for size in SIZES {
        let numbers = (0..size).into_par_iter();
        gives(
            numbers.clone().take_any_while(|_| true),
            &Vec::from_iter(0..size),
        );
        gives(numbers.clone().skip_any_while(|_| true), &[]);
        for end in [0, 1, 50, 9_000] {
            let taken = gathered(numbers.clone().take_any_while(|n| *n < end));
            some_below(end.min(size), &taken);
            let given = gathered(numbers.clone().skip_any_while(|n| *n < end));
            some_below(size, &given);
            let given = BTreeSet::from_iter(given);
            assert!((end..size).all(|n| given.contains(&n)));
        }
    }
}

#[test]
fn endless_sequences_may_be_cut_short() {
    let endless = (0..8_usize)
        .into_par_iter()
        .flat_map_iter(std::iter::repeat);
    assert_eq!(gathered(endless.take_any(100)).len(), 100);
}

/// The payload, which is text, of the panic in `f`.
fn panic_of(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("it panics");
    payload.downcast_ref::<&str>().expect("a text").to_string()
}

/// Panics at 3.
fn not_three(n: &usize) {
    if *n == 3 {
        std::panic::panic_any("three");
    }
}

#[test]
fn a_panic_in_one_part_stops_the_others() {
    // Before and after the fuse.
    let before = (0..10_usize)
        .into_par_iter()
        .inspect(not_three)
        .panic_fuse();
    let after = (0..10_usize)
        .into_par_iter()
        .panic_fuse()
        .inspect(not_three);
    fn check(mut lower: impl ParallelIterator + Clone) {
        let clone = lower.clone();
        let mut upper = lower.split().expect("half");
        assert!(upper.run(&mut { 1 }, |_| Continue(())).is_continue());
        assert_eq!(panic_of(|| drop(in_sequence(lower))), "three");
        assert!(upper
            .run(&mut { 1 }, |_| panic!("it has stopped"))
            .is_break());
        assert!(clone.steps() > 0);
    }
    check(before.clone());
    check(after.clone());
    check(before.clone().enumerate());
    check(after.clone().filter(|_| true));
    // In sequence the items go by one after the other, and what is left is skipped.
    let mut lower = after.clone().zip(0..10);
    let upper = lower.split().expect("half");
    assert_eq!(panic_of(|| drop(in_sequence(lower))), "three");
    assert_eq!(in_sequence(upper), []);
    let mut lower = after.clone().interleave(10..20);
    let upper = lower.split().expect("half");
    assert_eq!(panic_of(|| drop(in_sequence(lower))), "three");
    assert!(in_sequence(upper).iter().all(|n| *n >= 10));
    let mut lower = after.clone().intersperse(10);
    let upper = lower.split().expect("half");
    assert_eq!(panic_of(|| drop(in_sequence(lower.rev()))), "three");
    assert!(in_sequence(upper.rev()).iter().all(|n| *n == 10));
    assert_eq!(panic_of(|| drop(gathered(before))), "three");
    assert_eq!(panic_of(|| drop(gathered(after))), "three");
}

#[test]
fn the_panic_that_reaches_the_caller_is_not_about_missing_items() {
    for n in 0..100 {
        let panics = move |item: &usize| {
            if *item == n * 30 {
                std::panic::panic_any("mine");
            }
            std::hint::black_box((0..100).fold(0, |a, b| a ^ std::hint::black_box(b)));
        };
        let numbers = (0..3000_usize).into_par_iter().panic_fuse().inspect(panics);
        let numbers = Asking(numbers, Granularity::Static(3));
        let collect = || drop(numbers.collect::<Vec<_>>());
        assert_eq!(panic_of(|| pool().install(collect)), "mine");
    }
}

#[test]
fn a_fuse_does_not_blow_because_its_thread_panics_already() {
    struct OnDrop<F: FnMut()>(F);

    impl<F: FnMut()> Drop for OnDrop<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }

    let mut sums = Vec::new();
    let cleans_up = panic_of(|| {
        let _on_drop = OnDrop(|| {
            let numbers = (0..100_usize).into_par_iter().panic_fuse();
            let mut pieces = Vec::new();
            cut(numbers.clone(), &mut Dice(1), &mut pieces);
            sums.push(pieces.iter().sum::<usize>());
            sums.push(in_sequence(numbers.zip(0..100)).len());
        });
        std::panic::panic_any("outer");
    });
    assert_eq!((&*cleans_up, sums), ("outer", vec![4950, 100]));
}
