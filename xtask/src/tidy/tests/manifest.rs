//! Dependencies and their reasons.

use super::{assert_caught, assert_clean};

#[test]
fn dependencies_point_down() {
    let manifest = |text: &str| format!("[package]\nname = \"heist-observe\"\n{text}\n");
    let path = "crates/observe/Cargo.toml";
    for text in [
        "[dependencies]\nheist-deque.workspace = true",
        "[dependencies]\nd = { path = \"../deque\", package = \"heist-deque\" }",
        "[dependencies.heist-deque]\nworkspace = true",
        "[target.'cfg(target_os = \"linux\")'.dependencies]\nheist-deque.workspace = true",
        "[dev-dependencies]\nheist-deque.workspace = true",
        "[build-dependencies]\nheist-deque = { path = \"../deque\" }",
    ] {
        let line = if text.starts_with("[dependencies.") {
            3
        } else {
            4
        };
        assert_caught(
            &[(path, &manifest(text))],
            &format!("{path}:{line}"),
            "`observe` must not depend on `deque`: it may use only event",
        );
    }
    assert_clean(&[
        (
            path,
            &manifest(
                "[dependencies]\nheist-event.workspace = true\n\
                 [dev-dependencies]\nheist-sync.workspace = true",
            ),
        ),
        (
            "bench/Cargo.toml",
            "[package]\nname = \"bench\"\n[dependencies]\nheist-deque.workspace = true\n",
        ),
    ]);
    assert_caught(
        &[("crates/new/Cargo.toml", "[package]\nname = \"heist-new\"\n")],
        "crates/new/Cargo.toml:1",
        "nothing says what `new` may depend on; add it to `## Direction` in ARCHITECTURE.md",
    );
}

#[test]
fn each_crate_and_program_has_a_row() {
    let manifest = |text: &str| format!("[package]\nname = \"heist-x\"\n{text}\n");
    for (path, dependency, may_use) in [
        ("workloads", "heist.workspace = true", "nothing of ours"),
        (
            "cli",
            "heist-deque = { path = \"../crates/deque\" }",
            "only event",
        ),
        ("crates/sim", "heist-par.workspace = true", "only core"),
        ("run", "heist-sim.workspace = true", "only event"),
        (
            "lab",
            "heist-rayon = { path = \"../compat/rayon\" }",
            "only xtask",
        ),
    ] {
        let path = format!("{path}/Cargo.toml");
        let text = manifest(&format!("[dependencies]\n{dependency}"));
        let map = (
            "ARCHITECTURE.md",
            "`.ci` `crates` `deque` `sim` `workloads` `cli` `run` `lab`",
        );
        let says = format!("it may use {may_use}; move what");
        assert_caught(&[map, (&path, &text)], &format!("{path}:4"), &says);
    }
}

#[test]
fn every_dependency_from_outside_has_a_reason() {
    let path = "crates/par/Cargo.toml";
    for text in [
        "[dependencies]\nserde = \"1\"",
        "[dependencies]\nserde.version = \"1#2\"",
        "[dev-dependencies]\nserde = { version = \"1\", features = [\n  \"derive\", # for tests\n] }",
        "[dependencies]\n# One reason is for one dependency.\nanyhow = \"1\"\nserde = \"1\"",
        "[workspace.dependencies]\nserde = \"1\"",
        "[dependencies.serde]\nversion = \"1\"",
    ] {
        let at = text.lines().position(|line| line.contains("serde")).unwrap() + 1;
        assert_caught(
            &[(path, text)],
            &format!("{path}:{at}"),
            "the dependency `serde` has no reason",
        );
    }
    assert_clean(&[(
        path,
        "[package]\nname = \"heist-par\"\n[dependencies]\n# Reads the cases.\nserde = \"1\"\n\
         anyhow = \"1\" # says what was attempted\nshared.workspace = true\n\
         other = { workspace = true }\nheist-core = { path = \"../core\" }\n\
         # Draws.\n[dependencies.png]\nversion = \"1\"\nfeatures = [\"a\"]\n",
    )]);
}

#[test]
fn peers_are_named_only_in_the_benchmark() {
    let path = "crates/deque/Cargo.toml";
    for text in [
        "[dev-dependencies]\n# Compares.\nrayon = \"1\"\n",
        "[dev-dependencies]\n# Compares.\nother = { version = \"1\", package = \"tokio\" }\n",
    ] {
        assert_caught(&[(path, text)], &format!("{path}:3"), "the peer");
    }
    assert_clean(&[
        (
            "bench/Cargo.toml",
            "[dependencies]\n# A peer.\nrayon = \"1\"\n",
        ),
        (
            "crates/par/Cargo.toml",
            "[dependencies]\n# Adapters for its types.\nrayon-iter-adapters = \"1\"\n",
        ),
    ]);
}

#[test]
fn a_manifest_that_cannot_be_read_is_named() {
    assert_caught(
        &[("bench/Cargo.toml", "[dependencies\n")],
        "bench/Cargo.toml:1",
        "cannot be read",
    );
}
