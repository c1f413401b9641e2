//! The machine on which the figures were taken, and its use by others.

use std::path::Path;

use crate::build::first_line;

/// The machine and the compiler.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) cpu: String,
    pub(crate) cores: usize,
    pub(crate) kernel: String,
    pub(crate) rustc: String,
    /// The commit of this repository, with a mark if there are changes.
    pub(crate) commit: String,
    pub(crate) load_before: String,
}

impl Machine {
    pub(crate) fn look(bench: &Path) -> Self {
        let cpu_info = read("/proc/cpuinfo");
        let model = cpu_info
            .lines()
            .find_map(|line| line.strip_prefix("model name"));
        let folder = bench.display().to_string();
        let commit = first_line(
            "git",
            &[
                "-C",
                &folder,
                "describe",
                "--always",
                "--dirty",
                "--exclude=*",
            ],
        );
        Self {
            cpu: model
                .map_or("unknown", |rest| rest.trim_start_matches([' ', '\t', ':']))
                .to_owned(),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            kernel: read("/proc/sys/kernel/osrelease"),
            rustc: first_line("rustc", &["--version"]),
            commit,
            load_before: load(),
        }
    }

    /// The machine's name in a file name: `amd-epyc-2`.
    pub(crate) fn short_name(&self) -> String {
        let words = self.cpu.to_lowercase();
        let words = words.split(|letter: char| !letter.is_ascii_alphanumeric());
        let mut parts: Vec<&str> = words
            .filter(|word| !word.is_empty() && !["r", "tm"].contains(word))
            .take(4)
            .collect();
        let cores = self.cores.to_string();
        parts.push(&cores);
        parts.join("-")
    }
}

/// The load averages of one, five and fifteen minutes.
pub(crate) fn load() -> String {
    read("/proc/loadavg")
        .split(' ')
        .take(3)
        .collect::<Vec<_>>()
        .join(" ")
}

/// CPU time in ticks (of 10 ms on Linux) spent so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    /// By the whole machine.
    busy: u64,
    /// By this process and the peers that have ended.
    ours: u64,
}

impl Ticks {
    pub(crate) fn now() -> Self {
        Self {
            busy: busy_ticks(&read("/proc/stat")),
            ours: our_ticks(&read("/proc/self/stat")),
        }
    }

    /// CPU seconds that others used since `before`.
    pub(crate) fn foreign_s_since(self, before: Self) -> f64 {
        let ours = self.ours.saturating_sub(before.ours);
        self.busy.saturating_sub(before.busy).saturating_sub(ours) as f64 / 100.0
    }
}

/// The first line of `/proc/stat` is user, nice, system, idle, iowait, irq, ..
fn busy_ticks(stat: &str) -> u64 {
    let first = stat.lines().next().unwrap_or_default();
    let numbers = first.split_whitespace().skip(1).enumerate();
    numbers
        .filter(|(place, _)| ![3, 4].contains(place))
        // The time of guests is contained in user and nice already.
        .take_while(|&(place, _)| place < 8)
        .filter_map(|(_, text)| text.parse::<u64>().ok())
        .sum()
}

/// Fields 14 to 17 of `/proc/self/stat`, counted from behind the program's name.
fn our_ticks(stat: &str) -> u64 {
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let fields = after_name.split_whitespace().skip(11).take(4);
    fields.filter_map(|text| text.parse::<u64>().ok()).sum()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path)
        .map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_leaves_out_idle_waiting_and_guests() {
        assert_eq!(busy_ticks("cpu  10 1 5 1000 99 2 3 4 50 50\ncpu0 1"), 25);
    }

    #[test]
    fn our_time_is_own_and_ended_children() {
        let stat = "7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 100 20 3 4 20 0 1";
        assert_eq!(our_ticks(stat), 127);
    }

    #[test]
    fn the_short_name_fits_into_a_file_name() {
        let machine = Machine {
            cpu: "Intel(R) Xeon(R) Gold 6226R CPU @ 2.90GHz".to_owned(),
            cores: 2,
            kernel: String::new(),
            rustc: String::new(),
            commit: String::new(),
            load_before: String::new(),
        };
        assert_eq!(machine.short_name(), "intel-xeon-gold-6226r-2");
    }
}
