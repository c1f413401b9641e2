//! The timed job: our driver around the package's public interface, run on the runtimes in turn.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use xtask::process;

/// Real rayon, rayon over heist's core, and heist's iterators.
pub(crate) const SIDES: [&str; 3] = ["rayon", "core", "heist"];

/// How long one run may take; a job is meant to take a second.
const LIMIT: Duration = Duration::from_secs(10 * 60);

/// The output of one run of a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    wall_ns: u64,
    /// Everything that it prints besides the time.
    result: String,
}

/// The runs of all drivers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rounds {
    /// The times of each round, side by side.
    pub(crate) wall_ns: Vec<[u64; 3]>,
    /// The result that every run printed.
    pub(crate) result: String,
}

/// A driver, ready to run in a folder of its own.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) program: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) logs: PathBuf,
}

impl Driver {
    fn run(&self) -> anyhow::Result<Run> {
        std::fs::create_dir_all(&self.folder)
            .with_context(|| format!("could not create {}", self.folder.display()))?;
        let mut command = Command::new(&self.program);
        command.current_dir(&self.folder);
        let errors = self.logs.join("job.err");
        let ended = process::run(
            &mut command,
            &self.logs.join("job.log"),
            Some(&errors),
            LIMIT,
        )?;
        match ended.failure() {
            None => read(&ended.output),
            Some(failure) => Err(anyhow::anyhow!(
                "{failure}; its errors are in {}",
                errors.display()
            )),
        }
        .with_context(|| format!("the job {} failed", self.program.display()))
    }
}

/// Runs the drivers, one for each side, `rounds` times, after one run of each that does not
/// count. The one that goes first changes from round to round.
pub(crate) fn run(drivers: &[Driver], rounds: u32) -> anyhow::Result<Rounds> {
    let mut first: Option<String> = None;
    let mut wall_ns = Vec::new();
    for round in 0..=rounds as usize {
        let mut times = [0; SIDES.len()];
        for turn in 0..SIDES.len() {
            let side = (round + turn) % SIDES.len();
            let run = drivers[side].run()?;
            let first = first.get_or_insert_with(|| run.result.clone());
            anyhow::ensure!(
                run.result == *first,
                "the results differ: the first run on rayon says\n{first}\nbut a run on {} says\n{}",
                SIDES[side],
                run.result
            );
            times[side] = run.wall_ns;
        }
        wall_ns.push(times);
    }
    wall_ns.remove(0);
    Ok(Rounds {
        wall_ns,
        result: first.unwrap_or_default(),
    })
}

/// Splits what a driver printed: one line `wall_ns NUMBER`, and the result.
fn read(output: &str) -> anyhow::Result<Run> {
    let (times, result): (Vec<&str>, Vec<&str>) = output
        .lines()
        .partition(|line| line.starts_with("wall_ns "));
    let wall_ns = match *times.as_slice() {
        [time] => time["wall_ns ".len()..].parse().ok(),
        _ => None,
    };
    let wall_ns = wall_ns
        .filter(|&wall_ns: &u64| wall_ns > 0)
        .with_context(|| format!("it should print `wall_ns NUMBER` once, and printed\n{output}"))?;
    anyhow::ensure!(!result.is_empty(), "it printed no result");
    Ok(Run {
        wall_ns,
        result: result.join("\n"),
    })
}

impl Rounds {
    /// Median, smallest and largest of `of` over the rounds.
    pub(crate) fn spread(&self, of: impl Fn([u64; 3]) -> f64) -> [f64; 3] {
        let mut values: Vec<f64> = self.wall_ns.iter().copied().map(of).collect();
        values.sort_by(f64::total_cmp);
        let middle = f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2]);
        [middle, values[0], values[values.len() - 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_told_from_the_result() {
        let run = read("files 3\nwall_ns 12\nsum 7\n").unwrap();
        assert_eq!((run.wall_ns, &*run.result), (12, "files 3\nsum 7"));
    }

    #[test]
    fn a_driver_without_one_time_or_without_a_result_is_refused() {
        for output in [
            "sum 7\n",
            "sum 7\nwall_ns 1\nwall_ns 2\n",
            "sum 7\nwall_ns 0\n",
        ] {
            let error = read(output).unwrap_err().to_string();
            assert!(error.contains("`wall_ns NUMBER` once"), "{error}");
        }
        let error = read("wall_ns 1\n").unwrap_err().to_string();
        assert!(error.contains("no result"), "{error}");
    }

    #[test]
    fn the_median_lies_between_the_two_middles() {
        let rounds = Rounds {
            wall_ns: vec![[4, 0, 8], [1, 0, 1], [2, 0, 6], [5, 0, 5]],
            result: "x".into(),
        };
        let ratio = rounds.spread(|[rayon, _, heist]| heist as f64 / rayon as f64);
        assert_eq!(ratio, [1.5, 1.0, 3.0]);
    }

    #[cfg(unix)]
    #[test]
    fn a_result_that_differs_is_an_error() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let program = |name: &str, result: u32| {
            let path = folder.path().join(name);
            let text = format!("#!/bin/sh\necho wall_ns 5\necho sum {result}\n");
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let (one, other) = (program("one", 1), program("other", 2));
        let driver = |program: &PathBuf| Driver {
            program: program.clone(),
            folder: folder.path().into(),
            logs: folder.path().into(),
        };
        let rounds = run(&[&one, &one, &one].map(driver), 3).unwrap();
        assert_eq!(rounds.wall_ns, [[5, 5, 5]; 3]);
        let error = run(&[&one, &one, &other].map(driver), 1).unwrap_err();
        assert!(error.to_string().contains("the results differ"), "{error}");
    }
}
