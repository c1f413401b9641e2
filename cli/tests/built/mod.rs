//! The examples, as programs to run.

use std::path::{Path, PathBuf};
use std::process::Command;

/// An example. Cargo has built it beside the program if it built all targets.
pub(crate) fn example(name: &str) -> PathBuf {
    let heist = Path::new(env!("CARGO_BIN_EXE_heist"));
    let folder = heist.parent().expect("the folder of a profile");
    let program = folder.join("examples").join(name);
    if !program.exists() {
        let profile = match folder.file_name().and_then(|name| name.to_str()) {
            Some("debug") | None => "dev",
            Some(profile) => profile,
        };
        let target = folder.parent().expect("the target folder");
        let built = Command::new(env!("CARGO"))
            .args(["build", "-p", "heist-cli", "--example", name])
            .args(["--profile", profile, "--target-dir"])
            .arg(target)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(built.expect("cargo starts").success(), "it was not built");
    }
    program
}
