//! A connection to the process of one worker: requests out, answers in.

use std::collections::hash_map::{Entry, HashMap};
use std::fmt;
use std::io::{self, BufReader, Read, Write};
use std::sync::Arc;

use heist_sync::atomic::{AtomicU64, Ordering};
use heist_sync::{thread, Mutex};

use super::{BackendError, Reply};
use crate::protocol::outgoing::Outgoing;
use crate::protocol::{self, Answer, Frame, FrameReader, Limits, ReadError, PAYLOAD_VARIABLE};

/// The driver's end of a connection.
pub(crate) struct Link {
    outgoing: Outgoing<u64>,
    waiting: Arc<Waiting>,
    signs: Arc<Signs>,
    /// None once it has been called.
    on_close: Mutex<Option<OnClose>>,
}

type OnClose = Box<dyn FnOnce(End) -> End + Send>;

/// The end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct End {
    /// The reason.
    pub(crate) why: String,
    /// The one request that ran there ended it.
    pub(crate) is_own_doing: bool,
}

/// A count of signs of life: bytes received, and requests read by the other end. Only requests
/// longer than the system's buffer count, since shorter ones may lie there unread.
#[derive(Debug, Default)]
struct Signs(AtomicU64);

impl Signs {
    fn add(&self) {
        // Relaxed: only compared with its former value.
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn shown_by<S>(self: &Arc<Self>, stream: S) -> Shown<S> {
        let signs = Arc::clone(self);
        Shown { stream, signs }
    }
}

/// More than a socket buffers for a reader that does not read.
const READ_BYTES: usize = 1 << 20;

/// A stream, one of whose directions shows signs of life.
struct Shown<S> {
    stream: S,
    signs: Arc<Signs>,
}

impl<S: Read> Read for Shown<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer);
        self.signs.add();
        read
    }
}

impl<S: Write> Write for Shown<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let part = bytes.get(..READ_BYTES).unwrap_or(bytes);
        let written = self.stream.write(part)?;
        if written == READ_BYTES {
            self.signs.add();
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// The waiters for answers.
struct Waiting {
    /// `None` once the connection is closed.
    replies: Mutex<Option<HashMap<u64, Reply>>>,
    /// The name of the other end, for messages.
    name: String,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("name", &self.waiting.name)
            .finish_non_exhaustive()
    }
}

impl Link {
    /// A connection to `name`. When it closes, `on_close` is called, which may know the reason
    /// better, and then all waiters are told.
    pub(crate) fn open(
        name: String,
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        limits: Limits,
        on_close: impl FnOnce(End) -> End + Send + 'static,
    ) -> io::Result<Arc<Self>> {
        let waiting = Arc::new(Waiting {
            replies: Mutex::new(Some(HashMap::new())),
            name,
        });
        let told = Arc::clone(&waiting);
        let failed = move |id, error: &io::Error| told.tell(id, Err(told.died(&error.to_string())));
        let signs = Arc::new(Signs::default());
        let (input, output) = (signs.shown_by(input), signs.shown_by(output));
        let link = Arc::new(Self {
            outgoing: Outgoing::start("heist-cluster-requests", output, failed)?,
            waiting,
            signs,
            on_close: Mutex::new(Some(Box::new(on_close))),
        });
        let reading = Arc::clone(&link);
        thread::Builder::new()
            .name("heist-cluster-link".to_owned())
            .spawn(move || {
                let why = reading.waiting.read(input, limits);
                reading.end(why);
            })?;
        Ok(link)
    }

    /// Closes the connection because of `why`, unless it is closed, whichever process still holds
    /// the other end.
    pub(crate) fn end(&self, why: String) {
        let Some(on_close) = self.on_close.lock().take() else {
            return;
        };
        let replies = self.waiting.replies.lock().take();
        self.close();
        // A waiter that is told may try again at once, and must not find the dead worker.
        let end = on_close(End {
            why,
            is_own_doing: false,
        });
        for (_, reply) in replies.into_iter().flatten() {
            reply(Err(self.waiting.ended(&end)));
        }
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
        if !self.outgoing.send(id, request) {
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
        self.outgoing.close();
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

    /// Reads answers until the stream ends, and returns why it did.
    fn read(&self, input: impl Read, limits: Limits) -> String {
        let mut frames = FrameReader::new(BufReader::with_capacity(1 << 16, input), limits);
        loop {
            match frames.read() {
                Ok(frame) => match frame.understand::<Answer>() {
                    Ok(answer) => self.tell(answer.id, Ok(frame)),
                    Err(error) => {
                        self.complain(&format!("an answer cannot be understood: {error}"));
                    }
                },
                Err(ReadError::Oversized {
                    header: Some(header),
                    payload_bytes,
                    ..
                }) => {
                    let answer = protocol::decode::<Answer>(&header);
                    let error = BackendError::impossible(format!(
                        "the answer of {} has {payload_bytes} bytes, and at most {} are accepted; \
                         {PAYLOAD_VARIABLE} says how many",
                        self.name, limits.payload_bytes_max
                    ));
                    if let Ok(answer) = answer {
                        self.tell(answer.id, Err(error));
                    }
                }
                Err(error) if error.is_passing() => self.complain(&error.to_string()),
                Err(error) => return error.to_string(),
            }
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
mod tests {
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;
    use crate::protocol::Outcome;

    /// A watchdog, and no bar.
    const PATIENCE: Duration = Duration::from_secs(60);
    /// More than goes into a socket that nobody reads.
    const LARGE_BYTES: usize = 4 << 20;

    fn pair() -> (Arc<Link>, UnixStream) {
        let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
        let input = ours.try_clone().expect("a second handle");
        let name = "the other end".to_owned();
        let link = Link::open(name, input, ours, Limits::default(), |end| end);
        (link.expect("a connection"), theirs)
    }

    fn request(payload_bytes: usize) -> Frame {
        Frame::new(&"a request", vec![1; payload_bytes])
    }

    fn answer(id: u64, payload_bytes: usize) -> Vec<u8> {
        let outcome = Outcome::Done;
        Frame::new(&Answer { id, outcome }, vec![2; payload_bytes]).to_bytes()
    }

    /// The reply to the first answer sends a large request, which the other end does not read
    /// before it has written a large answer.
    #[test]
    fn a_reply_that_sends_much_keeps_no_answer_waiting() {
        let (link, mut theirs) = pair();
        let other_end = thread::spawn(move || {
            let input = theirs.try_clone().expect("a second handle");
            let mut frames = FrameReader::new(input, Limits::default());
            frames.read().expect("the first request");
            frames.read().expect("the second request");
            for answer in [answer(1, 0), answer(2, LARGE_BYTES)] {
                theirs.write_all(&answer).expect("it is read");
            }
            frames.read().expect("the third request");
            theirs.write_all(&answer(3, 0)).expect("it is read");
        });
        let (sender, answers) = mpsc::channel();
        let noting = move |id| -> Reply {
            let sender = sender.clone();
            Box::new(move |answer| sender.send((id, answer.is_ok())).unwrap_or_default())
        };
        let again = Arc::clone(&link);
        let (first, second, third) = (noting(1), noting(2), noting(3));
        let sending = Box::new(move |answer| {
            again.send(3, request(LARGE_BYTES), third);
            first(answer);
        });
        link.send(1, request(0), sending);
        link.send(2, request(0), second);
        for id in 1..=3 {
            let answered = answers.recv_timeout(PATIENCE);
            assert_eq!(answered, Ok((id, true)), "the answer {id} never came");
        }
        other_end.join().expect("the other end has read all");
    }

    #[test]
    fn a_request_that_is_not_answered_is_not_sent_again() {
        let (link, _theirs) = pair();
        let (sender, answers) = mpsc::channel();
        link.send(1, request(0), Box::new(|_| ()));
        let refused = Box::new(move |answer| drop(sender.send(answer)));
        link.send(1, request(0), refused);
        let answer = answers.recv_timeout(PATIENCE).expect("it did not wait");
        let error = answer.expect_err("it was asked before").to_string();
        assert!(error.contains("has not answered"), "{error}");
    }

    #[test]
    fn nothing_waits_for_an_end_that_does_not_read() {
        let (link, theirs) = pair();
        let (sender, sent) = mpsc::channel();
        let (reply, told) = mpsc::channel();
        thread::spawn(move || {
            let reply = Box::new(move |answer| drop(reply.send(answer)));
            link.send(1, request(LARGE_BYTES), reply);
            link.close();
            let refused = Box::new(move |answer| drop(sender.send(answer)));
            link.send(2, request(0), refused);
        });
        let refused = sent.recv_timeout(PATIENCE).expect("it did not wait");
        let error = refused.expect_err("the connection is closed").to_string();
        assert!(error.contains("told to end"), "{error}");
        drop(theirs);
        let lost = told.recv_timeout(PATIENCE).expect("it is told");
        assert!(lost.is_err_and(|error| error.is_node_death()));
    }
}
