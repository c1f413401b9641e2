//! The nodes and jobs of a snapshot, for people.

use std::io::{self, Write};

use heist_run::terminal::harmless;

use super::snapshot::{Job, Node, Snapshot};
use crate::table;

/// Width of a bar that shows 100 %.
const BAR_WIDTH: usize = 24;

/// Prints a table of the nodes and one of the jobs.
pub(super) fn write(snapshot: &Snapshot, out: &mut impl Write) -> io::Result<()> {
    let heads = ["node", "utilisation", "", "CPUs", "speed", "memory", "jobs"];
    let mut lines = vec![heads.map(str::to_owned)];
    for node in &snapshot.nodes {
        let here = |job: &&Job| job.node == node.id;
        lines.push(of_node(node, snapshot.jobs.iter().filter(here).count()));
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
        table::write(&lines, 2, out)?;
        writeln!(out)?;
    }
    Ok(())
}

fn of_node(node: &Node, jobs: usize) -> [String; 7] {
    let level = node.utilisation.newest();
    [
        harmless(&node.id),
        bar(level),
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
fn bar(share: f64) -> String {
    let full = (share * BAR_WIDTH as f64).round() as usize;
    let more = if full > BAR_WIDTH { "+" } else { "" };
    let full = full.min(BAR_WIDTH);
    format!("{}{}{more}", "█".repeat(full), "░".repeat(BAR_WIDTH - full))
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
            assert_eq!(bar(share).chars().count(), BAR_WIDTH);
        }
        assert!(bar(1.5).ends_with("█+"));
    }

    #[test]
    fn bytes_have_the_unit_of_their_size() {
        let shown = [0, 12, 64 << 20, 3 << 29].map(bytes);
        assert_eq!(shown, ["–", "12 B", "64 MiB", "1.5 GiB"]);
    }
}
