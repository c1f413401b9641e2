//! The summary of a profile, in some lines.

use std::fmt::Write;

use heist_event::profile::{Profile, Site};

/// How many sites are named.
const SITES: usize = 4;

/// The profile in some lines.
pub(crate) fn of(profile: &Profile) -> String {
    let mut text = String::new();
    let part = |of: u64, all: u64| 100.0 * of as f64 / all.max(1) as f64;
    let (work, span) = (profile.work_ns, profile.span_ns);
    let parallelism = work as f64 / span.max(1) as f64;
    let mut line = |what: std::fmt::Arguments<'_>| {
        // A string takes everything.
        let _ = writeln!(text, "heist: {what}");
    };
    line(format_args!(
        "work {}, span {}, parallelism {parallelism:.1}; with {} for each steal, span {}",
        Time(work),
        Time(span),
        Time(profile.steal_ns),
        Time(profile.burdened_span_ns)
    ));
    line(format_args!(
        "{} {}, wall time {}, of which {:.0} % without a job",
        profile.workers,
        if profile.workers == 1 {
            "worker"
        } else {
            "workers"
        },
        Time(profile.wall_ns),
        part(profile.outside_ns, profile.wall_ns)
    ));
    line(format_args!(
        "{} forks, {} stolen; {} strands",
        profile.forks, profile.stolen, profile.strands
    ));
    let idle = &profile.idle;
    line(format_args!(
        "idle workers: sequential {}, too narrow {}, at joins {}, stealing {}, waking {}",
        Time(idle.sequential_ns),
        Time(idle.narrow_ns),
        Time(idle.joins_ns),
        Time(idle.stealing_ns),
        Time(idle.waking_ns)
    ));
    let mut sites: Vec<&Site> = profile.sites.iter().collect();
    sites.sort_by_key(|site| u64::MAX - site.span_ns);
    for site in sites.iter().take(SITES).filter(|site| site.span_ns > 0) {
        line(format_args!(
            "{:.0} % of the span in {} ({})",
            part(site.span_ns, span),
            site.name,
            site.kind
        ));
    }
    if profile.unjoined_work_ns > 0 {
        line(format_args!(
            "nobody waits for {:.0} % of the work: the span is at least this",
            part(profile.unjoined_work_ns, work)
        ));
    }
    text
}

/// A time, with a unit that suits it.
struct Time(u64);

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ns = self.0 as f64;
        match self.0 {
            0..1_000 => write!(f, "{ns} ns"),
            1_000..1_000_000 => write!(f, "{:.1} us", ns / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{:.2} ms", ns / 1e6),
            _ => write!(f, "{:.3} s", ns / 1e9),
        }
    }
}
