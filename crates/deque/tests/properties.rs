//! The deque against a naive one: any sequence of operations by one thread gives the same answers,
//! with membarrier and without.
#![cfg(not(any(heist_loom, heist_shuttle)))]

mod items;

use std::collections::VecDeque;

use heist_deque::{Injector, Steal};
use heist_sync::BarrierRequest;
use proptest::prelude::*;

use items::numbers;

#[derive(Clone, Copy, Debug)]
enum Step {
    Push,
    Pop,
    Steal,
    TakeOldest,
    /// Makes all public: then a thief that may not ask gets what one that may would get.
    Show,
    /// So many jobs in slots that the caller knows, of which so many are taken back.
    Ahead(usize, usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => Just(Step::Push),
        2 => Just(Step::Pop),
        2 => Just(Step::Steal),
        1 => Just(Step::TakeOldest),
        1 => Just(Step::Show),
        1 => (0..4_usize, 0..4_usize).prop_map(|(jobs, back)| Step::Ahead(jobs, back.min(jobs)))
    ];
    prop::collection::vec(step, 0..200)
}

fn request() -> impl Strategy<Value = BarrierRequest> {
    prop_oneof![Just(BarrierRequest::Auto), Just(BarrierRequest::Fence)]
}

proptest! {
    #[test]
    fn the_deque_answers_as_a_naive_one(steps in steps(), request in request()) {
        let (owner, thief) = numbers(700, request);
        let mut naive = VecDeque::new();
        for (number, step) in (0..).zip(steps) {
            match step {
                Step::Push => {
                    owner.push(number);
                    naive.push_back(number);
                }
                Step::Pop => prop_assert_eq!(owner.pop(), naive.pop_back()),
                Step::Ahead(jobs, back) => {
                    owner.push_and_retract_ahead(number, jobs, back);
                    naive.extend(std::iter::repeat_n(number, jobs - back));
                }
                Step::TakeOldest => prop_assert_eq!(owner.take_oldest(), naive.pop_front()),
                Step::Show => {
                    owner.owner().show();
                    // SAFETY: the number is copied.
                    let taken =
                        unsafe { thief.0.thief().steal(|| false, |_, slot| items::read(slot)) };
                    let expected = naive.pop_front().map_or(Steal::Empty, Steal::Success);
                    prop_assert_eq!(taken, expected);
                }
                Step::Steal => {
                    let stolen = match thief.steal() {
                        Steal::Success(number) => Some(number),
                        Steal::Empty => None,
                        Steal::Retry => panic!("nobody else holds the lock"),
                    };
                    prop_assert_eq!(stolen, naive.pop_front());
                }
            }
            prop_assert_eq!(thief.is_empty(), naive.is_empty());
        }
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
