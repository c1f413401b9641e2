//! One thread that reads and writes for all connections of a backend, and waits for none of them.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::os::fd::RawFd;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use heist_sync::atomic::{AtomicUsize, Ordering};
use heist_sync::{thread, Mutex};
use mio::event::Event;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Registry, Token, Waker};

/// How many connections are served between two looks at which are ready.
const EVENTS_MAX: usize = 256;

/// The token of the waker; connections count from there.
const WAKER: Token = Token(0);

/// The thread, which ends when this is dropped.
///
/// A connection is told when there is something to read, and, if it wants to, when there is room to
/// write. It is told once, and is asked again only after it has read or written all it could.
pub(crate) struct Poller {
    shared: Arc<Shared>,
    next: AtomicUsize,
}

struct Shared {
    registry: Registry,
    waker: Waker,
    /// None once the thread is to end.
    connections: Mutex<Option<HashMap<Token, Arc<dyn Connection>>>>,
    /// Those that are to fail.
    broken: Mutex<Vec<Token>>,
}

/// A connection that a [`Poller`] serves.
pub(super) trait Connection: Send + Sync {
    /// Reads and writes what it can without waiting, for a while.
    fn serve(&self) -> Turn;

    /// It is at its end, as serving it has panicked or is impossible.
    fn fail(&self);
}

/// The end of a connection's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It has done all that it could.
    Waits,
    /// It could do more, and others have their turn first.
    GoesOn,
    /// There will be nothing more to do.
    Over,
}

impl fmt::Debug for Poller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Poller").finish_non_exhaustive()
    }
}

impl Poller {
    /// Starts the thread.
    pub(crate) fn start() -> io::Result<Arc<Self>> {
        let poll = Poll::new()?;
        let shared = Arc::new(Shared {
            registry: poll.registry().try_clone()?,
            waker: Waker::new(poll.registry(), WAKER)?,
            connections: Mutex::new(Some(HashMap::new())),
            broken: Mutex::default(),
        });
        let polling = Arc::clone(&shared);
        thread::Builder::new()
            .name("heist-cluster-io".to_owned())
            .spawn(move || polling.run(poll))?;
        Ok(Arc::new(Self {
            shared,
            next: AtomicUsize::new(WAKER.0 + 1),
        }))
    }

    /// A number for a connection.
    pub(super) fn token(&self) -> Token {
        // Only uniqueness matters.
        Token(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Serves a connection from now on, when `input` can be read.
    pub(super) fn add(
        &self,
        token: Token,
        input: RawFd,
        connection: Arc<dyn Connection>,
    ) -> io::Result<()> {
        if let Some(connections) = self.shared.connections.lock().as_mut() {
            connections.insert(token, connection);
        }
        let source = &mut SourceFd(&input);
        let added = self.shared.registry.register(source, token, READING);
        added.inspect_err(|_| self.shared.forget(token))
    }

    /// Serves it when `output` can be written, too, or not any more. The two may be one.
    pub(super) fn watch_output(
        &self,
        token: Token,
        (input, output): (RawFd, RawFd),
        is_wanted: bool,
    ) -> io::Result<()> {
        let registry = &self.shared.registry;
        let mut source = SourceFd(&output);
        match (input == output, is_wanted) {
            (true, true) => registry.reregister(&mut source, token, READING | Interest::WRITABLE),
            (true, false) => registry.reregister(&mut source, token, READING),
            (false, true) => registry.register(&mut source, token, Interest::WRITABLE),
            (false, false) => registry.deregister(&mut source),
        }
    }

    /// Has the thread end a connection with [`Connection::fail`]: whoever asks may hold locks that
    /// its end needs.
    pub(super) fn fail(&self, token: Token) {
        self.shared.broken.lock().push(token);
        // It fails only if the thread is awake anyway.
        let _ = self.shared.waker.wake();
    }

    /// Serves it no more.
    pub(super) fn remove(&self, token: Token, input: RawFd) {
        // It may be gone already.
        let _ = self.shared.registry.deregister(&mut SourceFd(&input));
        self.shared.forget(token);
    }
}

const READING: Interest = Interest::READABLE;

impl Drop for Poller {
    fn drop(&mut self) {
        let connections = self.shared.connections.lock().take();
        // Without it the thread would end with the next event.
        let _ = self.shared.waker.wake();
        drop(connections);
    }
}

impl Shared {
    fn forget(&self, token: Token) {
        let connection = self
            .connections
            .lock()
            .as_mut()
            .map(|all| all.remove(&token));
        // Not under the lock, as it may be the last one to hold the poller.
        drop(connection);
    }

    /// The system refuses to say which connections are ready: all are at their end.
    fn give_up(&self) {
        let connections = self.connections.lock().take();
        for connection in connections.into_iter().flat_map(HashMap::into_values) {
            connection.fail();
        }
    }

    fn end_broken(&self) {
        let broken = std::mem::take(&mut *self.broken.lock());
        for token in broken {
            let connections = self.connections.lock();
            let connection = connections
                .as_ref()
                .and_then(|all| all.get(&token).cloned());
            drop(connections);
            if let Some(connection) = connection {
                connection.fail();
            }
        }
    }

    fn run(&self, mut poll: Poll) {
        let mut events = Events::with_capacity(EVENTS_MAX);
        let mut going_on = Vec::new();
        loop {
            let patience = (!going_on.is_empty()).then_some(Duration::ZERO);
            match poll.poll(&mut events, patience) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return self.give_up(),
            }
            self.end_broken();
            let mut ready = std::mem::take(&mut going_on);
            ready.extend(events.iter().map(Event::token));
            ready.sort_unstable();
            ready.dedup();
            for token in ready {
                let connection = match self.connections.lock().as_ref() {
                    None => return,
                    Some(connections) => connections.get(&token).cloned(),
                };
                // Otherwise it has been removed a moment ago.
                let Some(connection) = connection else {
                    continue;
                };
                match turn(&*connection) {
                    Turn::Waits => {}
                    Turn::GoesOn => going_on.push(token),
                    Turn::Over => self.forget(token),
                }
            }
        }
    }
}

/// Serves a connection for a while.
fn turn(connection: &dyn Connection) -> Turn {
    let served = panic::catch_unwind(AssertUnwindSafe(|| connection.serve()));
    served.unwrap_or_else(|_| {
        // The panic has been shown; others go on.
        connection.fail();
        Turn::Over
    })
}
