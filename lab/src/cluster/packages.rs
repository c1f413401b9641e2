//! The packages of backends: found, or installed once.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use xtask::process;
use xtask::steps::Line;

/// The only release of Ray that is used: others start and listen differently.
pub(super) const RAY: &str = "2.60.0";

/// Ray's own Python, in a virtual environment in `folder` that is made the first time.
pub(super) fn ray(folder: &Path) -> anyhow::Result<PathBuf> {
    let environment = folder.join(format!("ray-{RAY}"));
    let python = environment.join("bin/python");
    // Written last, so that an interrupted installation does not count.
    let whole = environment.join("whole");
    if whole.is_file() && python.is_file() {
        return Ok(python);
    }
    if environment.exists() {
        fs::remove_dir_all(&environment)
            .with_context(|| format!("could not remove {}", environment.display()))?;
    }
    let log = folder.join("install-ray.log");
    let venv = || {
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv"]).arg(&environment);
        succeed(&mut venv, &log, Duration::from_secs(120))
    };
    // Debian keeps what this needs in a package of its own.
    venv().or_else(|error| {
        apt(&["python3-venv"], folder).context(error)?;
        venv()
    })?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet"])
        .arg(format!("ray=={RAY}"));
    succeed(&mut pip, &log, Duration::from_secs(300))?;
    fs::write(&whole, RAY).with_context(|| format!("could not write {}", whole.display()))?;
    Ok(python)
}

/// A program that `package` brings, which is installed if it is missing. Its log goes to `folder`.
pub(super) fn program(name: &str, package: &str, folder: &Path) -> anyhow::Result<PathBuf> {
    if let Some(found) = find(name) {
        return Ok(found);
    }
    apt(&[package], folder)
        .with_context(|| format!("there is no {name}, and {package} could not be installed"))?;
    find(name).with_context(|| format!("{package} was installed, but brought no {name}"))
}

/// Where a program lies. The folders for administrators are not in everybody's search path.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// Installs Debian's packages.
fn apt(packages: &[&str], folder: &Path) -> anyhow::Result<()> {
    let names = packages.join(", ");
    anyhow::ensure!(
        rustix::process::geteuid().is_root(),
        "only root can install the packages {names}"
    );
    let log = folder.join("install-packages.log");
    let mut update = Command::new("apt-get");
    update.arg("update");
    succeed(&mut update, &log, Duration::from_secs(120))?;
    let mut install = Command::new("apt-get");
    install
        .args(["install", "--yes", "--no-install-recommends"])
        .args(packages)
        .env("DEBIAN_FRONTEND", "noninteractive");
    succeed(&mut install, &log, Duration::from_secs(300))
}

/// Runs a command; if it fails, the error has the last line that it wrote.
pub(super) fn succeed(command: &mut Command, log: &Path, limit: Duration) -> anyhow::Result<()> {
    let ended = process::run(command, log, None, limit)?;
    let Some(failure) = ended.failure() else {
        return Ok(());
    };
    let last = ended
        .output
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty());
    let last = last.unwrap_or("it wrote nothing");
    let program = Path::new(command.get_program()).file_name();
    let program = program.unwrap_or(OsStr::new("it")).to_string_lossy();
    anyhow::bail!("{failure} of: {}: {program} said: {last}", Line(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_command_is_named_with_its_last_words() {
        let folder = tempfile::tempdir().unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo first; echo last >&2; echo; exit 3"]);
        let log = folder.path().join("log");
        let error = succeed(&mut shell, &log, Duration::from_secs(60)).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("exit status: 3 of: sh -c "), "{text}");
        assert!(text.ends_with("sh said: last"), "{text}");
    }

    #[test]
    fn a_whole_environment_is_used_again() {
        let folder = tempfile::tempdir().unwrap();
        let environment = folder.path().join(format!("ray-{RAY}"));
        let python = environment.join("bin/python");
        fs::create_dir_all(environment.join("bin")).unwrap();
        for file in [&python, &environment.join("whole")] {
            fs::write(file, "").unwrap();
        }
        assert_eq!(ray(folder.path()).unwrap(), python);
    }
}
