//! Models of the deque: every interleaving of small scripts, under loom.
//!
//! Run with `cargo xtask model`; `cargo xtask mutate` breaks the deque in one place after the other
//! and requires that a model notices.
#![cfg(heist_loom)]

mod items;

use std::sync::Arc;

use heist_deque::Steal;
use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heist_sync::{hint, thread, Barrier, BarrierRequest};

use items::{read, write, Place, Robber, Stack};

fn numbers(slots: usize) -> (Stack, Robber) {
    items::numbers(slots, BarrierRequest::Auto)
}

/// A deque that was promised a barrier which the system now refuses.
fn without_its_barrier(slots: usize) -> (Stack, Robber) {
    items::numbers_with(slots, Barrier::withdrawn())
}

/// Each of the numbers below `count` was taken exactly once.
fn assert_each_once(mut taken: Vec<u64>, count: u64) {
    taken.sort_unstable();
    assert_eq!(taken, (0..count).collect::<Vec<_>>());
}

fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(model);
}

/// The pending half of a join, as the core does it: the slot is lent, and comes back with the
/// latch.
struct Lent {
    slot: Place,
    latch: Arc<AtomicBool>,
}

/// Runs a job: squares it, so that a result is told from a job.
fn run(number: u64) -> u64 {
    100 + number
}

/// Lends a job to thieves.
fn lend(owner: &Stack, number: u64, latch: &Arc<AtomicBool>) -> Lent {
    let slot = owner.owner().vacant();
    owner.push(number);
    let latch = Arc::clone(latch);
    Lent { slot, latch }
}

/// Takes the job back and runs it, or waits for the thief; returns the result.
fn settle(owner: &Stack, lent: &Lent) -> u64 {
    // SAFETY: scripts take back the newest first.
    let is_ours = unsafe { owner.owner().retract(lent.slot) };
    finish(owner, lent, is_ours)
}

/// As `settle`, when the job was taken back or not.
fn finish(owner: &Stack, lent: &Lent, is_ours: bool) -> u64 {
    if is_ours {
        // SAFETY: taken back.
        return run(unsafe { read(lent.slot) });
    }
    while !lent.latch.load(Ordering::Acquire) {
        hint::spin_loop();
        thread::yield_now();
    }
    // SAFETY: the thief is done.
    let result = unsafe { read(lent.slot) };
    // SAFETY: as above.
    unsafe { owner.owner().reclaim(lent.slot) };
    result
}

/// Tries to steal a lent job, runs it in its slot and sets its latch.
fn serve(thief: &Robber, latches: &[Arc<AtomicBool>], ran: &AtomicUsize) {
    // SAFETY: the slot stays in use until its latch is set below.
    let stolen = unsafe { thief.0.thief().steal(|| true, |_, slot| slot) };
    if let Steal::Success(slot) = stolen {
        // SAFETY: stolen.
        let number = unsafe { read(slot) };
        ran.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { write(slot, run(number)) };
        latches[number as usize].store(true, Ordering::Release);
    }
}

/// A thief with a number of attempts at lent jobs.
fn server(thief: Robber, latches: &[Arc<AtomicBool>], attempts: usize) -> thread::JoinHandle<()> {
    let latches = latches.to_vec();
    thread::spawn(move || {
        let ran = AtomicUsize::new(0);
        for _ in 0..attempts {
            serve(&thief, &latches, &ran);
        }
    })
}

fn latches(count: usize) -> Vec<Arc<AtomicBool>> {
    (0..count)
        .map(|_| Arc::new(AtomicBool::new(false)))
        .collect()
}

#[test]
fn a_lent_job_runs_once_at_the_owner_or_at_the_thief() {
    check(4, || {
        let (owner, thief) = numbers(2);
        let latches = latches(1);
        let theft = server(thief, &latches, 1);
        let lent = lend(&owner, 0, &latches[0]);
        assert_eq!(settle(&owner, &lent), run(0));
        theft.join().unwrap();
    });
}

#[test]
fn nested_jobs_come_back_to_their_own_frames() {
    check(3, || {
        let (owner, thief) = numbers(3);
        let latches = latches(2);
        let theft = server(thief, &latches, 2);
        let outer = lend(&owner, 0, &latches[0]);
        let inner = lend(&owner, 1, &latches[1]);
        assert_eq!(settle(&owner, &inner), run(1));
        assert_eq!(settle(&owner, &outer), run(0));
        theft.join().unwrap();
    });
}

/// The owner knows its tail without reading it, as the contexts of the core do.
#[test]
fn jobs_ahead_of_the_tail_come_back_to_their_own_frames() {
    check(3, || {
        let (owner, thief) = numbers(3);
        let latches = latches(2);
        let theft = server(thief, &latches, 2);
        let end = owner.owner();
        let outer = end.vacant();
        // SAFETY: there are three slots.
        let inner = unsafe { outer.add(1) };
        for (slot, number) in [(outer, 0), (inner, 1)] {
            // SAFETY: vacant.
            unsafe { write(slot, number) };
            // SAFETY: it holds a number.
            if unsafe { end.push_ahead(slot, &items::NUMBER) } {
                // SAFETY: both slots are in use by now, or the first.
                unsafe { end.find_tail(outer) };
                assert!(end.service());
            }
        }
        for (slot, number) in [(inner, 1), (outer, 0)] {
            let lent = Lent {
                slot,
                latch: Arc::clone(&latches[number as usize]),
            };
            // SAFETY: the newest.
            let is_ours = unsafe { end.retract_ahead(slot) };
            assert_eq!(finish(&owner, &lent, is_ours), run(number));
        }
        // SAFETY: none is in use.
        unsafe { end.find_tail(outer) };
        assert_eq!(end.vacant(), outer);
        theft.join().unwrap();
    });
}

#[test]
fn jobs_that_are_shown_before_anybody_asks_come_back_to_their_own_frames() {
    check(3, || {
        let (owner, thief) = numbers(3);
        let latches = latches(2);
        let theft = server(thief, &latches, 2);
        let outer = lend(&owner, 0, &latches[0]);
        owner.owner().show();
        let inner = lend(&owner, 1, &latches[1]);
        owner.owner().show();
        assert_eq!(settle(&owner, &inner), run(1));
        assert_eq!(settle(&owner, &outer), run(0));
        theft.join().unwrap();
    });
}

/// A slot is used again at once after its job was taken back.
#[test]
fn a_thief_never_takes_the_job_that_was_there_before() {
    check(3, || {
        let (owner, thief) = numbers(2);
        let latches = latches(2);
        let theft = server(thief, &latches, 1);
        for number in 0..2 {
            let lent = lend(&owner, number, &latches[number as usize]);
            assert_eq!(settle(&owner, &lent), run(number));
        }
        theft.join().unwrap();
    });
}

#[test]
fn two_thieves_never_take_the_same_job() {
    check(2, || {
        let (owner, thief) = numbers(3);
        let latches = latches(2);
        let outer = lend(&owner, 0, &latches[0]);
        let inner = lend(&owner, 1, &latches[1]);
        let thefts = [thief.clone(), thief].map(|thief| server(thief, &latches, 1));
        assert_eq!(settle(&owner, &inner), run(1));
        assert_eq!(settle(&owner, &outer), run(0));
        for theft in thefts {
            theft.join().unwrap();
        }
    });
}

/// Jobs that nobody waits for leave their slots when they are claimed.
#[test]
fn detached_jobs_are_taken_once_each_by_either_side() {
    check(3, || {
        let (owner, thief) = numbers(3);
        let theft = thread::spawn(move || thief.steal_some(2));
        owner.push(0);
        owner.push(1);
        let mut taken = owner.pop_all();
        taken.extend(theft.join().unwrap());
        assert_each_once(taken, 2);
    });
}

#[test]
fn slots_of_stolen_jobs_are_used_again_only_after_the_thief_has_copied() {
    check(2, || {
        let (owner, thief) = numbers(3);
        let theft = thread::spawn(move || thief.steal_some(2));
        owner.push(0);
        let mut taken = owner.pop_all();
        owner.push(1);
        owner.push(2);
        taken.extend(owner.pop_all());
        taken.extend(theft.join().unwrap());
        assert_each_once(taken, 3);
    });
}

#[test]
fn the_owner_can_take_its_oldest_job_beside_a_thief() {
    check(2, || {
        let (owner, thief) = numbers(3);
        owner.push(0);
        owner.push(1);
        let theft = thread::spawn(move || thief.steal_some(1));
        let mut taken: Vec<_> = owner.take_oldest().into_iter().collect();
        taken.extend(owner.pop_all());
        taken.extend(theft.join().unwrap());
        assert_each_once(taken, 2);
    });
}

/// An owner that is silent for ever: the thief takes everything all the same.
#[test]
fn a_silent_owner_keeps_nothing_from_a_thief() {
    check(3, || {
        let (owner, thief) = numbers(3);
        let theft = thread::spawn(move || {
            let mut taken = Vec::new();
            while taken.len() < 2 {
                taken.extend(thief.steal_some(1));
                thread::yield_now();
            }
            taken
        });
        owner.push(0);
        owner.push(1);
        assert_eq!(theft.join().unwrap(), [0, 1]);
        assert_eq!(owner.pop(), None);
    });
}

/// As a worker does it that falls asleep: it calls, and looks once more.
#[test]
fn a_job_whose_owner_has_not_heard_the_call_is_seen_by_the_caller() {
    check(4, || {
        let (owner, thief) = numbers(2);
        let caller = thread::spawn(move || {
            thief.0.thief().signal();
            let barrier = Barrier::new(BarrierRequest::Auto).unwrap();
            assert!(barrier.heavy("test.signal.heavy"));
            !thief.is_empty()
        });
        let heard = owner.push(0);
        let seen = caller.join().unwrap();
        assert!(heard || seen);
    });
}

/// As above, of a job that lies elsewhere.
#[test]
fn what_an_owner_stores_elsewhere_and_has_heard_no_call_is_seen_by_the_caller() {
    check(4, || {
        let (owner, thief) = numbers(2);
        let elsewhere = Arc::new(AtomicUsize::new(0));
        let caller = thread::spawn({
            let elsewhere = Arc::clone(&elsewhere);
            move || {
                thief.0.thief().signal();
                let barrier = Barrier::new(BarrierRequest::Auto).unwrap();
                assert!(barrier.heavy("test.signal.heavy"));
                elsewhere.load(Ordering::Relaxed) > 0
            }
        });
        elsewhere.store(1, Ordering::Relaxed);
        let heard = owner.owner().hears_a_signal();
        let seen = caller.join().unwrap();
        assert!(heard || seen);
    });
}

#[test]
fn a_thief_that_is_refused_the_barrier_takes_no_job_twice() {
    check(2, || {
        let (owner, thief) = without_its_barrier(3);
        let theft = thread::spawn(move || thief.steal_some(2));
        owner.push(0);
        owner.push(1);
        let mut taken = owner.pop_all();
        owner.push(2);
        taken.extend(owner.pop_all());
        taken.extend(theft.join().unwrap());
        assert_each_once(taken, 3);
    });
}

#[test]
fn an_owner_whose_thief_was_refused_the_barrier_hides_nothing_from_its_next_push_on() {
    check(1, || {
        let (owner, thief) = without_its_barrier(4);
        owner.push(0);
        assert_eq!(thief.steal(), Steal::Empty);
        owner.push(1);
        assert_eq!(thief.steal(), Steal::Success(0));
        assert_eq!(owner.pop(), Some(1));
        owner.push(2);
        owner.push(3);
        assert_eq!(thief.steal_some(2), [2, 3]);
        assert_eq!(owner.pop(), None);
    });
}

/// The owner of a full deque finds that there is no slot for its job, and runs it itself.
#[test]
fn a_job_without_a_slot_is_taken_by_no_thief() {
    check(3, || {
        let (owner, thief) = numbers(1);
        let theft = thread::spawn(move || thief.steal_some(2));
        owner.push(0);
        let mut taken = Vec::new();
        let (_, stays) = owner.try_push(1);
        if !stays {
            taken.push(1);
        }
        taken.extend(owner.pop_all());
        taken.extend(theft.join().unwrap());
        assert_each_once(taken, 2);
    });
}

/// The system has memory again after it had none: a thief that has looked at the slot meanwhile
/// does not take the job that was there first for the one that is there now.
#[test]
fn a_slot_that_was_emptied_for_want_of_memory_is_not_taken_for_what_was_in_it() {
    check(1, || {
        let (owner, thief) = numbers(8);
        thief.0.refuse_memory(true);
        let deque = Arc::clone(&thief.0);
        owner.push(0);
        owner.push(1);
        // So that the slot behind them is the next to be taken from.
        let mut taken = thief.steal_some(2);
        let theft = thread::spawn(move || thief.steal_some(1));
        let (_, stays) = owner.try_push(2);
        assert!(!stays, "there are two slots");
        taken.push(2);
        deque.refuse_memory(false);
        let (_, stays) = owner.try_push(3);
        assert!(stays, "there are three");
        taken.extend(owner.pop_all());
        taken.extend(theft.join().unwrap());
        assert_each_once(taken, 4);
    });
}

/// Here no fence of a light barrier stands in for what an answer carries.
#[test]
fn an_answer_tells_the_thief_which_job_was_taken_back() {
    check(3, || {
        let (owner, thief) = without_its_barrier(2);
        let theft = thread::spawn(move || thief.steal_some(1));
        owner.push(0);
        let mut taken = owner.pop_all();
        owner.push(1);
        taken.extend(owner.pop_all());
        taken.extend(theft.join().unwrap());
        assert_each_once(taken, 2);
    });
}

/// The owner answers an earlier signal while a thief is refused the barrier, and may miss that
/// one's.
#[test]
fn a_refusal_that_an_owner_does_not_hear_is_made_good_by_the_next() {
    check(3, || {
        let (owner, thief) = without_its_barrier(4);
        thief.0.thief().signal();
        let theft = thread::spawn({
            let thief = thief.clone();
            move || thief.steal_some(1)
        });
        owner.push(0);
        let mut taken = theft.join().unwrap();
        owner.push(1);
        if thief.steal_some(1).is_empty() {
            owner.push(2);
            taken.extend(thief.steal_some(3));
            assert_each_once(taken, 3);
        }
    });
}
