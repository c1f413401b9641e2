//! The changelog, the map, and what documents show.

use super::{assert_caught, assert_clean};

#[test]
fn the_changelog_names_the_present_version() {
    assert_caught(
        &[("CHANGELOG.md", "## 10.1.0, 0.1.00\n")],
        "CHANGELOG.md:1",
        "0.1.0",
    );
    assert_clean(&[("CHANGELOG.md", "## [0.1.0] - 2026-01-01\n")]);
}

#[test]
fn the_map_names_every_folder() {
    let deque = "the folder `deque` is not on the map";
    for text in ["crates/\n", "crates/ mydeque/\n", "crates/ the deque\n"] {
        assert_caught(&[("ARCHITECTURE.md", text)], "ARCHITECTURE.md:1", deque);
    }
    assert_caught(
        &[(".hidden/file", "")],
        "ARCHITECTURE.md:1",
        "the folder `.hidden`",
    );
    assert_clean(&[("ARCHITECTURE.md", "crates/deque/\n")]);
    assert_clean(&[("ARCHITECTURE.md", "`crates` holds `deque`\n")]);
}

#[test]
fn the_map_names_files_that_are_there() {
    let map = |path: &str| format!("# Map\n\n`crates` `deque` `{path}`\n");
    for path in ["crates/deque/src/none.rs", "deque/none/", "none/lib.rs"] {
        let says = format!("`{path}` is not there");
        assert_caught(
            &[("ARCHITECTURE.md", &map(path))],
            "ARCHITECTURE.md:3",
            &says,
        );
    }
    for path in [
        "crates/deque/src/lib.rs",
        "deque/lib.rs",
        "deque/src/",
        "deque/{a,b}.rs",
        "a/b",
    ] {
        assert_clean(&[("ARCHITECTURE.md", &map(path))]);
    }
}

#[test]
fn a_dependency_that_a_document_shows_is_a_package_that_is_there() {
    let readme = |line: &str| format!("# heist\n\n```toml\n[dependencies]\n{line}\n```\n");
    for clean in [
        "heist-deque = { path = \"../heist/crates/deque\" }",
        "deque = { package = \"heist-deque\", path = \"../heist/crates/deque\" }",
        "other = { path = \"../other\" }\nserde = \"1\"",
    ] {
        assert_clean(&[("README.md", &readme(clean))]);
    }
    for (wrong, says) in [
        (
            "heist-deque = { path = \"../heist/crates/dequeue\" }",
            "crates/dequeue, which is not there",
        ),
        (
            "deque = { path = \"../heist/crates/deque\" }",
            "the package deque in crates/deque, which is not there",
        ),
        ("heist-deque = ", "no TOML"),
    ] {
        assert_caught(&[("README.md", &readme(wrong))], "README.md:3", says);
    }
    assert_caught(
        &[(
            "cli/README.md",
            "```toml\n[patch.crates-io]\nrayon-core = { path = \"../heist/compat/rayon\" }\n```\n",
        )],
        "cli/README.md:1",
        "compat/rayon, which is not there",
    );
}
