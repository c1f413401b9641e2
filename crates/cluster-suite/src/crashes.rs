//! Tests of functions that end their worker.

#![expect(clippy::missing_panics_doc, reason = "they panic if a test fails")]

use std::fs;
use std::io::Write as _;

use heist_cluster::{remote, RemoteError};

use crate::calls::{add, note_and_die};
use crate::stage::Stage;

/// Fails as the allocator does, without using up the machine's memory.
#[remote]
pub fn use_up_memory() {
    let all = std::alloc::Layout::array::<u8>(isize::MAX as usize);
    std::alloc::handle_alloc_error(all.expect("no object is larger"));
}

/// Uses up the stack.
#[remote]
pub fn use_up_stack(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 1000]);
    match depth {
        0 => frame[0],
        depth => use_up_stack(depth - 1) + frame[1],
    }
}

/// Says the beginning of what Ray says of a crash, and is killed.
#[remote]
pub fn pretend_and_be_killed() {
    let said = std::io::stderr().write_all(b"*** SIG");
    said.expect("somebody listens");
    let me = std::process::id().to_string();
    let mut kill = std::process::Command::new("kill");
    kill.args(["-KILL", &me]).status().expect("kill runs");
}

/// Work that ends its worker each time is tried twice, says how the worker ended, and takes
/// nobody's node away.
pub fn work_that_ends_its_worker_twice_is_not_run_again(stage: &Stage<'_>) {
    let file = stage.folder.join("attempts");
    // More than there are nodes, and short lives that a node may have.
    for call in 1..=4 {
        let error = stage.cluster.call(note_and_die, file.clone()).get();
        let error = error.expect_err("it ends its worker");
        assert!(
            matches!(&error, RemoteError::Backend { attempts: 2, .. }),
            "{error:?}"
        );
        // Each backend has its own words for it.
        let words = error.to_string().to_lowercase();
        assert!(words.contains("abort"), "{error}");
        let attempts = fs::read_to_string(&file).expect("it was there");
        assert_eq!(attempts.lines().count(), 2 * call);
    }
    for node in ["n1", "n2", "n3"] {
        assert_eq!(stage.cluster.pin(node).call(add, (1, 2)).get(), Ok(3));
    }
}

/// The error of a call that used up the memory says so.
pub fn the_error_says_that_there_was_no_memory(stage: &Stage<'_>) {
    let once = stage.cluster.on("n1").retries(0);
    let error = once.call(use_up_memory, ()).get();
    let error = error.expect_err("there is not so much").to_string();
    assert!(error.contains("memory allocation of"), "{error}");
}

/// The error of a call that used up the stack says so.
pub fn the_error_says_that_there_was_no_stack(stage: &Stage<'_>) {
    let once = stage.cluster.on("n1").retries(0);
    let error = once.call(use_up_stack, 1 << 40).get();
    let error = error.expect_err("no stack is so deep").to_string();
    assert!(error.contains("overflow"), "{error}");
}
