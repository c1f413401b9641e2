//! Waiting for the end of the parent process, which its children need not notice otherwise.

/// The parent of this process, to be waited for; on Linux only.
///
/// # Examples
///
/// ```
/// use heist_sync::parent::Parent;
///
/// assert!(Parent::watched(0).is_none(), "the parent is another");
/// ```
#[derive(Debug)]
pub struct Parent(#[cfg(target_os = "linux")] std::os::fd::OwnedFd);

#[cfg(target_os = "linux")]
impl Parent {
    /// The process with this number; `None` if it is not the parent, or not any more, or if the
    /// system cannot say when it ends.
    #[must_use]
    pub fn watched(number: u32) -> Option<Self> {
        use std::os::fd::{FromRawFd as _, OwnedFd};

        // A parent that dies between the two calls may leave its number to another process: then
        // this one is no worse off than without the wait.
        if std::os::unix::process::parent_id() != number {
            return None;
        }
        let number = libc::pid_t::try_from(number).ok()?;
        // SAFETY: the call takes two numbers, and returns a descriptor or -1.
        let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, number, 0) };
        // Descriptors fit an `int`, whatever the width of what calls return.
        let descriptor = (descriptor >= 0).then_some(descriptor as i32)?;
        // SAFETY: the descriptor is new, so it is ours alone.
        Some(Self(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    /// Waits until all of its threads have ended; false if the system does not let us.
    #[must_use]
    pub fn wait(&self) -> bool {
        use std::io::{Error, ErrorKind};
        use std::os::fd::AsRawFd as _;

        let mut ready = libc::pollfd {
            fd: self.0.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        loop {
            // SAFETY: there is one entry, which is ours.
            let found = unsafe { libc::poll(&raw mut ready, 1, -1) };
            let is_interrupted = || Error::last_os_error().kind() == ErrorKind::Interrupted;
            if found >= 0 || !is_interrupted() {
                return found > 0;
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Parent {
    /// `None`: the system cannot say when a parent ends.
    #[must_use]
    pub fn watched(_: u32) -> Option<Self> {
        None
    }

    /// There is none to be waited for.
    #[must_use]
    pub fn wait(&self) -> bool {
        false
    }
}
