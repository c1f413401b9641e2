//! What a person sees while a run lasts: a line for each event of note, and on a terminal a
//! line that says how it stands.

use std::io::{self, Write as _};

use heist_cluster::event::ClusterEvent;
use indicatif::ProgressBar;

use super::events;
use super::present::{Phase, Present};
use crate::progress;

/// Tells the news on stderr.
pub(super) struct News {
    present: Present,
    status: ProgressBar,
}

impl News {
    pub(super) fn new() -> Self {
        Self {
            present: Present::default(),
            status: progress::status(),
        }
    }

    /// Tells an event.
    pub(super) fn tell(&mut self, event: &ClusterEvent) {
        self.present.take(event);
        if events::is_news(&event.what) {
            self.say(&events::line(event, self.present.began_ms));
        }
        if !self.status.is_hidden() {
            self.status.set_message(status(&self.present));
        }
    }

    /// Says something else.
    pub(super) fn say(&self, line: &str) {
        self.status.suspend(|| {
            // A run does not end because nobody listens.
            let _ = writeln!(io::stderr(), "{line}");
        });
    }

    /// Ends the line that says how the run stands.
    pub(super) fn end(self) -> Present {
        self.status.finish_and_clear();
        self.present
    }
}

fn status(present: &Present) -> String {
    let count = |is_so: fn(&Phase) -> bool| {
        let jobs = present.jobs.iter();
        jobs.filter(|job| is_so(&job.phase)).count()
    };
    let running = count(|phase| matches!(phase, Phase::Running | Phase::Moving { .. }));
    let waiting = count(|phase| *phase == Phase::Waiting);
    let mut text = format!(
        "{running} jobs run, {waiting} wait, {} are over",
        count(Phase::is_over)
    );
    if present.calls.open > 0 {
        text.push_str(&format!("; {} calls are open", present.calls.open));
    }
    for (node, usage) in &present.nodes {
        if let Some(Ok(share)) = usage.utilisation {
            text.push_str(&format!(
                "; {} {:.0} %",
                events::harmless(node.as_str()),
                share * 100.0
            ));
        }
    }
    text
}
