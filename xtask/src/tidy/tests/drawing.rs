//! The drawing of the tree.

use super::{assert_caught, assert_clean, LIB};

const MAP: &str = "ARCHITECTURE.md";

/// A map whose drawing has these lines for the crate `deque`.
fn map(lines: &str) -> String {
    format!("# Map\n\n```\ncrates/\n  deque/    {lines}\n```\n\n`none.rs`\n")
}

#[test]
fn the_drawing_names_what_is_there() {
    let files = |lines: &str| {
        let text = [
            ("crates/deque/tests/all.rs", ""),
            ("crates/deque/src/a.rs", "mod b;"),
            ("crates/deque/src/a/b.rs", ""),
            (LIB, "mod a;"),
        ];
        (map(lines), text)
    };
    for (lines, line, name) in [
        ("a.rs, none.rs", 5, "none.rs"),
        ("a.rs\n    none/    nothing", 6, "none/"),
        ("a.rs\n    a/  all.rs is elsewhere", 6, "all.rs"),
        ("a.rs, a/c.rs", 5, "a/c.rs"),
    ] {
        let (map, text) = files(lines);
        let says = format!("`{name}` is not there");
        let all = [&text[..], &[(MAP, &map)]].concat();
        assert_caught(&all, &format!("{MAP}:{line}"), &says);
    }
    for lines in [
        "two ends; a.rs, a/b.rs (tests/all.rs)",
        "two ends\n    src/   in order\n      a/   with b.rs and tests/",
    ] {
        let (map, text) = files(lines);
        assert_clean(&[&text[..], &[(MAP, &map)]].concat());
    }
}

#[test]
fn the_drawing_leaves_nothing_of_a_crate_out() {
    let says = |path: &str| format!("`{path}` is not in the drawing");
    let place = format!("{MAP}:3");
    let check = |drawn: &str, files: &[(&str, &str)], missing: Option<&str>| {
        let map = map(drawn);
        let all = [&[(MAP, &*map)], files].concat();
        match missing {
            Some(path) => assert_caught(&all, &place, &says(path)),
            None => assert_clean(&all),
        }
    };
    let (lib, test) = (
        (LIB, "mod a;\nmod tests;"),
        ("crates/deque/src/tests.rs", ""),
    );
    let file = "crates/deque/src/a.rs";
    check("two ends", &[lib, test, (file, "")], Some(file));
    let inner = ("crates/deque/src/a/b.rs", "");
    check("a.rs", &[lib, test, (file, "mod b;"), inner], None);
    // In core, the files of folders too.
    let core = [
        (
            "crates/core/Cargo.toml",
            "[package]\nname = \"heist-core\"\n",
        ),
        ("crates/core/src/lib.rs", "mod a;"),
        ("crates/core/src/a.rs", "mod b;"),
        ("crates/core/src/a/b.rs", ""),
    ];
    check(
        "two ends\n  core/  a/",
        &core,
        Some("crates/core/src/a/b.rs"),
    );
    check("two ends\n  core/\n    a/  b.rs", &core, None);
}
