//! The two directions of a connection, as streams.

use std::io::{self, IoSlice, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// A socket, whose two directions have one descriptor. The other end reads its end when the
/// direction to it is dropped.
pub(crate) fn directions(socket: UnixStream) -> (impl ReadEnd, impl WriteEnd) {
    let socket = Arc::new(socket);
    (Receiver(Arc::clone(&socket)), Sender(socket))
}

/// A stream to be read.
pub(crate) trait ReadEnd: Read + AsFd + Send + 'static {}
impl<S: Read + AsFd + Send + 'static> ReadEnd for S {}

/// A stream to be written.
pub(crate) trait WriteEnd: Write + AsFd + Send + 'static {}
impl<S: Write + AsFd + Send + 'static> WriteEnd for S {}

/// A socket, to be read.
struct Receiver(Arc<UnixStream>);

impl Read for Receiver {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self.0).read(buffer)
    }
}

impl AsFd for Receiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A socket, to be written.
struct Sender(Arc<UnixStream>);

impl Write for Sender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.0).write(bytes)
    }

    fn write_vectored(&mut self, bytes: &[IoSlice<'_>]) -> io::Result<usize> {
        (&*self.0).write_vectored(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Sender {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        // The other end may have closed it.
        let _ = self.0.shutdown(Shutdown::Write);
    }
}
