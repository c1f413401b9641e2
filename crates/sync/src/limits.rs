//! The number of threads that the system allows a process.

/// A limit on threads, and the setting that it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThreadLimit {
    /// The most threads that this setting allows, whatever else runs.
    pub threads: u64,
    /// The setting.
    pub setting: &'static str,
}

/// The lowest known limit on threads, if the system has one.
///
/// Fewer threads than this may still fail to start: those of other programs count too, and each
/// takes memory. Reads some small files.
///
/// # Examples
///
/// ```
/// if let Some(limit) = heist_sync::thread_limit() {
///     println!("{} threads, by {}", limit.threads, limit.setting);
/// }
/// ```
#[must_use]
pub fn thread_limit() -> Option<ThreadLimit> {
    imp::limits().into_iter().flatten().min()
}

#[cfg(all(target_os = "linux", not(miri)))]
mod imp {
    use std::fs::read_to_string;
    use std::path::Path;

    use super::ThreadLimit;
    use crate::control_groups::{mounts, narrowest};

    /// The memory mappings of a worker: a stack and its guard, a deque and its reserved part.
    const MAPPINGS_OF_A_WORKER: u64 = 4;

    pub(super) fn limits() -> [Option<ThreadLimit>; 4] {
        let of =
            |threads: Option<u64>, setting| threads.map(|threads| ThreadLimit { threads, setting });
        let mappings = number_in("/proc/sys/vm/max_map_count");
        [
            of(
                mappings.map(|n| n / MAPPINGS_OF_A_WORKER),
                "vm.max_map_count",
            ),
            of(
                number_in("/proc/sys/kernel/threads-max"),
                "kernel.threads-max",
            ),
            of(processes(), "the limit on processes (ulimit -u)"),
            of(group(), "pids.max of the control group"),
        ]
    }

    fn number_in(file: impl AsRef<Path>) -> Option<u64> {
        read_to_string(file).ok()?.trim().parse().ok()
    }

    /// The limit on the threads of the user, which does not bind root.
    fn processes() -> Option<u64> {
        let mut limit = libc::rlimit {
            rlim_cur: libc::RLIM_INFINITY,
            rlim_max: libc::RLIM_INFINITY,
        };
        // SAFETY: it takes nothing.
        let is_root = unsafe { libc::geteuid() == 0 };
        // SAFETY: it writes the struct.
        let is_known = unsafe { libc::getrlimit(libc::RLIMIT_NPROC, &raw mut limit) == 0 };
        let binds = is_known && !is_root && limit.rlim_cur != libc::RLIM_INFINITY;
        #[allow(clippy::unnecessary_cast, reason = "systems of 32 bits have fewer")]
        binds.then_some(limit.rlim_cur as u64)
    }

    /// The lowest limit of the process's control group and those above it.
    fn group() -> Option<u64> {
        let groups = read_to_string("/proc/self/cgroup").ok()?;
        let root = Path::new("/sys/fs/cgroup");
        narrowest(root, &groups, mounts, "pids", |folder| {
            number_in(folder.join("pids.max"))
        })
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod imp {
    use super::ThreadLimit;

    pub(super) fn limits() -> [Option<ThreadLimit>; 0] {
        []
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn linux_tells_of_a_limit_and_this_process_is_under_it() {
        if cfg!(target_os = "linux") {
            let limit = thread_limit().expect("it has several");
            assert!(limit.threads > 1, "{limit:?}");
        }
    }
}
