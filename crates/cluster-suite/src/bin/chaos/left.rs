//! Processes of a round, by a mark in their environment, and what a round has left behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use heist_cluster_suite::chaos::pause;

/// The variable that marks all processes of a round.
pub(crate) const MARK: &str = "HEIST_CHAOS";

/// The processes that bear this mark, without those that are dead and not waited for.
pub(crate) fn marked(mark: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|&pid| bears(pid, mark)).collect()
}

fn bears(pid: u32, mark: &str) -> bool {
    let wanted = format!("{MARK}={mark}");
    // Another user's cannot be read, and one that has just ended is no more.
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let mut variables = environment.split(|byte| *byte == 0);
    variables.any(|variable| variable == wanted.as_bytes())
}

/// Sends a signal to a process if it bears the mark.
pub(crate) fn signal(pid: u32, mark: &str, name: &str) -> bool {
    let mut kill = Command::new("kill");
    kill.arg(format!("-{name}")).arg(pid.to_string());
    // It may end in between.
    kill.stderr(Stdio::null());
    bears(pid, mark) && kill.status().is_ok_and(|status| status.success())
}

/// How long processes and files may outlive their driver.
const GRACE: Duration = Duration::from_secs(20);

/// Says what a round has left, if that does not go away, and ends it.
pub(crate) fn check(folder: &Path, mark: &str) -> Result<(), String> {
    let began = Instant::now();
    loop {
        let processes = marked(mark);
        let files = files(&folder.join("tmp"));
        let damaged = files_named(&folder.join("disk"), ".damaged");
        if processes.is_empty() && files.is_empty() && damaged.is_empty() {
            return Ok(());
        }
        if began.elapsed() > GRACE || !damaged.is_empty() {
            let names: Vec<String> = processes.iter().map(|&pid| line(pid)).collect();
            for pid in processes {
                signal(pid, mark, "KILL");
            }
            return Err(format!(
                "left behind are processes {names:?}, files {files:?}, damaged files {damaged:?}"
            ));
        }
        pause(Duration::from_millis(100));
    }
}

/// The command of a process, with its number.
fn line(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line).replace('\0', " ");
    format!("{pid}: {line}")
}

/// All files and folders below one.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(files(&path));
        }
        found.push(path);
    }
    found
}

fn files_named(folder: &Path, part: &str) -> Vec<PathBuf> {
    let is_named = |path: &PathBuf| path.to_string_lossy().contains(part);
    files(folder).into_iter().filter(is_named).collect()
}
