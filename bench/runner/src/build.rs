//! Builds the peers with the compilers that are there.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::lock::Lock;
use crate::peer::{Build, Cpp, Java, Patched, Peer};

/// A peer that can be run.
#[derive(Clone, Debug)]
pub(crate) struct BuiltPeer {
    pub(crate) name: String,
    pub(crate) baseline: Option<String>,
    /// The program and its first arguments.
    pub(crate) command: Vec<String>,
    pub(crate) version: String,
}

/// The outcome of building.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) peers: Vec<BuiltPeer>,
    /// Peers that could not be built, with the reason.
    pub(crate) skipped: Vec<(String, String)>,
}

/// Builds all peers; one that cannot be built is skipped with its reason.
pub(crate) fn build(bench: &Path, peers: Vec<Peer>) -> Result<Built> {
    // Beside the runner itself, so that a chosen target folder holds for all.
    let runner = std::env::current_exe().context("cannot find the runner's own folder")?;
    let release = runner.parent().unwrap_or(bench);
    let target = release.parent().unwrap_or(release);
    let outputs = release.join("peers");

    let rust: Vec<&str> = peers
        .iter()
        .filter(|peer| matches!(peer.build, Build::Cargo { .. }))
        .map(|peer| peer.name.as_str())
        .collect();
    let executables = if rust.is_empty() {
        BTreeMap::new()
    } else {
        cargo(bench, target, &rust)?
    };
    let lock = Lock::read(bench).map_err(anyhow::Error::msg)?;

    let mut built = Built {
        peers: Vec::new(),
        skipped: Vec::new(),
    };
    for peer in peers {
        let outcome = match &peer.build {
            Build::Cargo { package } => program(&executables, &peer.name).map(|command| {
                let version = package.as_ref().and_then(|name| lock.version(name));
                let version = version.map(str::to_owned);
                (
                    command,
                    version.unwrap_or_else(|| first_line("rustc", &["--version"])),
                )
            }),
            Build::Patched(patched) => patched_peer(&peer, patched, target),
            Build::Cpp(file) => cpp(&peer, file, &outputs).and_then(with_version),
            Build::Java(file) => java(&peer, file, &outputs).and_then(with_version),
        };
        match outcome {
            Ok((command, version)) => built.peers.push(BuiltPeer {
                name: peer.name,
                baseline: peer.baseline,
                command,
                version,
            }),
            Err(reason) => {
                eprintln!("skipped: {}: {reason}", peer.name);
                built.skipped.push((peer.name, reason));
            }
        }
    }
    Ok(built)
}

/// Functions begin at a cache line. Two peers of one source differ in where its functions lie, and
/// with that alone a search took up to 1.15 of its time, at the same number of instructions.
const ALIGNED: &str = "build.rustflags=['-Cllvm-args=-align-all-functions=6']";

/// Builds Rust peers of one workspace in one go and returns the programs by package.
fn cargo(workspace: &Path, target: &Path, names: &[&str]) -> Result<BTreeMap<String, String>> {
    #[derive(Deserialize)]
    struct Message {
        executable: Option<String>,
        target: Option<Target>,
    }
    #[derive(Deserialize)]
    struct Target {
        name: String,
    }

    eprintln!("building: {}", names.join(", "));
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(["build", "--release", "--keep-going", "--manifest-path"])
        .arg(workspace.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .args(["--config", ALIGNED])
        // A peer may declare a newer compiler than it needs; if it really needs
        // it, the build says so and the peer is skipped.
        .args([
            "--ignore-rust-version",
            "--message-format",
            "json-render-diagnostics",
        ])
        .stderr(Stdio::inherit());
    for name in names {
        command.args(["--package", &format!("peer-{name}")]);
    }
    let output = command
        .output()
        .context("cannot start cargo to build the peers")?;
    let mut executables = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let message: Message = serde_json::from_str(line)
            .with_context(|| format!("cannot understand cargo's message `{line}`"))?;
        if let (Some(path), Some(target)) = (message.executable, message.target) {
            executables.insert(target.name, path);
        }
    }
    Ok(executables)
}

/// The program of a peer among those that cargo built.
fn program(executables: &BTreeMap<String, String>, peer: &str) -> Result<Vec<String>, String> {
    executables
        .get(&format!("peer-{peer}"))
        .map(|path| vec![path.clone()])
        .ok_or_else(|| "cargo could not build it; see its messages above".to_owned())
}

/// Builds a peer that is a workspace of its own, and makes sure of its patches.
fn patched_peer(
    peer: &Peer,
    patched: &Patched,
    target: &Path,
) -> Result<(Vec<String>, String), String> {
    let executables =
        cargo(&peer.folder, target, &[&peer.name]).map_err(|error| format!("{error:#}"))?;
    let command = program(&executables, &peer.name)?;
    let lock = Lock::read(&peer.folder)?;
    let mut version = lock
        .version(&patched.package)
        .ok_or_else(|| format!("its lock file has no package `{}`", patched.package))?
        .to_owned();
    for patch in &patched.patches {
        version += &format!(" on a patched {patch} {}", lock.patched_version(patch)?);
    }
    Ok((command, version))
}

/// Compiles one C++ file.
fn cpp(peer: &Peer, file: &Cpp, outputs: &Path) -> Result<Vec<String>, String> {
    let program = outputs.join(&peer.name);
    let mut compiler = Command::new("g++");
    compiler.args(&file.flags).arg("-o").arg(&program);
    compiler.arg(&file.source).args(&file.libs);
    compile(peer, &mut compiler, outputs, &file.debian)?;
    Ok(vec![program.display().to_string()])
}

/// Compiles one Java file.
fn java(peer: &Peer, file: &Java, outputs: &Path) -> Result<Vec<String>, String> {
    let classes = outputs.join(&peer.name).display().to_string();
    let mut compiler = Command::new("javac");
    compiler.args(["-d", &classes]).arg(&file.source);
    compile(peer, &mut compiler, outputs, &file.debian)?;
    let mut command = vec!["java".to_owned()];
    command.extend_from_slice(&file.options);
    command.extend(["-cp".to_owned(), classes, file.class.clone()]);
    command.extend_from_slice(&file.arguments);
    Ok(command)
}

/// Runs a compiler in the peer's folder: records keep its words, which name no folder of this
/// machine so.
fn compile(peer: &Peer, command: &mut Command, outputs: &Path, debian: &str) -> Result<(), String> {
    let compiler = command.get_program().to_string_lossy().into_owned();
    eprintln!("building: {} with {compiler}", peer.name);
    std::fs::create_dir_all(outputs)
        .map_err(|error| format!("cannot create {}: {error}", outputs.display()))?;
    let output = command
        .current_dir(&peer.folder)
        .output()
        .map_err(|error| format!("cannot start {compiler}: {error} (Debian packages: {debian})"))?;
    if output.status.success() {
        return Ok(());
    }
    let messages = String::from_utf8_lossy(&output.stderr);
    // The compiler says `error`, the linker `cannot find`.
    let mut lines = messages.lines();
    let first = lines.find(|line| line.contains("error") || line.contains("cannot find"));
    let first = first.unwrap_or("no message");
    Err(format!(
        "{compiler} failed: {first} (Debian packages: {debian})"
    ))
}

/// Adds what the peer answers to `version`.
fn with_version(command: Vec<String>) -> Result<(Vec<String>, String), String> {
    let output = Command::new(&command[0])
        .args(&command[1..])
        .arg("version")
        .output()
        .map_err(|error| format!("cannot start `{}`: {error}", command.join(" ")))?;
    if !output.status.success() {
        return Err(format!(
            "`{} version` failed: {}",
            command.join(" "),
            output.status
        ));
    }
    Ok((
        command,
        String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    ))
}

/// The first line that a program prints, or the word `unknown`.
pub(crate) fn first_line(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let line = text
        .ok()
        .and_then(|text| text.lines().next().map(str::to_owned));
    line.unwrap_or_else(|| "unknown".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patched_peers_are_built_like_the_others_and_from_the_same_packages() {
        let bench = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        let profile = |folder: &Path| {
            let text = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
            let mut profile = toml::from_str::<toml::Table>(&text).unwrap()["profile"].clone();
            // A package that is built in another way is no peer's.
            let release = profile["release"].as_table_mut().unwrap();
            let others = release
                .remove("package")
                .unwrap_or(toml::Table::new().into());
            let others: Vec<&String> = others.as_table().unwrap().keys().collect();
            assert!(others.is_empty() || others == ["heist-bench-kinds"]);
            profile
        };
        let version = |folder: &Path, package: &str| {
            let lock = Lock::read(folder).unwrap();
            lock.version(package).map(str::to_owned)
        };
        let mut patched_peers = 0;
        for peer in crate::peer::load(&bench.join("peers")).unwrap() {
            if let Build::Patched(Patched { package, .. }) = peer.build {
                patched_peers += 1;
                assert_eq!(profile(&peer.folder), profile(bench));
                assert_eq!(version(&peer.folder, &package), version(bench, &package));
            }
        }
        assert!(patched_peers > 0);
    }
}
