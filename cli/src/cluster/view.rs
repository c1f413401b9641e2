//! The view that `heist cluster top` shows: a run at one moment, as lines of text.

use std::time::Duration;

use heist_cluster::planner::NodeId;
use heist_run::terminal::{harmless, without_middle};

use super::run_state::{Job, Node, Phase, Remembered, RunState};

/// The columns of a running job for everything but its bar and two names, and the bounds of a bar.
const BESIDE_BAR: usize = 52;
const BAR_MIN: usize = 8;
const BAR_MAX: usize = 40;
/// The part of the columns that a name takes at most.
const NAME_PART: usize = 8;
/// How many moves and decisions are shown.
const MOVES_SHOWN: usize = 5;
const REASONS_SHOWN: usize = 6;
/// A driver that measures every second, or every few, has been silent for too long then.
const SILENCE: Duration = Duration::from_secs(10);

/// How a piece of text looks where there are colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Head,
    Faint,
    Calm,
    Warm,
    Hot,
}

/// A line, in pieces.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line(pub(crate) Vec<(Tone, String)>);

impl Line {
    pub(crate) fn new(tone: Tone, text: impl Into<String>) -> Self {
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

/// The room for a view.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) columns: usize,
    pub(super) jobs: usize,
}

impl Room {
    fn bar(self) -> usize {
        let others = BESIDE_BAR + 2 * (self.columns / NAME_PART);
        self.columns.saturating_sub(others).clamp(BAR_MIN, BAR_MAX)
    }

    /// A name from elsewhere, without its middle if it is too long.
    fn name(self, text: &str) -> String {
        without_middle(text, self.columns / NAME_PART)
    }
}

/// The view of a run called `name` at `now_ms`.
pub(super) fn lines(state: &RunState, name: &str, now_ms: u64, room: Room) -> Vec<Line> {
    let mut lines = vec![head(state, name, now_ms)];
    lines.push(Line::default());
    lines.push(Line::new(Tone::Head, "nodes"));
    let width = state
        .nodes
        .keys()
        .map(|id| wide(&room.name(id.as_str())))
        .max();
    for (id, node) in &state.nodes {
        let running = state
            .jobs
            .iter()
            .filter(|job| !job.phase.is_over() && job.node.as_ref().is_some_and(|node| node == id));
        lines.push(node_line(
            id,
            node,
            running.count(),
            width.unwrap_or(0),
            room,
        ));
    }
    if state.nodes.is_empty() {
        lines.push(Line::new(Tone::Faint, "  none is known yet"));
    }
    lines.push(Line::default());
    jobs(state, room, &mut lines);
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
    last_decision(state, &mut lines);
    lines.pop();
    lines
}

fn last_decision(state: &RunState, lines: &mut Vec<Line>) {
    let Some(decision) = state.decisions.back() else {
        return;
    };
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

fn node_line(id: &NodeId, node: &Node, jobs: usize, width: usize, room: Room) -> Line {
    let name = room.name(id.as_str());
    let line = Line::new(Tone::Plain, format!("  {name:width$}  "));
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
            line.and(tone, bar(*share, room.bar())).and(
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
            .and(Tone::Faint, "·".repeat(room.bar()))
            .and(Tone::Plain, format!("    ? %  unknown: {}", harmless(why))),
        None => line
            .and(Tone::Faint, "·".repeat(room.bar()))
            .and(Tone::Plain, "    ? %  unknown: it was not measured yet"),
    }
}

fn jobs(state: &RunState, room: Room, lines: &mut Vec<Line>) {
    let shown = room.jobs;
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
    let width = order
        .iter()
        .take(shown)
        .map(|job| wide(&room.name(job.id.as_str())));
    let width = width.max().unwrap_or(0);
    let places = order.iter().take(shown).map(|job| wide(&place(job, room)));
    let places = places.max().unwrap_or(0);
    let listed = order.iter().take(shown);
    lines.extend(listed.map(|job| job_line(job, width, places, room)));
    let more = order.len().saturating_sub(shown);
    if more > 0 {
        lines.push(Line::new(Tone::Faint, format!("  and {more} more")));
    }
    lines.push(Line::default());
}

fn place(job: &Job, room: Room) -> String {
    let node = room.name(job.node.as_ref().map_or("", NodeId::as_str));
    match &job.phase {
        Phase::Waiting => "waiting".to_owned(),
        Phase::Running => node,
        Phase::Moving { to } => format!("{node} → {}", room.name(to.as_str())),
        Phase::Done => "done".to_owned(),
        Phase::Failed(_) => "failed".to_owned(),
    }
}

fn job_line(job: &Job, width: usize, places: usize, room: Room) -> Line {
    let tone = match job.phase {
        Phase::Running => Tone::Plain,
        Phase::Moving { .. } => Tone::Warm,
        Phase::Waiting | Phase::Done => Tone::Faint,
        Phase::Failed(_) => Tone::Hot,
    };
    let name = room.name(job.id.as_str());
    let line = Line::new(Tone::Plain, format!("  {name:width$}  "))
        .and(tone, format!("{:places$}  ", place(job, room)));
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
    line.and(Tone::Calm, bar(job.progress, room.bar()))
        .and(Tone::Plain, facts)
}

fn told_line(state: &RunState, told: &Remembered) -> String {
    let at_s = told.at_ms.saturating_sub(state.began_ms) as f64 / 1e3;
    format!("  {at_s:8.1} s  {}", harmless(&told.text))
}

/// A share as a bar. A share above 1, because work waits, fills it.
fn bar(share: f64, width: usize) -> String {
    // A number that is none becomes 0.
    let full = (share.clamp(0.0, 1.0) * width as f64).round() as usize;
    "█".repeat(full) + &"░".repeat(width - full)
}

fn plural(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

fn wide(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use heist_cluster::planner::{JobId, Mobility, Priority};

    use super::*;

    fn job(id: &str, phase: Phase) -> Job {
        Job {
            id: JobId::from(id),
            priority: Priority(2),
            mobility: Mobility::Movable,
            cpus: 2.0,
            phase,
            node: Some(NodeId::from("rack-17-node-1")),
            epoch: 3,
            since_ms: 0,
            progress: 0.5,
            first_progress: None,
            used_cpus: Some(1.5),
            measured_ms: 0,
            state_bytes: 0,
            moves: 1,
            losses: 0,
        }
    }

    #[test]
    fn a_view_fits_the_terminal_and_uses_it() {
        let mut state = RunState::default();
        let node = Node {
            cpus: 64.0,
            utilisation: Some(Ok(0.75)),
            ..Node::default()
        };
        state.nodes.insert(NodeId::from("rack-17-node-1"), node);
        let long = "etl-of-a-long-name-for-the-report-7";
        state.jobs = vec![job(long, Phase::Running), job("b", Phase::Waiting)];
        let view = |columns| -> Vec<String> {
            let lines = lines(&state, "run", 0, Room { columns, jobs: 9 });
            lines.iter().map(Line::text).collect()
        };
        for columns in [80, 120] {
            let view = view(columns);
            let widest = view.iter().map(|line| wide(line)).max().unwrap();
            assert!(widest <= columns, "{widest} of {columns}: {view:#?}");
            let job = view.iter().find(|line| line.contains("rt-7")).unwrap();
            assert!(job.ends_with("attempt 3  1 move"), "{job}");
        }
        let bar = |columns| view(columns)[3].matches(['█', '░']).count();
        assert!(bar(80) < bar(100) && bar(100) < bar(120));
        assert!(view(usize::MAX).iter().any(|line| line.contains(long)));
    }
}
