//! The timed job: our driver around the package's public interface, run on both runtimes in turn.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use xtask::process;

/// How long one run may take; a job is meant to take a second.
const LIMIT: Duration = Duration::from_secs(10 * 60);

/// The output of one run of a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    wall_ns: u64,
    /// Everything that it prints besides the time.
    result: String,
}

/// The runs of both drivers: of each round, the time on rayon and on heist.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rounds {
    pub(crate) wall_ns: Vec<[u64; 2]>,
    /// The result that every run printed.
    pub(crate) result: String,
}

/// A driver, ready to run in a folder of its own.
#[derive(Debug)]
pub(crate) struct Driver<'a> {
    pub(crate) program: &'a Path,
    pub(crate) folder: &'a Path,
    pub(crate) logs: &'a Path,
}

impl Driver<'_> {
    fn run(&self) -> anyhow::Result<Run> {
        std::fs::create_dir_all(self.folder)
            .with_context(|| format!("could not create {}", self.folder.display()))?;
        let mut command = Command::new(self.program);
        command.current_dir(self.folder);
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

/// Runs both drivers `rounds` times, after one run of each that does not count. The one that
/// goes first changes from round to round.
pub(crate) fn run(drivers: &[Driver<'_>; 2], rounds: u32) -> anyhow::Result<Rounds> {
    let [rayon, heist] = drivers;
    let first = rayon.run()?.result;
    let check = |run: Run, on: &str| {
        anyhow::ensure!(
            run.result == first,
            "the results differ: the first run on rayon says\n{first}\nbut a run on {on} says\n{}",
            run.result
        );
        Ok(run.wall_ns)
    };
    check(heist.run()?, "heist")?;
    let mut wall_ns = Vec::new();
    for round in 0..rounds {
        wall_ns.push(if round % 2 == 0 {
            let on_rayon = check(rayon.run()?, "rayon")?;
            [on_rayon, check(heist.run()?, "heist")?]
        } else {
            let on_heist = check(heist.run()?, "heist")?;
            [check(rayon.run()?, "rayon")?, on_heist]
        });
    }
    Ok(Rounds {
        wall_ns,
        result: first,
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
    pub(crate) fn spread(&self, of: impl Fn([u64; 2]) -> f64) -> [f64; 3] {
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
            wall_ns: vec![[4, 8], [1, 1], [2, 6], [5, 5]],
            result: "x".into(),
        };
        let ratio = rounds.spread(|[rayon, heist]| heist as f64 / rayon as f64);
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
        let driver = |program| Driver {
            program,
            folder: folder.path(),
            logs: folder.path(),
        };
        let rounds = run(&[driver(&one), driver(&one)], 3).unwrap();
        assert_eq!(rounds.wall_ns, [[5, 5]; 3]);
        let error = run(&[driver(&one), driver(&other)], 1).unwrap_err();
        assert!(error.to_string().contains("the results differ"), "{error}");
    }
}
