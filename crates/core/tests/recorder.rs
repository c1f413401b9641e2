//! The events that a pool records, and the names of the jobs that begin in them.
#![cfg(not(any(heist_loom, heist_shuttle)))]

use std::sync::Barrier;

use heist_core::{Event, EventKind, Scope, ThreadPoolBuilder};
use heist_event::user_name;

#[test]
fn recorded_events_tell_who_stole_from_whom() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .record_events(1000)
        .build()
        .expect("a pool");
    let both = Barrier::new(2);
    let thief = pool.install(|| {
        heist_core::join(
            || {
                both.wait();
            },
            || {
                both.wait();
                heist_core::current_thread_index()
            },
        )
        .1
    });
    let thief = thief.expect("a worker");
    let events = pool.events();
    let stolen = events[thief].events.iter().any(
        |event| matches!(event.kind, EventKind::Steal { victim } if victim.index() == 1 - thief),
    );
    assert!(stolen, "{:?}", events[thief]);
    for worker in &events {
        assert!(worker.events.is_sorted_by_key(|event| event.at_ns));
        assert_eq!(worker.dropped, 0);
    }
    assert!(pool.diagnostics().recorder_started.is_some());
}

fn small() -> impl FnOnce(&Scope<'_>) + Send {
    |_| ()
}

/// One that does not fit a slot.
fn large() -> impl FnOnce(&Scope<'_>) + Send {
    let array = [1_u64; 64];
    move |_| assert_eq!(array.iter().sum::<u64>(), 64)
}

fn submitted() -> impl FnOnce() + Send {
    || ()
}

#[test]
fn recorded_jobs_have_the_names_of_their_closures() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .record_events(1000)
        .build()
        .expect("a pool");
    pool.scope(|scope| {
        scope.spawn(small());
        scope.spawn(large());
    });
    pool.submit(submitted()).join();
    let events = pool.events().remove(0);
    assert_eq!(events.names.len(), events.events.len());
    let begun = |(event, name): (&Event, &&str)| {
        let begins = event.kind == EventKind::JobBegin;
        assert!(begins || name.is_empty(), "{event:?} has the name {name}");
        user_name(name)
    };
    let names = events.events.iter().zip(&events.names).filter_map(begun);
    assert_eq!(
        names.collect::<Vec<_>>(),
        ["recorder::large", "recorder::small", "recorder::submitted"]
    );
}
