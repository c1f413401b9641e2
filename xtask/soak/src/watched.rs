//! A run under heist's stall watchdog: it must stay silent, since no round stands still.
//!
//! The watchdog speaks on standard error, and nothing in the process hears it. So the run is a
//! child of this process, which hands on every line and counts those of the watchdog.

use std::error::Error;
use std::io::{self, BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

/// How its reports begin, and how it says that it cannot watch.
const REPORT: &str = "heist: nothing has moved";
const REFUSAL: &str = "heist: no stall watchdog";

/// Runs this program with these arguments, which have it write this report. True if nothing was
/// found, and the watchdog, with so many seconds of patience, was silent.
pub(crate) fn run(
    patience: f64,
    arguments: &[String],
    report: Option<&Path>,
) -> Result<bool, Box<dyn Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(arguments)
        .env("HEIST_STALL", patience.to_string())
        .stderr(Stdio::piped());
    if let Some(report) = report {
        command.arg("--report").arg(report);
    }
    let mut child = command.spawn()?;
    let stderr = child.stderr.take().ok_or("the run has no standard error")?;
    let mut heard = Heard::default();
    for line in BufReader::new(stderr).split(b'\n') {
        let line = line?;
        heard.hear(&line);
        io::stderr()
            .lock()
            .write_all(&[&line, &b"\n"[..]].concat())?;
    }
    let passed = child.wait()?.success();
    let verdict = format!("HEIST_STALL={patience}: {}", heard.verdict());
    writeln!(io::stdout(), "- Stall watchdog: {verdict}")?;
    if let Some(report) = report {
        add(report, &verdict)?;
    }
    Ok(passed && heard.is_silence())
}

/// The lines of the watchdog.
#[derive(Debug, Default)]
struct Heard {
    reports: u32,
    refusals: u32,
}

impl Heard {
    fn hear(&mut self, line: &[u8]) {
        self.reports += u32::from(line.starts_with(REPORT.as_bytes()));
        self.refusals += u32::from(line.starts_with(REFUSAL.as_bytes()));
    }

    fn is_silence(&self) -> bool {
        self.reports == 0 && self.refusals == 0
    }

    fn verdict(&self) -> String {
        match (self.refusals, self.reports) {
            (0, 0) => "silent".to_owned(),
            (0, reports) => format!("FAILED: it spoke {reports} times"),
            _ => "FAILED: it could not watch".to_owned(),
        }
    }
}

/// Puts the verdict above the table of a report, if there is one.
fn add(report: &Path, verdict: &str) -> io::Result<()> {
    let text = match std::fs::read_to_string(report) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        text => text?,
    };
    std::fs::write(report, with_verdict(&text, verdict))
}

fn with_verdict(report: &str, verdict: &str) -> String {
    report.replacen("\n\n", &format!("\n- Stall watchdog: {verdict}\n\n"), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_watchdog_s_lines_count() {
        let mut heard = Heard::default();
        heard.hear(b"a panic said heist: nothing has moved");
        assert_eq!((heard.is_silence(), &*heard.verdict()), (true, "silent"));
        heard.hear(b"heist: nothing has moved for 10.0 s in pool 0 (2 workers)");
        assert!(!heard.is_silence() && heard.verdict().contains("spoke 1 times"));
        heard.hear(b"heist: no stall watchdog (HEIST_STALL): none here");
        assert!(heard.verdict().contains("could not watch"));
    }

    #[test]
    fn the_verdict_stands_above_the_table() {
        let report = with_verdict("- Verdict: good\n\n| a |\n\n", "silent");
        assert_eq!(
            report,
            "- Verdict: good\n- Stall watchdog: silent\n\n| a |\n\n"
        );
    }
}
