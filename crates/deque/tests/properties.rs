//! The deque against a naive one: any sequence of operations by one thread
//! gives the same answers, and every item is dropped exactly once.
#![cfg(not(any(heist_loom, heist_shuttle)))]

use heist_deque::{deque_at, Injector, Steal};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;

#[derive(Clone, Copy, Debug)]
enum Step {
    Push,
    Pop,
    Steal,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![3 => Just(Step::Push), 2 => Just(Step::Pop), 2 => Just(Step::Steal)];
    prop::collection::vec(step, 0..400)
}

/// Where the indices start: anywhere, and often just before they wrap.
fn start() -> impl Strategy<Value = usize> {
    prop_oneof![
        any::<usize>(),
        (0..200_usize).prop_map(|n| usize::MAX - n),
        (0..200_usize).prop_map(|n| isize::MAX as usize - n)
    ]
}

proptest! {
    #[test]
    fn the_deque_answers_as_a_naive_one(steps in steps(), start in start(), capacity in 1_usize..9) {
        let (owner, thief) = deque_at(capacity, start);
        let mut naive = VecDeque::new();
        let counted = Arc::new(());
        for (number, step) in steps.into_iter().enumerate() {
            let same = |item: Option<Box<(usize, Arc<()>)>>, expected: Option<usize>| {
                prop_assert_eq!(item.map(|item| item.0), expected);
                Ok(())
            };
            match step {
                Step::Push => {
                    owner.push(Box::new((number, Arc::clone(&counted))));
                    naive.push_back(number);
                }
                Step::Pop => same(owner.pop(), naive.pop_back())?,
                Step::Steal => same(
                    match thief.steal() {
                        Steal::Success(item) => Some(item),
                        Steal::Empty => None,
                        Steal::Retry => panic!("nobody else could have won the race"),
                    },
                    naive.pop_front(),
                )?,
            }
            prop_assert_eq!(owner.len(), naive.len());
            prop_assert_eq!(thief.is_empty(), naive.is_empty());
            prop_assert_eq!(Arc::strong_count(&counted), naive.len() + 1);
        }
        drop((owner, thief));
        prop_assert_eq!(Arc::strong_count(&counted), 1);
    }

    #[test]
    fn the_injector_is_a_queue(pushes in prop::collection::vec(any::<bool>(), 0..200)) {
        let injector = Injector::new();
        let mut naive = VecDeque::new();
        for (number, push) in pushes.into_iter().enumerate() {
            if push {
                injector.push(number);
                naive.push_back(number);
            } else {
                prop_assert_eq!(injector.take(), naive.pop_front());
            }
            prop_assert_eq!(injector.len(), naive.len());
        }
    }
}
