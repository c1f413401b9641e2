//! `heist cluster run` on a terminal, where Ctrl-C reaches all processes in front.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::process::{Child, Command};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use example::{events, sums};

mod example;
mod pty;

/// A watchdog, and no bar.
const PATIENCE: Duration = Duration::from_secs(120);

/// A run in a session of its own, whose terminal is ours.
struct Session {
    folder: TempDir,
    terminal: File,
    shown: Receiver<String>,
    run: Child,
}

impl Session {
    /// Runs a job that waits `wait_ms` between two safe points. It has no checkpoint of its own.
    fn new(wait_ms: u64) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let jobs = format!(
            "program = {:?}\n[[job]]\nid = \"long\"\nkind = \"sums::Sum\"\n\
             state = {{ next = 0, end = 1000000000, sum = 0, step = 10, wait_ms = {wait_ms} }}\n\
             checkpoint_every_s = 3600\n",
            sums()
        );
        fs::write(folder.path().join("jobs.toml"), jobs).expect("a job file");
        let (terminal, other_end) = pty::terminal();
        let end = || other_end.try_clone().expect("a second handle");
        let run = Command::new("setsid")
            .args(["--ctty", env!("CARGO_BIN_EXE_heist")])
            .args([
                "cluster",
                "run",
                "jobs.toml",
                "--run-folder",
                "run",
                "--nodes",
                "2",
            ])
            .current_dir(folder.path())
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .expect("setsid starts");
        let shown = listen(terminal.try_clone().expect("a second handle"));
        Self {
            folder,
            terminal,
            shown,
            run,
        }
    }

    fn events(&self) -> Vec<Value> {
        events(self.folder.path())
    }

    fn wait_for(&self, kind: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.has(kind) {
            assert!(Instant::now() < deadline, "{:?}", self.events());
            thread::yield_now();
        }
    }

    fn has(&self, kind: &str) -> bool {
        self.events().iter().any(|event| event["event"] == kind)
    }

    /// Waits until this is on the screen.
    fn is_shown(&self, wanted: &str) {
        let mut screen = String::new();
        while !screen.contains(wanted) {
            let more = self.shown.recv_timeout(PATIENCE);
            screen.push_str(&more.unwrap_or_else(|_| panic!("not on the screen: {screen}")));
        }
    }

    fn press_ctrl_c(&mut self) {
        self.terminal.write_all(b"\x03").expect("somebody reads");
    }

    fn exit_code(&mut self) -> Option<i32> {
        self.run.wait().expect("it is a child").code()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It may be dead already, which is what is wanted.
        let _ = self.run.kill();
        let _ = self.run.wait();
    }
}

/// All that appears on the terminal.
fn listen(mut terminal: File) -> Receiver<String> {
    let (sender, shown) = mpsc::channel();
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        // When all programs have ended, reading fails.
        while let Ok(bytes @ 1..) = terminal.read(&mut buffer) {
            let text = String::from_utf8_lossy(&buffer[..bytes]).into_owned();
            if sender.send(text).is_err() {
                return;
            }
        }
    });
    shown
}

#[test]
fn ctrl_c_ends_a_run_after_a_last_checkpoint() {
    let mut session = Session::new(10);
    session.wait_for("running");
    session.press_ctrl_c();
    assert_eq!(session.exit_code(), Some(130));
    let events = session.events();
    assert_eq!(
        events.last().expect("events")["event"],
        "ended",
        "{events:?}"
    );
    assert!(session.has("checkpoint"), "{events:?}");
    assert!(
        !session.has("lost"),
        "the workers do not hear it: {events:?}"
    );
}

#[test]
fn a_second_ctrl_c_ends_a_run_at_once() {
    let mut session = Session::new(3_600_000);
    session.wait_for("running");
    session.press_ctrl_c();
    session.is_shown("Ctrl-C again ends the run at once");
    session.press_ctrl_c();
    assert_eq!(session.exit_code(), Some(130));
    assert!(!session.has("ended"), "it did not wait for the job");
}
