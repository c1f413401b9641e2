//! Folders and files that only this user can read.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Makes a folder, with those above it, unless it is there.
pub(crate) fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// How to open a file that is private if it is new.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Makes a file, or empties it.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    options().create(true).write(true).truncate(true).open(path)
}

/// Locked as long as the driver lives; the name of its machine is in it.
const LOCK: &str = "driver.lock";

/// The lock before others see it.
const YOUNG_LOCK: &str = "driver.lock.new";

/// A folder that has no lock for so long will have none: its driver died while it made it.
const MAKING_MAX: Duration = Duration::from_secs(600);

/// A folder of a driver, which is gone after it: with the value, or else when the next driver on
/// this machine makes one.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Makes one in `parent`, whose name begins with `prefix`, and removes those of drivers that
    /// were lost. Each of them is shown to `lost` before, which says whether it may go.
    pub(crate) fn make_in(
        parent: &Path,
        prefix: &str,
        lost: impl Fn(&Path) -> bool,
    ) -> io::Result<Self> {
        sweep(parent, prefix, lost);
        let folder = tempfile::Builder::new()
            .prefix(prefix)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(parent)?;
        let beside = folder.path().join(YOUNG_LOCK);
        let mut lock = create(&beside)?;
        lock.try_lock()?;
        lock.write_all(machine().as_bytes())?;
        fs::rename(beside, folder.path().join(LOCK))?;
        Ok(Self {
            path: folder.keep(),
            _lock: lock,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it now: when a program ends, a thread of it may still hold the value.
    pub(crate) fn remove(&self) {
        // It may be gone already. If something still writes there, the next driver removes it.
        let _ = remove(&self.path);
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Removes a folder, its lock last: without one nobody knows that its driver is gone.
fn remove(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false if entry.file_name() == LOCK => {}
            false => fs::remove_file(entry.path())?,
        }
    }
    fs::remove_dir_all(folder)
}

/// Removes the folders of drivers that are gone. Those that cannot be removed stay: they are
/// another user's, or in use; or another machine's, as not every file system has its locks
/// everywhere.
fn sweep(parent: &Path, prefix: &str, lost: impl Fn(&Path) -> bool) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(prefix);
        if is_ours && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let folder = entry.path();
            if let Some(_lock) = lock_of_lost(&folder.join(LOCK)) {
                if lost(&folder) {
                    let _ = remove(&folder);
                }
            } else if is_abandoned(&folder) {
                // If anything else is in there, it is not ours, and stays.
                let _ = fs::remove_file(folder.join(YOUNG_LOCK));
                let _ = fs::remove_dir(folder);
            }
        }
    }
}

fn is_abandoned(folder: &Path) -> bool {
    let changed = fs::metadata(folder).and_then(|data| data.modified());
    let age = changed.ok().and_then(|changed| changed.elapsed().ok());
    !folder.join(LOCK).exists() && age.is_some_and(|age| age > MAKING_MAX)
}

/// The lock at `path`, if it was that of a driver on this machine that is gone.
fn lock_of_lost(path: &Path) -> Option<File> {
    let mut lock = OpenOptions::new().read(true).write(true).open(path).ok()?;
    lock.try_lock().ok()?;
    let mut name = String::new();
    lock.read_to_string(&mut name).ok()?;
    (name == machine()).then_some(lock)
}

/// The name of this machine, or nothing where the system does not tell it in a file.
fn machine() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::mem::ManuallyDrop;
    use std::time::SystemTime;

    use super::*;

    fn make_in(parent: &Path) -> Folder {
        Folder::make_in(parent, "ours-", |_| true).expect("a folder")
    }

    fn mode(path: &Path) -> u32 {
        let data = fs::metadata(path).expect("it is there");
        data.permissions().mode() & 0o777
    }

    #[test]
    fn only_the_user_can_read_them() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = make_in(parent.path());
        assert_eq!(mode(folder.path()), 0o700);
        let below = folder.path().join("a").join("b");
        make(&below).expect("a folder");
        assert_eq!(mode(&below), 0o700);
        assert_eq!(mode(below.parent().expect("a")), 0o700);
        let file = below.join("file");
        create(&file).expect("a file");
        assert_eq!(mode(&file), 0o600);
    }

    #[test]
    fn a_folder_is_gone_when_its_driver_says_so() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = make_in(parent.path());
        fs::create_dir(folder.path().join("objects")).expect("a folder");
        folder.remove();
        assert!(!folder.path().exists(), "though somebody holds it");
    }

    #[test]
    fn the_folder_of_a_lost_driver_is_removed_and_that_of_a_living_one_is_not() {
        let parent = tempfile::tempdir().expect("a folder");
        let living = make_in(parent.path());
        let lost = ManuallyDrop::new(make_in(parent.path()));
        fs::write(lost.path().join("data"), "secret").expect("it is written");
        let stranger = parent.path().join("ours-stranger");
        fs::create_dir(&stranger).expect("a folder without a lock");
        let elsewhere = parent.path().join("ours-elsewhere");
        fs::create_dir(&elsewhere).expect("a folder of another machine");
        fs::write(elsewhere.join(LOCK), "another machine").expect("it is written");
        let old = SystemTime::now() - 2 * MAKING_MAX;
        let aged = |name: &str, file: &str| {
            let folder = parent.path().join(name);
            fs::create_dir(&folder).expect("a folder");
            fs::write(folder.join(file), "").expect("it is written");
            let handle = File::open(&folder).expect("it is there");
            handle.set_modified(old).expect("it is ours");
            folder
        };
        let abandoned = aged("ours-abandoned", YOUNG_LOCK);
        let foreign = aged("ours-foreign", "ray.lock");
        // As after a crash: the lock is gone with the process, the folder is not.
        let left = lost.path().to_owned();
        lost._lock.unlock().expect("it is locked");
        let shown = RefCell::new(Vec::new());
        let show = |may_go| {
            let shown = &shown;
            move |path: &Path| {
                shown.borrow_mut().push(path.to_owned());
                may_go
            }
        };
        let next = Folder::make_in(parent.path(), "ours-", show(false)).expect("another one");
        assert!(left.exists(), "something there is still needed");
        drop(next);
        let next = Folder::make_in(parent.path(), "ours-", show(true)).expect("another one");
        assert!(!left.exists(), "it was left behind");
        assert!(living.path().exists(), "its driver lives");
        assert!(stranger.exists(), "it may be young");
        assert!(!abandoned.exists(), "its driver died before it had a lock");
        assert!(foreign.exists(), "nothing of that is ours");
        assert!(elsewhere.exists(), "its driver may live there");
        assert_eq!(shown.into_inner(), [left.clone(), left]);
        drop(next);
    }
}
