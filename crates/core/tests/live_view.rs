//! The live view (`HEIST_LIVE`) of a process that forks. The other tests are those of `heist top`.
// A child of a program with threads can do nothing under the thread sanitizer.
#![cfg(all(target_os = "linux", not(any(heist_loom, heist_shuttle, heist_tsan))))]

use std::env;
use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use heist_core::{ThreadPool, ThreadPoolBuilder};
use heist_event::halves;

#[test]
fn a_forked_child_leaves_the_view_of_its_parent_alone_and_has_none() {
    let name = format!("heist-live-{}", std::process::id());
    let folder = env::temp_dir().join(name);
    fs::DirBuilder::new()
        .mode(0o700)
        .create(&folder)
        .expect("a folder");
    let output = Command::new(env::current_exe().expect("this test"))
        .args(["in_a_child", "--exact", "--ignored", "--nocapture"])
        .env("HEIST_LIVE", "1")
        .env("XDG_RUNTIME_DIR", &folder)
        .env_remove("HEIST_PROFILE")
        .env_remove("HEIST_STALL")
        // A forked child has one of its parent's stacks, and what the others keep looks leaked.
        .env("LSAN_OPTIONS", "detect_leaks=0")
        .stderr(Stdio::inherit())
        .output()
        .expect("the test runs again");
    assert!(output.status.success());
    let left = fs::read_dir(folder.join("heist"))
        .expect("it is there")
        .count();
    assert_eq!(left, 0, "the file went with its process");
    fs::remove_dir_all(&folder).expect("it is ours");
}

fn pool() -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .expect("a pool")
}

/// The number of the last writing into the only file that there is.
fn generation(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).expect("it is there");
    let files: Vec<_> = files.map(|entry| entry.expect("a file").path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let bytes = fs::read(&files[0]).expect("it is ours");
    let (generation, text) = halves::newest(&bytes).expect("a half is whole");
    let pid = format!("\"pid\": {},", std::process::id());
    assert!(text.contains(&pid), "{text}");
    generation
}

#[test]
#[ignore = "forks; a child of the other test"]
fn in_a_child() {
    let folder = env::var_os("XDG_RUNTIME_DIR").expect("the parent says it");
    let folder = Path::new(&folder).join("heist");
    let _pool = pool();
    let at_fork = generation(&folder);
    // SAFETY: the child only uses what heist promises to a child, and ends.
    match unsafe { libc::fork() } {
        0 => {
            let sum = pool().install(|| heist_core::join(|| 1, || 2));
            // It calls what was noted for the end of the parent.
            std::process::exit(i32::from(sum != (1, 2)));
        }
        child => {
            assert!(child > 0, "the process can be forked");
            let mut status = -1;
            // SAFETY: it is our child, and the word is there.
            let ended = unsafe { libc::waitpid(child, &raw mut status, 0) };
            assert_eq!((ended, status), (child, 0));
        }
    }
    // The thread of the parent writes on, into the file that is still there.
    let after = generation(&folder);
    while generation(&folder) <= after.max(at_fork) {
        std::thread::yield_now();
    }
}
