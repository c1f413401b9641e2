//! `heist plan --watch`: what the planner would do in a run that is going on.
//!
//! The planner here only looks on: whether the run has a rebalancer of its own, and what that
//! does, makes no difference to it but for what is measured afterwards.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use heist_cluster::planner::Planner;

use super::{decision, document};
use crate::cluster::samples::Live;

/// How often the events of the run are looked at.
const PERIOD: Duration = Duration::from_millis(250);

/// Follows the run in `folder` until it is over.
pub(super) fn run(
    folder: Option<&Path>,
    is_json: bool,
    mut planner: Planner,
    out: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let mut live = Live::open(folder)?;
    let mut said = String::new();
    loop {
        for (now, nodes, jobs) in live.read()? {
            let decision = planner.decide(now, &nodes, &jobs);
            let mut text = Vec::new();
            decision::write(&decision, &mut text)?;
            let text = String::from_utf8_lossy(&text).into_owned();
            // Figures change with every measurement, and with their length the ends of lines;
            // without them it is the same decision.
            let changes = |sign: char| sign.is_ascii_digit() || sign.is_whitespace();
            let outline = text.replace(changes, "");
            if is_json {
                document::write_line(now, &decision, out)?;
            } else if outline != said {
                writeln!(out, "{:.1} s\n{text}", now.as_secs_f64())?;
            }
            said = outline;
        }
        out.flush()?;
        if live.is_over() {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(PERIOD);
    }
}
