//! The judgement: the origins of the project's rayon-core and rayon, the reasons, and the cure.

use std::fmt;

use cargo_metadata::semver::{Version, VersionReq};
use cargo_metadata::{Metadata, Package, PackageId};
use serde::Serialize;

use super::evidence::{Evidence, UnusedPatch, RAYON, RAYON_CORE};

/// The judgement on one workspace, with what it rests on.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    heist_version: &'static str,
    /// The folder of the workspace's root, which has the one `Cargo.lock`.
    pub(super) workspace: String,
    pub(super) verdict: Verdict,
    /// The packages called rayon-core that something uses; cargo lets a graph
    /// have only one of those that heist and rayon publish. Behind them those called rayon that
    /// have workers of their own.
    pub(super) rayon_cores: Vec<Replaceable>,
    /// The packages called rayon that something uses. If one is a stand-in, its users have heist's
    /// iterators, and those of another have rayon's.
    pub(super) rayon: Vec<Replaceable>,
    /// The packages that depend on a rayon which is no stand-in.
    pub(super) real_rayon_users: Vec<Named>,
    /// The packages other than rayon that depend on rayon or rayon-core directly.
    pub(super) users: Vec<Named>,
    /// The crate heist itself, and the packages that depend on it directly.
    pub(super) heist: Vec<Named>,
    pub(super) heist_users: Vec<Named>,
    /// Why the project does not run on heist; empty if it does.
    pub(super) reasons: Vec<Reason>,
    /// Why a patch of rayon has not brought heist's iterators; empty if there is none.
    pub(super) iterators: Vec<Reason>,
}

/// The runtime of the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    /// All users of rayon-core use the stand-in.
    StandIn,
    /// Nothing uses rayon-core, and something uses the crate heist.
    NativeOnly,
    /// A rayon-core from a registry.
    Registry,
    /// A rayon-core from a folder or a git repository that is not the stand-in.
    Foreign,
    /// Neither rayon-core nor heist.
    Neither,
}

/// A package that is called rayon-core or rayon.
#[derive(Debug, Serialize)]
pub(super) struct Replaceable {
    #[serde(flatten)]
    pub(super) package: Named,
    /// `crates.io`, a folder, or a source as cargo writes it.
    pub(super) origin: String,
    pub(super) is_stand_in: bool,
    #[serde(skip)]
    is_from_registry: bool,
    /// The word behind `patch.` that replaces packages of this origin; packages in a folder
    /// cannot be replaced.
    #[serde(skip)]
    patch_table: Option<String>,
}

/// A package by name and version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) version: Version,
}

/// One thing that keeps the project from running on heist, and what to do about it.
#[derive(Debug, Serialize)]
pub(super) struct Reason {
    pub(super) why: String,
    /// One line, or several.
    pub(super) cure: String,
}

impl Verdict {
    pub(super) fn is_on_heist(self) -> bool {
        matches!(self, Self::StandIn | Self::NativeOnly)
    }
}

impl Finding {
    pub(super) fn new(evidence: &Evidence) -> Self {
        let metadata = &evidence.metadata;
        // A rayon-core that nothing uses is a member of the workspace, such as
        // the stand-in in heist's own.
        let mut cores = named(metadata, RAYON_CORE);
        cores.retain(|core| !users_of(metadata, &[core]).is_empty());
        let mut rayon = named(metadata, RAYON);
        rayon.retain(|it| !users_of(metadata, &[it]).is_empty());
        let heist = native(metadata);

        let core_users = users_of(metadata, &cores);
        let core_needs = needs(&core_users, RAYON_CORE);
        let mut users = [core_users, users_of(metadata, &rayon)].concat();
        users.retain(|user| user.name != RAYON);
        let mut real = rayon.clone();
        real.retain(|it| !is_stand_in(it));
        let real_users = users_of(metadata, &real);

        let on_their_own = real.iter().copied().filter(|it| has_own_core(it));
        let cores = cores.into_iter().chain(on_their_own);
        let rayon_cores: Vec<Replaceable> = cores.map(Replaceable::new).collect();
        let rayon: Vec<Replaceable> = rayon.into_iter().map(Replaceable::new).collect();
        let verdict = judge(&rayon_cores, !heist.is_empty());
        Self {
            heist_version: env!("CARGO_PKG_VERSION"),
            workspace: metadata.workspace_root.to_string(),
            verdict,
            reasons: match verdict.is_on_heist() {
                true => Vec::new(),
                false => reasons(evidence, &rayon_cores, &core_needs),
            },
            iterators: unused_patches(evidence, RAYON, &rayon, &needs(&real_users, RAYON)),
            rayon_cores,
            heist_users: names(&users_of(metadata, &heist)),
            rayon,
            real_rayon_users: names(&real_users),
            users: names(&users),
            heist: names(&heist),
        }
    }
}

/// Whether this rayon does without rayon-core, as those before 0.7 do.
fn has_own_core(rayon: &Package) -> bool {
    rayon
        .dependencies
        .iter()
        .all(|used| used.name != RAYON_CORE)
}

/// Whether it says that it is heist's.
fn is_stand_in(package: &Package) -> bool {
    package.metadata["heist"]["stands-in-for"] == package.name.as_str()
}

impl Replaceable {
    fn new(package: &Package) -> Self {
        let source = package.source.as_ref();
        let origin = match source {
            Some(source) if source.is_crates_io() => "crates.io".to_owned(),
            Some(source) => source.repr.clone(),
            None => {
                let manifest = &package.manifest_path;
                manifest.parent().unwrap_or(manifest).to_string()
            }
        };
        let kind = source.and_then(|source| source.repr.split('+').next());
        Self {
            package: package.into(),
            origin,
            is_stand_in: is_stand_in(package),
            is_from_registry: matches!(kind, Some("registry" | "sparse")),
            patch_table: source.map(|source| match source.is_crates_io() {
                true => "crates-io".to_owned(),
                false => format!("{:?}", url(&source.repr)),
            }),
        }
    }
}

impl From<&Package> for Named {
    fn from(package: &Package) -> Self {
        Self {
            name: package.name.to_string(),
            version: package.version.clone(),
        }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

fn judge(rayon_cores: &[Replaceable], has_heist: bool) -> Verdict {
    let others = || rayon_cores.iter().filter(|core| !core.is_stand_in);
    if others().any(|core| core.is_from_registry) {
        Verdict::Registry
    } else if others().next().is_some() {
        Verdict::Foreign
    } else if !rayon_cores.is_empty() {
        Verdict::StandIn
    } else if has_heist {
        Verdict::NativeOnly
    } else {
        Verdict::Neither
    }
}

/// A package that needs some version of rayon-core or rayon.
type Need = (Named, VersionReq);

fn reasons(evidence: &Evidence, rayon_cores: &[Replaceable], needs: &[Need]) -> Vec<Reason> {
    if rayon_cores.is_empty() {
        return vec![Reason {
            why: "nothing in the graph uses rayon-core: that is fine for a project that does \
                  without rayon, and a mistake for another"
                .to_owned(),
            cure: "if it should use rayon, look for a dependency that is missing, or for the \
                   feature of a dependency that brings rayon in"
                .to_owned(),
        }];
    }
    let root = evidence.metadata.workspace_root.join("Cargo.toml");
    let mut reasons = unused_patches(evidence, RAYON_CORE, rayon_cores, needs);
    for core in rayon_cores.iter().filter(|core| !core.is_stand_in) {
        if core.package.name == RAYON {
            reasons.push(Reason {
                why: format!(
                    "{} has workers of its own, and no rayon-core that could be replaced",
                    core.package
                ),
                cure: "let its users take rayon 1".to_owned(),
            });
        } else if !core.is_from_registry {
            reasons.push(Reason {
                why: format!(
                    "the rayon-core of {} does not say that it is heist's: its manifest would \
                     have stands-in-for = \"rayon-core\" under [package.metadata.heist]",
                    core.origin
                ),
                cure: "let what names it, a [patch] or a dependency, name compat/rayon-core of \
                       heist"
                    .to_owned(),
            });
        } else if reasons.is_empty() {
            let table = core.patch_table.as_deref().unwrap_or_default();
            reasons.push(Reason {
                why: "nothing patches rayon-core".to_owned(),
                cure: format!(
                    "write in {root}, with the path to heist:\n[patch.{table}]\n\
                     rayon-core = {{ path = \"../heist/compat/rayon-core\" }}"
                ),
            });
        }
    }
    reasons
}

/// Why patches of the package `name` have not replaced all of `found`.
fn unused_patches(
    evidence: &Evidence,
    name: &str,
    found: &[Replaceable],
    needs: &[Need],
) -> Vec<Reason> {
    let root = evidence.metadata.workspace_root.join("Cargo.toml");
    let is_real = |it: &&Replaceable| !it.is_stand_in && it.package.name == name;
    let mut real = found.iter().filter(is_real).peekable();
    if real.peek().is_none() {
        return Vec::new();
    }
    let unheeded = evidence.unheeded.iter().filter(|it| it.name == name);
    let unheeded = unheeded.map(|patch| Reason {
        why: format!(
            "{} patches {name}, and cargo ignores that: it heeds the patches of the workspace's \
             root only",
            patch.manifest.display()
        ),
        cure: format!("move the [patch] to {root}"),
    });
    let mut reasons: Vec<Reason> = unheeded.collect();
    for package in real {
        let patches = evidence.unused.iter().filter(|it| it.name == name);
        reasons.extend(patches.map(|patch| unused(patch, package, needs)));
    }
    reasons
}

/// Why cargo keeps a package although a patch offers another.
fn unused(patch: &UnusedPatch, kept: &Replaceable, needs: &[Need]) -> Reason {
    let name = &patch.name;
    let offers = format!("a [patch] offers {name} {} and is not used", patch.version);
    if patch.version == kept.package.version {
        return match &kept.patch_table {
            Some(table) => Reason {
                why: format!("{offers}: it is not for packages from {}", kept.origin),
                cure: format!("put it under [patch.{table}]"),
            },
            None => Reason {
                why: format!(
                    "{offers}: cargo replaces no package that a path dependency names, as here {}",
                    kept.origin
                ),
                cure: "let the path dependency name the stand-in".to_owned(),
            },
        };
    }
    let unmet: Vec<String> = needs
        .iter()
        .filter(|(_, requirement)| !requirement.matches(&patch.version))
        .map(|(package, requirement)| format!("{package} needs {requirement}"))
        .collect();
    if unmet.is_empty() {
        return Reason {
            why: format!("{offers}: Cargo.lock holds {}", kept.package.version),
            cure: format!("`cargo update -p {name}` takes the version of the patch"),
        };
    }
    Reason {
        why: format!("{offers}: {}", unmet.join(", ")),
        cure: "take a version of heist whose stand-in fits, or try `cargo update -p rayon`, which \
               may take a rayon that fits the stand-in"
            .to_owned(),
    }
}

/// Which versions of the package `name` its users need.
fn needs(users: &[&Package], name: &str) -> Vec<Need> {
    let mut needs = Vec::new();
    for user in users {
        let needed = user.dependencies.iter().filter(|it| it.name == name);
        needs.extend(needed.map(|it| (Named::from(*user), it.req.clone())));
    }
    needs
}

/// The packages of this name.
fn named<'a>(metadata: &'a Metadata, name: &str) -> Vec<&'a Package> {
    let packages = metadata.packages.iter();
    packages.filter(|package| package.name == name).collect()
}

/// The crate heist. Others may use its name, but hardly with the same core.
fn native(metadata: &Metadata) -> Vec<&Package> {
    let mut heist = named(metadata, "heist");
    heist.retain(|it| it.dependencies.iter().any(|used| used.name == "heist-core"));
    heist
}

/// The packages that depend on one of `used` directly.
fn users_of<'a>(metadata: &'a Metadata, used: &[&Package]) -> Vec<&'a Package> {
    let is_used = |id: &PackageId| used.iter().any(|used| used.id == *id);
    let nodes = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
    nodes
        .filter(|node| node.deps.iter().any(|dep| is_used(&dep.pkg)))
        .filter_map(|node| metadata.packages.iter().find(|it| it.id == node.id))
        .collect()
}

/// By name, each once.
fn names(packages: &[&Package]) -> Vec<Named> {
    let mut names: Vec<Named> = packages.iter().map(|&package| package.into()).collect();
    names.sort();
    names.dedup();
    names
}

/// The address in a source such as `git+https://host/path?branch=main#abc`. A
/// sparse registry's begins with `sparse+` for cargo itself.
fn url(source: &str) -> &str {
    let end = source.find(['?', '#']).unwrap_or(source.len());
    let url = &source[..end];
    let stripped = ["registry+", "git+"]
        .iter()
        .find_map(|kind| url.strip_prefix(kind));
    stripped.unwrap_or(url)
}
