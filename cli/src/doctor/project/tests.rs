//! Graphs as cargo describes them, and the files beside: what doctor says of each.

use cargo_metadata::Metadata;
use serde_json::{json, Value};

use super::evidence::{patched, unused_patches, Evidence, Unheeded};
use super::finding::{Finding, Verdict};
use super::text;

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// A graph under construction, of a workspace in `/project`.
#[derive(Default)]
struct Graph {
    packages: Vec<Value>,
    nodes: Vec<Value>,
}

impl Graph {
    /// An application whose rayon uses the rayon-core of this source.
    fn with_rayon_core(version: &str, source: Option<&str>) -> Self {
        let core = format!("rayon-core@{version}");
        Self::default()
            .package("app@0.1.0", None, &[("rayon@1.12.0", "^1.12")])
            .package("rayon@1.12.0", Some(CRATES_IO), &[(&core, "^1.13.0")])
            .package(&core, source, &[])
    }

    /// Adds a package; `uses` names others, and which versions of them will do.
    fn package(mut self, id: &str, source: Option<&str>, uses: &[(&str, &str)]) -> Self {
        let (name, version) = id.split_once('@').unwrap();
        let dependency = |(id, requirement): &(&str, &str)| {
            let (name, _) = id.split_once('@').unwrap();
            json!({
                "name": name, "req": requirement, "kind": null, "optional": false,
                "uses_default_features": true, "features": []
            })
        };
        self.packages.push(json!({
            "name": name, "version": version, "id": id, "source": source,
            "dependencies": uses.iter().map(dependency).collect::<Vec<_>>(),
            "targets": [], "features": {},
            "manifest_path": format!("/project/{name}/Cargo.toml")
        }));
        let edge = |(id, _): &(&str, &str)| json!({ "name": "", "pkg": id, "dep_kinds": [] });
        self.nodes.push(json!({
            "id": id, "dependencies": [],
            "deps": uses.iter().map(edge).collect::<Vec<_>>()
        }));
        self
    }

    /// Gives the newest package the mark of the stand-in.
    fn marked(mut self) -> Self {
        let newest = self.packages.last_mut().unwrap();
        newest["metadata"] = json!({ "heist": { "stands-in-for": newest["name"] } });
        self
    }

    fn finding(self) -> Finding {
        self.finding_with("", &[])
    }

    fn finding_with(self, lock: &str, unheeded: &[&str]) -> Finding {
        let metadata: Metadata = serde_json::from_value(json!({
            "packages": self.packages, "workspace_members": [],
            "resolve": { "nodes": self.nodes, "root": null },
            "workspace_root": "/project", "target_directory": "/project/target", "version": 1
        }))
        .unwrap();
        Finding::new(&Evidence {
            metadata,
            unused: unused_patches(toml::from_str(lock).unwrap()),
            unheeded: unheeded
                .iter()
                .map(|manifest| Unheeded {
                    manifest: manifest.into(),
                    name: "rayon-core",
                })
                .collect(),
        })
    }
}

/// The end of a `Cargo.lock` that lists an unused patch of rayon-core.
fn unused(version: &str) -> String {
    format!(
        "version = 4\n[[package]]\nname = \"app\"\nversion = \"0.1.0\"\n\
         [[patch.unused]]\nname = \"other\"\nversion = \"3.0.0\"\n\
         [[patch.unused]]\nname = \"rayon-core\"\nversion = \"{version}\"\n"
    )
}

fn text_of(finding: &Finding) -> String {
    let mut out = Vec::new();
    text::write(finding, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The words of the text, wherever its lines were broken.
fn words_of(finding: &Finding) -> String {
    let text = text_of(finding);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The one reason that the finding gives, and its cure.
fn reason(finding: &Finding) -> (&str, &str) {
    assert!(!finding.verdict.is_on_heist());
    let [reason] = finding.reasons.as_slice() else {
        panic!("one reason, not {:?}", finding.reasons);
    };
    (&reason.why, &reason.cure)
}

#[test]
fn a_rayon_core_with_the_mark_of_the_stand_in_is_heist() {
    let finding = Graph::with_rayon_core("1.13.0", None).marked().finding();
    assert_eq!(finding.verdict, Verdict::StandIn);
    assert!(finding.verdict.is_on_heist());
    assert!(finding.reasons.is_empty());
    let text = text_of(&finding);
    for line in [
        "project in /project",
        "  verdict     runs on heist: rayon-core 1.13.0 is the stand-in from /project/rayon-core",
        "  used by     rayon 1.12.0, app 0.1.0",
    ] {
        assert!(
            text.lines().any(|found| found == line),
            "{line}\nnot in\n{text}"
        );
    }
}

#[test]
fn the_mark_counts_in_a_git_repository_too() {
    let source = Some("git+https://example.org/heist?branch=main#0123abc");
    let finding = Graph::with_rayon_core("1.13.0", source).marked().finding();
    assert_eq!(finding.verdict, Verdict::StandIn);
}

#[test]
fn many_users_are_named_up_to_a_handful_and_counted_and_json_has_them_all() {
    let mut graph = Graph::with_rayon_core("1.13.0", None).marked();
    for user in 0..9 {
        let id = format!("user{user}@1.0.0");
        graph = graph.package(&id, Some(CRATES_IO), &[("rayon-core@1.13.0", "^1")]);
    }
    // Uses rayon through another package only.
    graph = graph.package("far@1.0.0", None, &[("user0@1.0.0", "^1")]);
    let finding = graph.finding();
    let words = words_of(&finding);
    assert!(words.contains("user3 1.0.0 and 5 more seen"), "{words}");
    let json = serde_json::to_value(&finding).unwrap();
    assert_eq!(json["users"].as_array().unwrap().len(), 10);
    assert_eq!(json["users"][9]["name"], "user8");
    assert_eq!(json["verdict"], "stand_in");
    assert_eq!(json["rayon"][0]["version"], "1.12.0");
}

#[test]
fn without_a_patch_the_cure_is_to_write_one() {
    let finding = Graph::with_rayon_core("1.13.0", Some(CRATES_IO)).finding();
    assert_eq!(finding.verdict, Verdict::Registry);
    let (why, cure) = reason(&finding);
    assert_eq!(why, "nothing patches rayon-core");
    assert!(cure.starts_with("write in /project/Cargo.toml"), "{cure}");
    let table = cure.split_once('\n').unwrap().1;
    let table: toml::Table = toml::from_str(table).unwrap();
    let path = table["patch"]["crates-io"]["rayon-core"]["path"].as_str();
    assert_eq!(path, Some("../heist/compat/rayon-core"));
    let text = text_of(&finding);
    let line = "  verdict     does NOT run on heist: rayon-core 1.13.0 comes from crates.io\n";
    assert!(text.contains(line), "{text}");
    assert!(
        text.contains("\n              [patch.crates-io]\n"),
        "{text}"
    );
}

#[test]
fn a_patch_for_another_registry_is_keyed_by_its_address() {
    for (source, address) in [
        (
            "registry+https://example.org/index",
            "https://example.org/index",
        ),
        (
            "sparse+https://example.org/index/",
            "sparse+https://example.org/index/",
        ),
    ] {
        let finding = Graph::with_rayon_core("1.13.0", Some(source)).finding();
        assert_eq!(finding.verdict, Verdict::Registry);
        let (_, cure) = reason(&finding);
        assert!(cure.contains(&format!("[patch.{address:?}]")), "{cure}");
    }
}

#[test]
fn a_patch_that_fits_but_is_not_locked_needs_an_update() {
    let finding =
        Graph::with_rayon_core("1.13.2", Some(CRATES_IO)).finding_with(&unused("1.13.0"), &[]);
    let (why, cure) = reason(&finding);
    assert_eq!(
        why,
        "a [patch] offers rayon-core 1.13.0 and is not used: Cargo.lock holds 1.13.2"
    );
    assert!(cure.contains("`cargo update -p rayon-core`"), "{cure}");
}

#[test]
fn a_patch_that_does_not_fit_is_shown_with_what_is_needed() {
    for version in ["1.12.0", "2.0.0", "1.13.1-heist.0"] {
        let finding =
            Graph::with_rayon_core("1.13.0", Some(CRATES_IO)).finding_with(&unused(version), &[]);
        let (why, cure) = reason(&finding);
        assert_eq!(
            why,
            format!(
                "a [patch] offers rayon-core {version} and is not used: rayon 1.12.0 needs ^1.13.0"
            )
        );
        assert!(cure.contains("version of heist"), "{cure}");
    }
}

#[test]
fn a_patch_of_the_version_that_is_locked_is_for_another_source() {
    let git = "git+https://example.org/rayon?tag=v1#0123abc";
    for (source, table) in [
        (CRATES_IO, "[patch.crates-io]"),
        (git, "[patch.\"https://example.org/rayon\"]"),
    ] {
        let finding =
            Graph::with_rayon_core("1.13.0", Some(source)).finding_with(&unused("1.13.0"), &[]);
        let first = &finding.reasons[0];
        assert!(
            first.why.contains("it is not for packages from"),
            "{}",
            first.why
        );
        assert!(first.cure.contains(table), "{}", first.cure);
    }
}

#[test]
fn a_patch_outside_the_root_is_pointed_out_with_where_it_belongs() {
    let finding = Graph::with_rayon_core("1.13.0", Some(CRATES_IO))
        .finding_with("", &["/project/app/Cargo.toml"]);
    let (why, cure) = reason(&finding);
    assert!(
        why.starts_with("/project/app/Cargo.toml patches rayon-core"),
        "{why}"
    );
    assert_eq!(cure, "move the [patch] to /project/Cargo.toml");
}

#[test]
fn a_rayon_core_without_the_mark_is_foreign() {
    let git = "git+https://example.org/rayon#0123abc";
    for (source, origin) in [(None, "/project/rayon-core"), (Some(git), git)] {
        let finding = Graph::with_rayon_core("1.13.0", source).finding();
        assert_eq!(finding.verdict, Verdict::Foreign);
        let (why, _) = reason(&finding);
        assert!(why.contains(origin), "{why}");
        let line = format!("does NOT run on heist: rayon-core 1.13.0 comes from {origin}");
        let words = words_of(&finding);
        assert!(words.contains(&line), "{words}");
    }
}

#[test]
fn a_patch_of_what_a_path_dependency_names_cannot_work() {
    let finding = Graph::with_rayon_core("1.13.0", None).finding_with(&unused("1.13.0"), &[]);
    assert_eq!(finding.verdict, Verdict::Foreign);
    let first = &finding.reasons[0];
    assert!(first.why.contains("path dependency"), "{}", first.why);
}

#[test]
fn a_graph_without_rayon_is_not_on_heist_and_may_be_fine() {
    let finding = Graph::default().package("app@0.1.0", None, &[]).finding();
    assert_eq!(finding.verdict, Verdict::Neither);
    let (why, _) = reason(&finding);
    assert!(
        why.contains("that is fine for a project that does without rayon"),
        "{why}"
    );
}

#[test]
fn a_rayon_core_that_nothing_uses_does_not_count() {
    let graph = Graph::default().package("app@0.1.0", None, &[]);
    let finding = graph
        .package("rayon-core@1.13.0", None, &[])
        .marked()
        .finding();
    assert_eq!(finding.verdict, Verdict::Neither);
}

#[test]
fn the_crate_heist_is_mentioned_beside_rayon_and_suffices_alone() {
    let add_heist = |graph: Graph| {
        graph
            .package("tool@0.3.0", None, &[("heist@0.1.0", "^0.1")])
            .package("heist@0.1.0", None, &[("heist-core@0.1.0", "^0.1")])
            .package("heist-core@0.1.0", None, &[])
    };
    let alone = add_heist(Graph::default()).finding();
    assert_eq!(alone.verdict, Verdict::NativeOnly);
    assert!(alone.verdict.is_on_heist());
    let beside = add_heist(Graph::with_rayon_core("1.13.0", Some(CRATES_IO))).finding();
    assert_eq!(beside.verdict, Verdict::Registry);
    for finding in [alone, beside] {
        let text = text_of(&finding);
        let line = "  natively    heist 0.1.0, used by tool 0.3.0\n";
        assert!(text.contains(line), "{text}");
    }
    // Another crate of that name.
    let finding = Graph::default().package("heist@4.0.0", None, &[]).finding();
    assert_eq!(finding.verdict, Verdict::Neither);
}

#[test]
fn a_patch_is_found_under_any_source_and_name() {
    for (manifest, expected) in [
        (
            "[patch.crates-io]\nrayon-core = { path = \"x\" }",
            &["rayon-core"][..],
        ),
        (
            "[patch.'https://example.org']\nrayon-core.git = \"x\"",
            &["rayon-core"],
        ),
        (
            "[patch.crates-io]\nmine = { package = \"rayon-core\", path = \"x\" }",
            &["rayon-core"],
        ),
        ("[patch.crates-io]\nrayon = { path = \"x\" }", &["rayon"]),
        (
            "[patch.crates-io]\nrayon-core = { package = \"other\", path = \"x\" }",
            &[],
        ),
        ("[dependencies]\nrayon-core = \"1\"", &[]),
    ] {
        assert_eq!(
            patched(toml::from_str(manifest).unwrap()),
            expected,
            "{manifest}"
        );
    }
}

#[test]
fn the_iterators_are_those_of_the_rayon_that_is_used() {
    let real = Graph::with_rayon_core("1.13.0", None).marked().finding();
    let words = words_of(&real);
    let line = "iterators rayon's: rayon 1.12.0 comes from crates.io; the real rayon is brought \
                by app 0.1.0";
    assert!(words.contains(line), "{words}");

    let in_place = |graph: Graph| {
        graph
            .package("core@1.13.0", None, &[])
            .package("rayon@1.12.0", None, &[("rayon-core@1.13.0", "^1.13.0")])
            .marked()
            .package("rayon-core@1.13.0", None, &[])
            .marked()
    };
    let all = Graph::default().package("app@0.1.0", None, &[("rayon@1.12.0", "^1.12")]);
    let all = in_place(all).finding();
    assert_eq!(all.verdict, Verdict::StandIn);
    let words = words_of(&all);
    let line = "iterators heist's: rayon 1.12.0 is the stand-in from /project/rayon used by";
    assert!(words.contains(line), "{words}");

    let both = Graph::default()
        .package(
            "app@0.1.0",
            None,
            &[("rayon@1.12.0", "^1.12"), ("old@0.2.0", "^0.2")],
        )
        .package("old@0.2.0", Some(CRATES_IO), &[("rayon@0.9.0", "^0.9")])
        .package(
            "rayon@0.9.0",
            Some(CRATES_IO),
            &[("rayon-core@1.13.0", "^1.3")],
        );
    let both = in_place(both).finding();
    let words = words_of(&both);
    assert!(words.contains("iterators heist's and rayon's: "), "{words}");
    let line = "the real rayon is brought by old 0.2.0 used by";
    assert!(words.contains(line), "{words}");
    let json = serde_json::to_value(&both).unwrap();
    assert_eq!(json["real_rayon_users"][0]["name"], "old");
}

#[test]
fn a_patch_of_rayon_that_is_not_used_says_why_and_leaves_the_verdict() {
    let lock = unused("1.13.0").replace("rayon-core", "rayon");
    let finding = Graph::with_rayon_core("1.13.0", None)
        .marked()
        .finding_with(&lock, &[]);
    assert_eq!(finding.verdict, Verdict::StandIn);
    let [reason] = finding.iterators.as_slice() else {
        panic!("one reason, not {:?}", finding.iterators);
    };
    assert_eq!(
        reason.why,
        "a [patch] offers rayon 1.13.0 and is not used: Cargo.lock holds 1.12.0"
    );
    assert!(
        reason.cure.contains("`cargo update -p rayon`"),
        "{}",
        reason.cure
    );
    assert!(words_of(&finding).contains(&reason.why));
}

#[test]
fn a_rayon_with_workers_of_its_own_does_not_run_on_heist() {
    let app = |graph: Graph| {
        graph
            .package("old@0.2.0", Some(CRATES_IO), &[("rayon@0.6.0", "^0.6")])
            .package("rayon@0.6.0", Some(CRATES_IO), &[])
    };
    let alone = app(Graph::default()).finding_with(&unused("1.13.0"), &[]);
    let beside = app(Graph::with_rayon_core("1.13.0", None).marked()).finding();
    for finding in [alone, beside] {
        assert_eq!(finding.verdict, Verdict::Registry);
        let (why, cure) = reason(&finding);
        assert!(
            why.starts_with("rayon 0.6.0 has workers of its own"),
            "{why}"
        );
        assert!(cure.contains("rayon 1"), "{cure}");
    }
}

#[test]
fn a_rayon_core_that_an_unused_member_uses_has_users_in_words() {
    let finding = Graph::default()
        .package("rayon@1.12.0", None, &[("rayon-core@1.13.0", "^1.13")])
        .marked()
        .package("rayon-core@1.13.0", None, &[])
        .marked()
        .finding();
    assert_eq!(finding.verdict, Verdict::StandIn);
    let words = words_of(&finding);
    assert!(
        words.contains("used by a rayon that nothing else uses"),
        "{words}"
    );
}
