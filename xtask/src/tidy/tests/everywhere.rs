//! The rules hold in every crate.

use super::{assert_caught, assert_clean};

/// Folders of crates, one at least in each room.
const CRATES: [&str; 15] = [
    "bench/runner",
    "book",
    "cli",
    "compat/rayon",
    "crates/cluster",
    "crates/core",
    "crates/event",
    "crates/heist",
    "crates/observe",
    "crates/par",
    "crates/sim",
    "lab",
    "run",
    "xtask",
    "xtask/soak",
];

/// A repository with such a crate, whose module `a` has this text, and `b` that one.
fn with_crate(folder: &str, a: &str, b: &str, check: impl Fn(&[(&str, &str)], &str)) {
    let name = folder.rsplit('/').next().unwrap();
    let top = folder.split('/').next().unwrap();
    let map = format!("`.ci` `crates` `deque` `{name}` `{top}`\n");
    let path = |file: &str| format!("{folder}/{file}");
    let manifest = format!("[package]\nname = \"{name}\"\n");
    let files = [
        ("ARCHITECTURE.md", &*map),
        (&path("Cargo.toml"), &*manifest),
        (
            &path("src/lib.rs"),
            "#![forbid(unsafe_code)]\nmod a;\nmod b;\n",
        ),
        (&path("src/a.rs"), a),
        (&path("src/b.rs"), b),
    ];
    check(&files, &path("src/a.rs"));
}

#[test]
fn each_rule_holds_in_every_crate() {
    let long = format!("fn f() {{\n{}}}\n", "    g();\n".repeat(59));
    let file = "const A: u8 = 0;\n".repeat(601);
    let wide = format!("// {}end\n", "word ".repeat(20));
    let planted: [(&str, &str, &str); 9] = [
        (
            "use crate::b::B;\nstruct A(B);\n",
            "1",
            "files use each other in a circle",
        ),
        (&long, "1", "the function has 61 lines"),
        (&file, "1", "the file has 601 lines"),
        ("fn f() {\n    unsafe { g() }\n}\n", "2", "has no argument"),
        (
            "use crate::b::B;\nuse std::fmt;\n",
            "2",
            "belongs further up",
        ),
        (
            "/// Which.\nfn f() {}\n",
            "1",
            "is all that the documentation says",
        ),
        ("// What it does.\n", "1", "a sentence begins with"),
        (
            "/// Good prose.\n///\n/// Nobody knows.\nfn f() {}\n",
            "3",
            "a sentence begins with",
        ),
        (&wide, "1", "wider than 100 columns"),
    ];
    for folder in CRATES {
        for (text, line, says) in planted {
            let is_circle = text.contains("struct A");
            let b = if is_circle {
                "use crate::a::A;\npub(crate) struct B(A);\n"
            } else {
                "pub(crate) struct B;\n"
            };
            with_crate(folder, text, b, |files, path| {
                assert_caught(files, &format!("{path}:{line}"), says);
            });
        }
        with_crate(folder, "//! Clean code.\n", "", |files, _| {
            assert_clean(files);
        });
    }
}

#[test]
fn documentation_of_every_library_names_the_facade() {
    for folder in ["core", "par", "futures", "cluster", "heist"] {
        let text = "/// Joins two.\n///\n/// ```\n/// heist_core::join(a, b)\n/// ```\nfn f() {}\n";
        with_crate(&format!("crates/{folder}"), text, "", |files, path| {
            assert_caught(
                files,
                &format!("{path}:4"),
                "documentation names `heist_core::`",
            );
        });
    }
}
