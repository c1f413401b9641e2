//! The view that `heist cluster top` shows: a run at one moment, as lines of text.

use std::time::Duration;

use heist_cluster::planner::NodeId;
use heist_run::terminal::harmless;

use super::run_state::{Job, Node, Phase, Remembered, RunState};

/// Characters of a bar.
const BAR: usize = 20;
/// How many moves and decisions are shown.
const MOVES_SHOWN: usize = 5;
const REASONS_SHOWN: usize = 6;
/// A driver that measures every second, or every few, has been silent for too long then.
const SILENCE: Duration = Duration::from_secs(10);

/// How a piece of text looks where there are colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Head,
    Faint,
    Calm,
    Warm,
    Hot,
}

/// A line, in pieces.
#[derive(Clone, Debug, Default)]
pub(super) struct Line(pub(super) Vec<(Tone, String)>);

impl Line {
    fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self::default().and(tone, text)
    }

    fn and(mut self, tone: Tone, text: impl Into<String>) -> Self {
        self.0.push((tone, text.into()));
        self
    }

    /// The line without colours.
    pub(super) fn text(&self) -> String {
        let text: String = self.0.iter().map(|(_, text)| text.as_str()).collect();
        text.trim_end().to_owned()
    }
}

/// The view of a run called `name` at `now_ms`, with `jobs_shown` of its jobs at most.
pub(super) fn lines(state: &RunState, name: &str, now_ms: u64, jobs_shown: usize) -> Vec<Line> {
    let mut lines = vec![head(state, name, now_ms)];
    lines.push(Line::default());
    lines.push(Line::new(Tone::Head, "nodes"));
    let width = state.nodes.keys().map(|id| wide(id.as_str())).max();
    for (id, node) in &state.nodes {
        let running = state
            .jobs
            .iter()
            .filter(|job| !job.phase.is_over() && job.node.as_ref().is_some_and(|node| node == id));
        lines.push(node_line(id, node, running.count(), width.unwrap_or(0)));
    }
    if state.nodes.is_empty() {
        lines.push(Line::new(Tone::Faint, "  none is known yet"));
    }
    lines.push(Line::default());
    jobs(state, jobs_shown, &mut lines);
    let calls = state.calls;
    if calls.open + calls.done + calls.lost > 0 {
        let lost = match calls.lost {
            0 => String::new(),
            lost => format!(", {lost} attempts lost"),
        };
        lines.push(Line::new(Tone::Head, "calls").and(
            Tone::Plain,
            format!("  {} open, {} done{lost}", calls.open, calls.done),
        ));
        lines.push(Line::default());
    }
    if !state.moves.is_empty() {
        lines.push(Line::new(Tone::Head, "last moves"));
        let skipped = state.moves.len().saturating_sub(MOVES_SHOWN);
        let shown = state.moves.iter().skip(skipped);
        lines.extend(shown.map(|told| Line::new(Tone::Plain, told_line(state, told))));
        lines.push(Line::default());
    }
    if let Some(decision) = state.decisions.back() {
        lines.push(Line::new(Tone::Head, "last decision"));
        lines.push(Line::new(Tone::Plain, told_line(state, decision)));
        for reason in decision.reasons.iter().take(REASONS_SHOWN) {
            lines.push(Line::new(
                Tone::Faint,
                format!("              {}", harmless(reason)),
            ));
        }
        let more = decision.reasons.len().saturating_sub(REASONS_SHOWN);
        if more > 0 {
            let text = format!("              and {more} more reasons");
            lines.push(Line::new(Tone::Faint, text));
        }
        lines.push(Line::default());
    }
    lines.pop();
    lines
}

fn head(state: &RunState, name: &str, now_ms: u64) -> Line {
    let until_ms = if state.is_over { state.last_ms } else { now_ms };
    let lasted_s = until_ms.saturating_sub(state.began_ms) as f64 / 1e3;
    let head = Line::new(Tone::Head, harmless(name)).and(
        Tone::Plain,
        format!("  {}, {lasted_s:.1} s, ", harmless(&state.backend)),
    );
    let silent = Duration::from_millis(now_ms.saturating_sub(state.last_ms));
    if state.is_over {
        head.and(Tone::Plain, "over")
    } else if silent > SILENCE {
        head.and(
            Tone::Hot,
            format!(
                "silent for {:.0} s: its driver, process {}, may be lost",
                silent.as_secs_f64(),
                state.pid
            ),
        )
    } else {
        head.and(Tone::Calm, format!("driven by process {}", state.pid))
    }
}

fn node_line(id: &NodeId, node: &Node, jobs: usize, width: usize) -> Line {
    let line = Line::new(Tone::Plain, format!("  {}  ", padded(id.as_str(), width)));
    if node.is_gone {
        return line.and(Tone::Hot, "gone");
    }
    match &node.utilisation {
        Some(Ok(share)) => {
            let tone = match share {
                share if *share > 0.8 => Tone::Hot,
                share if *share > 0.5 => Tone::Warm,
                _ => Tone::Calm,
            };
            let used = share * node.cpus;
            line.and(tone, bar(*share)).and(
                Tone::Plain,
                format!(
                    " {:4.0} %  {used:.1} of {} CPUs  {}",
                    share * 100.0,
                    node.cpus,
                    plural(jobs, "job")
                ),
            )
        }
        Some(Err(why)) => line
            .and(Tone::Faint, "·".repeat(BAR))
            .and(Tone::Plain, format!("    ? %  unknown: {}", harmless(why))),
        None => line
            .and(Tone::Faint, "·".repeat(BAR))
            .and(Tone::Plain, "    ? %  unknown: it was not measured yet"),
    }
}

fn jobs(state: &RunState, shown: usize, lines: &mut Vec<Line>) {
    if state.jobs.is_empty() {
        return;
    }
    let over = state.jobs.iter().filter(|job| job.phase.is_over());
    let count = over.count();
    lines.push(Line::new(Tone::Head, "jobs").and(
        Tone::Plain,
        format!("  {} open, {count} over", state.jobs.len() - count),
    ));
    // Those that are over make room for the others.
    let mut order: Vec<&Job> = state.jobs.iter().collect();
    order.sort_by_key(|job| job.phase.is_over());
    let width = order.iter().take(shown).map(|job| wide(job.id.as_str()));
    let width = width.max().unwrap_or(0);
    let places = order.iter().take(shown).map(|job| wide(&place(job)));
    let places = places.max().unwrap_or(0);
    let listed = order.iter().take(shown);
    lines.extend(listed.map(|job| job_line(job, width, places)));
    let more = order.len().saturating_sub(shown);
    if more > 0 {
        lines.push(Line::new(Tone::Faint, format!("  and {more} more")));
    }
    lines.push(Line::default());
}

fn place(job: &Job) -> String {
    let node = job.node.as_ref().map_or("", NodeId::as_str);
    match &job.phase {
        Phase::Waiting => "waiting".to_owned(),
        Phase::Running => node.to_owned(),
        Phase::Moving { to } => format!("{node} → {to}"),
        Phase::Done => "done".to_owned(),
        Phase::Failed(_) => "failed".to_owned(),
    }
}

fn job_line(job: &Job, width: usize, places: usize) -> Line {
    let tone = match job.phase {
        Phase::Running => Tone::Plain,
        Phase::Moving { .. } => Tone::Warm,
        Phase::Waiting | Phase::Done => Tone::Faint,
        Phase::Failed(_) => Tone::Hot,
    };
    let line = Line::new(
        Tone::Plain,
        format!("  {}  ", padded(job.id.as_str(), width)),
    )
    .and(tone, format!("{}  ", padded(&place(job), places)));
    if let Phase::Failed(error) = &job.phase {
        return line.and(Tone::Hot, harmless(error));
    }
    let cpus = match job.used_cpus.filter(|_| !job.phase.is_over()) {
        Some(used) => format!("{used:4.1}"),
        None => "   –".to_owned(),
    };
    let mut facts = format!(
        " {:4.0} %  {cpus} of {} CPUs  {}  attempt {}",
        job.progress * 100.0,
        job.cpus,
        job.priority,
        job.epoch
    );
    if job.moves > 0 {
        facts.push_str(&format!("  {}", plural(job.moves as usize, "move")));
    }
    if job.losses > 0 {
        facts.push_str(&format!("  lost {}", plural(job.losses as usize, "time")));
    }
    line.and(Tone::Calm, bar(job.progress))
        .and(Tone::Plain, facts)
}

fn told_line(state: &RunState, told: &Remembered) -> String {
    let at_s = told.at_ms.saturating_sub(state.began_ms) as f64 / 1e3;
    format!("  {at_s:8.1} s  {}", harmless(&told.text))
}

/// A share as a bar. A share above 1, because work waits, fills it.
fn bar(share: f64) -> String {
    // A number that is none becomes 0.
    let full = (share.clamp(0.0, 1.0) * BAR as f64).round() as usize;
    "█".repeat(full) + &"░".repeat(BAR - full)
}

fn plural(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

fn wide(text: &str) -> usize {
    harmless(text).chars().count()
}

fn padded(text: &str, width: usize) -> String {
    format!("{:width$}", harmless(text))
}
