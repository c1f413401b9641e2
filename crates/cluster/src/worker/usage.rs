//! Reads the processor time and memory that a worker and its machine have used.

use std::sync::Arc;

use crate::protocol::clock::unix_ms;
use crate::protocol::reading::{JobReading, Reading};
use crate::remote::running::RunningJob;

/// Reads them. Costs some ten microseconds, and with the family some for each process of the
/// machine.
pub(super) fn read(jobs: &[Arc<RunningJob>], with_family: bool) -> Reading {
    let mut reading = imp::read(with_family);
    reading.at_ms = unix_ms();
    reading.pid = std::process::id();
    reading.jobs = jobs
        .iter()
        .map(|running| {
            let threads = running.threads().into_iter().map(imp::thread_ns);
            let (cpu_ns, waited_ns) =
                threads.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            JobReading {
                job: running.job(),
                epoch: running.epoch(),
                cpu_ms: cpu_ns / 1_000_000,
                waited_ms: waited_ns / 1_000_000,
                progress: running.progress(),
            }
        })
        .collect();
    reading
}

pub(super) use imp::this_thread;

#[cfg(target_os = "linux")]
mod imp {
    use procfs::process::{self, Process, Stat};
    use procfs::{Current as _, CurrentSI as _};

    use super::Reading;

    /// Figures that cannot be read stay 0 or empty, which a reader takes for unknown.
    pub(super) fn read(with_family: bool) -> Reading {
        let mut reading = Reading::default();
        if let Ok(stat) = Process::myself().and_then(|myself| myself.stat()) {
            reading.process_cpu_ms = cpu_ms(&stat);
            reading.process_memory_bytes = stat.rss * procfs::page_size();
            if with_family {
                reading.family_cpu_ms = family(stat.ppid);
            }
        }
        let boot = procfs::sys::kernel::random::boot_id();
        reading.machine = boot.unwrap_or_default();
        reading.machine_cpus =
            heist_sync::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32);
        if let Ok(stat) = procfs::KernelStats::current() {
            let total = stat.total;
            let busy = total.user + total.nice + total.system;
            let busy = busy + total.irq.unwrap_or(0) + total.softirq.unwrap_or(0);
            reading.machine_busy_ms = ticks_ms(busy);
        }
        if let Ok(memory) = procfs::Meminfo::current() {
            reading.machine_memory_available_bytes = memory.mem_available.unwrap_or(0);
        }
        reading
    }

    fn family(parent: i32) -> Vec<(u32, u64)> {
        let Ok(all) = process::all_processes() else {
            return Vec::new();
        };
        all.flatten()
            .filter_map(|process| process.stat().ok())
            .filter(|stat| stat.pid == parent || stat.ppid == parent)
            .map(|stat| (stat.pid.unsigned_abs(), cpu_ms(&stat)))
            .collect()
    }

    fn cpu_ms(stat: &Stat) -> u64 {
        ticks_ms(stat.utime + stat.stime)
    }

    fn ticks_ms(ticks: u64) -> u64 {
        ticks.saturating_mul(1000) / procfs::ticks_per_second().max(1)
    }

    /// The number that the system gave to this thread.
    pub(in crate::worker) fn this_thread() -> Option<i32> {
        let link = std::fs::read_link("/proc/thread-self").ok()?;
        link.file_name()?.to_str()?.parse().ok()
    }

    /// How long a thread ran, and how long it waited for a processor.
    pub(super) fn thread_ns(thread: i32) -> (u64, u64) {
        let stat = Process::myself().and_then(|myself| myself.task_from_tid(thread)?.schedstat());
        stat.map_or((0, 0), |stat| (stat.sum_exec_runtime, stat.run_delay))
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use super::Reading;

    /// Nothing is known here.
    pub(super) fn read(_: bool) -> Reading {
        Reading::default()
    }

    pub(in crate::worker) fn this_thread() -> Option<i32> {
        None
    }

    pub(super) fn thread_ns(_: i32) -> (u64, u64) {
        (0, 0)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_family_is_read_for_those_who_ask_for_it() {
        let is_ours = |(pid, _): &(u32, u64)| *pid == std::process::id();
        assert!(read(&[], true).family_cpu_ms.iter().any(is_ours));
        assert!(read(&[], false).family_cpu_ms.is_empty());
    }
}
