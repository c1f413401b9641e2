//! The libraries on other systems, and by the oldest compilers that they promise: checked for each,
//! and run where this machine can.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;

use crate::build;
use crate::steps::Runner;

/// The options of `cargo xtask targets`.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Args {
    /// Only list them, one a line.
    #[arg(long)]
    list: bool,
}

/// A system of each kind that the libraries have code for, besides this one.
const TARGETS: [&str; 6] = [
    "aarch64-unknown-linux-gnu",
    "i686-unknown-linux-gnu",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
    "wasm32-unknown-unknown",
    "wasm32-wasip1",
];

/// The libraries that users name, with the folders of the manifests that promise a compiler.
const LIBRARIES: [(&str, &str); 4] = [
    ("heist", "crates/heist"),
    ("rayon", "compat/rayon"),
    ("rayon-core", "compat/rayon-core"),
    ("heist-cluster", "crates/cluster"),
];

/// The packages that are no libraries.
const PROGRAMS: [&str; 9] = [
    "heist-run",
    "heist-cli",
    "heist-book",
    "heist-lab",
    "xtask",
    "pi-and-primes",
    "shared-numbers",
    "deep-zoom",
    "http-service",
];

/// The packages that need Unix processes.
const UNIX_ONLY: [&str; 2] = ["heist-cluster", "heist-cluster-suite"];

/// The targets that are not Unix systems.
const NO_UNIX: [&str; 2] = ["windows", "wasm32"];

/// Checks the libraries for each target, and returns whether all is well.
///
/// # Errors
///
/// Fails if a step cannot be set up or the report cannot be written.
pub fn run(root: &Path, args: &Args, out: &mut impl Write) -> anyhow::Result<bool> {
    if args.list {
        for target in TARGETS {
            writeln!(out, "{target}")?;
        }
        return Ok(true);
    }
    let mut runner = Runner::new(root, out);
    add_steps(&mut runner)?;
    Ok(runner.finish()?)
}

/// Adds the targets to a run: one step for each, and one for each that can be run; then one for
/// each library with its oldest compiler.
///
/// # Errors
///
/// Fails if a step cannot be set up or the report cannot be written.
pub fn add_steps<W: Write>(runner: &mut Runner<'_, W>) -> anyhow::Result<()> {
    let root = runner.root();
    for target in TARGETS {
        if !has_std(&root, target)? {
            let reason =
                format!("its standard library is not installed (rustup target add {target})");
            runner.skip(target, &reason)?;
            continue;
        }
        let mut check = Command::new("cargo");
        check.args(["clippy", "--target", target, "--workspace"]);
        let is_unix = !NO_UNIX.iter().any(|system| target.contains(system));
        let unfit: &[&str] = if is_unix { &[] } else { &UNIX_ONLY };
        for package in PROGRAMS.iter().chain(unfit) {
            check.args(["--exclude", package]);
        }
        runner.command(target, check.args(["--", "-D", "warnings"]))?;
        if target.starts_with("wasm32") {
            run_in_node(&root, target, runner)?;
        }
    }
    for (package, folder) in LIBRARIES {
        let version = oldest_compiler(&root, folder)?;
        let name = format!("{package} by Rust {version}");
        let mut probe = Command::new("rustup");
        probe.args(["run", &version, "cargo", "--version"]);
        let found = probe.stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !found.is_ok_and(|status| status.success()) {
            let install = format!("rustup toolchain install {version} --profile minimal");
            runner.skip(&name, &format!("that is not installed ({install})"))?;
            continue;
        }
        let mut check = Command::new("rustup");
        check.args(["run", &version, "cargo", "check", "--all-features"]);
        let target = build::target_folder(&root, "oldest").join(&version);
        check
            .args(["--package", package, "--target-dir"])
            .arg(target);
        runner.command(&name, &mut check)?;
    }
    Ok(())
}

/// The oldest compiler that a manifest promises, its own or the workspace's.
fn oldest_compiler(root: &Path, folder: &str) -> anyhow::Result<String> {
    for (folder, table) in [(folder, "package"), ("", "workspace.package")] {
        let path = root.join(folder).join("Cargo.toml");
        let text = std::fs::read_to_string(&path);
        let text = text.with_context(|| format!("could not read {}", path.display()))?;
        let manifest: toml::Value = toml::from_str(&text)?;
        let mut tables = table.split('.');
        let package = tables.try_fold(&manifest, |outer, name| outer.get(name));
        let version = package.and_then(|package| package.get("rust-version")?.as_str());
        if let Some(version) = version {
            return Ok(version.to_owned());
        }
    }
    anyhow::bail!("{folder} promises no compiler: its manifest has no `rust-version`")
}

/// True if programs can be compiled for the target. Only the compiler knows, since
/// not every toolchain is rustup's.
fn has_std(root: &Path, target: &str) -> anyhow::Result<bool> {
    let output = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", target])
        .current_dir(root)
        .output()
        .context("could not start rustc")?;
    let folder = String::from_utf8(output.stdout).context("rustc named no folder")?;
    Ok(holds_std(&PathBuf::from(folder.trim_end())))
}

fn holds_std(folder: &Path) -> bool {
    let Ok(mut entries) = folder.read_dir() else {
        return false; // rustup makes the folder together with the libraries.
    };
    entries.any(|entry| {
        let name = entry.map(|entry| entry.file_name()).unwrap_or_default();
        let name = name.to_string_lossy();
        name.starts_with("libstd-") && name.ends_with(".rlib")
    })
}

/// Runs the example of all operations without threads.
fn run_in_node<W: Write>(
    root: &Path,
    target: &str,
    runner: &mut Runner<'_, W>,
) -> anyhow::Result<()> {
    let name = format!("{target} in node");
    let node = Command::new("node")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if !node.is_ok_and(|status| status.success()) {
        return Ok(runner.skip(&name, "there is no node to run WebAssembly")?);
    }
    let script = root.join("xtask/shims/run_wasm.mjs");
    let node = toml::Value::from(vec![
        "node".to_owned(),
        "--no-warnings".to_owned(),
        script.display().to_string(),
    ]);
    let mut command = Command::new("cargo");
    command
        .args(["run", "--target", target, "--config"])
        .arg(format!("target.{target}.runner={node}"))
        .args(["--package", "heist", "--example", "in_place"]);
    Ok(runner.command(&name, &mut command)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_holds_a_standard_library_if_its_file_is_there() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!holds_std(&folder.path().join("missing")));
        std::fs::write(folder.path().join("libcore-0.rlib"), "").unwrap();
        assert!(!holds_std(folder.path()));
        std::fs::write(folder.path().join("libstd-0.rlib"), "").unwrap();
        assert!(holds_std(folder.path()));
    }

    #[test]
    fn the_compiler_has_the_library_of_its_own_host_and_none_of_an_unknown_target() {
        let here = Path::new(".");
        let output = Command::new("rustc").arg("-vV").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let host = text.lines().find_map(|line| line.strip_prefix("host: "));
        assert!(has_std(here, host.unwrap()).unwrap());
        assert!(!has_std(here, "no-such-target").unwrap());
    }
}
