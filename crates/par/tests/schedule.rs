//! Loops in deterministic mode: one seed is one schedule, also where parts take turns.
#![cfg(all(target_os = "linux", not(any(heist_loom, heist_shuttle))))]

use std::env;
use std::fs;
use std::process::Command;

use heist_core::{join, ThreadPoolBuilder};
use heist_par::prelude::*;

/// Runs an ignored test of this file in a child with this seed. Returns its schedule.
fn run(test: &str, seed: u64) -> String {
    let name = format!("heist-par-schedule-{}-{test}", std::process::id());
    let file = env::temp_dir().join(name);
    let mut child = Command::new(env::current_exe().expect("the path of this test"));
    child
        .args([test, "--exact", "--ignored", "--nocapture"])
        .env("HEIST_SCHEDULE", format!("random:{seed}"))
        .env("HEIST_SCHEDULE_FILE", &file)
        .env_remove("HEIST_PROFILE")
        .env_remove("HEIST_STALL");
    let output = child.output().expect("the test runs again");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "seed {seed}: {said}");
    assert!(!said.contains("heist: "), "seed {seed}: {said}");
    let recorded = fs::read_to_string(&file).expect("it has recorded its schedule");
    fs::remove_file(&file).expect("it is there");
    recorded
}

/// The parts that have the iterator run joins, so that others find it out for long.
#[test]
#[ignore = "run by another test, in a child"]
fn a_bridge_whose_items_are_made_by_joins() {
    let pool = ThreadPoolBuilder::new().num_threads(3).build();
    let pool = pool.expect("a pool");
    let sum = pool.install(|| {
        let items = (0..40_u64).map(|n| {
            let both = join(|| n, || join(|| n, || n));
            both.0 + both.1 .0 + both.1 .1
        });
        let bridge = items.par_bridge();
        bridge.map(|n| join(|| n, || 1).0).sum::<u64>()
    });
    assert_eq!(sum, 3 * 780);
}

/// A part that waits for the iterator comes to points meanwhile.
#[test]
fn a_seed_is_one_schedule_of_a_bridge() {
    let test = "a_bridge_whose_items_are_made_by_joins";
    let [first, other] = [1, 2].map(|seed| {
        let schedule = run(test, seed);
        assert_eq!(run(test, seed), schedule);
        schedule
    });
    assert_ne!(first, other);
}
