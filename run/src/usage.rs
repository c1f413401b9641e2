//! The error of a wrong call.

use std::error::Error;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// The program was called in a way that cannot work. Exit code 2.
#[derive(Debug)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Usage {}

/// Looks, before the work begins, whether `file` can be written. One that is not there is made, and
/// removed again: permissions do not tell of a disk that is full or cannot be written.
///
/// # Errors
///
/// Says why it cannot.
pub fn check_output(file: &Path) -> Result<(), Usage> {
    let cannot = |why: String| Usage(format!("cannot write {}: {why}", file.display()));
    let refused = |error: io::Error| cannot(format!("{error}; name a file that can be written"));
    let there = match fs::metadata(file) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match fs::read_link(file) {
                // A link to where there is nothing yet.
                Ok(target) => check_output(&file.parent().unwrap_or(file).join(target)),
                Err(_) => can_be_made(file).map_err(|error| match folder(file) {
                    Some(folder) if !folder.is_dir() => {
                        cannot(format!("there is no folder {}", folder.display()))
                    }
                    _ => refused(error),
                }),
            };
        }
        Err(error) => return Err(refused(error)),
    };
    if there.is_dir() {
        return Err(cannot("it is a folder; name a file".to_owned()));
    }
    if !there.is_file() {
        // Opening a FIFO would wait for its reader.
        return Ok(());
    }
    let opened = OpenOptions::new().append(true).open(file);
    opened.map(drop).map_err(refused)
}

/// The folder in which a file is to lie, unless it is the present one.
fn folder(file: &Path) -> Option<&Path> {
    let folder = file.parent();
    folder.filter(|folder| !folder.as_os_str().is_empty())
}

/// The file by its one name among all those that lead to it.
fn where_is(file: &Path) -> PathBuf {
    let there = fs::canonicalize(file);
    there.unwrap_or_else(|_| {
        let folder = fs::canonicalize(folder(file).unwrap_or(Path::new(".")));
        let name = file.file_name().unwrap_or_default();
        folder.map_or_else(|_| file.to_owned(), |folder| folder.join(name))
    })
}

fn can_be_made(file: &Path) -> io::Result<()> {
    File::create_new(file)?;
    fs::remove_file(file)
}

/// Looks whether each of the outputs that a call names can be written, and is another file. Each is
/// given with its flag.
///
/// # Errors
///
/// Fails if one cannot, or two have the same name.
pub fn check_outputs(files: &[(&str, Option<&Path>)]) -> Result<(), Usage> {
    for (n, &(flag, file)) in files.iter().enumerate() {
        let Some(file) = file else {
            continue;
        };
        let is_same =
            |other: &Option<&Path>| other.is_some_and(|other| where_is(other) == where_is(file));
        if let Some((other, _)) = files[..n].iter().find(|(_, other)| is_same(other)) {
            return Err(Usage(format!(
                "{other} and {flag} are both {}; name a file for each",
                file.display()
            )));
        }
        check_output(file)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_can_be_written_stays_as_it_is_and_a_new_one_is_not_left() {
        let folder = tempfile::tempdir().expect("a folder");
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        fs::write(&old, "words").expect("a file");
        check_output(&old).expect("it can be written");
        check_output(&new).expect("it can be made");
        assert_eq!(fs::read_to_string(&old).expect("it is there"), "words");
        assert!(!new.exists());
    }

    #[test]
    fn a_name_that_the_system_does_not_take_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let long = folder.path().join("n".repeat(300));
        let refusal = check_output(&long).expect_err("it is too long").0;
        assert!(
            refusal.contains("name a file that can be written"),
            "{refusal}"
        );
        let below = folder.path().join("old").join("new");
        fs::write(folder.path().join("old"), "words").expect("a file");
        let refusal = check_output(&below).expect_err("a file is no folder").0;
        assert!(refusal.starts_with("cannot write "), "{refusal}");
    }

    #[test]
    fn two_outputs_do_not_go_to_one_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let (one, other) = (folder.path().join("one"), folder.path().join("other"));
        let files = |second| [("--a", Some(one.as_path())), ("--b", None), ("--c", second)];
        check_outputs(&files(Some(&other))).expect("they differ");
        let refusal = check_outputs(&files(Some(&one)))
            .expect_err("they do not")
            .0;
        assert!(refusal.contains("--a and --c are both"), "{refusal}");
        fs::create_dir(folder.path().join("sub")).expect("a folder");
        let around = folder.path().join("sub/../one");
        check_outputs(&files(Some(&around))).expect_err("it is the same, and not there yet");
        fs::write(&one, "words").expect("a file");
        check_outputs(&files(Some(&around))).expect_err("it is the same");
    }

    /// The system's own folders take no file from anybody, the administrator included.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_that_takes_no_file_is_refused() {
        let refusal = check_output(Path::new("/sys/kernel/page.html"));
        let refusal = refusal.expect_err("no file can be made there").0;
        assert!(
            refusal.contains("name a file that can be written"),
            "{refusal}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_as_good_as_what_it_leads_to() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name| folder.path().join(name);
        symlink("new", path("good")).expect("a link");
        symlink("no/such/new", path("bad")).expect("a link");
        symlink("round", path("round")).expect("a link");
        check_output(&path("good")).expect("its target can be made");
        assert!(path("good").is_symlink() && !path("new").exists());
        check_output(&path("bad")).expect_err("its target cannot be made");
        check_output(&path("round")).expect_err("it leads nowhere");
    }
}
