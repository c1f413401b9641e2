//! The guardian: a shell beside the driver that ends its workers when the driver is gone.
//!
//! A worker ends when its input does, and its `srun` with it. But an `srun` that waits for a place,
//! that was stopped, or whose node has died hears nothing of that. The guardian reads from a pipe
//! of which the driver has the other end, so no death of a driver escapes it. If it is itself
//! killed there is a new one soon; if both are, the next driver with the folder does its work.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use heist_sync::{thread, Mutex};

use super::command::{command, output};

/// Has Slurm end all that is called `$1`, and kills what does not notice: the processes of its
/// group, which are those of `srun` and this one.
const SCRIPT: &str = r#"trap '' HUP INT TERM
read -r _
kill -s CONT 0
for _ in 1 2 3; do
    timeout 10 scancel --quiet --name="$1" && break
    sleep 1
done
sleep 3
timeout 10 scancel --quiet --name="$1"
kill -s KILL 0"#;

/// The guardian of a connection.
#[derive(Debug)]
pub(super) struct Guard {
    /// Of its workers, in Slurm.
    name: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// With our end of its pipe.
    shell: Option<Child>,
    is_closed: bool,
}

impl Guard {
    pub(super) fn new(name: String) -> Self {
        let state = Mutex::default();
        Self { name, state }
    }

    /// Starts a command that is looked after from its beginning on.
    pub(super) fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        // Held until then: the group lives as long as nobody has waited for the shell.
        let mut state = self.state.lock();
        if state.is_closed {
            return Err(io::Error::other("the cluster is closed"));
        }
        let group = self.living(&mut state.shell)?;
        command.process_group(group).spawn()
    }

    /// Sees that it lives, if it was there before.
    pub(super) fn look(&self) {
        let mut state = self.state.lock();
        if state.shell.is_some() {
            // If it cannot be started now, it can be later.
            let _ = self.living(&mut state.shell);
        }
    }

    /// Has it do its work, without waiting for that.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        let Some(mut shell) = state.shell.take() else {
            return;
        };
        drop(state);
        drop(shell.stdin.take());
        // Somebody has to take note of its end; if nobody can, this process's end does.
        let _ = thread::Builder::new()
            .name("heist-cluster-guard".to_owned())
            .spawn(move || shell.wait());
    }

    /// The number of its group.
    fn living(&self, shell: &mut Option<Child>) -> io::Result<i32> {
        if let Some(running) = shell {
            if running.try_wait()?.is_none() {
                return Ok(running.id() as i32);
            }
        }
        let mut command = command("sh");
        command.args(["-c", SCRIPT, "sh", &self.name]);
        let started = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let group = started.id() as i32;
        *shell = Some(started);
        Ok(group)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.close();
    }
}

/// Ends what is called so in Slurm, of a driver whose guardian may be dead as well.
pub(super) fn end(name: &str) -> Result<(), String> {
    let mut scancel = command("scancel");
    output(scancel.args(["--quiet", &format!("--name={name}")])).map(drop)
}
