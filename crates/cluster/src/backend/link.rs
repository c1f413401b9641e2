//! A connection to the process of one worker: requests out, answers in.

use std::collections::hash_map::{Entry, HashMap};
use std::fmt;
use std::io::{self, BufReader, Read, Write as _};
use std::os::fd::{AsRawFd as _, RawFd};
use std::sync::Arc;

use heist_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use heist_sync::Mutex;
use mio::Token;

use super::poller::{Connection, Poller, Turn};
use super::{BackendError, Reply};
use crate::protocol::{self, Answer, Frame, FrameReader, Limits, ReadError, PAYLOAD_VARIABLE};
use output::{Output, Written};
use streams::{ReadEnd, WriteEnd};

mod output;
mod streams;

pub(crate) use streams::directions;

/// The driver's end of a connection.
///
/// A sender writes as much of a request as there is room for, and the poller's thread, which also
/// reads the answers, writes the rest. Neither waits.
///
/// The requests that wait to be written have no bound of their own, because whoever met it would
/// wait. Their bound is what the sender may send. A driver sends a call or a job when there is room
/// for it on the node, and the room is free again when it was answered; all calls together have the
/// bytes that `Options::calls_bytes_max` gives them, for which their callers wait. Requests for
/// usage and for a sign of life are not repeated before they were answered.
pub(crate) struct Link {
    poller: Arc<Poller>,
    token: Token,
    input_fd: RawFd,
    /// Locked by the poller's thread alone.
    input: Mutex<FrameReader<BufReader<Input>>>,
    output: Mutex<Output>,
    waiting: Arc<Waiting>,
    signs: Arc<Signs>,
    /// None once it has been called.
    on_close: Mutex<Option<OnClose>>,
    is_over: AtomicBool,
    limits: Limits,
}

type OnClose = Box<dyn FnOnce(Closing) + Send>;

/// The end of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct End {
    /// The reason.
    pub(crate) why: String,
    /// The one request that ran there ended it.
    pub(crate) is_own_doing: bool,
}

/// A connection that has ended, and whose waiters are not told yet. They are when it is dropped.
#[derive(Debug)]
pub(crate) struct Closing {
    /// The reason, as far as the connection knows.
    pub(crate) why: String,
    waiting: Arc<Waiting>,
}

/// A count of signs of life: bytes received, and bytes written once there was no more room, since
/// the other end has read then.
#[derive(Debug, Default)]
struct Signs(AtomicU64);

impl Signs {
    fn add(&self) {
        // Relaxed: only compared with its former value.
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// How much is read from one connection before others have their turn.
const TURN_BYTES: usize = 1 << 18;

/// The stream of answers.
struct Input {
    stream: Box<dyn Read + Send>,
    signs: Arc<Signs>,
    /// How much may be read in this turn.
    left: usize,
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let end = buffer.len().min(self.left);
        let bytes = self.stream.read(&mut buffer[..end])?;
        self.left -= bytes;
        if bytes > 0 {
            self.signs.add();
        }
        Ok(bytes)
    }
}

/// The waiters for answers.
struct Waiting {
    /// `None` once the connection is closed.
    replies: Mutex<Option<HashMap<u64, Reply>>>,
    /// The name of the other end, for messages.
    name: String,
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("name", &self.waiting.name)
            .finish_non_exhaustive()
    }
}

impl Link {
    /// A connection to `name`, which `poller` serves. When it ends, `on_close` is called, which may
    /// find out the reason, and tells all waiters. It must not wait.
    pub(crate) fn open(
        poller: &Arc<Poller>,
        name: String,
        input: impl ReadEnd,
        output: impl WriteEnd,
        limits: Limits,
        on_close: impl FnOnce(Closing) + Send + 'static,
    ) -> io::Result<Arc<Self>> {
        rustix::io::ioctl_fionbio(&input, true)?;
        rustix::io::ioctl_fionbio(&output, true)?;
        let token = poller.token();
        let input_fd = input.as_fd().as_raw_fd();
        let signs = Arc::new(Signs::default());
        let stream = Input {
            stream: Box::new(input),
            signs: Arc::clone(&signs),
            left: 0,
        };
        let link = Arc::new(Self {
            poller: Arc::clone(poller),
            token,
            input_fd,
            input: Mutex::new(FrameReader::new(
                BufReader::with_capacity(1 << 16, stream),
                limits,
            )),
            output: Mutex::new(Output::new(output)),
            waiting: Arc::new(Waiting {
                replies: Mutex::new(Some(HashMap::new())),
                name,
            }),
            signs,
            on_close: Mutex::new(Some(Box::new(on_close))),
            is_over: AtomicBool::new(false),
            limits,
        });
        poller.add(token, input_fd, Arc::clone(&link) as Arc<dyn Connection>)?;
        Ok(link)
    }

    /// Closes the connection because of `why`, unless it is closed, whichever process still holds
    /// the other end.
    pub(crate) fn end(&self, why: String) {
        let Some(on_close) = self.on_close.lock().take() else {
            return;
        };
        // Relaxed: the poller's thread only stops reading earlier.
        self.is_over.store(true, Ordering::Relaxed);
        let mut output = self.output.lock();
        self.watch_output(&mut output, false);
        output.end();
        drop(output);
        self.poller.remove(self.token, self.input_fd);
        let waiting = Arc::clone(&self.waiting);
        on_close(Closing { why, waiting });
    }

    /// Sends a request, once. `reply` gets the answer, or the reason why there is none.
    pub(crate) fn send(&self, id: u64, request: Frame, reply: Reply) {
        let refused = match self.waiting.replies.lock().as_mut() {
            None => Some((reply, self.waiting.died("the connection is closed"))),
            Some(replies) => match replies.entry(id) {
                Entry::Vacant(free) => {
                    free.insert(reply);
                    None
                }
                // Otherwise callers that ask again and again would fill the memory.
                Entry::Occupied(_) => Some((reply, self.waiting.silent())),
            },
        };
        if let Some((reply, error)) = refused {
            return reply(Err(error));
        }
        let mut output = self.output.lock();
        let is_taken = output.push(request);
        // Otherwise the poller's thread is at it.
        if is_taken && !output.is_full {
            self.write(&mut output);
        }
        drop(output);
        if !is_taken {
            let error = self.waiting.died("it was told to end");
            self.waiting.tell(id, Err(error));
        }
    }

    /// A number that changes whenever the other end shows a sign of life.
    pub(crate) fn signs(&self) -> u64 {
        self.signs.0.load(Ordering::Relaxed)
    }

    /// Closes the sending side: the other end reads what was sent, and then the end of the stream.
    pub(crate) fn close(&self) {
        let mut output = self.output.lock();
        output.close();
        if !output.is_full {
            self.write(&mut output);
        }
    }

    /// Writes what there is room for. Requests that cannot be written at all have no answer; their
    /// waiters are told at the end of the connection, when it is known why.
    fn write(&self, output: &mut Output) {
        match output.write() {
            Written::Some => self.signs.add(),
            Written::None => {}
        }
        let is_full = output.is_full;
        self.watch_output(output, is_full);
    }

    fn watch_output(&self, output: &mut Output, is_wanted: bool) {
        if output.is_watched == is_wanted {
            return;
        }
        let Some(fd) = output.fd() else {
            return;
        };
        let fds = (self.input_fd, fd);
        match self.poller.watch_output(self.token, fds, is_wanted) {
            Ok(()) => output.is_watched = is_wanted,
            // It would be full for ever.
            Err(error) if is_wanted => {
                output.failure = Some(format!("its stream cannot be watched: {error}"));
                self.poller.fail(self.token);
            }
            // It is told of room once more than it needs to be.
            Err(_) => {}
        }
    }
}

impl Connection for Link {
    fn serve(&self) -> Turn {
        let mut output = self.output.lock();
        if output.is_full {
            self.write(&mut output);
        }
        drop(output);
        let mut input = self.input.lock();
        input.stream_mut().get_mut().left = TURN_BYTES;
        let end = loop {
            // Relaxed: see `end`.
            if self.is_over.load(Ordering::Relaxed) {
                return Turn::Over;
            }
            match input.read() {
                Ok(frame) => self.waiting.take(frame),
                Err(ReadError::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                    return match input.stream_mut().get_mut().left {
                        0 => Turn::GoesOn,
                        _ => Turn::Waits,
                    };
                }
                Err(error) if error.is_passing() => self.waiting.passed_over(error, self.limits),
                Err(error) => break error.to_string(),
            }
        };
        drop(input);
        self.end(end);
        Turn::Over
    }

    fn fail(&self) {
        let failure = self.output.lock().failure.take();
        let unknown = || "this program could not go on with its answers".to_owned();
        self.end(failure.unwrap_or_else(unknown));
    }
}

impl Closing {
    /// Tells all waiters, and has future ones told.
    pub(crate) fn tell(self, end: &End) {
        self.waiting.end(end);
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        let why = std::mem::take(&mut self.why);
        let is_own_doing = false;
        self.waiting.end(&End { why, is_own_doing });
    }
}

impl Waiting {
    fn died(&self, why: &str) -> BackendError {
        BackendError::node_died(format!("{} is gone: {why}", self.name))
    }

    fn silent(&self) -> BackendError {
        let name = &self.name;
        BackendError::lost(format!("{name} was asked before, and has not answered"))
    }

    fn ended(&self, end: &End) -> BackendError {
        if !end.is_own_doing {
            return self.died(&end.why);
        }
        BackendError::own_doing(format!("{} is gone: {}", self.name, end.why))
    }

    fn end(&self, end: &End) {
        let replies = self.replies.lock().take();
        for (_, reply) in replies.into_iter().flatten() {
            reply(Err(self.ended(end)));
        }
    }

    fn take(&self, frame: Frame) {
        match frame.understand::<Answer>() {
            Ok(answer) => self.tell(answer.id, Ok(frame)),
            Err(error) => self.complain(&format!("an answer cannot be understood: {error}")),
        }
    }

    /// Something was read that is no answer, or too large.
    fn passed_over(&self, error: ReadError, limits: Limits) {
        let ReadError::Oversized {
            header: Some(header),
            payload_bytes,
            ..
        } = error
        else {
            return self.complain(&error.to_string());
        };
        let error = BackendError::impossible(format!(
            "the answer of {} has {payload_bytes} bytes, and at most {} are accepted; \
             {PAYLOAD_VARIABLE} says how many",
            self.name, limits.payload_bytes_max
        ));
        if let Ok(answer) = protocol::decode::<Answer>(&header) {
            self.tell(answer.id, Err(error));
        }
    }

    /// Shows a problem for which no request waits.
    fn complain(&self, what: &str) {
        let _ = writeln!(io::stderr(), "heist-cluster: from {}: {what}", self.name);
    }

    fn tell(&self, id: u64, answer: Result<Frame, BackendError>) {
        let reply = self
            .replies
            .lock()
            .as_mut()
            .and_then(|replies| replies.remove(&id));
        if let Some(reply) = reply {
            reply(answer);
        }
    }
}

#[cfg(test)]
mod tests;
