//! Interference: the time that the system and the host take from the program, as Linux says.

use std::fs;
use std::sync::{Mutex, PoisonError};

use heist_event::profile::Interference;

/// The times of threads that have ended: on a processor, and waiting for one, in ns.
static ENDED: Mutex<(u64, u64)> = Mutex::new((0, 0));

/// The length of a tick in `/proc/stat`, which Linux promises to programs.
const TICK_NS: u64 = 10_000_000;

/// The processors of the machine at some time, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Machine {
    all_ns: u64,
    steal_ns: u64,
}

impl Machine {
    pub(crate) fn now() -> Self {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        Self::read(&text)
    }

    fn read(stat: &str) -> Self {
        let mut words = stat.lines().next().unwrap_or("").split_whitespace();
        if words.next() != Some("cpu") {
            return Self::default();
        }
        // The times of guests, behind the eighth, are in those of users already.
        let times: Vec<u64> = words.take(8).filter_map(|word| word.parse().ok()).collect();
        Self {
            all_ns: times.iter().sum::<u64>() * TICK_NS,
            steal_ns: times.get(7).copied().unwrap_or(0) * TICK_NS,
        }
    }

    /// The time that was taken from the process since then.
    pub(crate) fn taken_since(&self) -> Interference {
        let now = Self::now();
        let (mut cpu_ns, mut run_delay_ns) = *ENDED.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in fs::read_dir("/proc/self/task")
            .into_iter()
            .flatten()
            .flatten()
        {
            let text = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
            let (cpu, delay) = times(&text);
            cpu_ns += cpu;
            run_delay_ns += delay;
        }
        Interference {
            cpu_ns,
            run_delay_ns,
            host_steal_ns: now.steal_ns.saturating_sub(self.steal_ns),
            host_ns: now.all_ns.saturating_sub(self.all_ns),
        }
    }
}

/// The calling thread, which has a meter, is about to end.
pub(crate) fn thread_ends() {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let (cpu, delay) = times(&text);
    let mut ended = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
    *ended = (ended.0 + cpu, ended.1 + delay);
}

/// The times in a thread's `schedstat`: on a processor, and waiting for one.
fn times(schedstat: &str) -> (u64, u64) {
    let mut words = schedstat
        .split_whitespace()
        .map(|word| word.parse().unwrap_or(0));
    (words.next().unwrap_or(0), words.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_machine_and_thread_are_read_as_linux_writes_them() {
        let machine = Machine::read("cpu  10 1 2 300 4 5 6 7 100 100\ncpu0 1 1\n");
        assert_eq!(machine.all_ns, 335 * TICK_NS);
        assert_eq!(machine.steal_ns, 7 * TICK_NS);
        assert_eq!(times("101471 381043 2\n"), (101_471, 381_043));
        assert_eq!(Machine::read("nonsense"), Machine::default());
        assert_eq!(times(""), (0, 0));
    }
}
