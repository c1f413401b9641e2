//! The process of a worker on this machine: how it is started, what it says, and how it ended.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Instant;

use super::words::Words;
use crate::backend::link::{directions, Closing, End, Link};
use crate::backend::poller::Poller;
use crate::backend::silence::{Pulse, Silence};
use crate::log::Logs;
use crate::planner::NodeId;
use crate::protocol::Limits;

/// A worker's process.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) link: Arc<Link>,
    child: Child,
    pub(super) words: Arc<Words>,
    pub(super) began: Instant,
    /// It has answered.
    pub(super) is_proven: bool,
    silence: Silence,
    /// Why it is made to end, if it is.
    sentence: Option<String>,
}

/// The process of `command`, with our end of its connection.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) child: Child,
    pub(super) stream: UnixStream,
    words: Arc<Words>,
}

/// Starts the process of `command` for `node`, which speaks to us through its standard input; what
/// it prints goes to `logs`, as `poller` reads it.
pub(super) fn start(
    mut command: Command,
    poller: &Poller,
    node: &NodeId,
    logs: &Logs,
) -> io::Result<Started> {
    let (stream, theirs) = UnixStream::pair()?;
    let (output, theirs_to_write) = io::pipe()?;
    let words = Words::listen(poller, output, node, logs)?;
    // The output of functions is for people.
    command
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(theirs_to_write.try_clone()?)
        .stderr(theirs_to_write)
        // Ctrl-C is for the driver, which then ends its workers.
        .process_group(0);
    let child = command.spawn()?;
    // The command holds the other ends; the worker's death must close them, and does.
    Ok(Started {
        child,
        stream,
        words,
    })
}

impl Started {
    /// Connects to it.
    pub(super) fn connect(
        self,
        poller: &Arc<Poller>,
        name: String,
        limits: Limits,
        on_close: impl FnOnce(Closing) + Send + 'static,
    ) -> io::Result<Running> {
        let Self {
            mut child,
            stream,
            words,
        } = self;
        let (input, output) = directions(stream);
        match Link::open(poller, name, input, output, limits, on_close) {
            Ok(link) => Ok(Running {
                link,
                child,
                words,
                began: Instant::now(),
                is_proven: false,
                silence: Silence::default(),
                sentence: None,
            }),
            Err(error) => {
                abandon(&mut child);
                Err(error)
            }
        }
    }

    /// Ends it.
    pub(super) fn abandon(mut self) {
        abandon(&mut self.child);
    }
}

fn abandon(child: &mut Child) {
    // It may be gone already, which is what is wanted.
    let _ = child.kill();
    let _ = child.wait();
}

impl Running {
    /// Looks whether it lives.
    pub(super) fn look(&mut self) -> Pulse {
        self.silence.look(self.link.signs())
    }

    /// Makes it end, because of `sentence`.
    pub(super) fn kill(&mut self, sentence: String) {
        self.sentence.get_or_insert(sentence);
        // It may be gone already, which is what is wanted.
        let _ = self.child.kill();
    }

    /// Says why its connection has ended, of which is known that `why`, and makes sure that it is
    /// dead. `is_alone`: it had one request to work on.
    pub(super) fn end(mut self, why: &str, is_alone: bool) -> End {
        let was_killed = self.sentence.is_some();
        // It has closed its end, and is dead or dying: it keeps the status that it has.
        let _ = self.child.kill();
        let status = self.child.wait();
        let words = self.words.rest();
        let is_crash = status.as_ref().is_ok_and(|status| is_crash(*status));
        let why = match (self.sentence, status) {
            (Some(sentence), _) => sentence,
            (None, Ok(status)) => describe(status, &words),
            (None, Err(error)) => format!("{why}; its status is unknown: {error}"),
        };
        let is_own_doing = !was_killed && is_alone && is_crash;
        End { why, is_own_doing }
    }
}

/// True if it ended by itself, and nobody made it end.
fn is_crash(status: ExitStatus) -> bool {
    // Illegal instruction, trap, abort, bus error, arithmetic, segmentation, forbidden call.
    status.code().is_some() || matches!(status.signal(), Some(4..=8 | 11 | 31))
}

/// How a worker ended, with what it said last if that may say why.
fn describe(status: ExitStatus, words: &str) -> String {
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("it exited with code {code}"),
        (_, Some(4)) => "it met an illegal instruction (SIGILL)".to_owned(),
        (_, Some(6)) => "it aborted (SIGABRT)".to_owned(),
        (_, Some(7)) => "it made a bus error (SIGBUS)".to_owned(),
        (_, Some(8)) => "it made an arithmetic error (SIGFPE)".to_owned(),
        (_, Some(9)) => {
            "it was killed (SIGKILL); the system does so when memory is short".to_owned()
        }
        (_, Some(11)) => "it made a segmentation fault (SIGSEGV)".to_owned(),
        (_, Some(15)) => "it was told to end (SIGTERM)".to_owned(),
        (_, Some(signal)) => format!("it was ended by signal {signal}"),
        (None, None) => status.to_string(),
    };
    match is_crash(status) && !words.is_empty() {
        true => format!("{how}; it said last: {words}"),
        false => how,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn ended(script: &str, is_alone: bool) -> End {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let poller = Poller::start().expect("a thread");
        let (node, logs) = (NodeId::from("n1"), Logs::new(None));
        let started = start(command, &poller, &node, &logs).expect("a shell");
        let (sender, closed) = mpsc::channel();
        let on_close = move |closing| sender.send(closing).expect("the test waits");
        let running = started.connect(&poller, "it".to_owned(), Limits::default(), on_close);
        let closing: Closing = closed.recv().expect("it ends");
        running.expect("a connection").end(&closing.why, is_alone)
    }

    #[test]
    fn the_ways_in_which_a_worker_ends_are_told_apart() {
        let cases = [
            (
                "echo no memory >&2; kill -ABRT $$",
                "aborted (SIGABRT); it said last: no memory",
            ),
            (
                "echo recursion; kill -SEGV $$",
                "(SIGSEGV); it said last: recursion",
            ),
            ("exit 7", "exited with code 7"),
        ];
        for (script, said) in cases {
            let end = ended(script, true);
            assert!(end.why.contains(said), "{script}: {}", end.why);
            assert!(end.is_own_doing, "{script}: {}", end.why);
            assert!(
                !ended(script, false).is_own_doing,
                "another may have done it"
            );
        }
        let killed = ended("echo busy; kill -KILL $$", true);
        assert!(
            killed.why.contains("when memory is short"),
            "{}",
            killed.why
        );
        assert!(!killed.is_own_doing, "somebody else did it");
    }

    #[test]
    fn last_words_do_nothing_to_a_terminal() {
        let end = ended("printf '\\033[31mred\\n' >&2; exit 1", true);
        assert!(end.why.ends_with(r"\u{1b}[31mred"), "{}", end.why);
    }
}
