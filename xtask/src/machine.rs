//! Records in Markdown, and the machine on which one is made as it describes it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, thread};

use anyhow::Context;

/// The processor by name, with the numbers that tell its generation.
fn processor() -> String {
    processor_in(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default())
}

fn processor_in(text: &str) -> String {
    let value = |key: &str| {
        text.lines()
            .filter_map(|line| line.split_once(':'))
            .find_map(|(name, value)| (name.trim() == key).then(|| value.trim()))
    };
    let Some(name) = value("model name") else {
        return "CPU unknown".to_owned();
    };
    match (value("cpu family"), value("model")) {
        (Some(family), Some(model)) => format!("{name} (family {family}, model {model})"),
        _ => name.to_owned(),
    }
}

/// The present commit, with a mark if there are changes.
fn commit(root: &Path) -> String {
    let root = root.to_string_lossy();
    let describe = ["describe", "--always", "--dirty", "--exclude=*"];
    said_by("git", &[&["-C", &*root], &describe[..]].concat())
}

/// The first line that a program prints.
fn said_by(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    match text.as_deref().unwrap_or_default().lines().next() {
        Some(line) => line.to_owned(),
        None => "unknown".to_owned(),
    }
}

/// The load averages of one, five and fifteen minutes, where the system tells them.
pub fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_else(|_| "unknown".to_owned());
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// The file for today's record of this name, with a number behind it if there is one already.
///
/// # Errors
///
/// Fails if the name is not one for a file.
pub fn new_record(folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
    anyhow::ensure!(
        !name.is_empty() && name.chars().all(is_plain),
        "a record cannot be called {name:?}; use letters, digits, `-`, `_` and `.`"
    );
    let date = jiff::Zoned::now().date();
    let mut path = folder.join(format!("{date}-{name}.md"));
    let mut number = 1;
    while path.exists() {
        number += 1;
        path = folder.join(format!("{date}-{name}-{number}.md"));
    }
    Ok(path)
}

/// Writes a record: its name, the machine, the compiler and the commit, and `text`.
///
/// # Errors
///
/// Fails if it cannot be written.
pub fn write_record(path: &Path, root: &Path, text: &str) -> anyhow::Result<()> {
    let title = path.file_stem().unwrap_or_default().to_string_lossy();
    let text = format!(
        "# {title}\n\n- Machine: {}, {} cores, Linux {}\n- Compiler: {}; heist at commit {}\n{}\n",
        processor(),
        thread::available_parallelism().map_or(0, usize::from),
        said_by("uname", &["-r"]),
        said_by("rustc", &["--version"]),
        commit(root),
        text.trim_end()
    );
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    folder
        .and_then(|()| fs::write(path, text))
        .with_context(|| format!("could not write the record {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_never_replaces_another_and_stays_in_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let first = new_record(folder.path(), "two-cores").unwrap();
        write_record(&first, folder.path(), "- Found: nothing\n").unwrap();
        let text = fs::read_to_string(&first).unwrap();
        assert!(
            text.starts_with("# 2") && text.ends_with("\n- Found: nothing\n"),
            "{text}"
        );
        assert_ne!(new_record(folder.path(), "two-cores").unwrap(), first);
        for name in ["", "../up"] {
            let error = new_record(folder.path(), name).unwrap_err();
            assert!(error.to_string().contains("cannot be called"), "{error}");
        }
    }

    #[test]
    fn a_processor_has_a_name_a_family_and_a_model() {
        let text = "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n\n";
        assert_eq!(processor_in(text), "AMD EPYC (family 25, model 17)");
        assert_eq!(processor_in("model name : A\n"), "A");
        assert_eq!(processor_in(""), "CPU unknown");
    }
}
