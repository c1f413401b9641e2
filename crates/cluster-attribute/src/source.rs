//! A number that changes when the source of a package does.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use proc_macro2::TokenStream;

/// Of the `item` below an attribute and of all source files of its package.
pub(crate) fn hash(item: &TokenStream) -> u64 {
    let mut hasher = DefaultHasher::new();
    package().hash(&mut hasher);
    item.to_string().hash(&mut hasher);
    hasher.finish()
}

/// Of the files below `src`, read once for each run of the compiler. It runs anew whenever
/// one of those that matter changes.
fn package() -> u64 {
    static PACKAGE: OnceLock<u64> = OnceLock::new();
    *PACKAGE.get_or_init(|| {
        let mut hasher = DefaultHasher::new();
        if let Some(folder) = std::env::var_os("CARGO_MANIFEST_DIR") {
            let folder = PathBuf::from(folder).join("src");
            let mut files = Vec::new();
            collect(&folder, &mut files);
            files.sort();
            for file in files {
                file.strip_prefix(&folder).ok().hash(&mut hasher);
                fs::read(&file).ok().hash(&mut hasher);
            }
        }
        hasher.finish()
    })
}

/// The Rust files below `folder`. What cannot be read the compiler cannot read either.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
