//! A folder for the user alone, in which a process has a file while it runs.
//!
//! The folder is `heist` in `$XDG_RUNTIME_DIR`, if that is a folder of the user's, or else
//! `heist-UID` in the folder for temporary files. In the latter anybody could have made it, so it
//! is used only if it belongs to the user and nobody else can enter it. Then the files in it are
//! the user's own; they are opened all the same as if they were not.
//!
//! A file is named by the number of the process and the time at which it started, since the system
//! gives a number again. Systems other than Linux do not tell that time; there is no such file.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// A process, which no other one is taken for.
///
/// # Examples
///
/// ```
/// use heist_sync::process_folder::ProcessId;
///
/// if let Some(process) = ProcessId::present() {
///     assert!(process.is_alive());
///     assert_eq!(process.to_string().parse(), Ok(process));
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProcessId {
    /// Its number.
    pub pid: u32,
    /// When it started, in ticks since the system did.
    pub start: u64,
}

/// The folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessFolder(PathBuf);

impl ProcessId {
    /// The running process, if the system tells when it started.
    #[must_use]
    pub fn present() -> Option<Self> {
        let pid = std::process::id();
        let (_, start) = imp::state_and_start(pid)?;
        Some(Self { pid, start })
    }

    /// True if it has not ended. One that has ended and is only waited for by its parent has.
    #[must_use]
    pub fn is_alive(self) -> bool {
        let is_it = |(state, start)| start == self.start && !matches!(state, 'Z' | 'X' | 'x');
        imp::state_and_start(self.pid).is_some_and(is_it)
    }
}

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.pid, self.start)
    }
}

impl FromStr for ProcessId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('.');
        let numbers =
            numbers.and_then(|(pid, start)| Some((pid.parse().ok()?, start.parse().ok()?)));
        let id = numbers.map(|(pid, start)| Self { pid, start });
        id.filter(|id| id.to_string() == text).ok_or_else(|| {
            format!("{text:?} is no process; a number, a point and the time of its start would be")
        })
    }
}

impl ProcessFolder {
    /// The places where the folder may be, that for new files first.
    #[must_use]
    pub fn places() -> Vec<PathBuf> {
        imp::places()
    }

    /// The folder where new files go. It is made if it is not there.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be made, or is not for this user alone.
    pub fn make() -> io::Result<Self> {
        let place = Self::places().into_iter().next().ok_or_else(unsupported)?;
        imp::make(&place)?;
        Self::open(&place)
    }

    /// The folder at that place.
    ///
    /// # Errors
    ///
    /// Fails if there is none, or it is not for this user alone.
    pub fn open(place: &Path) -> io::Result<Self> {
        imp::check_folder(place)?;
        Ok(Self(place.to_owned()))
    }

    /// The processes that have a file here, in the order of their numbers.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be read.
    pub fn processes(&self) -> io::Result<Vec<ProcessId>> {
        let mut found = Vec::new();
        for entry in self.0.read_dir()? {
            let name = entry?.file_name();
            found.extend(
                name.to_str()
                    .and_then(|name| ProcessId::from_str(name).ok()),
            );
        }
        found.sort_unstable();
        Ok(found)
    }

    /// The path of the file of this process.
    #[must_use]
    pub fn path(&self, process: ProcessId) -> PathBuf {
        self.0.join(process.to_string())
    }

    /// A new file for this process. It is found when it is [published](Self::publish).
    ///
    /// # Errors
    ///
    /// Fails if it cannot be made.
    pub fn create(&self, process: ProcessId) -> io::Result<File> {
        let draft = self.draft(process);
        // The program may have been replaced by `exec` before it had published it.
        let _ = std::fs::remove_file(&draft);
        imp::create(&draft)
    }

    /// Gives the new file its name.
    ///
    /// # Errors
    ///
    /// Fails if that cannot be.
    pub fn publish(&self, process: ProcessId) -> io::Result<()> {
        std::fs::rename(self.draft(process), self.path(process))
    }

    /// Opens the file of this process for reading.
    ///
    /// # Errors
    ///
    /// Fails if there is none, or it is no plain file of this user's.
    pub fn read(&self, process: ProcessId) -> io::Result<File> {
        imp::open(&self.path(process))
    }

    /// Removes the files of dead processes to which nothing was written for so long.
    pub fn remove_dead(&self, for_so_long: Duration) {
        let Ok(entries) = self.0.read_dir() else {
            return;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_str().map(|name| name.trim_end_matches(DRAFT));
            let process = name.and_then(|name| ProcessId::from_str(name).ok());
            let written = entry.metadata().and_then(|data| data.modified());
            let is_old = written.is_ok_and(|at| at.elapsed().is_ok_and(|age| age >= for_so_long));
            if process.is_some_and(|process| !process.is_alive()) && is_old {
                // Another process may have removed it just now.
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    fn draft(&self, process: ProcessId) -> PathBuf {
        self.0.join(format!("{process}{DRAFT}"))
    }
}

/// The end of the name of a file that is not published.
const DRAFT: &str = ".new";

fn unsupported() -> io::Error {
    let why = "this system does not tell when a process started, as Linux does";
    io::Error::new(io::ErrorKind::Unsupported, why)
}

#[cfg(all(target_os = "linux", not(any(miri, heist_loom, heist_shuttle))))]
mod imp {
    use std::env;
    use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
    use std::path::{Path, PathBuf};

    pub(super) fn state_and_start(pid: u32) -> Option<(char, u64)> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        // The name of the program, in brackets, may contain anything.
        let (_, fields) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let state = fields.first()?.chars().next()?;
        Some((state, fields.get(19)?.parse().ok()?))
    }

    fn user() -> u32 {
        // SAFETY: it only asks.
        unsafe { libc::geteuid() }
    }

    pub(super) fn places() -> Vec<PathBuf> {
        let given = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let is_ours = |path: &PathBuf| {
            let data = path.metadata();
            path.is_absolute() && data.is_ok_and(|data| data.is_dir() && data.uid() == user())
        };
        let first = given.filter(is_ours).map(|path| path.join("heist"));
        let other = env::temp_dir().join(format!("heist-{}", user()));
        first.into_iter().chain([other]).collect()
    }

    pub(super) fn make(folder: &Path) -> io::Result<()> {
        match DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }

    pub(super) fn check_folder(folder: &Path) -> io::Result<()> {
        let data = fs::symlink_metadata(folder)?;
        if !data.is_dir() {
            return Err(io::Error::other("it is no folder"));
        }
        check_owner(&data)?;
        if data.mode() & 0o077 != 0 {
            let mode = data.mode() & 0o777;
            let why = format!("others may enter it: its mode is {mode:o}, and 700 is needed");
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        Ok(())
    }

    fn check_owner(data: &Metadata) -> io::Result<()> {
        if data.uid() == user() {
            return Ok(());
        }
        let why = format!(
            "it belongs to user {}, and not to user {}",
            data.uid(),
            user()
        );
        Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
    }

    pub(super) fn create(path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600).open(path)
    }

    pub(super) fn open(path: &Path) -> io::Result<File> {
        // A pipe is not waited for.
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
        let file = file.map_err(|error| match error.raw_os_error() {
            Some(libc::ELOOP) => io::Error::other("it is a symbolic link, and no plain file"),
            _ => error,
        })?;
        let data = file.metadata()?;
        if !data.is_file() {
            return Err(io::Error::other("it is no plain file"));
        }
        check_owner(&data)?;
        Ok(file)
    }
}

#[cfg(not(all(target_os = "linux", not(any(miri, heist_loom, heist_shuttle)))))]
mod imp {
    use std::fs::File;
    use std::io;
    use std::path::{Path, PathBuf};

    use super::unsupported;

    pub(super) fn state_and_start(_pid: u32) -> Option<(char, u64)> {
        None
    }

    pub(super) fn places() -> Vec<PathBuf> {
        Vec::new()
    }

    pub(super) fn make(_folder: &Path) -> io::Result<()> {
        Err(unsupported())
    }

    pub(super) fn check_folder(_folder: &Path) -> io::Result<()> {
        Err(unsupported())
    }

    pub(super) fn create(_path: &Path) -> io::Result<File> {
        Err(unsupported())
    }

    pub(super) fn open(_path: &Path) -> io::Result<File> {
        Err(unsupported())
    }
}

#[cfg(all(test, target_os = "linux", not(any(miri, heist_loom, heist_shuttle))))]
mod tests {
    use std::fs::{self, Permissions};
    use std::io::Write as _;
    use std::os::unix::fs::{symlink, PermissionsExt as _};
    use std::time::SystemTime;

    use super::*;

    /// A folder with these rights, gone at the end.
    struct Made(PathBuf);

    impl Made {
        fn new(test: &str, mode: u32) -> Self {
            let name = format!("heist-folder-{}-{test}", std::process::id());
            let path = std::env::temp_dir().join(name);
            imp::make(&path).expect("a folder");
            fs::set_permissions(&path, Permissions::from_mode(mode)).expect("it is ours");
            Self(path)
        }
    }

    impl Drop for Made {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// A process that has ended: no system gives that number.
    const DEAD: ProcessId = ProcessId {
        pid: u32::MAX - 1,
        start: 7,
    };

    #[test]
    fn a_process_is_known_by_its_number_and_its_start() {
        let here = ProcessId::present().expect("Linux tells it");
        assert!(here.is_alive());
        let other = ProcessId {
            start: here.start + 1,
            ..here
        };
        assert!(!other.is_alive() && !DEAD.is_alive());
        for text in [
            "", "1", "1.", ".1", "1.2.3", "+1.2", "01.2", "1.2.new", "-1.2", "a.b",
        ] {
            assert!(text.parse::<ProcessId>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_process_that_is_only_waited_for_has_ended() {
        let mut child = std::process::Command::new("true").spawn().expect("it runs");
        let id = child.id();
        let state = || imp::state_and_start(id).expect("it is waited for");
        while state().0 != 'Z' {
            std::thread::yield_now();
        }
        let (pid, start) = (id, state().1);
        assert!(!ProcessId { pid, start }.is_alive());
        child.wait().expect("it has ended");
    }

    #[test]
    fn a_folder_that_others_may_enter_or_that_is_a_link_is_refused() {
        let open = Made::new("open", 0o755);
        let why = ProcessFolder::open(&open.0).unwrap_err().to_string();
        assert!(why.contains("755") && why.contains("700"), "{why}");
        let ours = Made::new("ours", 0o700);
        ProcessFolder::open(&ours.0).expect("it is for us alone");
        let link = open.0.join("link");
        symlink(&ours.0, &link).expect("a link");
        assert!(ProcessFolder::open(&link).is_err());
        let missing = ProcessFolder::open(&open.0.join("missing")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_folder_of_somebody_else_is_refused() {
        // The tests run as some user, who may be root; the other one is not.
        let root = Path::new("/");
        let ours = Made::new("other", 0o700);
        let is_root = imp::check_folder(root).err();
        let other = if is_root.is_some_and(|why| why.to_string().contains("belongs to")) {
            root
        } else {
            if std::os::unix::fs::chown(&ours.0, Some(12_345), None).is_err() {
                let reason = "test skipped: only root can give a folder away\n";
                let _ = io::stderr().write_all(reason.as_bytes());
                return;
            }
            &ours.0
        };
        let why = ProcessFolder::open(other).unwrap_err();
        assert_eq!(why.kind(), io::ErrorKind::PermissionDenied);
        assert!(why.to_string().contains("belongs to user"), "{why}");
    }

    #[test]
    fn a_file_is_found_when_it_is_published_and_only_plain_ones_are_read() {
        let made = Made::new("files", 0o700);
        let folder = ProcessFolder::open(&made.0).expect("it is for us alone");
        folder.create(DEAD).expect("it is new");
        assert_eq!(folder.processes().expect("it is there"), []);
        folder.create(DEAD).expect("the draft is replaced");
        folder.publish(DEAD).expect("it is there");
        assert_eq!(folder.processes().expect("it is there"), [DEAD]);
        folder.read(DEAD).expect("it is ours");
        let of = |pid| ProcessId { pid, start: 1 };
        symlink(folder.path(DEAD), folder.path(of(1))).expect("a link");
        fs::create_dir(folder.path(of(2))).expect("a folder");
        for id in [1, 2].map(of) {
            let why = folder.read(id).unwrap_err().to_string();
            assert!(why.contains("no plain file"), "{why}");
        }
    }

    #[test]
    fn only_old_files_of_dead_processes_are_removed() {
        let made = Made::new("dead", 0o700);
        let folder = ProcessFolder::open(&made.0).expect("it is for us alone");
        let here = ProcessId::present().expect("Linux tells it");
        let fresh = ProcessId { start: 8, ..DEAD };
        for process in [here, DEAD, fresh] {
            let file = folder.create(process).expect("it is new");
            if process != fresh {
                let at = SystemTime::now() - Duration::from_secs(90);
                file.set_modified(at).expect("it is ours");
            }
            folder.publish(process).expect("it is there");
        }
        fs::write(made.0.join("notes"), "of somebody else").expect("a file");
        folder.remove_dead(Duration::from_secs(60));
        assert_eq!(folder.processes().expect("it is there"), [here, fresh]);
        assert!(made.0.join("notes").is_file());
    }
}
