//! The processes below a command that does not end, and the stacks of their threads.

use std::fs;
use std::io::{self, Write};
use std::process::Command;

/// A process and those that it started, oldest first. Empty where there is no `/proc`.
#[must_use]
pub fn family(root: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut parents: Vec<(u32, u32)> = entries
        .filter_map(|entry| {
            let process = entry.file_name().to_str()?.parse().ok()?;
            Some((process, parent(process)?))
        })
        .collect();
    parents.sort_unstable();
    let mut family = vec![root];
    let mut next = 0;
    while let Some(&process) = family.get(next) {
        let children = parents.iter().filter(|(_, parent)| *parent == process);
        family.extend(children.map(|(child, _)| child));
        next += 1;
    }
    family
}

/// Writes a line for each process, and the stacks of the youngest as a debugger sees them, if there
/// is one.
///
/// # Errors
///
/// Fails if the report cannot be written.
pub fn report(family: &[u32], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "at the limit there were these processes:")?;
    for process in family {
        let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&words).replace('\0', " ");
        writeln!(out, "{process} {}", line.trim_end())?;
    }
    let Some(youngest) = family.last() else {
        return Ok(());
    };
    let mut debugger = Command::new("gdb");
    debugger.args(["-batch", "-ex", "thread apply all bt 30", "-p"]);
    match debugger.arg(youngest.to_string()).output() {
        Ok(stacks) => out.write_all(&stacks.stdout),
        Err(error) => writeln!(out, "its stacks are not known, gdb did not start: {error}"),
    }
}

/// Ends them all, youngest first.
pub fn kill(family: &[u32]) {
    let processes = family.iter().rev().map(u32::to_string);
    // One that has ended meanwhile is no failure.
    let _ = Command::new("kill").arg("-9").args(processes).output();
}

/// The parent, the second number behind the name in parentheses, which may have any character.
fn parent(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(1)?.parse().ok()
}
