//! A peer as data: the `peer.toml` in its folder of `peers/`.

use std::path::{Path, PathBuf};

use anyhow::{ensure, Context, Result};
use serde::Deserialize;

/// One contestant, or a serial baseline.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// The folder's name.
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    /// The peer that runs the same bodies serially in the same language; none
    /// for the baselines themselves.
    pub(crate) baseline: Option<String>,
    pub(crate) build: Build,
}

/// How a peer is built and where its version comes from.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Build {
    /// The package `peer-NAME` of this workspace; the version is that of
    /// `package` in the lock file, or the compiler's.
    Cargo {
        package: Option<String>,
    },
    Patched(Patched),
    Cpp(Cpp),
    Java(Java),
}

/// The package `peer-NAME` of a workspace of its own, in which patches take
/// the place of published packages; refused where one does not.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Patched {
    /// The package whose version, in the lock file beside, is the peer's.
    pub(crate) package: String,
    /// The packages that are patched.
    pub(crate) patches: Vec<String>,
}

/// One C++ file, for `g++`; the peer answers `version`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cpp {
    pub(crate) source: String,
    pub(crate) flags: Vec<String>,
    pub(crate) libs: Vec<String>,
    /// The Debian packages that it needs.
    pub(crate) debian: String,
}

/// One Java file, for `javac`; the peer answers `version`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Java {
    pub(crate) source: String,
    pub(crate) class: String,
    /// For the virtual machine.
    pub(crate) options: Vec<String>,
    /// For the program, before the workload.
    pub(crate) arguments: Vec<String>,
    /// The Debian packages that it needs.
    pub(crate) debian: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    baseline: Option<String>,
    build: Build,
}

/// Reads every peer of a folder.
pub(crate) fn load(folder: &Path) -> Result<Vec<Peer>> {
    let reading = || format!("cannot read the peers in {}", folder.display());
    let mut peers = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(reading)? {
        let folder = entry.with_context(reading)?.path();
        let path = folder.join("peer.toml");
        let name = folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}; every peer has one", path.display()))?;
        peers.push(parse(name, folder, &text).with_context(|| format!("in {}", path.display()))?);
    }
    peers.sort_by(|a, b| a.name.cmp(&b.name));
    for peer in &peers {
        if let Some(baseline) = &peer.baseline {
            ensure!(
                peers
                    .iter()
                    .any(|other| other.name == *baseline && other.baseline.is_none()),
                "the baseline `{baseline}` of the peer `{}` is no serial peer",
                peer.name
            );
        }
    }
    Ok(peers)
}

fn parse(name: String, folder: PathBuf, text: &str) -> Result<Peer> {
    let File { baseline, build } = toml::from_str(text)?;
    Ok(Peer {
        name,
        folder,
        baseline,
        build,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Peer> {
        parse("x".to_owned(), PathBuf::new(), text)
    }

    #[test]
    fn a_peer_says_how_it_is_built() {
        let peer = parsed("baseline = \"serial\"\n[build.cargo]\npackage = \"rayon\"").unwrap();
        assert!(matches!(peer.build, Build::Cargo { package: Some(name) } if name == "rayon"));
        assert_eq!(peer.baseline.as_deref(), Some("serial"));
    }

    #[test]
    fn an_unknown_key_or_way_to_build_is_an_error_that_names_it() {
        for text in [
            "[build.make]",
            "[build.cargo]\nmake = 1",
            "make = 1\n[build.cargo]",
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.to_string().contains("make"), "{error}");
        }
    }

    #[test]
    fn the_committed_peers_can_be_read() {
        let peers = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../peers"));
        let peers = load(peers).unwrap();
        assert!(peers
            .iter()
            .any(|peer| peer.name == "serial" && peer.baseline.is_none()));
    }
}
