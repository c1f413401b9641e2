//! A command with a cluster around it.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::{kill_process, Pid, Signal};
use wait_timeout::ChildExt as _;
use xtask::steps::Line;

use super::interrupt::Interrupt;
use super::lifecycle::{down, start_cluster};
use super::options::Options;
use super::processes::Process;
use super::state::Cluster;

/// Starts a cluster, runs `command` with what a client needs in its environment, takes the
/// cluster down whatever happens, and returns the command's exit code: 128 and the signal's
/// number if a signal ended it or interrupted us meanwhile.
///
/// # Errors
///
/// Fails if there already is a cluster, if one cannot be started or taken down, if a signal came
/// before it was up, or if the command cannot be started.
pub(crate) fn with(root: &Path, options: &Options, command: &[OsString]) -> anyhow::Result<u8> {
    let interrupt = Interrupt::listen()?;
    let keeper = Some(Process::current()?);
    let started = start_cluster(root, options, keeper, &interrupt)?;
    anyhow::ensure!(
        started.is_new,
        "there already is a cluster of {backend}, which this command would take down in the end; \
         `cargo lab cluster down {backend}` first",
        backend = options.backend
    );
    let code = run(&started.cluster, command, &interrupt);
    down(options.backend)?;
    code
}

fn run(cluster: &Cluster, command: &[OsString], interrupt: &Interrupt) -> anyhow::Result<u8> {
    let line: Vec<OsString> = cluster
        .enter
        .iter()
        .map(OsString::from)
        .chain(command.iter().cloned())
        .collect();
    let (program, arguments) = line.split_first().context("there is no command to run")?;
    let mut command = Command::new(program);
    command.args(arguments).envs(&cluster.environment);
    let mut child = command
        .spawn()
        .with_context(|| format!("could not start {}", Line(&command)))?;
    let status = wait(&mut child, interrupt)?;
    Ok(match interrupt.signal() {
        Some(signal) => 128 + signal,
        None => exit_code(status),
    })
}

/// Waits for the command. If we are interrupted it is told, and killed if that does not help.
fn wait(child: &mut Child, interrupt: &Interrupt) -> anyhow::Result<ExitStatus> {
    const GRACE: Duration = Duration::from_secs(10);
    let mut told: Option<Instant> = None;
    loop {
        if let Some(status) = child.wait_timeout(Duration::from_millis(100))? {
            return Ok(status);
        }
        match told {
            None if interrupt.signal().is_some() => {
                // It is our child and has not been waited for, so the number is still its own.
                let pid = Pid::from_child(child);
                kill_process(pid, Signal::TERM).context("could not end the command")?;
                told = Some(Instant::now());
            }
            Some(since) if since.elapsed() >= GRACE => child.kill()?,
            _ => {}
        }
    }
}

fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code();
    let code = code.or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commands_own_code_is_returned_or_the_signal_that_ended_it() {
        let code = |line: &str| {
            let status = Command::new("sh").args(["-c", line]).status();
            exit_code(status.unwrap())
        };
        assert_eq!(code("exit 0"), 0);
        assert_eq!(code("exit 7"), 7);
        assert_eq!(code("kill -KILL $$"), 128 + 9);
    }
}
