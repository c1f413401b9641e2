//! The machine and the build behind a measurement, as far as they can be told.

use std::num::NonZero;

use serde::Serialize;

/// Facts about the machine.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    /// The name that Linux gives the first processor.
    processor: Option<String>,
    usable_cores: usize,
    os: &'static str,
    architecture: &'static str,
    /// The release of Linux.
    kernel: Option<String>,
}

impl Machine {
    /// The machine that runs this process.
    pub(crate) fn here() -> Self {
        let read = |path| std::fs::read_to_string(path).ok();
        Self {
            processor: read("/proc/cpuinfo").as_deref().and_then(model_name),
            usable_cores: usable_cores(),
            os: std::env::consts::OS,
            architecture: std::env::consts::ARCH,
            kernel: read("/proc/sys/kernel/osrelease").map(|text| text.trim().to_owned()),
        }
    }
}

/// The number of cores that this process may use.
pub(crate) fn usable_cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// The commit that was checked out when the program was built, with `-dirty` if files differed
/// from it; none if there was no repository.
pub(crate) fn commit() -> Option<&'static str> {
    Some(env!("HEIST_COMMIT")).filter(|commit| !commit.is_empty())
}

fn model_name(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo
        .lines()
        .find(|line| line.starts_with("model name"))?;
    let (_, name) = line.split_once(':')?;
    Some(name.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_named_where_the_file_names_it() {
        let text = "processor\t: 0\nmodel name\t: AMD EPYC\nmodel name\t: another\n";
        assert_eq!(model_name(text).as_deref(), Some("AMD EPYC"));
        assert_eq!(model_name("processor\t: 0\n"), None);
    }
}
