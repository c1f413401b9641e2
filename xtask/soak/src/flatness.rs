//! Whether a long run stays as it is: the last third of its samples beside the second.
//! The first is for warming up.

use std::fmt;

use crate::probe::{self, Latency};
use crate::usage::Usage;

/// The figures that are noted now and then, between two rounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) usage: Usage,
    pub(crate) latencies: [Latency; probe::NAMES.len()],
}

/// Fewer samples are not judged.
pub(crate) const SAMPLES_MIN: usize = 30;

/// One figure in the course of the run.
struct Course {
    name: String,
    unit: &'static str,
    first: f64,
    /// The medians of the second and of the last third.
    middle: f64,
    last: f64,
    limit: Limit,
}

/// How far the median of the last third may be above that of the second.
#[derive(Clone, Copy)]
enum Limit {
    /// By the share and the amount.
    Sum { share: f64, amount: f64 },
    /// By the factor or the amount, whichever is more: a busy machine is no fault.
    Either { factor: f64, amount: f64 },
    /// By nothing, if it is above this: threads are begun when they are needed first, and stay.
    Above(f64),
    /// Only told.
    None,
}

impl Course {
    fn limit(&self) -> f64 {
        match self.limit {
            Limit::Sum { share, amount } => self.middle * (1.0 + share) + amount,
            Limit::Either { factor, amount } => (self.middle * factor).max(self.middle + amount),
            Limit::Above(most) => self.middle.max(most),
            Limit::None => f64::INFINITY,
        }
    }

    fn is_flat(&self) -> bool {
        self.last <= self.limit()
    }
}

/// All figures in the course of the run.
pub(crate) struct Courses {
    courses: Vec<Course>,
    is_judged: bool,
}

const RESIDENT: Limit = Limit::Sum {
    share: 0.05,
    amount: 4.0,
};
const ADDRESS_SPACE: Limit = Limit::Sum {
    share: 0.05,
    amount: 64.0,
};
const COUNT: Limit = Limit::Sum {
    share: 0.0,
    amount: 0.0,
};
const TAIL: Limit = Limit::Either {
    factor: 5.0,
    amount: 5000.0,
};

impl Courses {
    pub(crate) fn of(samples: &[Sample], threads_max: u64) -> Self {
        let course = |name: String, unit, limit, figure: &dyn Fn(&Sample) -> f64| {
            let figures: Vec<f64> = samples.iter().map(figure).collect();
            let third = figures.len() / 3;
            Course {
                name,
                unit,
                first: figures.first().copied().unwrap_or(0.0),
                middle: median(&figures[third..figures.len() - third]),
                last: median(&figures[figures.len() - third..]),
                limit,
            }
        };
        let mib = |kib: u64| kib as f64 / 1024.0;
        let own = String::from;
        let mut courses = vec![
            course(own("resident memory"), "MiB", RESIDENT, &|s| {
                mib(s.usage.resident_kib)
            }),
            course(own("address space"), "MiB", ADDRESS_SPACE, &|s| {
                mib(s.usage.address_space_kib)
            }),
            course(own("threads"), "", Limit::Above(threads_max as f64), &|s| {
                s.usage.threads as f64
            }),
            course(own("file descriptors"), "", COUNT, &|s| {
                s.usage.descriptors as f64
            }),
        ];
        for (index, name) in probe::NAMES.iter().enumerate() {
            let mut add = |which, limit, figure: fn(&Latency) -> f64| {
                let name = format!("{name}, {which}");
                courses.push(course(name, "us", limit, &|s| figure(&s.latencies[index])));
            };
            add("median", Limit::None, |latency| latency.median_us);
            add("p99", TAIL, |latency| latency.p99_us);
            add("max", Limit::None, |latency| latency.max_us);
        }
        Self {
            courses,
            is_judged: samples.len() >= SAMPLES_MIN,
        }
    }

    /// The courses that are not flat.
    pub(crate) fn failures(&self) -> Vec<String> {
        let steep = |course: &&Course| self.is_judged && !course.is_flat();
        let say = |course: &Course| {
            format!(
                "{} grew from {:.1} to {:.1} {}; allowed is {:.1}",
                course.name,
                course.middle,
                course.last,
                course.unit,
                course.limit()
            )
        };
        self.courses.iter().filter(steep).map(say).collect()
    }
}

fn median(figures: &[f64]) -> f64 {
    let mut figures = figures.to_vec();
    figures.sort_unstable_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(0.0)
}

/// As a table of Markdown.
impl fmt::Display for Courses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| figure | first | second third | last third | ratio | verdict |"
        )?;
        writeln!(
            f,
            "| ------ | ----: | -----------: | ---------: | ----: | ------- |"
        )?;
        for course in &self.courses {
            let verdict = match (course.limit, self.is_judged) {
                (Limit::None, _) => "-".to_owned(),
                (_, false) => "too few samples".to_owned(),
                (..) if course.is_flat() => format!("<= {:.1}: flat", course.limit()),
                _ => format!("<= {:.1}: NOT FLAT", course.limit()),
            };
            let Course {
                name,
                unit,
                first,
                middle,
                last,
                ..
            } = course;
            let ratio = last / middle;
            let name = if unit.is_empty() {
                name.clone()
            } else {
                format!("{name}, {unit}")
            };
            writeln!(
                f,
                "| {name} | {first:.1} | {middle:.1} | {last:.1} | {ratio:.2} | {verdict} |"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(figures: impl Fn(usize) -> (u64, u64, f64)) -> Vec<Sample> {
        let sample = |index| {
            let (mib, threads, p99_us) = figures(index);
            let latency = Latency {
                median_us: 1.0,
                p99_us,
                max_us: p99_us,
            };
            Sample {
                usage: Usage {
                    resident_kib: mib * 1024,
                    address_space_kib: 1 << 20,
                    threads,
                    descriptors: 4,
                },
                latencies: [latency; probe::NAMES.len()],
            }
        };
        (0..SAMPLES_MIN * 2).map(sample).collect()
    }

    #[test]
    fn growth_while_warming_up_and_single_outliers_are_no_failure() {
        let samples = samples(|index| match index {
            0..20 => (index as u64, index as u64, 10.0),
            30 | 50 => (900, 40, 90_000.0),
            _ => (30, 30, 20.0),
        });
        let failures = Courses::of(&samples, 9).failures();
        assert!(failures.is_empty(), "{failures:?}");
    }

    #[test]
    fn memory_that_creeps_and_one_thread_more_are_failures() {
        let failures = Courses::of(&samples(|index| (index as u64, 9, 1.0)), 9).failures();
        assert_eq!(failures.len(), 1, "{failures:?}");
        assert!(failures[0].starts_with("resident memory grew from 30.0 to 50.0 MiB"));
        let grown = samples(|index| (30, 9 + index as u64 / 45, 1.0));
        assert!(Courses::of(&grown, 10).failures().is_empty());
        let failures = Courses::of(&grown, 9).failures();
        assert_eq!(failures, ["threads grew from 9.0 to 10.0 ; allowed is 9.0"]);
    }

    #[test]
    fn a_tail_must_grow_by_a_factor_and_by_milliseconds_to_be_a_failure() {
        let grown = |to: f64| samples(move |index| (30, 9, if index < 40 { 100.0 } else { to }));
        assert!(Courses::of(&grown(4_000.0), 9).failures().is_empty());
        assert_eq!(Courses::of(&grown(6_000.0), 9).failures().len(), 3);
    }

    #[test]
    fn a_short_run_is_not_judged() {
        let samples = samples(|index| (index as u64, 9, 1.0));
        let courses = Courses::of(&samples[..9], 9);
        assert!(courses.failures().is_empty());
        assert!(courses.to_string().contains("too few samples"));
    }
}
