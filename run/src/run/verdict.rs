//! The one line that says what came out of several comparisons, whatever it is.
//!
//! It compares strategies by how far behind the fastest each one falls in the workload that suits
//! it least. A runtime is chosen once, before anybody knows which work it will get.

use super::comparison::Comparison;
use crate::strategy::Strategy;

/// A difference that is not worth words: medians of few rounds vary by as much.
const SAME: f64 = 0.05;

/// The speed-ups of one workload over its serial run, which is not among them.
struct Speeds {
    workload: &'static str,
    strategies: Vec<(Strategy, f64)>,
}

/// The worst of a strategy.
struct Worst {
    strategy: Strategy,
    /// How far it is behind the fastest, from 0 to 1, and in which workload.
    behind: f64,
    workload: &'static str,
}

/// The verdict; none if a strategy gave a wrong result, or only the serial one ran.
pub(super) fn verdict(workers: usize, comparisons: &[Comparison]) -> Option<String> {
    if comparisons.iter().any(|it| it.wrong().next().is_some()) {
        return None;
    }
    let speeds = comparisons.iter().map(|comparison| Speeds {
        workload: comparison.workload,
        strategies: comparison.rows[1..]
            .iter()
            .map(|row| (row.strategy, comparison.speedup(row)))
            .collect(),
    });
    of_speeds(workers, &speeds.collect::<Vec<_>>())
}

fn of_speeds(workers: usize, all: &[Speeds]) -> Option<String> {
    let strategies = &all.first()?.strategies;
    let speeds = || all.iter().flat_map(|it| &it.strategies).map(|it| it.1);
    let (least, most) = (speeds().reduce(f64::min)?, speeds().reduce(f64::max)?);
    if workers == 1 {
        return Some(format!(
            "one worker can gain nothing: {least:.2} to {most:.2} times as fast as serial."
        ));
    }
    if let [(only, _)] = strategies[..] {
        return Some(format!(
            "{} is {least:.2} to {most:.2} times as fast as serial.",
            only.as_str()
        ));
    }
    let mut worst: Vec<Worst> = strategies
        .iter()
        .map(|(strategy, _)| worst(*strategy, all))
        .collect();
    worst.sort_by(|a, b| a.behind.total_cmp(&b.behind));
    let [best, others @ ..] = &worst[..] else {
        return None;
    };
    if others.last()?.behind < SAME {
        return Some(format!(
            "no difference to speak of: none is more than {} behind the fastest.",
            percent(others.last()?.behind)
        ));
    }
    let others: Vec<String> = others.iter().map(falls_behind).collect();
    let [others @ .., last] = &others[..] else {
        return None;
    };
    let best = match best.behind {
        0.0 => format!("{} is the fastest in each", best.strategy.as_str()),
        behind => format!(
            "{} is never more than {} behind the fastest",
            best.strategy.as_str(),
            percent(behind)
        ),
    };
    let others = others
        .iter()
        .fold(best, |text, other| format!("{text}; {other}"));
    Some(format!("{others}; {last}."))
}

/// The worst of a strategy. The serial run, of speed 1, competes as well.
fn worst(strategy: Strategy, all: &[Speeds]) -> Worst {
    let mut worst = Worst {
        strategy,
        behind: 0.0,
        workload: "",
    };
    for Speeds {
        workload,
        strategies,
    } in all
    {
        let fastest = strategies.iter().map(|it| it.1).fold(1.0, f64::max);
        for (_, speed) in strategies.iter().filter(|(other, _)| *other == strategy) {
            let behind = 1.0 - speed / fastest;
            if behind > worst.behind {
                (worst.behind, worst.workload) = (behind, workload);
            }
        }
    }
    worst
}

fn falls_behind(worst: &Worst) -> String {
    format!(
        "{} falls {} behind in {}",
        worst.strategy.as_str(),
        percent(worst.behind),
        worst.workload
    )
}

/// A share in per cent, rounded up, so that "never more than" stays true.
fn percent(share: f64) -> String {
    // Less than a billionth is the rounding of floating-point numbers.
    format!("{:.0} %", (share * 100.0 - 1e-9).ceil())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::Strategy::{Central, Static, Stealing};

    /// The verdict over two workloads, with the speeds of static, central and stealing in each.
    fn over(workers: usize, first: [f64; 3], second: [f64; 3]) -> String {
        let speeds = |workload, [one, two, three]: [f64; 3]| Speeds {
            workload,
            strategies: vec![(Static, one), (Central, two), (Stealing, three)],
        };
        of_speeds(workers, &[speeds("files", first), speeds("tree", second)]).expect("a verdict")
    }

    #[test]
    fn the_strategy_that_falls_back_least_comes_first_whichever_it_is() {
        assert_eq!(
            over(2, [1.5, 2.0, 1.96], [1.0, 1.2, 2.0]),
            "stealing is never more than 2 % behind the fastest; \
             central falls 40 % behind in tree; static falls 50 % behind in tree."
        );
        assert_eq!(
            over(2, [1.5, 2.0, 1.0], [1.9, 2.0, 1.9]),
            "central is the fastest in each; \
             static falls 25 % behind in files; stealing falls 50 % behind in files."
        );
    }

    #[test]
    fn small_differences_are_none() {
        let text = over(2, [1.98, 2.0, 1.97], [1.97, 1.95, 1.99]);
        assert_eq!(
            text,
            "no difference to speak of: none is more than 3 % behind the fastest."
        );
    }

    #[test]
    fn the_serial_run_competes_too() {
        let text = over(8, [0.9, 0.8, 0.9], [0.9, 0.9, 0.9]);
        assert_eq!(
            text,
            "static is never more than 10 % behind the fastest; \
             stealing falls 10 % behind in files; central falls 20 % behind in files."
        );
    }

    #[test]
    fn one_worker_or_one_strategy_is_compared_with_serial_only() {
        let text = over(1, [0.98, 0.97, 0.99], [1.0, 0.9, 1.01]);
        assert_eq!(
            text,
            "one worker can gain nothing: 0.90 to 1.01 times as fast as serial."
        );
        let only = |speed| Speeds {
            workload: "files",
            strategies: vec![(Stealing, speed)],
        };
        assert_eq!(
            of_speeds(2, &[only(1.9), only(2.0)]).expect("a verdict"),
            "stealing is 1.90 to 2.00 times as fast as serial."
        );
        let serial = Speeds {
            workload: "files",
            strategies: Vec::new(),
        };
        assert_eq!(of_speeds(2, &[serial]), None);
    }
}
