//! What the figures of a record depend on: the machine, the compiler, the commit.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

/// Two lines of Markdown.
///
/// # Errors
///
/// Fails if a program that is asked cannot be run.
pub(crate) fn described(root: &Path) -> anyhow::Result<String> {
    let said = |program: &str, arguments: &[&str]| -> anyhow::Result<String> {
        let output = Command::new(program)
            .args(arguments)
            .current_dir(root)
            .output();
        let output = output.with_context(|| format!("could not run {program}"))?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let processors = std::fs::read_to_string("/proc/cpuinfo")?;
    let names = processors
        .lines()
        .filter_map(|line| line.strip_prefix("model name"));
    let names: Vec<_> = names
        .map(|name| name.trim_start_matches([' ', '\t', ':']))
        .collect();
    Ok(format!(
        "- Machine: {}, {} cores, Linux {}\n- Compiler: {}; heist at commit {}\n",
        names.first().copied().unwrap_or("unknown"),
        names.len(),
        said("uname", &["-r"])?,
        said("rustc", &["--version"])?,
        said("git", &["describe", "--always", "--dirty"])?,
    ))
}

/// The averages of how many threads wanted a processor, over 1, 5 and 15 minutes.
///
/// # Errors
///
/// Fails where the system does not tell.
pub(crate) fn load() -> anyhow::Result<String> {
    let load = std::fs::read_to_string("/proc/loadavg")?;
    Ok(load.split(' ').take(3).collect::<Vec<_>>().join(" "))
}

/// `DATE-NAME.md` among the records, with a number behind it if there is one already.
pub(crate) fn new_record(root: &Path, name: &str) -> PathBuf {
    let date = jiff::Zoned::now().date();
    let folder = root.join("bench/record");
    let first = folder.join(format!("{date}-{name}.md"));
    let more = (2..).map(|number| folder.join(format!("{date}-{name}-{number}.md")));
    let mut all = std::iter::once(first).chain(more);
    all.find(|path| !path.exists())
        .expect("there are numbers without end")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_never_overwritten() {
        let root = tempfile::tempdir().unwrap();
        let first = new_record(root.path(), "soak");
        std::fs::create_dir_all(first.parent().unwrap()).unwrap();
        std::fs::write(&first, "").unwrap();
        let second = new_record(root.path(), "soak");
        assert!(second.to_string_lossy().ends_with("-soak-2.md"));
    }
}
