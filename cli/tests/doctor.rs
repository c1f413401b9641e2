//! Drives `heist doctor` as a user does, with `--manifest` on projects as cargo
//! really resolves them.
//!
//! There, the packages of the registry are made up: a folder takes the place of
//! crates.io, so that the tests need no network and can have any versions.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// A folder with a project in `app`, a registry, and stand-ins.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().expect("a temporary folder"));
        place.write(
            "app/.cargo/config.toml",
            "[source.crates-io]\nreplace-with = \"made-up\"\n\
             [source.made-up]\ndirectory = \"../registry\"\n",
        );
        place
    }

    /// A project that depends on rayon, and a registry with one version of
    /// rayon and one of rayon-core, in which the first needs the second.
    fn with_rayon(rayon: &str, rayon_core: &str) -> Self {
        let place = Self::new();
        place.app("[dependencies]\nrayon = \"1\"\n");
        let needs = format!("[dependencies]\nrayon-core = \"{rayon_core}\"\n");
        place.publish("rayon", rayon, &needs);
        place.publish("rayon-core", rayon_core, "");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a new folder");
        fs::write(path, text).expect("a new file");
    }

    /// Makes a package; `rest` follows its name and version in the manifest.
    fn package(&self, folder: &str, name: &str, version: &str, rest: &str) {
        // As the real one, which cargo lets nobody have beside another.
        let links = match name {
            "rayon-core" => "links = \"rayon-core\"\nbuild = \"build.rs\"\n",
            _ => "",
        };
        self.write(
            &format!("{folder}/Cargo.toml"),
            &format!(
                "[package]\nname = \"{name}\"\nversion = \"{version}\"\nedition = \"2021\"\n\
                 {links}{rest}"
            ),
        );
        self.write(&format!("{folder}/build.rs"), "fn main() {}");
        self.write(&format!("{folder}/src/lib.rs"), "");
    }

    fn app(&self, rest: &str) {
        self.package("app", "app", "0.1.0", rest);
    }

    fn publish(&self, name: &str, version: &str, rest: &str) {
        let folder = format!("registry/{name}-{version}");
        self.package(&folder, name, version, rest);
        self.write(&format!("{folder}/.cargo-checksum.json"), "{\"files\":{}}");
    }

    /// A stand-in of this version with the mark of the real one.
    fn stand_in(&self, version: &str) {
        let real = real_stand_in();
        let mark = real["metadata"]["heist"]["stands-in-for"].as_str();
        let mark = mark.expect("a mark");
        let rest = format!("[package.metadata.heist]\nstands-in-for = {mark:?}\n[workspace]\n");
        self.package("stand-in", "rayon-core", version, &rest);
    }

    fn patch(&self, manifest: &str) {
        let text = fs::read_to_string(self.path(manifest)).expect("a manifest");
        let patch = "[patch.crates-io]\nrayon-core = { path = \"../stand-in\" }\n";
        self.write(manifest, &format!("{text}{patch}"));
    }

    /// Calls cargo in the project, as its user would.
    fn cargo(&self, args: &[&str]) {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        let output = command.args(args).current_dir(self.path("app")).output();
        let output = output.expect("cargo starts");
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    }

    fn doctor(&self, args: &[&OsStr]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_heist"))
            .arg("doctor")
            .args(args)
            .current_dir(self.0.path())
            .output()
            .expect("the program starts")
    }

    /// The finding on the project, in words and as a document, after a check that both agree and
    /// that nothing has been written.
    fn finding(&self, code: i32) -> (String, Value) {
        let before = files(self.0.path());
        let manifest = OsStr::new("--manifest");
        let text = self.doctor(&[manifest, OsStr::new("app")]);
        let path = self.path("app/Cargo.toml");
        let json = self.doctor(&[manifest, path.as_os_str(), OsStr::new("--json")]);
        for output in [&text, &json] {
            assert_eq!(output.status.code(), Some(code), "{}", stderr(output));
        }
        assert_eq!(files(self.0.path()), before);
        let text = String::from_utf8(text.stdout).expect("text");
        let json = serde_json::from_slice(&json.stdout).expect("JSON");
        (text, json)
    }

    /// The message about a project that doctor cannot judge.
    fn complaint(&self, manifest: &str) -> String {
        let before = files(self.0.path());
        let output = self.doctor(&[OsStr::new("--manifest"), OsStr::new(manifest)]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(output.stdout.is_empty());
        assert_eq!(files(self.0.path()), before);
        stderr(&output)
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The `[package]` of the stand-in that comes with heist.
fn real_stand_in() -> toml::Table {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../compat/rayon-core/Cargo.toml");
    let text = fs::read_to_string(path).expect("the manifest of the stand-in");
    let manifest: toml::Table = toml::from_str(&text).expect("TOML");
    manifest["package"].as_table().expect("a table").clone()
}

/// The version of the stand-in that comes with heist.
fn real_version() -> String {
    let version = &real_stand_in()["version"];
    version.as_str().expect("a version").to_owned()
}

/// Every file below `folder` with what it holds.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = walkdir::WalkDir::new(folder)
        .into_iter()
        .map(Result::unwrap);
    let files = entries.filter(|entry| entry.file_type().is_file());
    files
        .map(|entry| (entry.path().to_owned(), fs::read(entry.path()).unwrap()))
        .collect()
}

#[test]
fn a_project_with_the_patch_runs_on_heist() {
    let place = Place::with_rayon("1.12.0", "1.13.0");
    place.cargo(&["update", "--workspace"]);
    let (text, json) = place.finding(1);
    assert!(text.contains("nothing patches rayon-core"), "{text}");
    assert_eq!(json["verdict"], "registry");
    assert_eq!(json["rayon_cores"][0]["origin"], "crates.io");

    place.stand_in(&real_version());
    place.patch("app/Cargo.toml");
    place.cargo(&["update", "--workspace"]);
    let (text, json) = place.finding(0);
    assert!(text.contains("runs on heist: rayon-core"), "{text}");
    assert_eq!(json["verdict"], "stand_in");
    assert_eq!(json["users"][0]["name"], "app");
    let origin = json["rayon_cores"][0]["origin"].as_str().expect("a folder");
    assert!(Path::new(origin).ends_with("stand-in"), "{origin}");
}

#[test]
fn a_patch_in_cargos_configuration_counts() {
    let place = Place::with_rayon("1.12.0", "1.13.0");
    place.stand_in(&real_version());
    place.patch("app/.cargo/config.toml");
    place.cargo(&["update", "--workspace"]);
    place.finding(0);
}

#[test]
fn the_cure_for_a_patch_that_is_not_locked_works() {
    let place = Place::with_rayon("1.10.0", "1.12.1");
    place.cargo(&["update", "--workspace"]);
    place.stand_in(&real_version());
    place.patch("app/Cargo.toml");
    // Cargo keeps the version that is locked.
    place.cargo(&["update", "--workspace"]);
    let (text, json) = place.finding(1);
    assert!(text.contains("Cargo.lock holds 1.12.1"), "{text}");
    let cure = json["reasons"][0]["cure"].as_str().expect("a cure");
    assert!(cure.starts_with("`cargo update -p rayon-core`"), "{cure}");

    place.cargo(&["update", "-p", "rayon-core"]);
    place.finding(0);
}

#[test]
fn a_patch_of_a_version_that_nobody_wants_is_reported() {
    let place = Place::with_rayon("1.12.0", "1.13.0");
    place.stand_in("2.0.0");
    place.patch("app/Cargo.toml");
    place.cargo(&["update", "--workspace"]);
    let (text, _) = place.finding(1);
    assert!(
        text.contains("offers rayon-core 2.0.0 and is not used"),
        "{text}"
    );
    assert!(text.contains("rayon 1.12.0 needs ^1.13.0"), "{text}");
}

#[test]
fn a_patch_in_a_member_is_reported_as_ignored() {
    let place = Place::with_rayon("1.12.0", "1.13.0");
    place.stand_in(&real_version());
    place.app("[workspace]\nmembers = [\"member\"]\n");
    let rest = "[dependencies]\nrayon = \"1\"\n[patch.crates-io]\n\
                rayon-core = { path = \"../../stand-in\" }\n";
    place.package("app/member", "member", "0.1.0", rest);
    place.cargo(&["update", "--workspace"]);
    let (_, json) = place.finding(1);
    let why = json["reasons"][0]["why"].as_str().expect("a reason");
    let member = Path::new("app").join("member").join("Cargo.toml");
    assert!(why.contains(&member.display().to_string()), "{why}");
    assert_eq!(json["users"][0]["name"], "member");
}

#[test]
fn rayon_behind_a_feature_that_is_off_by_default_is_seen() {
    let place = Place::with_rayon("1.12.0", "1.13.0");
    place.app("[dependencies]\nrayon = { version = \"1\", optional = true }\n");
    place.cargo(&["update", "--workspace"]);
    let (_, json) = place.finding(1);
    assert_eq!(json["verdict"], "registry");
}

#[test]
fn a_project_without_rayon_has_nothing_to_run_on_heist() {
    let place = Place::new();
    place.app("");
    fs::create_dir(place.path("registry")).expect("a new folder");
    place.cargo(&["update", "--workspace"]);
    let (text, json) = place.finding(1);
    assert!(
        text.contains("nothing in the graph uses rayon-core"),
        "{text}"
    );
    assert_eq!(json["verdict"], "neither");
}

#[test]
fn a_lock_file_that_is_missing_or_out_of_date_is_an_error_and_stays_so() {
    let place = Place::with_rayon("1.12.0", "1.13.0");
    let complaint = place.complaint("app");
    assert!(
        complaint.contains("`cargo update --workspace`"),
        "{complaint}"
    );
    assert!(
        complaint.contains("cannot create the lock file"),
        "{complaint}"
    );
    assert!(!place.path("app/Cargo.lock").exists());

    place.cargo(&["update", "--workspace"]);
    place.stand_in(&real_version());
    place.patch("app/Cargo.toml");
    let complaint = place.complaint("app");
    assert!(
        complaint.contains("cannot update the lock file"),
        "{complaint}"
    );
}

#[test]
fn what_is_no_project_is_refused_with_the_value_and_what_is_accepted() {
    let place = Place::new();
    for (path, why) in [("nowhere", "there is no file"), ("app", "there is no file")] {
        let complaint = place.complaint(path);
        for part in [
            &format!("{path:?}"),
            why,
            "accepts a Cargo.toml or the folder",
        ] {
            assert!(complaint.contains(part), "{part}\nnot in\n{complaint}");
        }
    }
    place.write("app/Cargo.toml", "[package]\nname = 7\n");
    let complaint = place.complaint("app");
    // Cargo's own message.
    assert!(complaint.contains("invalid type: integer"), "{complaint}");
}

#[test]
fn a_cargo_that_does_not_start_is_named_with_the_places_where_it_is_looked_for() {
    let place = Place::new();
    place.app("");
    let output = Command::new(env!("CARGO_BIN_EXE_heist"))
        .args(["doctor", "--manifest", "app"])
        .current_dir(place.0.path())
        .env("CARGO", "no-such-cargo")
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(2));
    let complaint = stderr(&output);
    for part in ["\"no-such-cargo\"", "the variable CARGO", "on PATH"] {
        assert!(complaint.contains(part), "{part}\nnot in\n{complaint}");
    }
    assert!(!complaint.contains("cargo update"), "{complaint}");
}

#[test]
fn doctor_and_heist_agree_on_what_is_malformed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, value, is_accepted) in [
        ("HEIST_NUM_THREADS", " 2 ", true),
        ("HEIST_NUM_THREADS", "65536", false),
        ("HEIST_BARRIER", "fence", true),
        ("HEIST_BARRIER", " fence", false),
        ("HEIST_RECORD_EVENTS", " 16 ", true),
        ("HEIST_RECORD_EVENTS", "4294967296", false),
        ("HEIST_BANNER", "0", true),
        ("HEIST_BANNER", "true", false),
        ("HEIST_GLOBAL", "explicit", true),
        ("HEIST_GLOBAL", "none", false),
        ("RAYON_NUM_THREADS", "2", true),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_heist"))
            .args(["doctor", "--json"])
            .current_dir(folder.path())
            .env(name, value)
            .output()
            .expect("the program starts");
        let code = i32::from(!is_accepted);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let known = report["environment"]["known"].as_array().expect("a list");
        let variable = known.iter().find(|it| it["name"] == name).expect(name);
        let state = ["malformed", "accepted"][usize::from(is_accepted)];
        assert_eq!(variable["state"], state, "{name}={value}");
        // Heist itself says whether a pool starts.
        let starts = report["default_pool"]["workers"].is_number();
        assert_eq!(starts, is_accepted, "{name}={value}");
    }
}

#[test]
fn doctor_leaves_the_files_alone_that_a_program_has_written_at_its_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let names = ["run.json", "run.timeline.json"].map(|name| folder.path().join(name));
    for name in &names {
        fs::write(name, "of a program").expect("a file");
    }
    let doctor = |name: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_heist"));
        command
            .arg("doctor")
            .current_dir(folder.path())
            .env("HEIST_PROFILE", name)
            .env("HEIST_TIMELINE", name);
        command.output().expect("the program starts")
    };
    let output = doctor("run");
    assert!(output.status.success(), "{}", stderr(&output));
    for name in &names {
        let text = fs::read_to_string(name).expect("it is there");
        assert_eq!(text, "of a program", "{}", name.display());
    }
    let output = doctor("missing/run");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stdout).replace("\n             ", "");
    assert!(
        said.contains("HEIST_PROFILE is set to \"missing/run\""),
        "{said}"
    );
    assert!(said.contains("there is no folder missing"), "{said}");
}
