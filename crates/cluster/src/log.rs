//! Lines that remote functions and jobs print: their origin, and their way to a listener.

use std::collections::VecDeque;
use std::fmt::{self, Write as _};
use std::io::{self, Write as _};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

use heist_sync::{thread, Condvar, Mutex};

use crate::planner::{JobId, NodeId};
use crate::protocol::trace::Trace;

pub(crate) mod lines;
pub(crate) mod tail;

use lines::harmless;

/// A line that a worker printed to its standard output or error.
///
/// Displays as the line after its origin in brackets.
///
/// # Examples
///
/// ```
/// use std::sync::mpsc;
/// use heist_cluster::{remote, Cluster, Local, LogLine, Options};
///
/// #[remote]
/// fn greet(name: String) {
///     println!("hello {name} \u{1b}[31m");
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     heist_cluster::init();
///     let (sender, lines) = mpsc::channel();
///     let listener = move |line: &LogLine| sender.send(line.clone()).unwrap_or_default();
///     let options = Options::new().on_log(listener);
///     let cluster = Cluster::connect_with(Local::new(), options)?;
///     let call = cluster.call(greet, "world".to_owned());
///     let number = call.number();
///     call.get()?;
///     let line = lines.recv()?;
///     assert_eq!(line.text, r"hello world \u{1b}[31m");
///     assert_eq!(line.to_string(), format!(r"[n1 greet#{number}] hello world \u{{1b}}[31m"));
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogLine {
    /// The machine.
    pub node: NodeId,
    /// The calls and attempts that ran in the process at the time: one if it has the process to
    /// itself, none if the line came between two.
    pub origins: Vec<Arc<LogOrigin>>,
    /// The line without its end. Control characters other than tabs are escaped, so that a terminal
    /// is safe; invalid UTF-8 becomes U+FFFD.
    pub text: String,
    /// True if the line was longer than 8 KiB: the next one of this origin continues it.
    pub goes_on: bool,
    /// The number of lines dropped before it because the listener was too slow.
    pub left_out: u64,
}

/// The call or the attempt at a job that printed a [`LogLine`], which has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogOrigin {
    /// A call of a remote function.
    #[non_exhaustive]
    Call {
        /// The name of the function, with its path.
        function: String,
        /// As [`RemoteFuture::number`](crate::RemoteFuture::number) says.
        call: u64,
        /// The caller's place in a trace, if set.
        trace: Option<Trace>,
    },
    /// An attempt at a job.
    #[non_exhaustive]
    Job {
        /// The name of the job.
        job: JobId,
        /// The attempt's number.
        epoch: u32,
        /// The submitter's place in a trace, if set.
        trace: Option<Trace>,
    },
}

impl fmt::Display for LogOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call { function, call, .. } => {
                let name = function.rsplit("::").next().unwrap_or(function);
                write!(f, "{name}#{call}")
            }
            Self::Job { job, epoch, .. } => write!(f, "job {job}, attempt {epoch}"),
        }
    }
}

impl fmt::Display for LogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut origin = self.node.to_string();
        for (at, one) in self.origins.iter().enumerate() {
            write!(origin, "{}{one}", if at == 0 { " " } else { "; " })?;
        }
        // Names come from elsewhere as well.
        let origin = harmless(origin.as_bytes());
        if self.left_out > 0 {
            writeln!(f, "[{origin}] ({} lines were left out)", self.left_out)?;
        }
        let more = if self.goes_on { " ..." } else { "" };
        write!(f, "[{origin}] {}{more}", self.text)
    }
}

/// Is told of each line.
pub(crate) type LogListener = Box<dyn FnMut(&LogLine) + Send>;

/// How much may wait for the listener; further lines are dropped and counted.
const BYTES_MAX: usize = 8 << 20;

/// The cost of a line beside its text.
const LINE_BYTES: usize = 128;

/// How long the listener may take to the end, once no more lines come.
const END_PATIENCE: Duration = Duration::from_secs(5);

/// Passes lines to their listener on a thread of its own, so that nothing else waits for it. The
/// thread starts with the first line.
#[derive(Clone)]
pub(crate) struct Logs(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    lines: VecDeque<LogLine>,
    bytes: usize,
    left_out: u64,
    /// None once the thread has it.
    listener: Option<LogListener>,
    is_listening: bool,
    is_closed: bool,
}

impl fmt::Debug for Logs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Logs").finish_non_exhaustive()
    }
}

impl Logs {
    /// To `listener`, or else to standard error.
    pub(crate) fn new(listener: Option<LogListener>) -> Self {
        let print = |line: &LogLine| {
            // A worker does not wait because nobody listens to us.
            let _ = writeln!(io::stderr(), "{line}");
        };
        Self(Arc::new(Shared {
            state: Mutex::new(State {
                lines: VecDeque::new(),
                bytes: 0,
                left_out: 0,
                listener: Some(listener.unwrap_or_else(|| Box::new(print))),
                is_listening: false,
                is_closed: false,
            }),
            changed: Condvar::default(),
        }))
    }

    /// Tells a line; never waits.
    pub(crate) fn say(
        &self,
        node: &NodeId,
        origins: &[Arc<LogOrigin>],
        text: &[u8],
        goes_on: bool,
    ) {
        let text = harmless(text);
        let mut state = self.0.state.lock();
        let bytes = text.len() + LINE_BYTES;
        if state.is_closed {
            return;
        }
        if state.bytes + bytes > BYTES_MAX {
            state.left_out += 1;
            return;
        }
        if let Some(listener) = state.listener.take() {
            let shared = Arc::clone(&self.0);
            let spawned = thread::Builder::new()
                .name("heist-cluster-logs".to_owned())
                .spawn(move || shared.run(listener));
            if let Err(error) = spawned {
                state.is_closed = true;
                let what = "could not start the thread that shows what workers print";
                return complain(&format!("{what}: {error}"));
            }
            state.is_listening = true;
        }
        state.bytes += bytes;
        let left_out = std::mem::take(&mut state.left_out);
        state.lines.push_back(LogLine {
            node: node.clone(),
            origins: origins.to_vec(),
            text,
            goes_on,
            left_out,
        });
        drop(state);
        self.0.changed.notify_all();
    }

    /// Takes no more lines, and waits a while until those that came are told.
    pub(crate) fn close(&self) {
        let deadline = Instant::now() + END_PATIENCE;
        let mut state = self.0.state.lock();
        state.is_closed = true;
        self.0.changed.notify_all();
        // The listener may be what ends the cluster.
        let is_listener = thread::current().name() == Some("heist-cluster-logs");
        while state.is_listening && !is_listener {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return complain(
                    "what listens to lines of workers is too slow, and is left behind",
                );
            }
            state = self.0.changed.wait_timeout(state, left);
        }
        if state.left_out > 0 {
            let left_out = state.left_out;
            complain(&format!(
                "{left_out} lines of workers were left out at the end"
            ));
        }
    }
}

impl Shared {
    /// Tells lines until there will be no more.
    fn run(&self, mut listener: LogListener) {
        /// Says that nobody listens any more.
        struct Ended<'a>(&'a Shared);
        impl Drop for Ended<'_> {
            fn drop(&mut self) {
                let mut state = self.0.state.lock();
                (state.is_listening, state.is_closed) = (false, true);
                drop(state);
                self.0.changed.notify_all();
            }
        }
        let _ended = Ended(self);
        while let Some(line) = self.next() {
            // It is the program's code. The panic has been shown.
            if panic::catch_unwind(AssertUnwindSafe(|| listener(&line))).is_err() {
                return complain(&format!(
                    "the listener panicked at the line \"{line}\", and is told no more"
                ));
            }
        }
    }

    fn next(&self) -> Option<LogLine> {
        let mut state = self.state.lock();
        loop {
            if let Some(line) = state.lines.pop_front() {
                state.bytes -= line.text.len() + LINE_BYTES;
                return Some(line);
            }
            if state.is_closed {
                return None;
            }
            state = self.changed.wait(state);
        }
    }
}

fn complain(what: &str) {
    let _ = writeln!(io::stderr(), "heist-cluster: {what}");
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn say(logs: &Logs, text: &str) {
        logs.say(&NodeId::from("n1"), &[], text.as_bytes(), false);
    }

    #[test]
    fn a_listener_that_is_slow_keeps_nobody_waiting_and_learns_what_it_missed() {
        let (sender, told) = mpsc::channel();
        let (go_on, turns) = mpsc::channel::<()>();
        let logs = Logs::new(Some(Box::new(move |line: &LogLine| {
            // The test hangs up to let all pass.
            let _ = turns.recv();
            let _ = sender.send(line.clone());
        })));
        let text = "x".repeat(8 << 10);
        let many = 2 * BYTES_MAX / text.len();
        for _ in 0..many {
            say(&logs, &text);
        }
        drop(go_on);
        let mut heard = 0;
        for _ in 0..2 {
            heard += 1 + told.recv().expect("it is told").left_out;
        }
        // There is room again.
        say(&logs, "last");
        while let Ok(line) = told.recv() {
            heard += 1 + line.left_out;
            if line.text == "last" {
                assert!(line.left_out > 0, "not all of them had room");
                break;
            }
        }
        assert_eq!(heard, many as u64 + 1);
        logs.close();
    }

    #[test]
    fn a_listener_that_panics_is_told_no_more_and_nothing_waits_for_it() {
        let logs = Logs::new(Some(Box::new(|_: &LogLine| panic!("no"))));
        say(&logs, "one");
        logs.close();
        say(&logs, "two");
        assert!(logs.0.state.lock().lines.is_empty());
    }

    #[test]
    fn lines_that_came_before_the_end_are_told() {
        let (sender, told) = mpsc::channel();
        let logs = Logs::new(Some(Box::new(move |line: &LogLine| {
            sender.send(line.text.clone()).expect("the test waits");
        })));
        let said: Vec<_> = (0..1000).map(|at| at.to_string()).collect();
        said.iter().for_each(|text| say(&logs, text));
        logs.close();
        assert_eq!(told.try_iter().collect::<Vec<_>>(), said);
    }

    #[test]
    fn a_line_is_shown_behind_its_origin_and_names_do_nothing_to_a_terminal() {
        let call = LogOrigin::Call {
            function: "sums::\u{1b}add".to_owned(),
            call: 7,
            trace: None,
        };
        let job = LogOrigin::Job {
            job: JobId::from("nightly"),
            epoch: 2,
            trace: None,
        };
        let line = LogLine {
            node: NodeId::from("n1"),
            origins: vec![Arc::new(call), Arc::new(job)],
            text: "half".to_owned(),
            goes_on: true,
            left_out: 3,
        };
        let origin = r"[n1 \u{1b}add#7; job nightly, attempt 2]";
        let shown = format!("{origin} (3 lines were left out)\n{origin} half ...");
        assert_eq!(line.to_string(), shown);
    }
}
