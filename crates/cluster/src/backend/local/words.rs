//! The output of a worker on this machine: it is passed on line by line, with the calls and jobs
//! that ran then, and its end is kept.

use std::io::{self, PipeReader, Read as _};
use std::os::fd::AsRawFd as _;
use std::sync::Arc;

use heist_sync::Mutex;

use crate::backend::poller::{Connection, Poller, Turn};
use crate::log::lines::Lines;
use crate::log::tail::Tail;
use crate::log::{LogOrigin, Logs};
use crate::planner::NodeId;

/// How much is read at once.
const BUFFER_BYTES: usize = 1 << 12;

/// How often that is done until others have their turn: all that goes into a pipe.
const READS_MAX: u32 = 16;

/// The output of a worker's process.
///
/// A function has printed before its answer is written, so whoever takes an answer, or sends the
/// next call, reads first what was printed: then it is known which call it was, if the process has
/// one at a time.
#[derive(Debug)]
pub(super) struct Words {
    output: PipeReader,
    node: NodeId,
    logs: Logs,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    lines: Lines,
    tail: Tail,
    /// The calls and attempts that run there.
    origins: Vec<Arc<LogOrigin>>,
    /// The place to read to, which is filled with zeros once and not for every call.
    buffer: Vec<u8>,
}

impl Words {
    /// Listens to the process of `node`, by the thread of `poller`.
    pub(super) fn listen(
        poller: &Poller,
        output: PipeReader,
        node: &NodeId,
        logs: &Logs,
    ) -> io::Result<Arc<Self>> {
        rustix::io::ioctl_fionbio(&output, true)?;
        let fd = output.as_raw_fd();
        let words = Arc::new(Self {
            output,
            node: node.clone(),
            logs: logs.clone(),
            state: Mutex::default(),
        });
        poller.add(
            poller.token(),
            fd,
            Arc::clone(&words) as Arc<dyn Connection>,
        )?;
        Ok(words)
    }

    /// Reads what there is, for a while.
    fn read(&self, state: &mut State) -> Turn {
        let mut buffer = std::mem::take(&mut state.buffer);
        buffer.resize(BUFFER_BYTES, 0);
        let turn = self.read_to(&mut buffer, state);
        state.buffer = buffer;
        turn
    }

    fn read_to(&self, buffer: &mut [u8], state: &mut State) -> Turn {
        for _ in 0..READS_MAX {
            match (&self.output).read(buffer) {
                Ok(bytes @ 1..) => self.take(state, &buffer[..bytes]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Turn::Waits,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => return Turn::Over,
            }
        }
        Turn::GoesOn
    }

    fn take(&self, state: &mut State, bytes: &[u8]) {
        let State {
            lines,
            tail,
            origins,
            ..
        } = state;
        tail.take(bytes);
        lines.take(bytes, |line, goes_on| {
            self.logs.say(&self.node, origins, line, goes_on);
        });
    }

    /// Passes on what has no end.
    fn flush(&self, state: &mut State) {
        let State { lines, origins, .. } = state;
        lines.rest(|line, goes_on| self.logs.say(&self.node, origins, line, goes_on));
    }

    /// Something begins to run there: what was printed before is not its own.
    pub(super) fn begin(&self, origin: &Arc<LogOrigin>) {
        let mut state = self.state.lock();
        self.read(&mut state);
        if state.origins.is_empty() {
            self.flush(&mut state);
        }
        state.origins.push(Arc::clone(origin));
    }

    /// It is over.
    pub(super) fn end(&self, origin: &Arc<LogOrigin>) {
        let mut state = self.state.lock();
        self.read(&mut state);
        if state.origins.len() == 1 {
            self.flush(&mut state);
        }
        let at = state.origins.iter().position(|it| Arc::ptr_eq(it, origin));
        at.map(|at| state.origins.remove(at));
    }

    /// The last lines that it said, on one line and without signs that move a cursor. It is dead,
    /// and all that it said and nobody has read is in the pipe.
    pub(super) fn rest(&self) -> String {
        let mut state = self.state.lock();
        self.read(&mut state);
        state.tail.shown()
    }
}

impl Connection for Words {
    fn serve(&self) -> Turn {
        let mut state = self.state.lock();
        let turn = self.read(&mut state);
        if turn == Turn::Over {
            self.flush(&mut state);
        }
        turn
    }

    fn fail(&self) {}
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn the_rest_is_read_even_if_the_listening_thread_has_no_turn() {
        let (output, mut worker) = io::pipe().expect("a pipe");
        rustix::io::ioctl_fionbio(&output, true).expect("a pipe");
        let words = Words {
            output,
            node: NodeId::from("n1"),
            logs: Logs::new(None),
            state: Mutex::default(),
        };
        let said = [b"x".repeat(50_000), b"\nthe last words".to_vec()].concat();
        worker.write_all(&said).expect("it has room");
        // A child of the worker has it still.
        let _worker = worker;
        assert!(words.rest().ends_with("; the last words"));
    }
}
