//! Work and span of random series-parallel programs, by a clock that only they advance: whatever
//! the workers do, a measurement says what a serial evaluation computes.
#![cfg(not(any(heist_loom, heist_shuttle)))]

use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::{Arc, OnceLock};

use heist_core::insight::{measured, pass, stop_clock};
use heist_core::{join, scope, submit, TaskGroup, ThreadPool, ThreadPoolBuilder};
use proptest::prelude::*;

/// The price of a steal.
const STEAL: i64 = 1000;

/// A program. Its parts run one after the other where it does not say otherwise.
#[derive(Clone, Debug)]
enum Program {
    /// So many ticks.
    Ticks(u64),
    Sequence(Vec<Program>),
    /// A join; one of the closures, or none, panics at its end.
    Join(Arc<[Program; 2]>, Option<usize>),
    /// The first of each pair runs in the frame, behind which it spawns the second.
    Scope(Vec<(Program, Program)>),
    /// The same in a group of tasks.
    Group(Vec<(Program, Program)>),
    /// The first is submitted; the frame runs the second, and joins the first.
    Submit(Arc<[Program; 2]>),
    /// A call into another pool.
    Install(Arc<Program>),
}

/// Where a program has come to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Point {
    span: i64,
    burdened: i64,
}

impl Point {
    fn later(self, other: Self) -> Self {
        Self {
            span: self.span.max(other.span),
            burdened: self.burdened.max(other.burdened),
        }
    }

    /// Where a job begins that is offered here.
    fn offered(self) -> Self {
        let burdened = self.burdened + STEAL;
        Self { burdened, ..self }
    }
}

impl Program {
    fn any() -> impl Strategy<Value = Self> {
        let ticks = (0..100_u64).prop_map(Self::Ticks);
        ticks.prop_recursive(5, 60, 4, |inner| {
            let two = (inner.clone(), inner.clone());
            let two = two.prop_map(|(one, other)| Arc::new([one, other])).boxed();
            let pairs = prop::collection::vec((inner.clone(), inner.clone()), 0..4).boxed();
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Self::Sequence),
                two.clone().prop_map(|two| Self::Join(two, None)),
                (two.clone(), 0..2_usize).prop_map(|(two, who)| Self::Join(two, Some(who))),
                pairs.clone().prop_map(Self::Scope),
                pairs.prop_map(Self::Group),
                two.prop_map(Self::Submit),
                inner.prop_map(|inner| Self::Install(Arc::new(inner))),
            ]
        })
    }

    /// Runs it in this pool; calls go into the other one, and from there into none.
    fn run(&self, other: Option<&'static ThreadPool>) {
        match self {
            Self::Ticks(ticks) => pass(*ticks),
            Self::Sequence(parts) => parts.iter().for_each(|part| part.run(other)),
            Self::Join(two, thrower) => {
                let half = |n: usize| {
                    two[n].run(other);
                    if *thrower == Some(n) {
                        // No message, which a panic of its own would print.
                        resume_unwind(Box::new(n));
                    }
                };
                let ends = catch_unwind(AssertUnwindSafe(|| join(|| half(0), || half(1))));
                assert_eq!(ends.is_err(), thrower.is_some());
            }
            Self::Scope(pairs) => scope(|scope| {
                for (before, job) in pairs {
                    before.run(other);
                    scope.spawn(move |_| job.run(other));
                }
            }),
            Self::Group(pairs) => {
                let group = TaskGroup::new();
                for (before, job) in pairs {
                    before.run(other);
                    let job = job.clone();
                    group.run(move || job.run(other));
                }
                group.wait();
            }
            Self::Submit(two) => {
                let job = Arc::clone(two);
                let handle = submit(move || job[0].run(other));
                two[1].run(other);
                handle.join();
            }
            Self::Install(inner) => match other {
                Some(pool) => pool.install(|| inner.run(None)),
                None => inner.run(None),
            },
        }
    }

    /// Evaluates it from this point on: gives its end, and adds its work.
    fn take(&self, from: Point, may_call: bool, work: &mut i64) -> Point {
        match self {
            Self::Ticks(ticks) => {
                let ticks = *ticks as i64;
                *work += ticks;
                Point {
                    span: from.span + ticks,
                    burdened: from.burdened + ticks,
                }
            }
            Self::Sequence(parts) => {
                let step = |from, part: &Self| part.take(from, may_call, work);
                parts.iter().fold(from, step)
            }
            Self::Join(two, _) => {
                let first = two[0].take(from, may_call, work);
                first.later(two[1].take(from.offered(), may_call, work))
            }
            Self::Scope(pairs) | Self::Group(pairs) => {
                let (mut here, mut latest) = (from, from);
                for (before, job) in pairs {
                    here = before.take(here, may_call, work);
                    latest = latest.later(job.take(here.offered(), may_call, work));
                }
                here.later(latest)
            }
            Self::Submit(two) => {
                let submitted = two[0].take(from.offered(), may_call, work);
                two[1].take(from, may_call, work).later(submitted)
            }
            // The frame waits for the call, which is offered to the other pool.
            Self::Install(inner) if may_call => from.later(inner.take(from.offered(), false, work)),
            Self::Install(inner) => inner.take(from, false, work),
        }
    }
}

/// Pools of several sizes, and one for calls.
fn pools() -> &'static [ThreadPool; 4] {
    static POOLS: OnceLock<[ThreadPool; 4]> = OnceLock::new();
    POOLS.get_or_init(|| {
        stop_clock(STEAL);
        [2, 1, 2, 4].map(|workers| {
            let pool = ThreadPoolBuilder::new().num_threads(workers).build();
            pool.expect("a pool")
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_random_program_takes_the_work_and_the_span_of_its_serial_evaluation(
        program in Program::any(),
    ) {
        let [other, pools @ ..] = pools();
        let mut work = 0;
        // The call moves into the pool.
        let end = program.take(Point::default().offered(), true, &mut work);
        for pool in pools {
            let ((), takes) = measured(|| pool.install(|| program.run(Some(other))));
            let found = Point { span: takes.span, burdened: takes.burdened };
            prop_assert_eq!((takes.work, found), (work, end));
            prop_assert_eq!(takes.unjoined, 0);
            let of_sites: i64 = takes.sites.iter().map(|site| site.2).sum();
            prop_assert_eq!(of_sites, work, "the sites' work is all of it");
            // Short joins are together in it.
            prop_assert_eq!((takes.dag.work(), takes.dag.span()), (work, Some(found.span)));
        }
    }
}
