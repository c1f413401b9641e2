//! Tests of the names of jobs, which come from elsewhere and may come again.

#![expect(clippy::missing_panics_doc, reason = "they panic if a test fails")]

use std::fs;
use std::path::Path;

use heist_cluster::{Cluster, JobOptions, Options};

use crate::jobs::Counting;
use crate::stage::PATIENCE;
use crate::world::{self, World};

/// Names that could be taken for a path, a command, a line, an option, nothing or a pattern.
const NAMES: [&str; 9] = [
    "../../evil",
    "a/b",
    "quote\"'`$(touch pwned)",
    "new\nline",
    "nul\0x",
    "",
    "\u{202e}rtl \u{1f4a3}",
    "-rf",
    "%j%u",
];

/// Any text names a job, and nothing of it is obeyed.
pub fn any_text_names_a_job<W: World>() {
    on_a_store::<W>(|connect, folder| {
        let cluster = connect();
        let around = around(folder);
        let jobs = NAMES.map(|name| {
            let job = cluster.submit(Counting::new(3, 1), JobOptions::new(name));
            (name, job.expect("submit"))
        });
        for (name, job) in jobs {
            let result = job.wait_timeout(PATIENCE);
            assert_eq!(result, Some(Ok(Counting::new(3, 1).expected())), "{name:?}");
            let stored = cluster.stored_result::<Counting>(&name.into());
            assert!(stored.expect("it can be read").is_some(), "{name:?}");
        }
        assert_eq!(around, self::around(folder));
    });
}

/// A name stands for the last job that had it, whichever driver that had.
pub fn a_name_stands_for_its_last_job<W: World>() {
    on_a_store::<W>(|connect, _| {
        for end in 1..=3 {
            let cluster = connect();
            let job = Counting::new(end, 1);
            let expected = job.expected();
            let job = cluster.submit(job, JobOptions::new("nightly"));
            let result = job.expect("submit").wait_timeout(PATIENCE);
            assert_eq!(result, Some(Ok(expected)));
            let stored = cluster.stored_result::<Counting>(&"nightly".into());
            assert_eq!(stored.expect("it can be read"), Some(Ok(expected)));
        }
    });
}

/// Runs a test that may connect several times, one after the other, to the same store.
fn on_a_store<W: World>(test: impl FnOnce(&dyn Fn() -> Cluster, &Path)) {
    let Some(_turn) = world::turn_or_skipped::<W>() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let connect = || {
        let store = folder.path().join("store");
        let options = Options::new().store(store).events(folder.path());
        Cluster::connect_with(W::backend(folder.path()), options).expect("a cluster")
    };
    test(&connect, folder.path());
}

/// The files and folders beside the store.
fn around(folder: &Path) -> Vec<std::ffi::OsString> {
    let entries = fs::read_dir(folder).expect("it is there");
    let mut names: Vec<_> = entries
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    names.sort_unstable();
    names
}
