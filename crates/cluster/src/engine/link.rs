//! A connection to the process of one worker: requests out, answers in.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, BufReader, Read, Write};
use std::sync::Arc;

use heist_sync::{thread, Mutex};

use super::{EngineError, Reply};
use crate::wire::{self, Answer, Frame, FrameReader, Limits, ReadError};

/// The driver's end of a connection.
pub(crate) struct Link {
    output: Mutex<Box<dyn Write + Send>>,
    /// Who waits for which answer; none any more once the connection is closed.
    waiting: Mutex<Option<HashMap<u64, Reply>>>,
    /// What the other end is, for messages.
    name: String,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Link {
    /// A connection to `name`. When it closes, `on_close` is called, and then all who waited
    /// are told.
    pub(crate) fn open(
        name: String,
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        limits: Limits,
        on_close: impl FnOnce() + Send + 'static,
    ) -> io::Result<Arc<Self>> {
        let link = Arc::new(Self {
            output: Mutex::new(Box::new(output)),
            waiting: Mutex::new(Some(HashMap::new())),
            name,
        });
        let reading = Arc::clone(&link);
        thread::Builder::new()
            .name("heist-cluster-link".to_owned())
            .spawn(move || {
                let why = reading.read(input, limits);
                let waiting = reading.waiting.lock().take();
                // Whoever is told may try again at once, and must not find the dead worker.
                on_close();
                for (_, reply) in waiting.into_iter().flatten() {
                    reply(Err(reading.died(&why)));
                }
            })?;
        Ok(link)
    }

    /// Sends a request. `reply` learns the answer, or that there will be none.
    pub(crate) fn send(&self, id: u64, request: &Frame, reply: Reply) {
        let refused = match self.waiting.lock().as_mut() {
            Some(waiting) => {
                waiting.insert(id, reply);
                None
            }
            None => Some(reply),
        };
        if let Some(reply) = refused {
            return reply(Err(self.died("the connection is closed")));
        }
        let sent = {
            let mut output = self.output.lock();
            wire::write_frame(&mut *output, &request.header, &request.payload)
                .and_then(|()| output.flush())
        };
        if let Err(error) = sent {
            self.tell(id, Err(self.died(&error.to_string())));
        }
    }

    fn died(&self, why: &str) -> EngineError {
        EngineError::node_died(format!("{} is gone: {why}", self.name))
    }

    /// Reads answers until there are no more, and says why.
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
                    let answer = wire::decode::<Answer>(&header);
                    let error = EngineError::impossible(format!(
                        "the answer of {} has {payload_bytes} bytes, which is too much",
                        self.name
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

    /// Nobody waits for this, so it can only be shown.
    fn complain(&self, what: &str) {
        let _ = writeln!(io::stderr(), "heist-cluster: from {}: {what}", self.name);
    }

    fn tell(&self, id: u64, answer: Result<Frame, EngineError>) {
        let reply = self
            .waiting
            .lock()
            .as_mut()
            .and_then(|waiting| waiting.remove(&id));
        if let Some(reply) = reply {
            reply(answer);
        }
    }
}
