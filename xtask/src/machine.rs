//! The machine on which a record is made, as the record describes it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, thread};

/// The processor by name, with the numbers that tell its generation.
pub fn processor() -> String {
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

/// How many threads can run at once.
#[must_use]
pub fn cores() -> usize {
    thread::available_parallelism().map_or(0, usize::from)
}

/// The version of the compiler.
#[must_use]
pub fn compiler() -> String {
    said_by("rustc", &["--version"])
}

/// The present commit, with a mark if there are changes.
pub fn commit(root: &Path) -> String {
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

/// All of that but the load, in two lines of Markdown.
pub fn described(root: &Path) -> String {
    format!(
        "- Machine: {}, {} cores, Linux {}\n- Compiler: {}; heist at commit {}\n",
        processor(),
        cores(),
        said_by("uname", &["-r"]),
        compiler(),
        commit(root),
    )
}

/// `DATE-NAME.md` among the records, with a number behind it if there is one already.
pub fn new_record(root: &Path, name: &str) -> PathBuf {
    let date = jiff::Zoned::now().date();
    let folder = root.join("bench/record");
    let mut path = folder.join(format!("{date}-{name}.md"));
    let mut number = 1;
    while path.exists() {
        number += 1;
        path = folder.join(format!("{date}-{name}-{number}.md"));
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_never_overwritten() {
        let root = tempfile::tempdir().unwrap();
        let first = new_record(root.path(), "soak");
        fs::create_dir_all(first.parent().unwrap()).unwrap();
        fs::write(&first, "").unwrap();
        assert_ne!(new_record(root.path(), "soak"), first);
    }

    #[test]
    fn a_processor_has_a_name_a_family_and_a_model() {
        let text = "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n\n";
        assert_eq!(processor_in(text), "AMD EPYC (family 25, model 17)");
        assert_eq!(processor_in("model name : A\n"), "A");
        assert_eq!(processor_in(""), "CPU unknown");
    }
}
