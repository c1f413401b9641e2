//! A check within one of its processes: it notes how far the closure comes, and ends the process
//! if nobody waits for that any more.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::panic::Location;
use std::path::{Path, PathBuf};

/// Names the process that made this one for a check, and the folder of that check.
pub(super) const VARIABLE: &str = "HEIST_SCHEDULE_CHECK";

/// The files of a check in its folder.
pub(super) const FILES: [&str; 3] = [SCHEDULE, SAID, NOTES];
pub(super) const SCHEDULE: &str = "schedule";
pub(super) const SAID: &str = "said";
pub(super) const NOTES: &str = "notes";

/// The process is one of a check.
pub(super) struct Inside {
    folder: PathBuf,
}

/// The value of the variable.
pub(super) fn value(folder: &Path) -> std::ffi::OsString {
    let mut value = std::ffi::OsString::from(format!("{}:", std::process::id()));
    value.push(folder);
    value
}

impl Inside {
    /// `None` if the process is none of a check. A child of such a process has the variable, too.
    #[cfg(target_os = "linux")]
    pub(super) fn here() -> Option<Self> {
        use std::os::unix::process::parent_id;
        use std::sync::OnceLock;

        use heist_sync::{thread, Futex};

        use super::monitor;

        /// Between two looks at the parent.
        const PAUSE: std::time::Duration = std::time::Duration::from_millis(20);

        /// Whether there is a thread that looks at the parent.
        static WATCHER: OnceLock<bool> = OnceLock::new();

        let value = std::env::var_os(VARIABLE)?.into_string().ok()?;
        let (parent, folder) = value.split_once(':')?;
        let parent: u32 = parent.parse().ok()?;
        if parent_id() != parent {
            return None;
        }
        let folder = PathBuf::from(folder);
        WATCHER.get_or_init(|| {
            let (folder, started) = (folder.clone(), std::sync::mpsc::channel());
            let watch = move || {
                monitor::watches();
                let _ = started.0.send(());
                while parent_id() == parent {
                    Futex::new(0).wait_timeout(0, PAUSE);
                }
                leave(&folder);
            };
            let thread = thread::Builder::new().name("heist-check".to_owned());
            thread.spawn(watch).is_ok() && started.1.recv().is_ok()
        });
        Some(Self { folder })
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn here() -> Option<Self> {
        None
    }

    /// The closure of the check at this place begins.
    pub(super) fn begins(&self, place: &Location<'_>) {
        self.note(BEGUN, place);
    }

    /// The closure of the check at this place has returned.
    pub(super) fn has_returned(&self, place: &Location<'_>) {
        self.note(RETURNED, place);
    }

    fn note(&self, what: &str, place: &Location<'_>) {
        let mut options = OpenOptions::new();
        let file = options
            .create(true)
            .append(true)
            .open(self.folder.join(NOTES));
        // Without the note the check says that the closure did not come so far.
        let _ = file.and_then(|mut file| file.write_all(format!("{what} {place}\n").as_bytes()));
    }
}

/// The words of the notes.
const BEGUN: &str = "begun";
const RETURNED: &str = "returned";

/// How far a process came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Course {
    /// Not to the check at the place that was asked for.
    NotBegun,
    /// The closure of a check has begun, and has not returned.
    Begun,
    /// All that have begun have returned.
    Returned,
}

/// How far a process came with the check at this place, by its notes.
pub(super) fn course(notes: &str, place: &Location<'_>) -> Course {
    let begun = format!("{BEGUN} {place}");
    if !notes.lines().any(|line| line == begun) {
        return Course::NotBegun;
    }
    let count = |what| notes.lines().filter(|line| line.starts_with(what)).count();
    if count(BEGUN) > count(RETURNED) {
        return Course::Begun;
    }
    Course::Returned
}

/// The check that made this process is gone: nobody reads the files, or ends what this process has
/// started.
#[cfg(target_os = "linux")]
fn leave(folder: &Path) -> ! {
    use std::fs;

    use heist_sync::process;

    for file in FILES {
        let _ = fs::remove_file(folder.join(file));
    }
    let _ = fs::remove_dir(folder);
    // The check has given it a group of its own.
    process::kill_group(std::process::id());
    process::leave(1)
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_notes_tell_how_far_the_closures_came() {
        let place = Location::caller();
        let other = "begun other.rs:1:1\n";
        let begun = format!("begun {place}\n");
        let returned = format!("returned {place}\n");
        for (notes, expected) in [
            (String::new(), Course::NotBegun),
            (other.to_owned(), Course::NotBegun),
            (begun.clone(), Course::Begun),
            (format!("{begun}{returned}"), Course::Returned),
            (format!("{other}{begun}{returned}"), Course::Begun),
            (format!("{begun}{returned}{begun}"), Course::Begun),
        ] {
            assert_eq!(course(&notes, place), expected, "{notes}");
        }
    }
}
