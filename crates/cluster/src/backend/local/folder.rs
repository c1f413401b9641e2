//! The folder of what a driver shares with its workers: private, and gone after them.

use std::env;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::TempDir;

/// Begins the names of such folders.
const PREFIX: &str = "heist-cluster-";

/// Locked as long as the driver lives.
const LOCK: &str = "driver.lock";

/// A folder that only this user can read.
#[derive(Debug)]
pub(super) struct Folder {
    folder: TempDir,
    _lock: File,
}

impl Folder {
    /// Makes one, and removes those of drivers that were lost.
    pub(super) fn make() -> io::Result<Self> {
        Self::make_in(&env::temp_dir())
    }

    fn make_in(parent: &Path) -> io::Result<Self> {
        sweep(parent);
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(parent)?;
        // It is locked before others see it.
        let beside = folder.path().join("driver.lock.new");
        let lock = File::create(&beside)?;
        lock.try_lock()?;
        fs::rename(beside, folder.path().join(LOCK))?;
        Ok(Self {
            folder,
            _lock: lock,
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the folders of drivers that are gone. Those that cannot be removed stay: they are
/// another user's, or in use.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if !is_ours || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let lock = OpenOptions::new().write(true).open(entry.path().join(LOCK));
        if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_user_can_read_it() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = Folder::make_in(parent.path()).expect("another one");
        let mode = fs::metadata(folder.path()).expect("it is there");
        assert_eq!(mode.permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn the_folder_of_a_lost_driver_is_removed_and_that_of_a_living_one_is_not() {
        let parent = tempfile::tempdir().expect("a folder");
        let living = Folder::make_in(parent.path()).expect("another one");
        let lost = Folder::make_in(parent.path()).expect("another one");
        fs::write(lost.path().join("data"), "secret").expect("it is written");
        let stranger = parent.path().join("heist-cluster-stranger");
        fs::create_dir(&stranger).expect("a folder without a lock");
        // As after a crash: the lock is gone with the process, the folder is not.
        let left = lost.folder.keep();
        drop(lost._lock);
        let next = Folder::make_in(parent.path()).expect("another one");
        assert!(!left.exists(), "it was left behind");
        assert!(living.path().exists(), "its driver lives");
        assert!(stranger.exists(), "it may be young");
        drop(next);
    }
}
