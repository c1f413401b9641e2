//! A snapshot as lines of text.

use super::{Counters, Metered, Pool, Snapshot, Worker};
use crate::words::{count, duration, factor, fitted, harmless, percent, plural};

/// The columns of a line with a bar that are not the bar, and the longest bar.
const BESIDE_BAR: usize = 30;
const BAR_MAX: usize = 60;

/// The fewest columns that are laid out for, and the most.
const COLUMNS: std::ops::RangeInclusive<usize> = 50..=160;

/// The most lines with the states of workers.
const STATE_LINES: usize = 4;

/// Time after which a program that lives should have been looked at again.
const SILENCE_NS: f64 = 2e9;

/// A reading of a snapshot.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Reading {
    /// The process has not ended.
    pub is_alive: bool,
    /// How long ago the snapshot was written.
    pub age_ns: u64,
    /// The columns that there are.
    pub columns: usize,
}

impl Reading {
    /// A reading of a process that is alive or not, so long after the snapshot was written.
    #[must_use]
    pub fn new(is_alive: bool, age_ns: u64, columns: usize) -> Self {
        let columns = columns.clamp(*COLUMNS.start(), *COLUMNS.end());
        Self {
            is_alive,
            age_ns,
            columns,
        }
    }
}

/// The snapshot in lines, none of which is wider than the reading allows.
#[must_use]
pub fn lines(snapshot: &Snapshot, reading: Reading) -> Vec<String> {
    let mut lines = head(snapshot, reading);
    if snapshot.pools.is_empty() {
        lines.push("no pool".to_owned());
    }
    for pool in &snapshot.pools {
        lines.push(String::new());
        lines.extend(of_pool(pool, reading.columns));
    }
    if snapshot.other_pools > 0 {
        lines.push(format!("and {}", plural(snapshot.other_pools, "more pool")));
    }
    if let Some(metered) = &snapshot.metered {
        lines.push(String::new());
        lines.extend(of_meter(metered, snapshot, reading.columns));
    }
    let width = reading.columns;
    let lines = lines.iter();
    lines
        .map(|line| harmless(line).chars().take(width).collect())
        .collect()
}

fn head(snapshot: &Snapshot, reading: Reading) -> Vec<String> {
    let age = duration(reading.age_ns as f64);
    let ran_ms = snapshot
        .written_unix_ms
        .saturating_sub(snapshot.began_unix_ms);
    let ran = duration(ran_ms as f64 * 1e6);
    let command: Vec<String> = snapshot.command.iter().map(|word| harmless(word)).collect();
    let mut lines = vec![
        fitted(&command.join(" "), reading.columns),
        format!(
            "process {}, heist {}, looked at for {ran}; parallelism {} of {}",
            snapshot.pid,
            snapshot.heist,
            factor(snapshot.parallelism()),
            plural(snapshot.workers(), "worker"),
        ),
    ];
    if !reading.is_alive {
        lines.push(format!(
            "DEAD: it was like this {age} ago, and has ended since"
        ));
    } else if reading.age_ns as f64 > SILENCE_NS {
        lines.push(format!(
            "SILENT: this is {age} old; it was stopped, or replaced by exec"
        ));
    }
    lines
}

fn of_pool(pool: &Pool, columns: usize) -> Vec<String> {
    let queued = if pool.has_a_job { ", a job waits" } else { "" };
    let mut lines = vec![format!(
        "pool {}: {}, parallelism {} in the last second{queued}",
        pool.number,
        plural(pool.len, "worker"),
        factor(pool.parallelism()),
    )];
    let Counters {
        working_ns,
        searching_ns,
        asleep_ns,
        ..
    } = pool.last;
    let all = working_ns
        .saturating_add(searching_ns)
        .saturating_add(asleep_ns);
    for (name, ns) in [
        ("at work", working_ns),
        ("searching", searching_ns),
        ("asleep", asleep_ns),
    ] {
        lines.push(bar(name, ns, all, columns));
    }
    let per_second = |number: u64| {
        let rate = number as f64 * 1e9 / pool.last_ns.max(1) as f64;
        count(rate.round() as u64)
    };
    lines.push(format!(
        "  {} jobs/s, {} steals/s, {} failed/s; {} and {} in all",
        per_second(pool.last.jobs),
        per_second(pool.last.steals),
        per_second(pool.last.steals_failed),
        plural(pool.total.jobs, "job"),
        plural(pool.total.steals, "steal"),
    ));
    lines.extend(states(pool, columns));
    for line in pool.stall.iter().flat_map(|stall| stall.lines()) {
        let indent = "  ! ";
        let signs: Vec<char> = harmless(line).chars().collect();
        let parts = signs.chunks(columns - indent.len());
        lines.extend(parts.map(|part| format!("{indent}{}", String::from_iter(part))));
    }
    lines
}

/// A sign for each worker.
fn states(pool: &Pool, columns: usize) -> Vec<String> {
    let head = "  workers    ";
    let sign = |worker: &Worker| match worker.state.as_str() {
        "working" => '#',
        "searching" => '+',
        "asleep" => '.',
        _ => '?',
    };
    let signs: Vec<char> = pool.workers.iter().map(sign).collect();
    let width = columns - head.len();
    let told = signs.chunks(width).take(STATE_LINES);
    let mut lines: Vec<String> = told
        .enumerate()
        .map(|(n, signs)| {
            let head = if n == 0 { head } else { "             " };
            format!("{head}{}", String::from_iter(signs))
        })
        .collect();
    let left = signs.len().saturating_sub(width * STATE_LINES) as u64;
    let left = left.saturating_add(pool.other_workers);
    let more = if left > 0 {
        format!("; {} more", count(left))
    } else {
        String::new()
    };
    lines.push(format!(
        "             # at work, + searching, . asleep{more}"
    ));
    lines
}

fn of_meter(metered: &Metered, snapshot: &Snapshot, columns: usize) -> Vec<String> {
    let all = metered.last_ns.saturating_mul(snapshot.workers());
    let idle = metered.last_idle_ns;
    let mut lines = vec!["workers without a job in the last second, by cause".to_owned()];
    for (name, ns) in [
        ("sequential", idle.sequential),
        ("too narrow", idle.narrow),
        ("at joins", idle.joins),
        ("stealing", idle.stealing),
        ("waking", idle.waking),
    ] {
        lines.push(bar(name, ns, all, columns));
    }
    lines.push(format!(
        "work {}, span {}: parallelism {} up to now",
        duration(metered.work_ns as f64),
        duration(metered.span_ns as f64),
        factor(metered.work_ns as f64 / metered.span_ns.max(1) as f64),
    ));
    let works = metered.sites.iter().map(|site| site.last_work_ns);
    let work = works.fold(0, u64::saturating_add);
    let hot = metered.sites.iter().filter(|site| site.last_work_ns > 0);
    for (n, site) in hot.enumerate() {
        if n == 0 {
            lines.push("hot sites of the last second".to_owned());
        }
        let facts = format!(
            " ({}), {}, {} stolen",
            site.kind,
            plural(site.forks, "fork"),
            count(site.stolen)
        );
        let share = percent(site.last_work_ns as f64 / work.max(1) as f64);
        let room = columns.saturating_sub(10 + facts.chars().count()).max(12);
        lines.push(format!(
            "  {share:>6}  {}{facts}",
            fitted(&harmless(&site.name), room)
        ));
    }
    lines
}

/// A line with the share that `part` is of `all`.
fn bar(name: &str, part: u64, all: u64, columns: usize) -> String {
    let share = (part as f64 / all.max(1) as f64).clamp(0.0, 1.0);
    let width = columns.saturating_sub(BESIDE_BAR).min(BAR_MAX);
    let full = (share * width as f64).round() as usize;
    let bar = "█".repeat(full) + &"░".repeat(width - full);
    format!("  {name:<10} {bar} {:>6}", percent(share))
}
