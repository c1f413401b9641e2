//! Slurm's commands: run without a shell, for a limited time, and their errors kept.

use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use heist_sync::thread;

/// How long a command may take. Slurm's own patience with its controller is of this order.
const PATIENCE: Duration = Duration::from_secs(15);

/// The variables that a command has: those by which programs find their files, and others, whose
/// names begin with one of `PREFIXES`: Slurm's and ours.
const VARIABLES: &str = "PATH LD_LIBRARY_PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR";
const PREFIXES: &str = "HEIST_ RUST_ LC_ SLURM SBATCH_ SRUN_ SINFO_ SQUEUE_ SCONTROL_ SCANCEL_";

/// A command of Slurm's. It passes its environment on to what it starts, so that it has but little
/// of ours, where there may be secrets. Inside of an allocation Slurm's variables would make it
/// take that for what we ask for, so they are left out.
pub(super) fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    let is_in_allocation = std::env::var_os("SLURM_JOB_ID").is_some();
    let passes = |name: &str| {
        let is_of_allocation = is_in_allocation && name.starts_with("SLURM");
        let mut prefixes = PREFIXES.split_whitespace();
        name == "SLURM_CONF"
            || VARIABLES.split_whitespace().any(|passed| passed == name)
            || (!is_of_allocation && prefixes.any(|prefix| name.starts_with(prefix)))
    };
    let environment = std::env::vars_os();
    let passed = environment.filter(|(name, _)| name.to_str().is_some_and(passes));
    // Ctrl-C is for us, not for it.
    command.env_clear().envs(passed).process_group(0);
    command
}

/// Runs a command and returns its output.
///
/// # Errors
///
/// Says which command it was and what it had to say, if it failed or did not end.
pub(super) fn output(command: &mut Command) -> Result<String, String> {
    let failed = |command: &Command, what: &str| {
        let arguments = command.get_args().map(|one| one.to_string_lossy());
        let mut line = command.get_program().to_string_lossy().into_owned();
        arguments.for_each(|one| {
            line.push(' ');
            line.push_str(&one);
        });
        format!("`{line}` failed: {what}")
    };
    let spawned = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = spawned.map_err(|error| failed(command, &error.to_string()))?;
    let read = drain(child.stdout.take())
        .and_then(|output| Ok((output, drain(child.stderr.take())?)))
        .map_err(|error| failed(command, &error.to_string()));
    let told = read.and_then(|(output, errors)| {
        let in_time = (output.recv_timeout(PATIENCE), errors.recv_timeout(PATIENCE));
        match in_time {
            (Ok(output), Ok(errors)) => Ok((output, errors)),
            _ => Err(failed(
                command,
                &format!("it did not end in {} s", PATIENCE.as_secs()),
            )),
        }
    });
    if told.is_err() {
        // It may have ended by now, which is what is wanted.
        let _ = child.kill();
    }
    let status = child
        .wait()
        .map_err(|error| failed(command, &error.to_string()))?;
    let (output, errors) = told?;
    match status.success() {
        true => Ok(output),
        false => Err(failed(command, &format!("{status}, {}", errors.trim()))),
    }
}

/// All that comes from a stream, once it has ended.
fn drain(stream: Option<impl Read + Send + 'static>) -> io::Result<Receiver<String>> {
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new()
        .name("heist-cluster-slurm".to_owned())
        .spawn(move || {
            let mut bytes = Vec::new();
            let read = stream.map(|mut stream| stream.read_to_end(&mut bytes));
            if let Some(Ok(_)) = read {
                // A caller that has lost patience needs no answer.
                let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
            }
        })?;
    Ok(receiver)
}

/// True if Slurm says with this that it will never do what was asked for, unlike when it
/// cannot be reached.
pub(super) fn is_rejection(message: &str) -> bool {
    let rejects = [
        "Unable to allocate resources",
        "Batch job submission failed",
        "unrecognized option",
        "invalid number of cpus",
    ];
    let passing = ["contact", "imed out", "temporarily", "are busy"];
    rejects.iter().any(|text| message.contains(text))
        && !passing.iter().any(|text| message.contains(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_slurm_will_never_do_is_told_from_what_it_cannot_do_now() {
        let never = [
            "srun: error: Unable to allocate resources: Invalid node name specified",
            "sbatch: error: Batch job submission failed: Invalid partition name specified",
            "srun: unrecognized option '--no-such'",
            "srun: error: invalid number of cpus per task (-c -1)",
        ];
        let now = [
            "srun: error: Unable to allocate resources: Requested nodes are busy",
            "srun: error: Unable to allocate resources: Unable to contact slurm controller \
             (connect failure)",
            "srun: error: Task launch for StepId=12.0 failed on node n3: Communication \
             connection failure",
        ];
        assert!(never.into_iter().all(is_rejection));
        assert!(!now.into_iter().any(is_rejection));
    }

    #[test]
    fn a_command_has_little_of_our_environment() {
        let text = output(&mut command("env")).expect("it runs");
        let has = |name: &str| {
            text.lines()
                .any(|line| line.starts_with(&format!("{name}=")))
        };
        assert!(has("PATH"), "{text}");
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        assert!(!has("CARGO_MANIFEST_DIR"), "{text}");
    }

    #[test]
    fn an_error_names_the_command_and_what_it_said() {
        let error = output(Command::new("sh").args(["-c", "echo no >&2; exit 3"]));
        let error = error.expect_err("it fails");
        assert!(
            error.contains("`sh -c") && error.contains("3, no"),
            "{error}"
        );
        assert_eq!(
            output(Command::new("echo").arg("yes")).as_deref(),
            Ok("yes\n")
        );
    }
}
