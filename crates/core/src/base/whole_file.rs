//! Files that are the user's alone, and never half written.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// The most drafts of one file that are left before no other is made.
const DRAFTS: u32 = 100;

/// The path of the file that the value of a variable names without its ending.
///
/// # Errors
///
/// Says why no file can be made there.
pub(crate) fn named(value: &std::ffi::OsStr, ending: &str) -> Result<PathBuf, String> {
    if value.is_empty() {
        return Err("it is empty".to_owned());
    }
    let last = value.as_encoded_bytes().rsplit(|&sign| sign == b'/').next();
    if matches!(last, Some(b"" | b"." | b"..")) {
        return Err(format!("{} is a folder", told(value.as_ref())));
    }
    let mut file = value.to_owned();
    file.push(ending);
    let file = std::path::absolute(file).map_err(|error| error.to_string())?;
    if file.is_dir() {
        return Err(format!("{} is a folder", told(&file)));
    }
    let made = draft(&file).and_then(|(draft, _)| fs::remove_file(draft));
    made.map_err(|error| format!("{}: {error}", told(&file)))?;
    Ok(file)
}

/// The name as a terminal may show it, and a line of a file hold it: with control characters
/// escaped.
pub(crate) fn told(name: &Path) -> String {
    let mut told = String::new();
    for sign in name.to_string_lossy().chars() {
        match sign.is_control() {
            true => told.extend(sign.escape_default()),
            false => told.push(sign),
        }
    }
    told
}

/// Puts a file there, with what `write` writes, in the place of another one.
///
/// # Errors
///
/// Fails if the file cannot be written; then there is no part of it.
pub(crate) fn put(file: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let (draft, mut out) = draft(file)?;
    let written = write(&mut out);
    let written = written.and_then(|()| out.sync_data());
    let put = written.and_then(|()| fs::rename(&draft, file));
    put.inspect_err(|_| {
        // The error says what is wrong with the disk or the name.
        let _ = fs::remove_file(&draft);
    })
}

/// The file that it is until it is whole. A process that was killed meanwhile has left its own, and
/// in a container each one may have the same number.
fn draft(file: &Path) -> io::Result<(PathBuf, File)> {
    let mut attempts = 0..DRAFTS;
    loop {
        let mut draft = file.as_os_str().to_owned();
        draft.push(format!(".{}", std::process::id()));
        match attempts.next() {
            Some(0) => {}
            Some(attempt) => draft.push(format!("-{attempt}")),
            None => return Err(io::ErrorKind::AlreadyExists.into()),
        }
        let draft = PathBuf::from(draft);
        match create(&draft) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|made| (draft, made)),
        }
    }
}

/// A new file for the user alone.
fn create(file: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)
}

#[cfg(all(test, unix, not(any(miri, heist_loom, heist_shuttle))))]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_name_does_nothing_to_a_terminal() {
        let name = Path::new("a\x1b[31m\nb/größe.json");
        assert_eq!(told(name), "a\\u{1b}[31m\\nb/größe.json");
        assert_eq!(told(Path::new("run.json")), "run.json");
    }

    /// A folder of the test's own, gone at the end.
    struct Folder(PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_a_process_of_the_same_number_has_left_is_in_nobodys_way() {
        let name = format!("heist-whole-file-{}", std::process::id());
        let folder = Folder(std::env::temp_dir().join(name));
        fs::create_dir(&folder.0).expect("a folder");
        let name = folder.0.join("run");
        let (left, _) = draft(&folder.0.join("run.json")).expect("it is new");
        let file = named(name.as_os_str(), ".json").expect("another draft is made");
        put(&file, |out| out.write_all(b"whole")).expect("it can be written");
        assert_eq!(fs::read(&file).expect("it is there"), b"whole");
        assert_eq!(fs::read(&left).expect("it is there"), b"");
        assert_eq!(fs::read_dir(&folder.0).expect("it is there").count(), 2);
    }

    #[test]
    fn a_name_that_a_folder_has_is_refused() {
        let folder = std::env::temp_dir();
        let refusal = named(folder.as_os_str(), "").expect_err("it is a folder");
        assert!(refusal.ends_with(" is a folder"), "{refusal}");
        for name in [".", "..", "/", "run/", "a/../.."] {
            let refusal = named(name.as_ref(), ".json").expect_err(name);
            assert!(refusal.ends_with(" is a folder"), "{name}: {refusal}");
        }
    }
}
