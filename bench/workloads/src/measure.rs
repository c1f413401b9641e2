//! Clocks: wall time, CPU time of the process, peak memory, percentiles.

use std::time::{Duration, Instant};

use rustix::time::{clock_gettime, ClockId};

use crate::Sample;

/// [`sample_of`] work whose result is its checksum.
pub(crate) fn sample(units: u64, work: impl FnOnce() -> u64) -> Sample {
    sample_of(units, work, |result| result)
}

/// Runs `work` and returns a sample of `units` units with its wall time, its
/// CPU time as `cpu_ns` and the `checksum` of its result, which is not timed.
pub fn sample_of<R>(
    units: u64,
    work: impl FnOnce() -> R,
    checksum: impl FnOnce(R) -> u64,
) -> Sample {
    let cpu_before = cpu_ns();
    let (ns, result) = timed(work);
    let cpu = cpu_ns() - cpu_before;
    Sample::new(ns, units, checksum(result)).with("cpu_ns", cpu as f64)
}

/// A sample of one unit for each of the times in ns, which are sorted for the
/// percentiles `p50_us` and `p99_us` and the longest, `max_us`.
pub(crate) fn sample_of_times(times: &mut [u64], checksum: u64) -> Sample {
    times.sort_unstable();
    let us = |percent| percentile(times, percent) as f64 / 1e3;
    Sample::new(times.iter().sum(), times.len() as u64, checksum)
        .with("p50_us", us(50))
        .with("p99_us", us(99))
        .with("max_us", us(100))
}

/// Keeps the calling thread busy, so that only the others go to sleep.
pub(crate) fn wait(pause: Duration) {
    if !pause.is_zero() {
        let started = Instant::now();
        while started.elapsed() < pause {
            std::hint::spin_loop();
        }
    }
}

/// Runs `work` and returns how long it took with its result.
pub(crate) fn timed<R>(work: impl FnOnce() -> R) -> (u64, R) {
    let started = Instant::now();
    let result = work();
    (started.elapsed().as_nanos() as u64, result)
}

/// CPU time that all threads of this process have used so far.
pub(crate) fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The largest resident set that this process had so far, in KiB.
///
/// # Errors
///
/// If the kernel does not tell.
pub(crate) fn peak_rss_kb() -> Result<u64, String> {
    status_kb("VmHWM")
}

/// The resident set in KiB once it falls no further: once it has not for a third of a
/// second, or after three seconds.
///
/// # Errors
///
/// If the kernel does not tell.
pub(crate) fn settled_rss_kb() -> Result<u64, String> {
    const LOOKS: u32 = 300;
    const CALM_LOOKS: u32 = 33;
    let mut before = status_kb("VmRSS")?;
    let mut calm = 0;
    for _ in 0..LOOKS {
        std::thread::sleep(Duration::from_millis(10));
        let now = status_kb("VmRSS")?;
        calm = if now < before { 0 } else { calm + 1 };
        before = now;
        if calm == CALM_LOOKS {
            break;
        }
    }
    Ok(before)
}

/// The number of KiB that the process's status gives under this name.
fn status_kb(name: &str) -> Result<u64, String> {
    let path = "/proc/self/status";
    let status =
        std::fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse().ok())
        .ok_or_else(|| format!("{path} has no line `{name}: N kB`"))
}

/// The value below which `percent` of a sorted, non-empty list lies.
pub(crate) fn percentile(sorted: &[u64], percent: usize) -> u64 {
    sorted[(sorted.len() - 1) * percent / 100]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_pick_from_the_sorted_list() {
        let list: Vec<u64> = (0..=100).collect();
        assert_eq!(percentile(&list, 50), 50);
        assert_eq!(percentile(&list, 99), 99);
        assert_eq!(percentile(&[7], 99), 7);
    }

    #[test]
    fn times_become_a_sample_with_their_percentiles() {
        let mut times: Vec<u64> = (1..=100).rev().map(|us| us * 1000).collect();
        let sample = sample_of_times(&mut times, 7);
        assert_eq!((sample.ns, sample.units), (5_050_000, 100));
        let figures = ["p50_us", "p99_us", "max_us"].map(|name| sample.extra[name]);
        assert_eq!(figures, [50.0, 99.0, 100.0]);
    }

    #[test]
    fn a_sample_carries_the_result_and_the_cpu_time() {
        let sample = sample(3, || 42);
        assert_eq!((sample.units, sample.checksum.as_str()), (3, "42"));
        assert!(sample.extra.contains_key("cpu_ns"));
    }

    #[test]
    fn this_process_has_memory_and_a_peak_of_it() {
        assert!(settled_rss_kb().unwrap() > 0);
        assert!(peak_rss_kb().unwrap() > 0);
    }

    #[test]
    fn a_line_that_the_status_does_not_have_is_named() {
        let error = status_kb("VmNone").unwrap_err();
        assert!(error.contains("`VmNone: N kB`"), "{error}");
    }
}
