//! The processors that the process may use at this moment, and their number.

/// The number of processors that the process may use: those of its affinity mask, but no more than
/// the quota of its control group, or of one above it, is worth. At least 1.
///
/// The mask is that of the process's first thread, so that a thread which has pinned itself to one
/// processor gets the same answer as all others. A quota of 2.5 processors is worth 2. On systems
/// other than Linux, as `std::thread::available_parallelism`. Reads some small files.
///
/// # Examples
///
/// ```
/// assert!(heist_sync::usable_processors() >= 1);
/// ```
#[must_use]
pub fn usable_processors() -> usize {
    if cfg!(any(heist_loom, heist_shuttle)) {
        // In a model one thread runs at a time, whatever the machine.
        1
    } else {
        imp::usable_processors()
    }
}

/// The processors that the process may use, ascending: the system's numbers of those in the
/// affinity mask of its first thread. At least one.
///
/// On systems other than Linux as many as `std::thread::available_parallelism` says, from 0 on. In
/// a model there are eight, to none of which a thread can really be bound.
///
/// # Examples
///
/// ```
/// assert!(!heist_sync::allowed_processors().is_empty());
/// ```
#[must_use]
pub fn allowed_processors() -> Vec<usize> {
    if cfg!(any(heist_loom, heist_shuttle)) {
        (0..8).collect()
    } else {
        imp::mask().unwrap_or_else(|| (0..available()).collect())
    }
}

fn available() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(all(target_os = "linux", not(miri)))]
mod imp {
    use std::ffi::c_ulong;
    use std::fs::read_to_string;
    use std::path::Path;

    pub(super) fn usable_processors() -> usize {
        let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
        let root = Path::new("/sys/fs/cgroup");
        let quota = super::quota(root, &groups, crate::control_groups::mounts);
        let allowed = mask().map_or_else(super::available, |mask| mask.len());
        allowed.min(quota.unwrap_or(usize::MAX))
    }

    /// The processors in the mask of the process's first thread.
    pub(super) fn mask() -> Option<Vec<usize>> {
        const BITS: usize = c_ulong::BITS as usize;
        let first = i32::try_from(std::process::id()).unwrap_or(0);
        // The kernel refuses a set that has no room for all processors that there could be.
        for words in [16, 128, 1024] {
            let mut set: Vec<c_ulong> = vec![0; words];
            // SAFETY: it writes a set of this size, which is one of words as these.
            let is_known = unsafe {
                libc::sched_getaffinity(first, size_of_val(&set[..]), set.as_mut_ptr().cast()) == 0
            };
            if is_known {
                let is_in = |&id: &usize| set[id / BITS] >> (id % BITS) & 1 == 1;
                let ids: Vec<usize> = (0..words * BITS).filter(is_in).collect();
                return Some(ids).filter(|ids| !ids.is_empty());
            }
        }
        None
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod imp {
    pub(super) fn usable_processors() -> usize {
        super::available()
    }

    pub(super) fn mask() -> Option<Vec<usize>> {
        None
    }
}

/// The processors that the lowest quota is worth, of the control groups that `groups` names and
/// those above them.
#[cfg(any(all(target_os = "linux", not(miri)), test))]
fn quota(root: &std::path::Path, groups: &str, mounts: fn() -> String) -> Option<usize> {
    use std::fs::read_to_string;

    crate::control_groups::narrowest(root, groups, mounts, "cpu", |folder| {
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let (quota, period) = if let Ok(line) = read_to_string(folder.join("cpu.max")) {
            let (quota, period) = line.trim().split_once(' ')?;
            (number(quota)?, number(period)?)
        } else {
            let read = |file| number(&read_to_string(folder.join(file)).ok()?);
            (read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?)
        };
        usize::try_from(quota.checked_div(period)?.max(1)).ok()
    })
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;
    use crate::control_groups::tests::Tree;

    /// Go#81180: the quota of a group above was not seen.
    #[test]
    fn the_narrowest_quota_counts_be_it_of_a_group_above() {
        let tree = Tree::new(
            "second",
            &[
                ("a/cpu.max", "250000 100000\n"),
                ("a/b/cpu.max", "max 100000\n"),
                ("a/b/c/cpu.max", "400000 100000\n"),
                ("d/cpu.max", "50000 100000\n"),
                ("e/cpu.max", "max 100000\n"),
            ],
        );
        for (group, worth) in [
            ("/a/b/c", Some(2)),
            ("/a/b", Some(2)),
            ("/d", Some(1)),
            ("/d/unknown/deeper", Some(1)),
            ("/e", None),
            ("/", None),
        ] {
            assert_eq!(
                quota(&tree.0, &format!("0::{group}\n"), String::new),
                worth,
                "{group}"
            );
        }
    }

    #[test]
    fn the_first_version_of_control_groups_counts_as_well() {
        let tree = Tree::new(
            "first",
            &[
                ("cpu,cpuacct/a/cpu.cfs_quota_us", "300000\n"),
                ("cpu,cpuacct/a/cpu.cfs_period_us", "100000\n"),
                ("cpu/b/cpu.cfs_quota_us", "-1\n"),
                ("cpu/b/cpu.cfs_period_us", "100000\n"),
                ("memory/a/cpu.cfs_quota_us", "100000\n"),
                ("memory/a/cpu.cfs_period_us", "100000\n"),
            ],
        );
        let of = |groups| quota(&tree.0, groups, String::new);
        assert_eq!(of("5:memory:/a\n4:cpu,cpuacct:/a\n0::/\n"), Some(3));
        assert_eq!(of("4:cpu:/b\n"), None);
        assert_eq!(of("5:memory:/a\n"), None);
    }

    #[test]
    fn files_that_say_nothing_sensible_are_no_quota() {
        let files = [
            ("a/cpu.max", "two 100000"),
            ("b/cpu.max", "200000 0"),
            ("c/cpu.max", ""),
            ("d/cpu.max", "200000"),
        ];
        let tree = Tree::new("malformed", &files);
        for group in ["a", "b", "c", "d", "../..", ""] {
            assert_eq!(
                quota(&tree.0, &format!("0::/{group}"), String::new),
                None,
                "{group}"
            );
        }
        for groups in ["", "\n", "0:", "nothing", "::", "0::"] {
            assert_eq!(quota(&tree.0, groups, String::new), None, "{groups:?}");
        }
    }

    #[test]
    fn a_thread_that_has_pinned_itself_gets_the_same_answer() {
        let all = usable_processors();
        assert!(all >= 1);
        #[cfg(target_os = "linux")]
        std::thread::spawn(move || {
            // SAFETY: a set is an array of integers, all of which may be 0.
            let mut one: libc::cpu_set_t = unsafe { std::mem::zeroed() };
            // SAFETY: it reads the thread's processor.
            let here = usize::try_from(unsafe { libc::sched_getcpu() }).expect("a processor");
            // SAFETY: it writes the set.
            unsafe { libc::CPU_SET(here, &mut one) };
            // SAFETY: it reads the set, and changes this thread only.
            let done = unsafe { libc::sched_setaffinity(0, size_of_val(&one), &raw const one) };
            assert_eq!(done, 0);
            assert_eq!(usable_processors(), all);
        })
        .join()
        .expect("no panic");
    }
}
