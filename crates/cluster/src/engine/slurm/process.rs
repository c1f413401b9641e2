//! A worker that srun runs on some node, told through srun's input, answering on its output.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;

use heist_sync::thread::{self, JoinHandle};
use heist_sync::Mutex;

use super::site::Site;
use crate::engine::link::Link;
use crate::planner::NodeId;
use crate::worker::WORKER_VARIABLE;

/// What runs on the node: says where that is, and makes way for the worker. What the
/// functions print is for people, so it goes where errors go, and answers alone to the output.
const SCRIPT: &str = r#"exec 3>&1 1>&2
echo "$SLURM_JOB_ID $SLURMD_NODENAME" >&3
HEIST_CLUSTER_NODE=$SLURMD_NODENAME exec "$@""#;

/// How many of srun's last lines are kept for messages.
const LINES_KEPT: usize = 4;

/// A worker on some node.
#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) link: Arc<Link>,
    pub(super) node: NodeId,
    pub(super) slurm_job: u64,
    input: Input,
}

impl Process {
    /// Lets it end, and with it the allocation.
    pub(super) fn close(&self) {
        self.input.0.lock().take();
    }
}

/// The way to a worker, until it is closed.
#[derive(Clone, Debug)]
struct Input(Arc<Mutex<Option<ChildStdin>>>);

impl Write for Input {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut *self.0.lock() {
            Some(input) => input.write(bytes),
            None => Err(io::Error::new(
                io::ErrorKind::BrokenPipe,
                "the worker was told to end",
            )),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        // A pipe keeps nothing back.
        Ok(())
    }
}

/// Has Slurm start a worker, and waits until it runs somewhere. When it ends, `on_close` is
/// told what srun said.
///
/// # Errors
///
/// What srun said, if it does not begin.
pub(super) fn start(
    site: &Site,
    mut srun: Command,
    on_close: impl FnOnce(String) + Send + 'static,
) -> Result<Process, String> {
    srun.arg(format!("--job-name={}", site.name))
        // Otherwise srun waits for the ends of lines.
        .args([
            "--unbuffered",
            "--quiet",
            "--kill-on-bad-exit=1",
            "--mpi=none",
        ])
        .args(["sh", "-c", SCRIPT, "sh"])
        .arg(&site.program)
        .args(&site.arguments)
        .env(WORKER_VARIABLE, "/dev/fd/3")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C is for us, not for it.
        .process_group(0);
    let mut child = srun
        .spawn()
        .map_err(|error| format!("srun could not be run: {error}"))?;
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let errors = child.stderr.take().map(listen);
    let ended = move |mut child: Child| {
        let status = child.wait();
        let lines = errors.and_then(|errors| errors.ok()?.join().ok());
        match (lines, status) {
            (Some(lines), _) if !lines.is_empty() => lines,
            (_, Ok(status)) => format!("srun ended with {status}"),
            (_, Err(error)) => format!("srun cannot be waited for: {error}"),
        }
    };
    let begun = output.and_then(|output| {
        let mut output = BufReader::with_capacity(1 << 16, output);
        greeting(&mut output).map(|greeting| (output, greeting))
    });
    let (Some((output, (slurm_job, node))), Some(input)) = (begun, input) else {
        return Err(ended(child));
    };
    let input = Input(Arc::new(Mutex::new(Some(input))));
    let name = format!("the worker on {node} (Slurm job {slurm_job})");
    let closed = move || on_close(ended(child));
    // A small frame goes through srun as one message, which is an answer's delay less.
    let requests = BufWriter::with_capacity(1 << 16, input.clone());
    let link = Link::open(name, output, requests, site.limits, closed);
    // Without a thread for the answers the input is closed, and the worker ends.
    let link = link.map_err(|error| format!("could not start a thread: {error}"))?;
    Ok(Process {
        link,
        node,
        slurm_job,
        input,
    })
}

/// What the script says first; none if it did not run.
fn greeting(output: &mut impl io::BufRead) -> Option<(u64, NodeId)> {
    let mut line = String::new();
    output.read_line(&mut line).ok()?;
    let (slurm_job, node) = line.trim().split_once(' ')?;
    Some((slurm_job.parse().ok()?, NodeId::from(node)))
}

/// Passes on what functions print, and returns what Slurm said last.
fn listen(errors: impl Read + Send + 'static) -> io::Result<JoinHandle<String>> {
    let listening = move || {
        let mut said = VecDeque::new();
        for line in BufReader::new(errors).split(b'\n') {
            let Ok(line) = line else {
                break;
            };
            let text = String::from_utf8_lossy(&line);
            if text.starts_with("srun: ") || text.starts_with("slurmstepd") {
                said.push_back(text.into_owned());
                if said.len() > LINES_KEPT {
                    said.pop_front();
                }
            } else {
                // Nobody is left to be told if this fails.
                let _ = writeln!(io::stderr(), "{text}");
            }
        }
        said.make_contiguous().join("; ")
    };
    thread::Builder::new()
        .name("heist-cluster-srun".to_owned())
        .spawn(listening)
}
