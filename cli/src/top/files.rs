//! The files of programs with a live view.

use std::io;

use heist_event::halves::{self, Unreadable, HALF};
use heist_observe::live::Snapshot;
use heist_run::limited;
use heist_run::usage::Usage;
use heist_sync::process_folder::{ProcessFolder, ProcessId};

/// How often a file is read of which no half is whole: its program may have written both meanwhile.
const ATTEMPTS: u32 = 3;

/// A program, and the last snapshot of it.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) process: ProcessId,
    pub(super) snapshot: Snapshot,
    folder: ProcessFolder,
}

/// All programs, and what was in the way.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) programs: Vec<Program>,
    pub(super) problems: Vec<String>,
}

impl Program {
    pub(super) fn is_alive(&self) -> bool {
        self.process.is_alive()
    }

    /// Reads its file again. False if that is gone.
    pub(super) fn read_again(&mut self) -> anyhow::Result<bool> {
        match read(&self.folder, self.process) {
            Ok(snapshot) => self.snapshot = snapshot,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }
}

impl Found {
    /// Looks in all folders where such files may be.
    pub(super) fn look() -> Self {
        let mut found = Self::default();
        let places = ProcessFolder::places();
        if places.is_empty() {
            let why =
                "there is no live view on this system: it does not tell when a process started";
            found.problems.push(why.to_owned());
        }
        for place in places {
            let opened = ProcessFolder::open(&place);
            let opened = opened.and_then(|folder| Ok((folder.processes()?, folder)));
            match opened {
                Ok((processes, folder)) => {
                    processes
                        .into_iter()
                        .for_each(|process| found.read(&folder, process));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    let why = format!("did not look into {}: {error}", place.display());
                    found.problems.push(why);
                }
            }
        }
        found
    }

    fn read(&mut self, folder: &ProcessFolder, process: ProcessId) {
        match read(folder, process) {
            Ok(snapshot) => self.programs.push(Program {
                process,
                snapshot,
                folder: folder.clone(),
            }),
            // Its program ended just now.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let path = folder.path(process);
                let why = format!("could not read {}: {error}", path.display());
                self.problems.push(why);
            }
        }
    }

    /// The program with this number, or the only one that is alive. `None` if there are several.
    pub(super) fn chosen(&self, pid: Option<u32>) -> Result<Option<&Program>, Usage> {
        let Some(pid) = pid else {
            let mut alive = self.programs.iter().filter(|program| program.is_alive());
            return match (alive.next(), alive.next(), self.programs.is_empty()) {
                (Some(only), None, _) => Ok(Some(only)),
                (_, _, false) => Ok(None),
                (.., true) => Err(Usage(
                    "no program with a live view runs here; start one on heist with HEIST_LIVE=1"
                        .to_owned(),
                )),
            };
        };
        let same = self
            .programs
            .iter()
            .filter(|program| program.process.pid == pid);
        // The system may have given a number again.
        let program = same.max_by_key(|program| (program.is_alive(), program.process.start));
        let missing = || {
            Usage(format!(
                "there is no live view of process {pid}; there are {}. A program has one if it is on \
                 heist, started with HEIST_LIVE=1, and has built a pool",
                self.numbers()
            ))
        };
        program.map(Some).ok_or_else(missing)
    }

    /// The numbers of the programs, in a sentence.
    pub(super) fn numbers(&self) -> String {
        let numbers = self
            .programs
            .iter()
            .map(|program| program.process.pid.to_string());
        let numbers: Vec<String> = numbers.collect();
        match numbers.is_empty() {
            true => "none".to_owned(),
            false => format!("those of {}", numbers.join(", ")),
        }
    }
}

/// The last snapshot of this process.
fn read(folder: &ProcessFolder, process: ProcessId) -> io::Result<Snapshot> {
    for attempt in 1.. {
        let bytes = limited::read_from(folder.read(process)?, 2 * HALF as u64)?;
        match halves::newest(&bytes) {
            Err(Unreadable::NotWhole) if attempt < ATTEMPTS => {}
            Err(error) => return Err(io::Error::other(error)),
            Ok((_, text)) => return Snapshot::parse(text).map_err(io::Error::other),
        }
    }
    unreachable!("the last attempt returns")
}
