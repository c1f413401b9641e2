//! Writes a page about made-up profiles, and others about a made-up replay and a made-up run on a
//! cluster, into the folder that it is given, for those who change the pages: `cargo lab page`
//! looks at them.

use std::error::Error;
use std::path::PathBuf;

use heist_observe::fleet::{
    Attempt, AttemptEnd, Decision, Fleet, Job, Machine, Move, Stretch, Usage,
};
use heist_observe::profile::{analyse, short_name, Profile};
use heist_observe::replay::{Change, Replay, Row};
use heist_observe::{fleet, profile, replay, Fact};

const MS: u64 = 1_000_000;

/// Names as long as those of real programs.
const SITES: [(&str, u64, u64); 5] = [
    ("wordstat::merge::merge_maps", 860, 860),
    ("<wordstat::read::Lines<std::io::BufReader<std::fs::File>> as core::iter::Iterator>::for_each", 6_100, 230),
    ("wordstat::count::count_words_of_a_part_of_the_text_into_the_map_of_the_worker", 2_600, 80),
    ("heist_core::pool::thread_pool::ThreadPool::install", 220, 30),
    ("(outside any fork)", 60, 10),
];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os()
        .nth(1)
        .ok_or("no folder was named; call it as: report-pages FOLDER")?;
    let folder = PathBuf::from(folder);
    let runs = [1, 1, 8, 8].map(|workers| Profile::parse(&run(workers)));
    let runs: Vec<Profile> = runs.into_iter().collect::<Result<_, _>>()?;
    let report = analyse(&runs)?.with_model(Ok(model())).as_if(&[64]);
    std::fs::write(folder.join("profile.html"), profile::html(&report))?;
    std::fs::write(folder.join("replay.html"), replay::html(&model()))?;
    let page = fleet::html("run 2026-11-27-101500", &machines());
    Ok(std::fs::write(folder.join("fleet.html"), page)?)
}

/// A run on a cluster in which jobs have moved.
fn machines() -> Fleet {
    let attempt = |machine, epoch, begin_ms, end_ms, end| Attempt {
        machine,
        epoch,
        stretch: stretch(begin_ms, end_ms),
        end,
        note: String::new(),
        checkpoints: Vec::new(),
    };
    let job = |n: usize| Job {
        name: format!("primes-below-{}-million", n * 1_000),
        note: "the part of a range".to_owned(),
        attempts: vec![
            attempt(n % 4, 0, n as u64 * 900, 31_000, AttemptEnd::Moved),
            attempt((n + 1) % 4, 1, 32_000, 59_000, AttemptEnd::Done),
        ],
        outcome: "done".to_owned(),
        is_failed: false,
    };
    let fact = |label: &str, value: &str| Fact {
        label: label.to_owned(),
        value: value.to_owned(),
    };
    let moves = (0..3).map(|job| Move {
        job,
        from: Some(job % 4),
        to: (job + 1) % 4,
        began_ms: 31_000,
        ..Move::default()
    });
    Fleet {
        wall_ms: 60_000,
        facts: vec![
            fact("jobs", "6 done"),
            fact("machines", "4, of which 1 was lost for 3.0 s and came back"),
        ],
        machines: (0..4).map(machine).collect(),
        jobs: (0..6).map(job).collect(),
        moves: moves.collect(),
        decisions: vec![Decision {
            what: "nothing moves".to_owned(),
            reasons: vec!["no machine has been hot for long enough".to_owned()],
            ..Decision::default()
        }],
        notes: vec!["The run began again after its driver had ended.".to_owned()],
        ..Fleet::default()
    }
}

/// A machine that others use too, and that is away for some time.
fn machine(n: u64) -> Machine {
    let usage = (0..60).map(|second| Usage {
        stretch: stretch(second * 1_000, second * 1_000 + 1_000),
        share: Some(((second * 7 + n * 31) % 100) as f64 / 100.0),
        note: "others had it".to_owned(),
    });
    Machine {
        name: format!("node-{n}.cluster.example"),
        note: "16 processors, 64 GiB".to_owned(),
        usage: usage.collect(),
        absent: vec![stretch(50_000 + n * 1_000, 53_000 + n * 1_000)],
    }
}

fn stretch(begin_ms: u64, end_ms: u64) -> Stretch {
    Stretch { begin_ms, end_ms }
}

/// The profile of a run, as a program writes it.
fn run(workers: u64) -> String {
    let wall = (830 + if workers == 1 { 9_900 } else { 1_960 }) * MS;
    let grain = grain();
    let sites = SITES.map(|(name, work, span)| {
        format!(
            "{{\"name\": \"{name}\", \"kind\": \"join\", \"forks\": {}, \"stolen\": 40, \
             \"work_ns\": {}, \"span_ns\": {}, \"longest_ns\": {}, \"grain\": [{grain}]}}",
            work * 31,
            work * MS,
            span * MS,
            span * MS / 2 + 1
        )
    });
    let idle = [
        ("sequential", 390),
        ("narrow", 130),
        ("joins", 113),
        ("stealing", 90),
        ("waking", 50),
    ];
    let idle = idle.map(|(cause, each)| format!("\"{cause}\": {}", each * (workers - 1) * MS));
    let alone = 390 * (workers - 1) * MS;
    format!(
        "{{\"heist_profile\": 1, \"heist\": \"0.2.0\", \"command\": [\"/bin/wordstat\", \"books\"],
        \"workers\": {workers}, \"pools\": 1, \"processors\": 8, \"wall_ns\": {wall},
        \"outside_ns\": 830000000, \"work_ns\": 9840000000, \"span_ns\": 1210000000,
        \"burdened_span_ns\": 1290000000, \"steal_ns\": 4200, \"steal_ns_measured\": true,
        \"unjoined_work_ns\": 200000000, \"strands\": 91000, \"forks\": 305000,
        \"stolen\": 1240, \"empty_strand_ns\": 12.5, \"grain\": [{grain}],
        \"sites\": [{}], \"idle_ns\": {{{}}},
        \"sequential\": [{{\"before\": \"wordstat::merge::merge_maps\", \"ns\": {alone}}}],
        \"interference\": {{\"cpu_ns\": 9000000000, \"run_delay_ns\": 60000000,
            \"host_steal_ns\": 0, \"host_ns\": 20000000000}}}}",
        sites.join(", "),
        idle.join(", "),
    )
}

/// How long its strands are.
fn grain() -> String {
    // The last of these octaves has a label, `134 ms`, which must not reach beyond the page.
    let grain = (3..28).map(|octave| {
        let strands = 40_u64.saturating_sub(octave * octave / 19) * 97 + octave;
        format!(
            "{{\"below_ns\": {}, \"strands\": {strands}, \"work_ns\": {}}}",
            1_u64 << octave,
            strands << (octave - 1)
        )
    });
    grain.collect::<Vec<_>>().join(", ")
}

/// The answers of a model.
fn model() -> Replay {
    let alone_ns = 10.67e9;
    let row = |workers: u64| {
        let time_ns = 0.83e9 + 9.84e9 / workers as f64 + 1.3e9 * (1.0 - 1.0 / workers as f64);
        Row {
            workers,
            time_ns,
            speed_up: alone_ns / time_ns,
            bound: alone_ns / (0.83e9 + (9.84e9 / workers as f64).max(1.21e9)),
            busy: 9.84e9 / time_ns / workers as f64,
            steals: 90.0 * (workers - 1) as f64,
        }
    };
    let rows: Vec<Row> = (0..=10).map(|power| row(1 << power)).collect();
    let at = row(8);
    let change = |(name, work, span): (&str, u64, u64)| Change {
        site: short_name(name),
        of_longest_path: span as f64 / 1_210.0,
        of_work: work as f64 / 9_840.0,
        twice_as_fast_ns: at.time_ns - span as f64 * 5e5 - work as f64 * 6e4,
        four_times_as_fast_ns: at.time_ns - span as f64 * 75e4 - work as f64 * 9e4,
    };
    Replay {
        command: vec!["/bin/wordstat".to_owned(), "books".to_owned()],
        work_ns: 9_840 * MS as i64,
        span_ns: 1_210 * MS as i64,
        outside_ns: 830 * MS,
        rows,
        at_workers: 8,
        at_ns: at.time_ns,
        at_speed_up: at.speed_up,
        changes: SITES.map(change).to_vec(),
    }
}
