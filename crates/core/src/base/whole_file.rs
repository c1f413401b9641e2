//! Files that are the user's alone, and never half written.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// The path of the file that the value of a variable names without its ending.
///
/// # Errors
///
/// Says why no file can be made there.
pub(crate) fn named(value: &std::ffi::OsStr, ending: &str) -> Result<PathBuf, String> {
    if value.is_empty() {
        return Err("it is empty".to_owned());
    }
    let mut file = value.to_owned();
    file.push(ending);
    let file = std::path::absolute(file).map_err(|error| error.to_string())?;
    let draft = draft(&file);
    create(&draft)
        .and_then(|_| fs::remove_file(&draft))
        .map_err(|error| format!("{}: {error}", draft.display()))?;
    Ok(file)
}

/// Puts a file there, with what `write` writes, in the place of another one.
///
/// # Errors
///
/// Fails if the file cannot be written; then there is no part of it.
pub(crate) fn put(file: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let draft = draft(file);
    let mut out = create(&draft)?;
    let written = write(&mut out);
    let written = written.and_then(|()| out.sync_data());
    let put = written.and_then(|()| fs::rename(&draft, file));
    put.inspect_err(|_| {
        // The error says what is wrong with the disk or the name.
        let _ = fs::remove_file(&draft);
    })
}

/// The file that it is until it is whole.
fn draft(file: &Path) -> PathBuf {
    let mut draft = file.as_os_str().to_owned();
    draft.push(format!(".{}", std::process::id()));
    draft.into()
}

/// A new file for the user alone.
fn create(file: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)
}
