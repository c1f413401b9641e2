//! Small workspaces, in which something changes.

use super::*;

/// A workspace with a package, what it names by a path, and what that one names.
struct Workspace(tempfile::TempDir);

const LOCK: &str = r#"
version = 4

[[package]]
name = "program"
version = "1.0.0"
dependencies = ["deep", "shapes", "serde 1.0.1"]

[[package]]
name = "deep"
version = "0.1.0"
dependencies = ["itoa"]

[[package]]
name = "shapes"
version = "0.1.0"

[[package]]
name = "itoa"
version = "1.0.0"
source = "registry"
checksum = "aa"

[[package]]
name = "serde"
version = "1.0.1"
source = "registry"
checksum = "bb"

[[package]]
name = "serde"
version = "0.9.0"
source = "registry"
checksum = "cc"

[[package]]
name = "other"
version = "1.0.0"
dependencies = ["serde 0.9.0"]
"#;

impl Workspace {
    fn new() -> Self {
        let this = Self(tempfile::tempdir().expect("a folder"));
        let root = "[workspace]\n[workspace.dependencies]\nshapes = { path = \"lib/shapes\" }\n\
                    unused = { path = \"lib/unused\" }\n\
                    [patch.crates-io]\nitoa = { path = \"lib/itoa\" }";
        let program = "[package]\nname = \"program\"\n[dependencies]\nshapes.workspace = true\n\
                       serde = \"1\"\n[target.'cfg(unix)'.dependencies]\n\
                       deep = { path = \"../lib/deep\", default-features = false }";
        let deep = "[package]\nname = \"deep\"\n[lib]\npath = \"code/lib.rs\"\n\
                    [build-dependencies]\nbuilder = { path = \"../builder\" }\n\
                    [dev-dependencies]\nprogram = { path = \"../../program\" }\n\
                    mock = { path = \"../mock\" }";
        for (path, text) in [
            ("Cargo.lock", LOCK),
            ("Cargo.toml", root),
            ("program/Cargo.toml", program),
            ("program/src/lib.rs", "mod inner;"),
            ("program/src/inner.rs", ""),
            ("program/README.md", ""),
            ("lib/shapes/Cargo.toml", "[package]\nname = \"shapes\""),
            (
                "lib/shapes/src/lib.rs",
                "pub struct Pair { pub a: i64, pub b: i64 }",
            ),
            ("lib/shapes/src/table.txt", "1 2 3"),
            ("lib/deep/Cargo.toml", deep),
            ("lib/deep/code/lib.rs", ""),
            ("lib/deep/code/more.rs", ""),
            ("lib/deep/build.rs", ""),
            ("lib/builder/Cargo.toml", "[package]\nname = \"builder\""),
            ("lib/builder/src/lib.rs", ""),
            ("lib/itoa/Cargo.toml", "[package]\nname = \"itoa\""),
            ("lib/itoa/src/lib.rs", ""),
            ("lib/mock/Cargo.toml", "[package]\nname = \"mock\""),
            ("lib/mock/src/lib.rs", ""),
            ("lib/unused/Cargo.toml", "[package]\nname = \"unused\""),
            ("lib/unused/src/lib.rs", ""),
        ] {
            this.write(path, text);
        }
        this
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn sources(&self) -> Sources {
        let mut sources = read(&self.0.path().join("program"), "program", "1.0.0");
        sources.parts.sort();
        sources
    }

    /// The parts that are different once `path` has this text.
    fn changed(&self, path: &str, text: &str) -> Vec<String> {
        let before = self.sources().parts;
        self.write(path, text);
        let after = self.sources().parts;
        assert_eq!(before.len(), after.len(), "{path}");
        let pairs = before.into_iter().zip(after);
        let changed = pairs.filter(|(before, after)| before != after);
        changed.map(|((what, _), _)| what).collect()
    }
}

fn of(package: &str) -> Vec<String> {
    vec![format!("the sources of the package {package}")]
}

#[test]
fn what_changes_in_a_package_shows_in_its_number_alone() {
    let workspace = Workspace::new();
    let swapped = "pub struct Pair { pub b: i64, pub a: i64 }";
    for (path, text, package) in [
        ("lib/shapes/src/lib.rs", swapped, "shapes"),
        ("lib/shapes/src/table.txt", "1 2 4", "shapes"),
        ("lib/deep/code/more.rs", "fn more() {}", "deep"),
        ("lib/deep/build.rs", "fn main() {}", "deep"),
        ("lib/builder/src/lib.rs", "fn build() {}", "builder"),
        ("lib/itoa/src/lib.rs", "fn patched() {}", "itoa"),
        ("program/src/inner.rs", "fn inner() {}", "program"),
    ] {
        assert_eq!(workspace.changed(path, text), of(package), "{path}");
    }
}

#[test]
fn what_is_not_built_does_not_count() {
    let workspace = Workspace::new();
    for path in [
        "program/README.md",
        "lib/unused/src/lib.rs",
        "lib/mock/src/lib.rs",
        "lib/shapes/src/.lib.rs.swp",
        "lib/shapes/target/debug/x.rs",
    ] {
        let changed = workspace.changed(path, "// changed");
        assert!(changed.is_empty(), "{path}: {changed:?}");
    }
}

#[test]
fn the_versions_that_are_needed_show_and_no_others() {
    let workspace = Workspace::new();
    let versions = vec!["the versions in Cargo.lock that program needs".to_owned()];
    for (checksum, changed) in [("aa", &versions), ("bb", &versions), ("cc", &Vec::new())] {
        let lock = LOCK.replace(checksum, "dd");
        assert_eq!(
            workspace.changed("Cargo.lock", &lock),
            *changed,
            "{checksum}"
        );
        workspace.write("Cargo.lock", LOCK);
    }
    let newer = LOCK
        .replace("\"1.0.1\"", "\"1.0.2\"")
        .replace("serde 1.0.1", "serde 1.0.2");
    assert_eq!(workspace.changed("Cargo.lock", &newer), versions);
}

#[test]
fn the_folder_does_not_matter_and_all_that_is_read_is_named() {
    let (here, there) = (Workspace::new().sources(), Workspace::new());
    assert_eq!(here.parts, there.sources().parts);
    for file in [
        "Cargo.lock",
        "program/Cargo.toml",
        "program/src/inner.rs",
        "lib/shapes/src/table.txt",
        "lib/deep/build.rs",
        "lib/deep/code/lib.rs",
    ] {
        assert!(here.files.iter().any(|path| path.ends_with(file)), "{file}");
    }
}

#[test]
fn packages_that_name_each_other_are_read_once() {
    let workspace = Workspace::new();
    let loops = "[package]\nname = \"shapes\"\n[dependencies]\ndeep = { path = \"../deep\" }";
    workspace.write("lib/shapes/Cargo.toml", loops);
    let deep = "[package]\nname = \"deep\"\n[dependencies]\nshapes = { path = \"../shapes\" }";
    workspace.write("lib/deep/Cargo.toml", deep);
    let names: Vec<_> = workspace
        .sources()
        .parts
        .into_iter()
        .map(|(what, _)| what)
        .collect();
    let packages = names.iter().filter(|what| what.contains("sources"));
    assert_eq!(packages.count(), 4, "{names:?}");
}
