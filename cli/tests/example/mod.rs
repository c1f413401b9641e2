//! The example program of `heist cluster`, and the events of its runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

/// The example `sums`. Cargo has built it beside the program if it built all targets.
pub(crate) fn sums() -> &'static Path {
    static SUMS: OnceLock<PathBuf> = OnceLock::new();
    SUMS.get_or_init(|| {
        let heist = Path::new(env!("CARGO_BIN_EXE_heist"));
        let folder = heist.parent().expect("the folder of a profile");
        let program = folder.join("examples").join("sums");
        if !program.exists() {
            let profile = match folder.file_name().and_then(|name| name.to_str()) {
                Some("debug") | None => "dev",
                Some(profile) => profile,
            };
            let target = folder.parent().expect("the target folder");
            let built = Command::new(env!("CARGO"))
                .args(["build", "-p", "heist-cli", "--example", "sums"])
                .args(["--profile", profile, "--target-dir"])
                .arg(target)
                .current_dir(env!("CARGO_MANIFEST_DIR"))
                .status();
            assert!(built.expect("cargo starts").success(), "it was not built");
        }
        program
    })
}

/// The whole lines among the events of the run `run` in `folder`.
pub(crate) fn events(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("run/events.jsonl")).unwrap_or_default();
    let whole = text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    whole
        .map(|line| serde_json::from_str(line).expect("an event"))
        .collect()
}
