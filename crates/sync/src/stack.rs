//! The size of a thread's stack.

/// The default stack of Rust's threads, in bytes.
const USUAL: usize = 2 << 20;

/// The size of the calling thread's stack in bytes; the usual size where the system does not tell.
///
/// Not for frequent calls: for the first thread of a program, the C library on Linux reads a file.
#[must_use]
pub fn stack_size() -> usize {
    imp::stack_size().unwrap_or(USUAL)
}

#[cfg(all(target_os = "linux", not(miri)))]
mod imp {
    use std::mem::MaybeUninit;

    pub(super) fn stack_size() -> Option<usize> {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: it makes the attributes if it returns 0.
        let failure =
            unsafe { libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) };
        if failure != 0 {
            return None;
        }
        let mut size = 0;
        // SAFETY: made above.
        let failure =
            unsafe { libc::pthread_attr_getstacksize(attributes.as_ptr(), &raw mut size) };
        // SAFETY: made above, and not used afterwards.
        unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
        (failure == 0 && size > 0).then_some(size)
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod imp {
    pub(super) fn stack_size() -> Option<usize> {
        None
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_knows_the_stack_that_it_was_given() {
        let asked = 3 << 20;
        let thread = std::thread::Builder::new().stack_size(asked);
        let size = thread.spawn(stack_size).expect("a thread").join();
        let size = size.expect("it only asks");
        if cfg!(target_os = "linux") {
            assert!((asked..asked + (1 << 20)).contains(&size), "{size}");
        } else {
            assert_eq!(size, USUAL);
        }
    }
}
