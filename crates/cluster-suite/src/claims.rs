//! Tests of calls that claim something before others: a turn by their priority, a resource that
//! nobody else has meanwhile.

#![expect(clippy::missing_panics_doc, reason = "they panic if a test fails")]

use std::collections::VecDeque;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use heist_cluster::{remote, Calls, Cluster, Priority, RemoteFuture};
use heist_sync::thread;

use crate::calls::{add, work_for};
use crate::until;

/// Says in a file that it has begun, and waits for another.
#[remote]
pub fn wait_for_file(begun: PathBuf, file: PathBuf) {
    fs::write(begun, "").expect("room for a file");
    until("the file", || file.exists());
}

/// Adds a line to a file.
#[remote]
pub fn note(file: PathBuf, line: String) {
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(file)
        .expect("room for a file");
    file.write_all(format!("{line}\n").as_bytes())
        .expect("room for a line");
}

/// True if nobody else has the file meanwhile.
#[remote]
pub fn take_alone(path: PathBuf) -> bool {
    let made = OpenOptions::new().write(true).create_new(true).open(&path);
    for _ in 0..100 {
        thread::yield_now();
    }
    made.is_ok() && fs::remove_file(&path).is_ok()
}

/// Of calls that wait for the same room the most urgent begin first.
pub fn urgent_calls_come_first(cluster: &Cluster) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let all = cluster.pin("n2").cpus(2);
    let before = all.call(wait_for_file, (path("begun"), path("go")));
    until("the call before", || path("begun").exists());
    let priorities = [Priority::Low, Priority::Normal, Priority::High];
    let noted = priorities.map(|priority| {
        let calls = all.clone().priority(priority);
        calls.call(note, (path("lines"), format!("{priority:?}")))
    });
    // Requests are sent in their order: when this one is answered, those calls wait.
    assert!(cluster.nodes().is_ok());
    fs::write(path("go"), "").expect("room for a file");
    assert_eq!(before.get(), Ok(()));
    for call in noted {
        assert_eq!(call.get(), Ok(()));
    }
    let lines = fs::read_to_string(path("lines")).expect("lines");
    assert_eq!(lines.lines().collect::<Vec<_>>(), ["High", "Normal", "Low"]);
}

/// However many urgent calls come, one that can wait has its turn.
pub fn no_call_is_passed_over_for_ever(cluster: &Cluster) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("lines");
    let all = cluster.pin("n2").cpus(2);
    let (high, low) = (
        all.clone().priority(Priority::High),
        all.priority(Priority::Low),
    );
    let urgent = || high.call(note, (file.clone(), "high".to_owned()));
    let mut open: VecDeque<_> = (0..40).map(|_| urgent()).collect();
    let patient = low.call(note, (file.clone(), "low".to_owned()));
    until("the patient call", || {
        let first = open.pop_front().expect("some are open");
        assert_eq!(first.get(), Ok(()));
        open.push_back(urgent());
        patient.is_done()
    });
    assert_eq!(patient.get(), Ok(()));
    for call in open {
        assert_eq!(call.get(), Ok(()));
    }
}

/// A call that wants all of a node has it at some time, however many small ones come.
pub fn a_large_call_has_its_turn(cluster: &Cluster) {
    for priority in [Priority::High, Priority::Normal] {
        let small = cluster.pin("n2");
        let mut seed = 0;
        let mut begin = || {
            seed += 1;
            small.call(work_for, (seed, 5 + seed % 30))
        };
        let mut open: VecDeque<_> = (0..12).map(|_| begin()).collect();
        let first = open.pop_front().map(RemoteFuture::get);
        assert!(first.is_some_and(|sum| sum.is_ok()));
        let large = cluster.pin("n2").cpus(2).priority(priority);
        let large = large.call(add, (1, 2));
        until("the large call", || {
            open.push_back(begin());
            let next = open.pop_front().map(RemoteFuture::get);
            assert!(next.is_some_and(|sum| sum.is_ok()));
            large.is_done()
        });
        assert_eq!(large.get(), Ok(3));
        for call in open {
            assert!(call.get().is_ok());
        }
    }
}

/// Calls that want the one resource of this kind that a node with two processors has.
pub fn a_resource_is_had_alone(calls: &Calls<'_>, folder: &Path) {
    let path = folder.join("taken");
    let all: Vec<_> = (0..20)
        .map(|_| calls.call(take_alone, path.clone()))
        .collect();
    for call in all {
        assert_eq!(call.get(), Ok(true));
    }
}
