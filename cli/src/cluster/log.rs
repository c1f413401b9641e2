//! The log of a run on stderr: a line for each event of note, and on a terminal a line that
//! says how the run stands.

use std::io::{self, Write as _};

use heist_cluster::event::ClusterEvent;
use heist_cluster::LogLine;
use heist_run::progress;
use heist_run::terminal::harmless;
use indicatif::ProgressBar;

use super::events;
use super::run_state::{Phase, RunState};

/// The log of a run on stderr.
pub(super) struct Log {
    state: RunState,
    status: ProgressBar,
}

impl Log {
    pub(super) fn new() -> Self {
        Self {
            state: RunState::default(),
            status: progress::status(),
        }
    }

    /// Tells an event.
    pub(super) fn tell(&mut self, event: &ClusterEvent) {
        self.state.take(event);
        if events::is_notable(&event.what) {
            self.say(&events::line(event, self.state.began_ms));
        }
        if !self.status.is_hidden() {
            self.status.set_message(status(&self.state));
        }
    }

    /// Says something else.
    pub(super) fn say(&self, line: &str) {
        self.status.suspend(|| {
            // A closed stderr does not end a run.
            let _ = writeln!(io::stderr(), "{line}");
        });
    }

    /// Shows a line of a worker; callable from any thread.
    pub(super) fn printer(&self) -> impl FnMut(&LogLine) + Send + 'static {
        let status = self.status.clone();
        move |line| {
            status.suspend(|| {
                let _ = writeln!(io::stderr(), "{line}");
            });
        }
    }

    /// Ends the line that says how the run stands.
    pub(super) fn end(self) -> RunState {
        self.status.finish_and_clear();
        self.state
    }
}

fn status(state: &RunState) -> String {
    let count = |is_so: fn(&Phase) -> bool| {
        let jobs = state.jobs.iter();
        jobs.filter(|job| is_so(&job.phase)).count()
    };
    let running = count(|phase| matches!(phase, Phase::Running | Phase::Moving { .. }));
    let waiting = count(|phase| *phase == Phase::Waiting);
    let mut text = format!(
        "jobs: {running} running, {waiting} waiting, {} over",
        count(Phase::is_over)
    );
    if state.calls.open > 0 {
        text.push_str(&format!("; calls: {} open", state.calls.open));
    }
    for (node, usage) in &state.nodes {
        if let Some(Ok(share)) = usage.utilisation {
            text.push_str(&format!(
                "; {} {:.0} %",
                harmless(node.as_str()),
                share * 100.0
            ));
        }
    }
    text
}
