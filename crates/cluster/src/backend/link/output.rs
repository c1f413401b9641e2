//! Requests on their way to a worker, and how far the first of them is written.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Write};
use std::os::fd::{AsRawFd as _, RawFd};

use super::streams::WriteEnd;
use crate::protocol::Frame;

/// The stream to a worker, which does not block.
pub(super) struct Output {
    /// None once it is closed or broken.
    stream: Option<(Box<dyn Write + Send>, RawFd)>,
    requests: VecDeque<Request>,
    /// It is closed once all is written.
    is_closing: bool,
    /// There was no more room. There is when its descriptor is ready.
    pub(super) is_full: bool,
    /// The poller looks whether it is.
    pub(super) is_watched: bool,
    /// The reason why the poller cannot.
    pub(super) failure: Option<String>,
}

struct Request {
    head: Vec<u8>,
    payload: Vec<u8>,
    /// Bytes of both that are written.
    written: usize,
}

/// How much was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// Nothing, or what fits into the system's buffer, read or not.
    None,
    /// At first there was no room, so the other end has read since.
    Some,
}

impl Output {
    pub(super) fn new(stream: impl WriteEnd) -> Self {
        let fd = stream.as_fd().as_raw_fd();
        Self {
            stream: Some((Box::new(stream), fd)),
            requests: VecDeque::new(),
            is_closing: false,
            is_full: false,
            is_watched: false,
            failure: None,
        }
    }

    /// Its descriptor, while it is open.
    pub(super) fn fd(&self) -> Option<RawFd> {
        self.stream.as_ref().map(|(_, fd)| *fd)
    }

    /// Has a request written after those before it; false if it is closed.
    pub(super) fn push(&mut self, request: Frame) -> bool {
        if self.is_closing {
            return false;
        }
        let Ok(head) = request.head() else {
            return false;
        };
        // The waiters of one that is broken are told at the end of the connection.
        if self.stream.is_some() {
            let (payload, written) = (request.payload, 0);
            self.requests.push_back(Request {
                head,
                payload,
                written,
            });
        }
        true
    }

    /// Closes it once what was sent before is written.
    pub(super) fn close(&mut self) {
        self.is_closing = true;
    }

    /// Writes no more.
    pub(super) fn end(&mut self) {
        self.stream = None;
        self.requests.clear();
    }

    /// Writes what there is room for.
    pub(super) fn write(&mut self) -> Written {
        let was_full = std::mem::take(&mut self.is_full);
        let mut has_written = false;
        while let (Some((stream, _)), Some(request)) = (&mut self.stream, self.requests.front_mut())
        {
            match request.write(stream) {
                Ok(bytes) => {
                    has_written |= bytes > 0;
                    if request.is_written() {
                        self.requests.pop_front();
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.is_full = true;
                    break;
                }
                Err(_) => self.end(),
            }
        }
        if self.is_closing && self.requests.is_empty() {
            self.stream = None;
        }
        match was_full && has_written {
            true => Written::Some,
            false => Written::None,
        }
    }
}

impl Request {
    fn is_written(&self) -> bool {
        self.written == self.head.len() + self.payload.len()
    }

    /// Writes on, and says how much.
    fn write(&mut self, stream: &mut impl Write) -> io::Result<usize> {
        let head = self.head.get(self.written..).unwrap_or_default();
        let payload = self.written.saturating_sub(self.head.len());
        let parts = [IoSlice::new(head), IoSlice::new(&self.payload[payload..])];
        let bytes = stream.write_vectored(&parts)?;
        if bytes == 0 && !self.is_written() {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.written += bytes;
        Ok(bytes)
    }
}
