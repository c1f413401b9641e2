//! The nodes and jobs of a snapshot, for people.

use std::io::{self, Write};

use heist_run::terminal::harmless;

use super::snapshot::{Job, Node, Snapshot};
use crate::table;

/// Width of a bar that shows 100 %: what the other columns leave, within these bounds.
const BAR_MIN: usize = 8;
const BAR_MAX: usize = 24;

/// Prints a table of the nodes and one of the jobs, in so many columns if names can be shortened to
/// fit.
pub(super) fn write(snapshot: &Snapshot, columns: usize, out: &mut impl Write) -> io::Result<()> {
    let heads = ["node", "utilisation", "", "CPUs", "speed", "memory", "jobs"];
    let mut lines = vec![heads.map(str::to_owned)];
    for node in &snapshot.nodes {
        let here = |job: &&Job| job.node == node.id;
        lines.push(of_node(node, snapshot.jobs.iter().filter(here).count()));
    }
    // A sign behind a bar says that there is more.
    let title = lines[0][1].chars().count();
    table::shorten_names(
        &mut lines,
        &[0],
        columns.saturating_sub(BAR_MIN.saturating_sub(title) + 1),
    );
    let rest = table::width(&lines) - title + 1;
    let bars = columns.saturating_sub(rest).clamp(BAR_MIN, BAR_MAX);
    for (cells, node) in lines[1..].iter_mut().zip(&snapshot.nodes) {
        cells[1] = bar(node.utilisation.newest(), bars);
    }
    table::write(&lines, 2, out)?;
    writeln!(out)?;
    let heads = [
        "job",
        "node",
        "priority",
        "CPUs asked",
        "used",
        "state",
        "mobility",
    ];
    let mut lines = vec![heads.map(str::to_owned)];
    lines.extend(snapshot.jobs.iter().map(of_job));
    if lines.len() > 1 {
        table::shorten_names(&mut lines, &[0, 1], columns);
        table::write(&lines, 2, out)?;
        writeln!(out)?;
    }
    Ok(())
}

fn of_node(node: &Node, jobs: usize) -> [String; 7] {
    let level = node.utilisation.newest();
    [
        harmless(&node.id),
        String::new(),
        format!("{:.0} %", level * 100.0),
        node.cpus.to_string(),
        node.speed.to_string(),
        bytes(node.memory_bytes),
        jobs.to_string(),
    ]
}

fn of_job(job: &Job) -> [String; 7] {
    let mobility = match serde_json::to_value(job.mobility) {
        Ok(serde_json::Value::String(name)) => name,
        _ => job.mobility.to_string(),
    };
    [
        harmless(&job.id),
        harmless(&job.node),
        job.priority.to_string(),
        job.cpus.to_string(),
        job.used_cpus
            .map_or_else(|| "–".to_owned(), |used| used.to_string()),
        bytes(job.state_bytes),
        mobility,
    ]
}

/// A bar for a share; a sign behind it says that it is more than all.
fn bar(share: f64, width: usize) -> String {
    let full = (share * width as f64).round() as usize;
    let more = if full > width { "+" } else { "" };
    let full = full.min(width);
    format!("{}{}{more}", "█".repeat(full), "░".repeat(width - full))
}

fn bytes(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    match bytes {
        0 => "–".to_owned(),
        small if small < MIB => format!("{small} B"),
        middle if middle < 1024 * MIB => format!("{} MiB", middle / MIB),
        large => format!("{:.1} GiB", large as f64 / (1024 * MIB) as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_has_its_width_and_a_sign_for_more() {
        for share in [-1.0, 0.0, 0.5, 1.0, f64::NAN] {
            assert_eq!(bar(share, 24).chars().count(), 24);
        }
        assert!(bar(1.5, 24).ends_with("█+"));
    }

    #[test]
    fn tables_fit_the_terminal_and_use_it() {
        let long = "a-name-of-many-letters-that-ends-in";
        let snapshot = format!(
            r#"{{"nodes": [{{"id": "{long}-1", "cpus": 64, "utilisation": 1.9,
                 "memory_bytes": 274877906944}}, {{"id": "{long}-2", "cpus": 64, "utilisation": 0}}],
               "jobs": [{{"id": "job-of-{long}-7", "node": "{long}-1", "cpus": 2, "used_cpus": 1.8,
                 "state_bytes": 1000000000, "mobility": "latency-critical"}}]}}"#
        );
        let snapshot: Snapshot = serde_json::from_str(&snapshot).unwrap();
        let widest = |columns| {
            let mut out = Vec::new();
            write(&snapshot, columns, &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            let bar = text.chars().filter(|sign| "█░".contains(*sign)).count() / 2;
            let widest = text.lines().map(|line| line.chars().count()).max();
            (widest.unwrap(), bar, text)
        };
        for columns in [80, 100, 120] {
            let (widest, _, text) = widest(columns);
            assert!(
                widest <= columns && widest >= columns - 2,
                "{widest} of {columns}\n{text}"
            );
            assert!(text.contains("-1") && text.contains("-2"), "{text}");
        }
        let (_, bar, text) = widest(usize::MAX);
        assert!(
            bar == BAR_MAX && text.contains(&format!("job-of-{long}-7")),
            "{text}"
        );
    }

    #[test]
    fn bytes_have_the_unit_of_their_size() {
        let shown = [0, 12, 64 << 20, 3 << 29].map(bytes);
        assert_eq!(shown, ["–", "12 B", "64 MiB", "1.5 GiB"]);
    }
}
