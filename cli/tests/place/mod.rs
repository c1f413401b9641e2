//! A folder with a job file, in which `heist cluster` runs.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::example::{events, sums};

/// A folder with the job file `jobs.toml`; runs in it are kept in it.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new(jobs: &str) -> Self {
        let place = Self(tempfile::tempdir().expect("a folder"));
        let text = format!("program = {:?}\n{jobs}", sums().display().to_string());
        fs::write(place.path().join("jobs.toml"), text).expect("a job file");
        place
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn heist(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_heist"));
        command
            .arg("cluster")
            .args(args)
            .current_dir(self.path())
            .env("XDG_STATE_HOME", self.path().join("state"))
            .env_remove("HEIST_NUM_THREADS");
        command
    }

    pub(crate) fn output(&self, args: &[&str]) -> Output {
        self.heist(args).output().expect("the program starts")
    }

    /// The driver of a run in the folder `run`, which is going on.
    pub(crate) fn driver(&self) -> Driver {
        self.driver_on("local")
    }

    pub(crate) fn driver_on(&self, backend: &str) -> Driver {
        let folder = ["run", "jobs.toml", "--run-folder", "run", "--json"];
        let mut command = self.heist(&folder);
        command.args(["--backend", backend]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Driver(command.spawn().expect("the program starts"))
    }

    /// Waits until the events of the run in the folder `run` are as `is_so` says.
    pub(crate) fn wait_for(&self, is_so: impl Fn(&[Value]) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(120);
        while !is_so(&self.events()) {
            assert!(Instant::now() < deadline, "events: {:?}", self.events());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Takes a folder away at once, while the run writes to it.
    pub(crate) fn take_away(&self, folder: &str) {
        let away = self.path().join("away");
        fs::rename(self.path().join(folder), &away).expect("a folder");
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        events(self.path())
    }
}

/// A process that does not outlive its test.
pub(crate) struct Driver(pub(crate) Child);

impl Driver {
    /// Sends it this signal.
    pub(crate) fn hears(&self, signal: &str) {
        let mut kill = Command::new("kill");
        let told = kill.args([signal, &*self.0.id().to_string()]).status();
        assert!(told.expect("kill starts").success());
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // It may be dead already, which is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
