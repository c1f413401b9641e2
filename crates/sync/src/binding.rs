//! The system's treatment of a thread: the processors that it runs on, its niceness.

use std::io;

/// Binds the calling thread to these processors: it runs on no others.
///
/// # Errors
///
/// Fails with `Unsupported` on systems other than Linux; and if the process may use none of the
/// processors.
///
/// # Examples
///
/// ```
/// let allowed = heist_sync::allowed_processors();
/// if cfg!(target_os = "linux") {
///     heist_sync::bind_current_thread(&allowed)?;
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn bind_current_thread(processors: &[usize]) -> io::Result<()> {
    imp::bind(processors)
}

/// Sets the niceness of the calling thread: -20 is the most urgent, 19 the least.
///
/// # Errors
///
/// Fails with `Unsupported` on systems other than Linux, where niceness belongs to the process; and
/// if the thread may not lower its niceness.
///
/// # Examples
///
/// ```
/// # if cfg!(target_os = "linux") {
/// std::thread::spawn(|| heist_sync::set_thread_nice(19)).join().unwrap()?;
/// # }
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn set_thread_nice(nice: i8) -> io::Result<()> {
    imp::set_nice(nice)
}

#[cfg(all(target_os = "linux", not(any(miri, heist_loom, heist_shuttle))))]
mod imp {
    use std::ffi::c_ulong;
    use std::io;

    const BITS: usize = c_ulong::BITS as usize;

    pub(super) fn bind(processors: &[usize]) -> io::Result<()> {
        let words = processors.iter().max().map_or(1, |last| last / BITS + 1);
        let mut set: Vec<c_ulong> = vec![0; words];
        for id in processors {
            set[id / BITS] |= 1 << (id % BITS);
        }
        // SAFETY: it reads a set of this size, which is one of words as these.
        let status =
            unsafe { libc::sched_setaffinity(0, size_of_val(&set[..]), set.as_ptr().cast()) };
        result(status)
    }

    pub(super) fn set_nice(nice: i8) -> io::Result<()> {
        // SAFETY: it changes the calling thread only: on Linux each has its own.
        result(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice.into()) })
    }

    fn result(status: i32) -> io::Result<()> {
        match status {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

// The threads of a model are unknown to the system.
#[cfg(any(heist_loom, heist_shuttle))]
mod imp {
    use std::io;

    pub(super) fn bind(_processors: &[usize]) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn set_nice(_nice: i8) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(not(any(all(target_os = "linux", not(miri)), heist_loom, heist_shuttle)))]
mod imp {
    use std::io;

    pub(super) fn bind(_processors: &[usize]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn set_nice(_nice: i8) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(all(test, target_os = "linux", not(any(miri, heist_loom, heist_shuttle))))]
mod tests {
    use super::*;
    use crate::allowed_processors;

    #[test]
    fn a_thread_is_bound_to_a_processor_and_others_are_not() {
        let all = allowed_processors();
        let last = *all.last().expect("a processor");
        std::thread::spawn(move || {
            bind_current_thread(&[last]).expect("it is allowed");
            // SAFETY: it reads the thread's processor.
            assert_eq!(usize::try_from(unsafe { libc::sched_getcpu() }), Ok(last));
        })
        .join()
        .expect("no panic");
        assert_eq!(allowed_processors(), all);
    }

    #[test]
    fn processors_that_do_not_exist_are_refused() {
        for none in [&[][..], &[60_000], &[1_000_000]] {
            assert!(bind_current_thread(none).is_err(), "{none:?}");
        }
    }
}
