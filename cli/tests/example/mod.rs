//! The example program of `heist cluster`, and the events of its runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;

#[path = "../built/mod.rs"]
mod built;

/// The example `sums`.
pub(crate) fn sums() -> &'static Path {
    static SUMS: OnceLock<PathBuf> = OnceLock::new();
    SUMS.get_or_init(|| built::example("sums"))
}

/// The whole lines among the events of the run `run` in `folder`.
pub(crate) fn events(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("run/events.jsonl")).unwrap_or_default();
    let whole = text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    whole
        .map(|line| serde_json::from_str(line).expect("an event"))
        .collect()
}
