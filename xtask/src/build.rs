//! Builds beside the usual one: a folder for each, and the compiler's flags.

use std::path::{Path, PathBuf};

/// A folder for what is built with one set of flags; a shared one would be
/// rebuilt whenever the flags change.
#[must_use]
pub fn target_folder(root: &Path, name: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    root.join(target).join(name)
}

/// `RUSTFLAGS` with `more` behind what the caller has set.
#[must_use]
pub fn flags(more: &str) -> String {
    let present = std::env::var("RUSTFLAGS").unwrap_or_default();
    format!("{present} {more}").trim_start().to_owned()
}
