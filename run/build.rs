//! Tells the program from which commit it was built, for the document of `heist run --json`.

use std::path::Path;
use std::process::Command;

fn main() {
    let root = Path::new("..");
    // A release that was unpacked has no repository, and then no commit is named.
    let commit = git(&[
        "describe",
        "--always",
        "--dirty",
        "--abbrev=12",
        "--exclude=*",
    ]);
    println!(
        "cargo::rustc-env=HEIST_COMMIT={}",
        commit.unwrap_or_default()
    );
    let libraries = ["core", "deque", "event", "heist", "observe", "par", "sync"];
    let sources = libraries.map(|name| root.join("crates").join(name));
    for path in sources
        .into_iter()
        .chain([root.join("run"), root.join("workloads")])
    {
        // A path that is not there would be looked for each time.
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

/// The answer of git, if there is one.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let answer = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| answer.trim().to_owned())
}
