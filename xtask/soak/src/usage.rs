//! The process as the system sees it: its memory, its threads, and where each of them is.

use std::fmt::Write as _;
use std::fs;
use std::io;

/// The process's use of memory and threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub(crate) resident_kib: u64,
    pub(crate) address_space_kib: u64,
    pub(crate) threads: u64,
    pub(crate) descriptors: u64,
}

impl Usage {
    pub(crate) fn read() -> io::Result<Self> {
        let status = fs::read_to_string("/proc/self/status")?;
        let figure = |name| figure(&status, name).ok_or(io::ErrorKind::InvalidData);
        Ok(Self {
            resident_kib: figure("VmRSS:")?,
            address_space_kib: figure("VmSize:")?,
            threads: figure("Threads:")?,
            // One of them lists the others.
            descriptors: fs::read_dir("/proc/self/fd")?.count() as u64 - 1,
        })
    }
}

/// The number behind the name.
fn figure(status: &str, name: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix(name))?;
    value.split_whitespace().next()?.parse().ok()
}

/// A line for each thread: its name and state, and where in the system it waits.
pub(crate) fn threads() -> io::Result<String> {
    let mut text = String::new();
    for thread in fs::read_dir("/proc/self/task")? {
        let folder = thread?.path();
        // A thread may end meanwhile, and not everything is readable for everybody.
        let read = |name| fs::read_to_string(folder.join(name)).unwrap_or_default();
        let status = read("status");
        let state = status.lines().find_map(|line| line.strip_prefix("State:"));
        let _ = writeln!(
            text,
            "  {:16}{:14} in {} syscall {}",
            read("comm").trim(),
            state.unwrap_or("\t?"),
            read("wchan"),
            read("syscall")
                .split(' ')
                .take(4)
                .collect::<Vec<_>>()
                .join(" ")
                .trim(),
        );
        for line in read("stack").lines() {
            let _ = writeln!(text, "      {line}");
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_by_name() {
        let status = "Name:\tsoak\nVmSize:\t  1234 kB\nVmRSS:\t   56 kB\nThreads:\t7\n";
        assert_eq!(figure(status, "VmRSS:"), Some(56));
        assert_eq!(figure(status, "Threads:"), Some(7));
        assert_eq!(figure(status, "VmSwap:"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_process_and_its_threads_are_seen() {
        let usage = Usage::read().unwrap();
        assert!(usage.threads >= 1 && usage.descriptors >= 3 && usage.resident_kib > 0);
        assert!(threads().unwrap().contains("State") || threads().unwrap().contains("running"));
    }
}
