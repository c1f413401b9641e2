//! A list of the files below a folder, and of the other entries there.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use walkdir::WalkDir;

use crate::progress;
use crate::workload::Skipped;

/// The entries below a folder.
pub(super) struct Found {
    /// The regular files, ordered by path.
    pub(super) files: Vec<PathBuf>,
    /// Their bytes in all, when they were listed.
    pub(super) bytes: u64,
    /// How many symbolic links there are; none was followed.
    pub(super) symlinks: u64,
    /// How many folders are marked as caches; none was entered.
    pub(super) caches: u64,
    /// Entries that could not be visited, or are no files.
    pub(super) skipped: Vec<Skipped>,
}

/// The file by which programs mark a folder whose contents they can make again, as Cargo does with
/// build results (the Cache Directory Tagging convention).
const CACHE_TAG: &str = "CACHEDIR.TAG";

/// Lists everything below `root`. Symbolic links are counted, not followed, and
/// folders marked as caches are counted, not entered, unless `root` is one.
///
/// # Errors
///
/// Fails if `root` itself cannot be visited.
pub(super) fn find(root: &Path) -> anyhow::Result<Found> {
    std::fs::metadata(root).with_context(|| {
        format!(
            "cannot read {} (--input accepts a folder with files)",
            root.display()
        )
    })?;
    let mut found = Found {
        files: Vec::new(),
        bytes: 0,
        symlinks: 0,
        caches: 0,
        skipped: Vec::new(),
    };
    let progress = progress::spinner("listing files");
    let mut walk = WalkDir::new(root).into_iter();
    while let Some(entry) = walk.next() {
        progress.inc(1);
        match entry {
            Ok(entry) if entry.file_type().is_dir() => {
                if entry.depth() > 0 && entry.path().join(CACHE_TAG).is_file() {
                    found.caches += 1;
                    walk.skip_current_dir();
                }
            }
            Ok(entry) if entry.file_type().is_file() => {
                found.bytes += entry.metadata().map_or(0, |metadata| metadata.len());
                found.files.push(entry.into_path());
            }
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
