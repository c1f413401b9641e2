//! Signs of life for a person who waits at a terminal.
//!
//! Everything goes to stderr, and only where that is a terminal.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The time between two drawings. Long, because drawing takes a core from the measured work.
const TICK: Duration = Duration::from_millis(250);

/// A bar that counts up to `steps`.
pub fn bar(steps: u64) -> ProgressBar {
    started(steps.into(), "{bar:30} {pos}/{len} {msg} ({elapsed})")
}

/// A count whose end is not known.
pub fn spinner(what: &str) -> ProgressBar {
    let spinner = started(None, "{spinner} {msg}: {human_pos}");
    spinner.set_message(what.to_owned());
    spinner
}

/// A line of text beside the elapsed time.
pub fn status() -> ProgressBar {
    started(None, "{spinner} {elapsed} {wide_msg}")
}

fn started(steps: Option<u64>, template: &str) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let style = ProgressStyle::with_template(template).expect("a well-formed template");
    let bar = ProgressBar::with_draw_target(steps, target).with_style(style);
    if !bar.is_hidden() {
        bar.enable_steady_tick(TICK);
    }
    bar
}
