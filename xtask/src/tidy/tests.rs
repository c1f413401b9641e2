//! Each rule catches a violation and accepts what is clean.

mod documents;
mod drawing;
mod everywhere;
mod examples;
mod layout;
mod links;
mod manifest;
mod modules;
mod prose;
mod skips;
mod source;

use std::fs;

use super::check;
use super::repository::Violation;

const LIB: &str = "crates/deque/src/lib.rs";

/// The end of each map.
const DIRECTION: &str = "
## Direction

| crate | may use |
|---|---|
| `sync`, `core`, `event`, `futures`, `heist`, `cluster`, `rayon`, `book` | nothing of ours |
| `workloads`, `soak`, `xtask` | nothing of ours |
| `deque`, `par` | `sync`, `core` |
| `observe`, `cli`, `run` | `event` |
| `sim` | `core` |
| `lab` | `xtask` |
";

/// A repository made of these files over a clean one, and what tidy says of it.
fn violations(files: &[(&str, &str)]) -> Vec<Violation> {
    let clean = [
        (
            "Cargo.toml",
            "[workspace]\n[workspace.package]\nversion = \"0.1.0\"\n",
        ),
        (
            "crates/deque/Cargo.toml",
            "[package]\nname = \"heist-deque\"\n[dependencies]\nheist-sync.workspace = true\n",
        ),
        (LIB, ""),
        ("CHANGELOG.md", "## 0.1.0\n"),
        (
            "ARCHITECTURE.md",
            "crates/\n  deque/ sync/ core/ par/ observe/ cluster/ new/\nworkloads/ cli/ bench/ `.ci`\n",
        ),
        ("target/CACHEDIR.TAG", ""),
        ("target/debug/generated.rs", concat!("// TO", "DO\n")),
    ];
    let root = tempfile::tempdir().unwrap();
    for (path, text) in clean.iter().chain(files) {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let end = if path.ends_with("ARCHITECTURE.md") {
            DIRECTION
        } else {
            ""
        };
        fs::write(path, format!("{text}{end}")).unwrap();
    }
    check(root.path()).unwrap().violations
}

#[track_caller]
fn assert_clean(files: &[(&str, &str)]) {
    assert_eq!(violations(files), []);
}

/// There is just one violation, at this place, and it says this.
#[track_caller]
fn assert_caught(files: &[(&str, &str)], place: &str, says: &str) {
    let found: Vec<String> = violations(files).iter().map(Violation::to_string).collect();
    match found.as_slice() {
        [one] if one.starts_with(&format!("{place}: ")) && one.contains(says) => {}
        _ => panic!("expected {place}: ..{says}.., found {found:#?}"),
    }
}

#[test]
fn a_clean_repository_has_no_violation() {
    assert_clean(&[]);
}
