//! The page of a run that goes on, written again and again.

use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::folder::RunFolder;
use super::page;

/// The least time between two pages.
const EVERY: Duration = Duration::from_secs(2);

/// A page may take this part of the time, as a long run has many events.
const SHARE: u32 = 20;

/// Keeps a page up to date until it is dropped.
#[derive(Debug)]
pub(super) struct LivePage {
    /// Its end is heard by the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl LivePage {
    /// Writes the page at `path` about the run in `folder`, at once and from then on, if one is
    /// wanted.
    pub(super) fn begin(folder: &RunFolder, path: Option<&Path>) -> anyhow::Result<Option<Self>> {
        let Some(path) = path else {
            return Ok(None);
        };
        let (stop, stopped) = mpsc::channel::<()>();
        let (folder, path) = (folder.clone(), path.to_owned());
        let write = move || loop {
            let began = Instant::now();
            // There may be no event yet. At the end the page is written once more, and an error
            // is told then.
            let _ = page::write_live(&folder, &path);
            let pause = EVERY.max(began.elapsed() * SHARE);
            if stopped.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                break;
            }
        };
        let thread = thread::Builder::new().name("heist-page".to_owned());
        let thread = thread.spawn(write);
        let thread = thread.context("cannot start the thread that writes the report")?;
        Ok(Some(Self {
            stop: Some(stop),
            thread: Some(thread),
        }))
    }
}

impl Drop for LivePage {
    fn drop(&mut self) {
        drop(self.stop.take());
        // If it panicked, that has been shown.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
