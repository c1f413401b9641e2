//! Sizes and neighbours.

use super::*;

#[test]
fn all_items_are_cut_whatever_the_rates() {
    for (items, places) in [(0, 1), (1, 6), (7, 6), (1000, 3), (1 << 40, 4)] {
        let mut size = Size::new(items, places, Duration::from_millis(100));
        let (mut left, mut cuts) = (items, 0_u64);
        while left > 0 {
            let next = size.next(left);
            assert!((1..=left).contains(&next), "{next} of {left}");
            left -= next;
            cuts += 1;
            // A rate that jumps about.
            size.learn(next, Duration::from_nanos(1 + next * (cuts % 7) * 1000));
        }
        assert!(cuts <= 100_000, "{items} items in {cuts} chunks");
    }
}

#[test]
fn a_steady_rate_gives_chunks_of_the_target() {
    let per_item = Duration::from_micros(10);
    let mut size = Size::new(10_000_000, 4, Duration::from_millis(100));
    let mut next = 0;
    for _ in 0..10 {
        next = size.next(10_000_000);
        size.learn(next, per_item * u32::try_from(next).unwrap());
    }
    assert_eq!(next, 10_000, "10 us each, for 100 ms");
}

#[test]
fn chunks_shrink_towards_the_end() {
    let mut size = Size::new(1000, 2, Duration::from_secs(100));
    size.learn(1, Duration::from_secs(1));
    size.largest = 1000.0;
    assert_eq!(size.next(1000), 100);
    assert_eq!(size.next(100), 25);
    assert_eq!(size.next(30), 10, "a tenth of the target at least");
    assert_eq!(size.next(3), 3);
}

#[test]
fn neighbours_are_combined_in_order_whatever_the_order_in_which_they_come() {
    let parts = ["ab", "c", "def", "g", "hi"];
    let starts = [0, 2, 3, 6, 7];
    let mut order: Vec<usize> = (0..parts.len()).collect();
    // All orders, by Heap's method without recursion.
    let mut counts = [0; 5];
    let mut at = 0;
    loop {
        let mut neighbours = Neighbours::default();
        for part in &order {
            let value = parts[*part].to_owned();
            neighbours.add(starts[*part], parts[*part].len() as u64, value, |a, b| {
                a + &b
            });
        }
        assert_eq!(neighbours.0.len(), 1);
        assert_eq!(
            neighbours.into_whole().as_deref(),
            Some("abcdefghi"),
            "{order:?}"
        );
        while at < order.len() && counts[at] >= at {
            counts[at] = 0;
            at += 1;
        }
        if at == order.len() {
            break;
        }
        order.swap(if at % 2 == 0 { 0 } else { counts[at] }, at);
        counts[at] += 1;
        at = 0;
    }
}
