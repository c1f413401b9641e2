//! The stall watchdog in a program on rayon: a lock that is held over a join.
#![cfg(target_os = "linux")]

use std::env;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;

#[test]
fn a_lock_over_a_join_is_reported_by_the_names_of_the_program() {
    let mut child = Command::new(env::current_exe().expect("the path of this test"))
        .args(["in_a_child", "--exact", "--ignored", "--nocapture"])
        .env("HEIST_STALL", "0.5")
        .env("HEIST_NUM_THREADS", "2")
        .env_remove("HEIST_PROFILE")
        .stderr(Stdio::piped())
        .spawn()
        .expect("the test runs again");
    let lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    let mut report = Vec::new();
    for line in lines.map_while(Result::ok) {
        let is_last = line.contains("hint: ");
        report.push(line);
        if is_last {
            break;
        }
    }
    child.kill().expect("it stands still");
    child.wait().expect("it has ended");
    let report = report.join("\n");
    for part in [
        "heist: nothing has moved for 0.",
        "second half of a join, `stall::update`, which worker",
        "is blocked in futex 0x",
        "cycle: worker",
        "hint: a lock",
    ] {
        assert!(report.contains(part), "{part} in {report}");
    }
}

fn update(lock: &Mutex<u64>) {
    let _held = lock.lock().unwrap();
    let has_begun = AtomicBool::new(false);
    rayon_core::join(
        || {
            while !has_begun.load(Ordering::Acquire) {
                std::hint::spin_loop();
            }
        },
        || {
            has_begun.store(true, Ordering::Release);
            *lock.lock().unwrap() += 1;
        },
    );
}

#[test]
#[ignore = "stands still; run by the other test"]
fn in_a_child() {
    update(&Mutex::new(0));
}
