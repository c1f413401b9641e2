//! Frames on their way out: whoever must not wait until they are written does not.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use heist_sync::{thread, Condvar, Mutex};

use crate::protocol::{self, Frame};

/// A small frame is written at once, which is a message less for what is in between.
const BUFFER_BYTES: usize = 1 << 16;

/// The frames for the other end of a connection, and the thread that writes them.
///
/// Two ends that write what they have to say before they read on fill the pipes between them,
/// and wait for each other for ever. So neither end does: reading never waits for writing, and
/// no lock is held while something is written. `K` is what a frame is known by.
///
/// The queue has no bound of its own, because whoever met it would wait, and readers send too. Its
/// bound is what the sender may send: a driver has that of a connection to a worker, and a worker
/// sends one answer to each request.
pub(crate) struct Outgoing<K>(Arc<Shared<K>>);

struct Shared<K> {
    state: Mutex<State<K>>,
    changed: Condvar,
}

struct State<K> {
    frames: VecDeque<(K, Frame)>,
    /// None while somebody writes, who looks for more frames before it is back.
    output: Option<Output<K>>,
    is_closed: bool,
}

struct Output<K> {
    stream: BufWriter<Box<dyn Write + Send>>,
    failed: Failed<K>,
}

/// Is told of what could not be written.
type Failed<K> = Box<dyn FnMut(K, &io::Error) + Send>;

impl<K> fmt::Debug for Outgoing<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Outgoing").finish_non_exhaustive()
    }
}

impl<K: Send + 'static> Outgoing<K> {
    /// Starts the thread `name`, which writes to `output`, and tells `failed` of frames that it
    /// could not write.
    pub(crate) fn start(
        name: &str,
        output: impl Write + Send + 'static,
        failed: impl FnMut(K, &io::Error) + Send + 'static,
    ) -> io::Result<Self> {
        let output = Output {
            stream: BufWriter::with_capacity(BUFFER_BYTES, Box::new(output)),
            failed: Box::new(failed),
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                frames: VecDeque::new(),
                output: Some(output),
                is_closed: false,
            }),
            changed: Condvar::default(),
        });
        let writing = Arc::clone(&shared);
        thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || writing.run())?;
        Ok(Self(shared))
    }

    /// Has a frame written after those before it; false if the way is closed.
    pub(crate) fn send(&self, known_by: K, frame: Frame) -> bool {
        let is_sent = self.0.push(known_by, frame);
        self.0.changed.notify_all();
        is_sent
    }

    /// As [`send`](Self::send), by a thread that may wait: it writes all there is, unless
    /// another does.
    pub(crate) fn write(&self, known_by: K, frame: Frame) -> bool {
        let is_sent = self.0.push(known_by, frame);
        self.0.write();
        is_sent
    }

    /// Closes the way, and the output with it once what was sent before is written.
    pub(crate) fn close(&self) {
        self.0.state.lock().is_closed = true;
        self.0.changed.notify_all();
    }
}

impl<K> Drop for Outgoing<K> {
    fn drop(&mut self) {
        self.0.state.lock().is_closed = true;
        self.0.changed.notify_all();
    }
}

impl<K> Shared<K> {
    fn push(&self, known_by: K, frame: Frame) -> bool {
        let mut state = self.state.lock();
        if !state.is_closed {
            state.frames.push_back((known_by, frame));
        }
        !state.is_closed
    }

    /// Writes what there is, if nobody else does.
    fn write(&self) {
        let mut state = self.state.lock();
        let Some(mut output) = state.output.take() else {
            return;
        };
        while let Some((known_by, frame)) = state.frames.pop_front() {
            drop(state);
            let written = protocol::write_frame(&mut output.stream, &frame.header, &frame.payload)
                .and_then(|()| output.stream.flush());
            if let Err(error) = written {
                (output.failed)(known_by, &error);
            }
            state = self.state.lock();
        }
        state.output = Some(output);
        let is_closed = state.is_closed;
        drop(state);
        if is_closed {
            // The thread may have been waiting for the output, to close it.
            self.changed.notify_all();
        }
    }

    /// Writes until the way is closed, and then closes the output.
    fn run(&self) {
        let mut state = self.state.lock();
        loop {
            if state.output.is_some() && !state.frames.is_empty() {
                drop(state);
                self.write();
                state = self.state.lock();
            } else if state.output.is_some() && state.is_closed {
                let output = state.output.take();
                drop(state);
                return drop(output);
            } else {
                state = self.changed.wait(state);
            }
        }
    }
}
