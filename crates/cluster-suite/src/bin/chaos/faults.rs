//! The harm that is done in a round, and how it is mended.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use heist_cluster_suite::chaos::Place;

use crate::left;

/// A node that may die; on others of its backend the backend itself may depend.
const MORTAL: &str = "n3";

/// Something to be mended at a time.
enum Mending {
    /// A process that was stopped.
    Continue(u32),
    /// A file that fills the disk.
    Free(PathBuf),
    /// A node that was killed.
    Start,
    /// A node that was cut off, and is declared dead by then.
    Heal,
}

/// The faults of a round.
pub(crate) struct Faults<'a> {
    place: Place,
    mark: &'a str,
    disk: &'a Path,
    /// Whether the disk is so small that it can be filled.
    is_small: bool,
    random: fastrand::Rng,
    next_at: Instant,
    mendings: Vec<(Instant, Mending)>,
    /// A file that is written again and again until then, so that the disk is slow.
    busy: Option<(Instant, File)>,
    /// A process between this driver and the backend was killed.
    pub(crate) has_killed: bool,
    pub(crate) counts: BTreeMap<&'static str, u64>,
}

impl<'a> Faults<'a> {
    pub(crate) fn new(
        place: Place,
        mark: &'a str,
        disk: &'a Path,
        is_small: bool,
        seed: u64,
    ) -> Self {
        Self {
            place,
            mark,
            disk,
            is_small,
            random: fastrand::Rng::with_seed(seed),
            next_at: Instant::now() + Duration::from_millis(500),
            mendings: Vec::new(),
            busy: None,
            has_killed: false,
            counts: BTreeMap::new(),
        }
    }

    /// Mends what is due, and does the next harm if it is time. The driver is `driver`.
    pub(crate) fn step(&mut self, driver: u32) -> Result<(), String> {
        let now = Instant::now();
        if let Some((until, file)) = &mut self.busy {
            // The disk may be full meanwhile.
            let _ = file.write_all(&[0; 1 << 16]).and_then(|()| file.sync_all());
            let _ = file.set_len(0);
            if *until < now {
                self.busy = None;
            }
        }
        let is_due = |(at, _): &mut (Instant, Mending)| *at <= now;
        let due: Vec<_> = self.mendings.extract_if(.., is_due).collect();
        due.into_iter().try_for_each(|(_, it)| self.mend(it))?;
        if now < self.next_at {
            return Ok(());
        }
        self.next_at = now + Duration::from_millis(self.random.u64(100..1500));
        self.harm(driver)
    }

    /// Mends all that is still to be mended.
    pub(crate) fn calm(&mut self) -> Result<(), String> {
        self.busy = None;
        let all = std::mem::take(&mut self.mendings);
        all.into_iter().try_for_each(|(_, it)| self.mend(it))
    }

    fn mend(&self, mending: Mending) -> Result<(), String> {
        match mending {
            Mending::Continue(pid) => {
                // It may have been killed meanwhile.
                left::signal(pid, self.mark, "CONT");
                Ok(())
            }
            Mending::Free(path) => fs::remove_file(&path)
                .map_err(|error| format!("{} cannot be removed: {error}", path.display())),
            Mending::Start => self.lab(&["start", self.place.name(), MORTAL]),
            Mending::Heal => {
                self.lab(&["heal", MORTAL])?;
                self.lab(&["kill", self.place.name(), MORTAL])?;
                self.lab(&["start", self.place.name(), MORTAL])
            }
        }
    }

    fn harm(&mut self, driver: u32) -> Result<(), String> {
        let for_ms = Duration::from_millis(self.random.u64(100..4000));
        let until = Instant::now() + for_ms;
        let workers = left::marked(self.mark);
        let workers: Vec<u32> = workers.into_iter().filter(|pid| *pid != driver).collect();
        let worker = self.random.choice(&workers).copied();
        let is_node_whole = !self
            .mendings
            .iter()
            .any(|(_, it)| matches!(it, Mending::Start | Mending::Heal));
        let named = match self.random.u32(..12) {
            // On others than Local these are what stands between the driver and the backend.
            0..=3 => match worker {
                Some(pid) if self.place == Place::Local || self.random.u32(..4) == 0 => {
                    let is_killed = left::signal(pid, self.mark, "KILL");
                    self.has_killed |= is_killed;
                    is_killed.then_some("workers killed")
                }
                _ => None,
            },
            4 | 5 => worker.and_then(|pid| {
                let is_stopped = left::signal(pid, self.mark, "STOP");
                self.mendings.push((until, Mending::Continue(pid)));
                is_stopped.then_some("workers stopped")
            }),
            6 => left::signal(driver, self.mark, "KILL").then_some("drivers killed"),
            7 => {
                let is_stopped = left::signal(driver, self.mark, "STOP");
                self.mendings.push((until, Mending::Continue(driver)));
                is_stopped.then_some("drivers stopped")
            }
            8 if self.is_small => self.fill(until).then_some("disks full"),
            9 => {
                let file = File::create(self.disk.join("busy"));
                self.busy = file.ok().map(|file| (until, file));
                Some("disks slow")
            }
            _ if self.place == Place::Local || !is_node_whole => None,
            10 if self.place == Place::Ray && std::env::var_os("HEIST_CLUSTER_NETNS").is_some() => {
                self.lab(&["partition", MORTAL])?;
                self.mendings.push((until, Mending::Heal));
                Some("nodes cut off")
            }
            _ => {
                self.lab(&["kill", self.place.name(), MORTAL])?;
                self.mendings.push((until, Mending::Start));
                Some("nodes killed")
            }
        };
        if let Some(named) = named {
            *self.counts.entry(named).or_default() += 1;
        }
        Ok(())
    }

    /// Fills the disk, if it is not full.
    fn fill(&mut self, until: Instant) -> bool {
        let path = self.disk.join("ballast");
        let Ok(mut file) = OpenOptions::new().create_new(true).write(true).open(&path) else {
            return false;
        };
        self.mendings.push((until, Mending::Free(path)));
        // Until there is no space left; the disk is so small that this takes no time.
        while file.write_all(&[0; 1 << 12]).is_ok() {}
        true
    }

    /// Has the laboratory do something to its cluster.
    fn lab(&self, what: &[&str]) -> Result<(), String> {
        let lab = std::env::var_os("HEIST_LAB")
            .ok_or("HEIST_LAB is not set; `cargo lab cluster chaos` sets it")?;
        let mut command = Command::new(lab);
        let command = command.arg("cluster").args(what).stdout(Stdio::null());
        match command.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("the laboratory could not {what:?}: {status}")),
            Err(error) => Err(format!("the laboratory does not start: {error}")),
        }
    }
}
