//! From samples to the numbers of a table's cell.

use crate::definition::{Also, Definition};
use crate::run::Run;
use crate::sample::figure;
use crate::stats::{median, median_of_ratios, ratio_of_medians, Spread};

/// All runs of one workload, asked by peer and number of workers.
///
/// Runs that others disturbed do not count, unless a peer has no other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures<'a> {
    pub(crate) definition: &'a Definition,
    pub(crate) runs: &'a [Run],
    pub(crate) rounds: u32,
}

impl<'a> Figures<'a> {
    /// Whether a peer has figures, and all of them are from disturbed runs.
    pub(crate) fn is_disturbed(&self, peer: &str, workers: u32) -> bool {
        let mut runs = self.good(peer, workers).peekable();
        runs.peek().is_some() && runs.all(Run::is_disturbed)
    }

    /// The median and the ends of the headline figure over all samples.
    pub(crate) fn spread(&self, peer: &str, workers: u32) -> Option<Spread> {
        Spread::of(&self.headline(peer, workers))
    }

    /// Median over median of the serial baseline.
    pub(crate) fn over_baseline(&self, peer: &str, workers: u32, baseline: &str) -> Option<f64> {
        ratio_of_medians(&self.headline(peer, workers), &self.headline(baseline, 1))
    }

    /// The median over rounds of the ratio of one peer with its number of workers
    /// to another; over the rounds in which neither was disturbed, if there is one.
    pub(crate) fn ratio(&self, this: (&str, u32), other: (&str, u32)) -> Option<f64> {
        let over = |any| {
            let of = |(peer, workers)| self.by_round(peer, workers, any);
            median_of_ratios(&of(this), &of(other))
        };
        over(false).or_else(|| over(true))
    }

    /// The fastest of these rivals, with as many workers, and the ratio to it.
    pub(crate) fn beside_rivals<'p>(
        &self,
        this: (&str, u32),
        rivals: impl Iterator<Item = &'p str>,
    ) -> Option<(&'p str, f64)> {
        let ratios = rivals.filter_map(|rival| Some((rival, self.ratio(this, (rival, this.1))?)));
        ratios.max_by(|(_, one), (_, other)| one.total_cmp(other))
    }

    /// As [`ratio`](Self::ratio), of medians, after the median of a serial peer was
    /// taken off both.
    pub(crate) fn ratio_less(
        &self,
        this: (&str, u32),
        other: (&str, u32),
        less: &str,
    ) -> Option<f64> {
        let serial = self.spread(less, 1)?.median;
        let above = |(peer, workers)| Some(self.spread(peer, workers)?.median - serial);
        Some(above(this)? / above(other)?)
    }

    /// A further column.
    pub(crate) fn also(&self, also: &Also, peer: &str, workers: u32) -> Option<f64> {
        let runs = self.counting(peer, workers);
        also.take.of(&numbers(runs, &also.figure, also.scale))
    }

    /// The runs of a peer that failed; they give no figures.
    pub(crate) fn failures<'b>(
        &self,
        peer: &'b str,
    ) -> impl Iterator<Item = &'a Run> + use<'a, 'b> {
        self.of(peer).filter(|run| run.failure.is_some())
    }

    fn headline(&self, peer: &str, workers: u32) -> Vec<f64> {
        let Definition { figure, scale, .. } = self.definition;
        numbers(self.counting(peer, workers), figure, *scale)
    }

    /// The median of each round; `any` says whether disturbed runs count.
    fn by_round(&self, peer: &str, workers: u32, any: bool) -> Vec<Option<f64>> {
        let Definition { figure, scale, .. } = self.definition;
        let runs = |round| {
            let good = self
                .good(peer, workers)
                .filter(move |run| run.round == round);
            good.filter(move |run| any || !run.is_disturbed())
        };
        (1..=self.rounds)
            .map(|round| median(&numbers(runs(round), figure, *scale)))
            .collect()
    }

    /// The runs that count for a peer.
    fn counting<'b>(
        &self,
        peer: &'b str,
        workers: u32,
    ) -> impl Iterator<Item = &'a Run> + use<'a, 'b> {
        let any = self.is_disturbed(peer, workers);
        self.good(peer, workers)
            .filter(move |run| any || !run.is_disturbed())
    }

    /// The runs without a failure.
    fn good<'b>(&self, peer: &'b str, workers: u32) -> impl Iterator<Item = &'a Run> + use<'a, 'b> {
        self.of(peer)
            .filter(move |run| run.workers == workers && run.failure.is_none())
    }

    fn of<'b>(&self, peer: &'b str) -> impl Iterator<Item = &'a Run> + use<'a, 'b> {
        let definition = self.definition;
        self.runs
            .iter()
            .filter(move |run| run.workload == definition.name && run.peer == peer)
    }
}

/// One figure of every sample of some runs.
fn numbers<'a>(runs: impl Iterator<Item = &'a Run>, name: &str, scale: f64) -> Vec<f64> {
    let samples = runs.flat_map(|run| &run.samples);
    samples
        .filter_map(|sample| figure(sample, name))
        .map(|number| number * scale)
        .collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use heist_bench_workloads::Sample;

    use super::*;
    use crate::definition::tests::fib;

    pub(crate) fn run(peer: &str, workers: u32, round: u32, ns: &[u64]) -> Run {
        Run {
            workload: "fib".to_owned(),
            peer: peer.to_owned(),
            workers,
            round,
            samples: ns.iter().map(|&ns| Sample::new(ns, 10, 0)).collect(),
            foreign_s: 0.0,
            wall_s: 1.0,
            failure: None,
        }
    }

    #[test]
    fn a_spread_is_over_all_rounds_and_a_ratio_within_each() {
        let runs = [
            run("serial", 1, 1, &[10]),
            run("rayon", 2, 1, &[20, 40]),
            run("heist", 2, 1, &[30]),
            run("rayon", 2, 2, &[300]),
            run("heist", 2, 2, &[100]),
        ];
        let definition = fib();
        let figures = Figures {
            definition: &definition,
            runs: &runs,
            rounds: 2,
        };
        let spread = figures.spread("rayon", 2);
        assert_eq!(
            spread,
            Some(Spread {
                median: 4.0,
                min: 2.0,
                max: 30.0
            })
        );
        assert_eq!(figures.over_baseline("rayon", 2, "serial"), Some(4.0));
        // 3 over 3 in the first round, 30 over 10 in the second.
        assert_eq!(figures.ratio(("rayon", 2), ("heist", 2)), Some(2.0));
        assert_eq!(figures.ratio(("rayon", 2), ("serial", 1)), Some(3.0));
    }

    #[test]
    fn disturbed_runs_count_only_where_there_are_no_others() {
        let disturbed = |run: Run| Run {
            foreign_s: 1.0,
            ..run
        };
        let runs = [
            run("rayon", 1, 1, &[10]),
            disturbed(run("rayon", 1, 2, &[90])),
            disturbed(run("heist", 1, 1, &[50])),
        ];
        let definition = fib();
        let figures = Figures {
            definition: &definition,
            runs: &runs,
            rounds: 2,
        };
        assert_eq!(figures.spread("rayon", 1).unwrap().max, 1.0);
        assert_eq!(figures.spread("heist", 1).unwrap().max, 5.0);
        assert!(!figures.is_disturbed("rayon", 1) && figures.is_disturbed("heist", 1));
        assert!(!figures.is_disturbed("tbb", 1));
    }

    #[test]
    fn a_failed_run_gives_no_figures() {
        let runs = [Run {
            failure: Some("wrong result".to_owned()),
            ..run("rayon", 1, 1, &[5])
        }];
        let definition = fib();
        let figures = Figures {
            definition: &definition,
            runs: &runs,
            rounds: 1,
        };
        assert_eq!(figures.spread("rayon", 1), None);
        assert_eq!(figures.failures("rayon").count(), 1);
    }
}
