//! Rounds: a driver, faults, calm, and the question of what came of it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use heist_cluster_suite::chaos::{pause, Place, WAIT};

use crate::drive::{CUT_OFF, UNSTORED};
use crate::faults::Faults;
use crate::left::{self, MARK};

/// How long the faults of a round go on.
const HARM: Duration = Duration::from_secs(12);

/// The size of a disk that can be filled.
const DISK: &str = "size=32m";

/// The sum of all rounds.
#[derive(Debug, Default)]
struct Sum {
    rounds: u64,
    drivers: u64,
    calls: u64,
    lost: u64,
    jobs: u64,
    faults: BTreeMap<&'static str, u64>,
}

/// Goes round by round until the time is over.
pub(crate) fn run(
    place: Place,
    seconds: u64,
    seed: u64,
    report: &Path,
) -> Result<std::process::ExitCode, String> {
    let began = Instant::now();
    let mut sum = Sum::default();
    while sum.rounds == 0 || began.elapsed() < Duration::from_secs(seconds) {
        let round = seed.wrapping_add(sum.rounds);
        let folder = tempfile::Builder::new().prefix("heist-chaos-").tempdir();
        let folder = folder.map_err(|error| format!("no folder can be made: {error}"))?;
        if let Err(why) = one(place, round, folder.path(), &mut sum) {
            let kept = folder.keep();
            return Err(format!(
                "{why}\nin round {} on {}, which `--seed {round} --minutes 0` begins with; what its \
                 drivers said is in {}",
                sum.rounds,
                place.name(),
                kept.display()
            ));
        }
        sum.rounds += 1;
    }
    let text = sum.text(place, seed, began.elapsed());
    let written = fs::write(report, text);
    written.map_err(|error| format!("{} cannot be written: {error}", report.display()))?;
    Ok(std::process::ExitCode::SUCCESS)
}

/// A disk of a round's own, which can be filled; it goes when it is dropped.
struct Disk<'a> {
    path: &'a Path,
    is_small: bool,
}

impl<'a> Disk<'a> {
    fn mount(path: &'a Path) -> Self {
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", DISK, "heist-chaos"])
            .arg(path);
        let done = mount.stderr(Stdio::null()).status();
        Self {
            path,
            is_small: done.is_ok_and(|status| status.success()),
        }
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        if self.is_small {
            // Otherwise the folder cannot be removed, which is said.
            let _ = Command::new("umount").arg(self.path).status();
        }
    }
}

fn one(place: Place, seed: u64, folder: &Path, sum: &mut Sum) -> Result<(), String> {
    let disk = folder.join("disk");
    for path in [&disk, &folder.join("tmp"), &folder.join("shared")] {
        fs::create_dir(path).map_err(|error| format!("no folder can be made: {error}"))?;
    }
    let small = Disk::mount(&disk);
    let mark = format!("{}-{seed}", std::process::id());
    let mut faults = Faults::new(place, &mark, &disk, small.is_small, seed);
    let ended = drivers(place, seed, folder, &mark, &mut faults, sum);
    let calmed = faults.calm();
    if ended.is_err() {
        // Nothing of it may go on, whatever it was.
        for pid in left::marked(&mark) {
            left::signal(pid, &mark, "KILL");
        }
    }
    ended?;
    calmed?;
    for (name, count) in faults.counts {
        *sum.faults.entry(name).or_default() += count;
    }
    let mut audit = program(folder, &mark)?;
    let seed = seed.to_string();
    let mut audit = begin(audit.arg("audit").arg(folder).arg(&seed))?;
    let status = wait(&mut audit, WAIT)?.ok_or("the audit did not end")?;
    if !status.success() {
        return Err(format!("the audit failed, {status}{}", said(folder)));
    }
    left::check(folder, &mark)?;
    let tally = fs::read_to_string(folder.join("tally")).unwrap_or_default();
    for line in tally.lines() {
        let mut numbers = line.split(' ').filter_map(|number| number.parse().ok());
        sum.calls += numbers.next().unwrap_or(0);
        sum.lost += numbers.next().unwrap_or(0);
        sum.jobs += numbers.next().unwrap_or(0);
    }
    Ok(())
}

/// One driver after the other, until one has ended well.
fn drivers(
    place: Place,
    seed: u64,
    folder: &Path,
    mark: &str,
    faults: &mut Faults<'_>,
    sum: &mut Sum,
) -> Result<(), String> {
    let began = Instant::now();
    loop {
        let mut driver = program(folder, mark)?;
        let number = seed.to_string();
        let mut driver = begin(driver.args(["drive", place.name()]).arg(folder).arg(number))?;
        sum.drivers += 1;
        faults.has_killed = false;
        let status = loop {
            if let Some(status) = wait(&mut driver, Duration::from_millis(50))? {
                break status;
            }
            if began.elapsed() < HARM {
                faults.step(driver.id())?;
            } else {
                faults.calm()?;
            }
            // A driver that was started in the last moment has its time as well.
            if began.elapsed() > HARM + 3 * WAIT {
                return Err(format!("a driver did not end{}", said(folder)));
            }
        };
        let is_killed = std::os::unix::process::ExitStatusExt::signal(&status) == Some(9);
        match status.code() {
            Some(0) => return Ok(()),
            Some(code) if code == i32::from(UNSTORED) && began.elapsed() < HARM + WAIT => {
                // The next one has the rest to do, and that on a disk that is not full.
                faults.calm()?;
            }
            Some(code)
                if code == i32::from(CUT_OFF)
                    && faults.has_killed
                    && began.elapsed() < HARM + WAIT => {}
            None if is_killed && began.elapsed() < HARM + WAIT => {}
            _ => return Err(format!("a driver failed, {status}{}", said(folder))),
        }
    }
}

/// This program, as another process of the round.
fn program(folder: &Path, mark: &str) -> Result<Command, String> {
    let path = std::env::current_exe().map_err(|error| error.to_string())?;
    let log = File::options()
        .create(true)
        .append(true)
        .open(folder.join("log"));
    let log = log.map_err(|error| format!("no log can be made: {error}"))?;
    let mut command = Command::new(path);
    command
        .env(MARK, mark)
        .env("TMPDIR", folder.join("tmp"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log);
    Ok(command)
}

fn begin(command: &mut Command) -> Result<Child, String> {
    command
        .spawn()
        .map_err(|error| format!("no driver can be started: {error}"))
}

/// Waits so long for a process.
fn wait(child: &mut Child, patience: Duration) -> Result<Option<ExitStatus>, String> {
    let began = Instant::now();
    loop {
        let status = child.try_wait().map_err(|error| error.to_string())?;
        if status.is_some() || began.elapsed() > patience {
            return Ok(status);
        }
        pause(Duration::from_millis(5));
    }
}

/// The last that the drivers of a round said.
fn said(folder: &Path) -> String {
    let text = fs::read_to_string(folder.join("log")).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let last = &lines[lines.len().saturating_sub(20)..];
    format!("; it said at last:\n{}", last.join("\n"))
}

impl Sum {
    /// The summary, as a part of a record.
    fn text(&self, place: Place, seed: u64, time: Duration) -> String {
        let faults = self
            .faults
            .iter()
            .map(|(name, count)| format!("{count} {name}"));
        format!(
            "- {}, seed {seed}, {:.1} minutes: {} rounds, {} drivers\n- Harm: {}\n- {} calls of \
             drivers that came to their end, of which {} were lost with their nodes and said so; {} \
             results of jobs, all exact; nothing left behind\n",
            place.name(),
            time.as_secs_f64() / 60.0,
            self.rounds,
            self.drivers,
            faults.collect::<Vec<_>>().join(", "),
            self.calls,
            self.lost,
            self.jobs
        )
    }
}
