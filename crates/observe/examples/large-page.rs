//! Writes a page about a made-up run with a million spans and 800 steals into the file that it is
//! given, for those who change the page: `cargo lab page` looks at it.

use std::error::Error;
use std::io::Write as _;
use std::time::Instant;

use heist_observe::{report, Fact, Lane, Run, Source, Span, SpanKind, Steal};

const WORKERS: usize = 8;
const SPANS: usize = 1_000_000;
const STEALS: usize = 800;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os()
        .nth(1)
        .ok_or("no file was named; call it as: large-page FILE.html")?;
    let run = large_run();
    let begin = Instant::now();
    let html = report::html("a made-up run with a million spans", &[run]);
    let took = begin.elapsed();
    let size = html.len() as f64 / 1e6;
    writeln!(
        std::io::stdout(),
        "the page has {size:.1} MB and was made in {} ms",
        took.as_millis()
    )?;
    Ok(std::fs::write(path, html)?)
}

/// A run in which each worker has many small tasks, some with parts, and idles now and then.
fn large_run() -> Run {
    let mut random = Random(1);
    let mut lanes = Vec::new();
    let mut wall_ns = 0;
    for worker in 0..WORKERS {
        let lane = lane(worker, &mut random);
        let ends = lane.spans.iter().map(|span| span.end_ns);
        wall_ns = ends.fold(wall_ns, u64::max);
        lanes.push(lane);
    }
    let mut steals: Vec<Steal> = (0..STEALS)
        .map(|_| {
            let thief = random.below(WORKERS as u64) as usize;
            let other = 1 + random.below(WORKERS as u64 - 1) as usize;
            // Early ones are the most.
            let until_ns = 1 + random.below(wall_ns);
            Steal {
                at_ns: random.below(until_ns),
                thief,
                victim: (thief + other) % WORKERS,
            }
        })
        .collect();
    steals.sort_by_key(|steal| steal.at_ns);
    Run {
        name: "stealing".to_owned(),
        wall_ns,
        lanes,
        steals,
        facts: ["time", "fastest", "slowest", "utilisation", "steals"]
            .map(|label| Fact {
                label: label.to_owned(),
                value: "made up".to_owned(),
            })
            .into(),
    }
}

fn lane(worker: usize, random: &mut Random) -> Lane {
    let mut spans = Vec::with_capacity(SPANS / WORKERS);
    let mut at_ns = 0;
    let mut push = |begin_ns, length_ns, kind, label: &str| {
        let source = match spans.len() % 16 {
            _ if kind != SpanKind::Task => None,
            0 => Some(Source::Submitted),
            1..=4 => Some(Source::Stolen),
            _ => Some(Source::Own),
        };
        spans.push(Span {
            begin_ns,
            end_ns: begin_ns + length_ns,
            kind,
            label: label.to_owned(),
            source,
        });
        spans.len() < SPANS / WORKERS
    };
    loop {
        let length_ns = 200 + random.below(4_000);
        let name = ["parse", "hash", "merge", "write"][random.below(4) as usize];
        if !push(at_ns, length_ns, SpanKind::Task, name) {
            break;
        }
        if random.below(4) == 0 && !push(at_ns + 40, length_ns / 2, SpanKind::Task, "part") {
            break;
        }
        at_ns += length_ns + random.below(60);
        // The later, the more often a worker runs out of work.
        if random.below(4_000_000_000) < at_ns {
            let search_ns = 1_000 + random.below(20_000);
            if !push(at_ns, search_ns, SpanKind::Search, "looking for work") {
                break;
            }
            at_ns += search_ns;
            let sleep_ns = random.below(40_000) * worker as u64 / WORKERS as u64;
            if !push(at_ns, sleep_ns, SpanKind::Sleep, "asleep") {
                break;
            }
            at_ns += sleep_ns;
        }
    }
    Lane {
        name: format!("worker {worker}"),
        spans,
        ..Lane::default()
    }
}

/// Numbers that are the same each time (an xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}
