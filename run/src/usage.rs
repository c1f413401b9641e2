//! The error of a wrong call.

use std::error::Error;
use std::fmt;
use std::path::Path;

/// The program was called in a way that cannot work. Exit code 2.
#[derive(Debug)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Usage {}

/// Looks, before the work begins, whether `file` can be written.
///
/// # Errors
///
/// Fails if it has no folder to lie in, or is one.
pub fn check_output(file: &Path) -> Result<(), Usage> {
    let cannot = |why: String| Err(Usage(format!("cannot write {}: {why}", file.display())));
    if file.is_dir() {
        return cannot("it is a folder; name a file".to_owned());
    }
    let folder = file.parent();
    match folder.filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) if !folder.is_dir() => {
            cannot(format!("there is no folder {}", folder.display()))
        }
        _ => Ok(()),
    }
}
