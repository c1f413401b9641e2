//! Lists the files below a folder, and what is there beside files.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use walkdir::WalkDir;

use crate::progress;
use crate::workload::Skipped;

/// What lies below a folder.
pub(super) struct Found {
    /// The regular files, ordered by path.
    pub(super) files: Vec<PathBuf>,
    /// How many symbolic links there are; none was followed.
    pub(super) symlinks: u64,
    /// What could not be visited, or is no file.
    pub(super) skipped: Vec<Skipped>,
}

/// Lists everything below `root`. Symbolic links are counted, not followed.
///
/// # Errors
///
/// Fails if `root` itself cannot be visited.
pub(super) fn find(root: &Path) -> anyhow::Result<Found> {
    std::fs::metadata(root)
        .with_context(|| format!("cannot read the folder {} (--input)", root.display()))?;
    let mut found = Found {
        files: Vec::new(),
        symlinks: 0,
        skipped: Vec::new(),
    };
    let progress = progress::spinner("listing files");
    for entry in WalkDir::new(root) {
        progress.inc(1);
        match entry {
            Ok(entry) if entry.file_type().is_dir() => {}
            Ok(entry) if entry.file_type().is_file() => found.files.push(entry.into_path()),
            Ok(entry) if entry.file_type().is_symlink() => found.symlinks += 1,
            Ok(entry) => found.skipped.push(Skipped {
                what: entry.path().display().to_string(),
                // Opening a FIFO would wait for a writer for ever.
                reason: "no regular file (a FIFO, a socket or a device)".to_owned(),
            }),
            Err(error) => found.skipped.push(Skipped {
                what: error.path().unwrap_or(root).display().to_string(),
                reason: error.to_string(),
            }),
        }
    }
    progress.finish_and_clear();
    found.files.sort_unstable();
    Ok(found)
}
