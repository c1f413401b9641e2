//! How long the compiler takes for five chains, and how much code it makes, beside rayon.
//!
//! Both figures are of the program's own crate in one unit. The text is exact; the time is the
//! least of some turns, and other work on the machine adds to it: so the limits are far above the
//! bars.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{ensure, Context};
use xtask::build::target_folder;
use xtask::steps::Outcome;

/// Fails above this much of rayon's time, where 1.5 is wanted.
const MOST_TIME: f64 = 2.5;
/// Fails above this much of rayon's text, where 2 is wanted.
const MOST_TEXT: f64 = 2.2;
const TURNS: u32 = 3;

/// Compiles both, and compares.
pub(crate) fn run(root: &Path, out: &mut impl Write) -> anyhow::Result<Outcome> {
    if Command::new("size").arg("--version").output().is_err() {
        return Ok(Outcome::Skipped(
            "size is not installed, which is in binutils".to_owned(),
        ));
    }
    let (mut heist, mut rayon) = (Chains::new(root, "heist"), Chains::new(root, "rayon"));
    // The first turn compiles the libraries along.
    for _ in 0..=TURNS {
        heist.compile()?;
        rayon.compile()?;
    }
    let time = heist.least.as_secs_f64() / rayon.least.as_secs_f64();
    let text = heist.text()? as f64 / rayon.text()? as f64;
    for chains in [&heist, &rayon] {
        let (ms, bytes) = (chains.least.as_millis(), chains.text()?);
        writeln!(out, "{:5} {ms:>6} ms {bytes:>8} bytes", chains.package)?;
    }
    writeln!(out, "ratio {time:>9.2} {text:>14.2}")?;
    Ok(outcome(time, text))
}

fn outcome(time: f64, text: f64) -> Outcome {
    if time > MOST_TIME {
        return Outcome::Failed(format!(
            "five chains compile in {time:.2} of rayon's time; {MOST_TIME} at most"
        ));
    }
    if text > MOST_TEXT {
        return Outcome::Failed(format!(
            "five chains have {text:.2} of rayon's text; {MOST_TEXT} at most"
        ));
    }
    Outcome::Passed
}

/// The chains on one of the libraries.
struct Chains<'a> {
    root: &'a Path,
    package: &'static str,
    folder: PathBuf,
    /// The time of the fastest turn.
    least: Duration,
}

impl<'a> Chains<'a> {
    fn new(root: &'a Path, package: &'static str) -> Self {
        Self {
            root,
            package,
            folder: target_folder(root, "size"),
            least: Duration::MAX,
        }
    }

    fn object(&self) -> PathBuf {
        self.folder.join(format!("{}.o", self.package))
    }

    fn compile(&mut self) -> anyhow::Result<()> {
        let program = format!("chains-on-{}", self.package);
        let source = format!("bench/size/src/bin/{program}.rs");
        let file = File::options().append(true).open(self.root.join(&source));
        file.and_then(|file| file.set_modified(SystemTime::now()))
            .with_context(|| format!("could not touch {source}"))?;
        let mut command = Command::new("cargo");
        command
            .current_dir(self.root)
            .env("RUSTFLAGS", "")
            .env("CARGO_PROFILE_RELEASE_DEBUG", "false")
            .args(["rustc", "--release", "--manifest-path", "bench/Cargo.toml"])
            .args(["--ignore-rust-version", "--target-dir"])
            .arg(&self.folder)
            .args(["--package", "heist-bench-size", "--bin", &program])
            .args(["--", "-Ccodegen-units=1"])
            .arg(format!("--emit=link,obj={}", self.object().display()));
        let began = Instant::now();
        output(&mut command)?;
        self.least = self.least.min(began.elapsed());
        Ok(())
    }

    /// The bytes of its code.
    fn text(&self) -> anyhow::Result<u64> {
        let output = output(Command::new("size").arg("-A").arg(self.object()))?;
        let text = text_of(&String::from_utf8_lossy(&output.stdout));
        ensure!(text > 0, "size has found no code in {}", self.package);
        Ok(text)
    }
}

/// Runs the command, and fails if it does.
fn output(command: &mut Command) -> anyhow::Result<Output> {
    let output = command
        .output()
        .with_context(|| format!("could not start {command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?}: {}:\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output)
}

/// The sum of the sections of code in what `size -A` prints.
fn text_of(printed: &str) -> u64 {
    let sizes = printed.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let is_text = words.next()?.starts_with(".text");
        is_text.then(|| words.next()?.parse::<u64>().ok())?
    });
    sizes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_the_sum_of_all_sections_of_code() {
        let printed =
            "a.o  :\nsection size addr\n.text 16 0\n.text.main 30 0\n.data 7 0\nTotal 53\n";
        assert_eq!(text_of(printed), 46);
    }

    #[test]
    fn each_of_the_two_can_fail() {
        assert_eq!(outcome(1.0, 1.5), Outcome::Passed);
        assert!(matches!(outcome(3.0, 1.0), Outcome::Failed(_)));
        assert!(matches!(outcome(1.0, 3.0), Outcome::Failed(_)));
    }
}
