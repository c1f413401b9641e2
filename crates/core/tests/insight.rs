//! Work and span of programs whose answers are known, by a clock that only they advance.
#![cfg(not(any(heist_loom, heist_shuttle)))]

use heist_core::insight::{measured, pass, stop_clock, Measured};
use heist_core::{
    broadcast, join, join_context, scope, scope_fifo, spawn, submit, with_context, JoinContext,
    JoinHandle, Strand, TaskGroup, ThreadPool, ThreadPoolBuilder,
};

/// The price of a steal.
const STEAL: i64 = 1000;

fn pool(workers: usize) -> ThreadPool {
    stop_clock(STEAL);
    let pool = ThreadPoolBuilder::new().num_threads(workers).build();
    pool.expect("a pool")
}

/// Measures `op` in pools of several sizes, where it takes the same.
fn measure(op: impl Fn() + Send + Sync) -> Measured {
    let takes = [1, 2, 3].map(|workers| {
        let pool = pool(workers);
        let ((), moved) = measured(|| pool.install(&op));
        let ((), stayed) = measured(|| pool.participate(&op));
        assert_eq!((moved.work, moved.span), (stayed.work, stayed.span));
        moved
    });
    let [first, others @ ..] = takes;
    check(&first);
    for other in others {
        assert_eq!((other.work, other.span), (first.work, first.span));
        assert_eq!((other.burdened, other.forks), (first.burdened, first.forks));
    }
    first
}

/// Checks that which holds for every measurement.
fn check(takes: &Measured) {
    let Measured { work, span, .. } = *takes;
    assert!(span <= work, "{takes:?}");
    assert!(span <= takes.burdened, "{takes:?}");
    let sum: i64 = takes.sites.iter().map(|site| site.2).sum();
    assert_eq!(sum, work, "the sites' work is all of it: {takes:?}");
    let on_path: i64 = takes.sites.iter().map(|site| site.3).sum();
    assert!(on_path <= span, "{takes:?}");
    let dag = &takes.dag;
    assert_eq!((dag.work(), dag.span()), (work, Some(span)));
    for (n, site) in dag.sites.iter().enumerate() {
        let nodes = dag.nodes.iter().filter(|node| usize::from(node.site) == n);
        let same =
            |of: &&(&str, &str, i64, i64)| (of.0, of.1) == (site.0.as_str(), site.1.as_str());
        let of_site = takes.sites.iter().find(same).map_or(0, |site| site.2);
        assert_eq!(
            nodes.map(|node| node.work).sum::<i64>(),
            of_site,
            "{site:?}"
        );
    }
}

/// Item `n` takes `n` ticks.
fn skewed(from: u64, to: u64) {
    if to - from == 1 {
        return pass(from);
    }
    let middle = (from + to) / 2;
    join(|| skewed(from, middle), || skewed(middle, to));
}

fn fib(n: u64) -> u64 {
    pass(1);
    if n < 2 {
        return 1;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b + 1
}

#[test]
fn short_joins_are_one_node_of_the_dag_and_long_ones_are_not() {
    let takes = measure(|| {
        fib(18);
    });
    // Each has less than 50 ticks of work, and more than that together with a neighbour.
    let (nodes, joins) = (takes.dag.nodes.len() as u64, takes.forks);
    assert!(nodes < joins / 4, "{nodes} of {joins}");
    let all_long = measure(|| tree(6));
    let leaves = all_long.dag.nodes.iter().filter(|node| node.work >= 78);
    assert_eq!(leaves.count(), 64);
}

fn tree(depth: u32) {
    if depth == 0 {
        return pass(78);
    }
    join_context(|_| tree(depth - 1), |_| tree(depth - 1));
}

#[test]
fn a_skewed_loop_takes_the_sum_of_its_items_and_spans_the_longest() {
    let takes = measure(|| skewed(0, 101));
    assert_eq!((takes.work, takes.span), (5050, 100));
    assert_eq!(
        takes.forks,
        1 + 100,
        "the call, and a join for each item but one"
    );
}

#[test]
fn each_fork_on_the_burdened_path_costs_a_steal() {
    let takes = measure(|| skewed(0, 64));
    assert_eq!(takes.span, 63);
    // The call moves into the pool, and the last item is behind six joins.
    assert_eq!(takes.burdened, 63 + (1 + 6) * STEAL);
}

#[test]
fn fib_takes_its_calls_and_spans_its_depth() {
    let takes = measure(|| {
        let calls = fib(12);
        assert_eq!(calls, 465);
    });
    assert_eq!((takes.work, takes.span), (465, 12));
}

#[test]
fn a_tree_of_equal_leaves_spans_one() {
    let takes = measure(|| tree(8));
    assert_eq!((takes.work, takes.span), (256 * 78, 78));
}

#[test]
fn joins_by_a_context_count_as_others_do() {
    fn fib(mut cx: JoinContext<'_>, n: u64) {
        pass(1);
        if n >= 2 {
            cx.join(move |cx| fib(cx, n - 1), move |cx| fib(cx, n - 2));
        }
    }
    let takes = measure(|| with_context(|cx| fib(cx, 12)));
    assert_eq!((takes.work, takes.span), (465, 12));
    let name = takes
        .sites
        .iter()
        .find(|site| site.1 == "join")
        .expect("a join")
        .0;
    assert!(
        name.contains("joins_by_a_context_count_as_others_do"),
        "{name}"
    );
}

/// 20 alone, then 16 jobs of 10, of which one spawns 4 of 20, then 5 alone.
#[test]
fn a_scope_whose_jobs_spawn_spans_the_longest_chain() {
    let op = || {
        pass(20);
        scope(|scope| {
            for n in 0..16 {
                scope.spawn(move |scope| {
                    pass(10);
                    for _ in 0..if n == 7 { 4 } else { 0 } {
                        scope.spawn(|_| pass(20));
                    }
                });
            }
        });
        pass(5);
    };
    let takes = measure(op);
    assert_eq!(
        (takes.work, takes.span),
        (20 + 160 + 80 + 5, 20 + 10 + 20 + 5)
    );
    assert_eq!(takes.unjoined, 0);
}

#[test]
fn what_a_scope_does_before_it_spawns_comes_before_the_job() {
    let op = || {
        scope_fifo(|scope| {
            for _ in 0..3 {
                pass(10);
                scope.spawn_fifo(|_| pass(7));
            }
        });
    };
    let takes = measure(op);
    assert_eq!((takes.work, takes.span), (51, 37));
}

#[test]
fn scopes_and_joins_nest() {
    let op = || {
        scope(|scope| {
            scope.spawn(|_| {
                join(|| pass(3), || scope_of(4, 5));
            });
            scope_of(2, 6);
        });
    };
    fn scope_of(jobs: u64, ticks: u64) {
        scope(|scope| (0..jobs).for_each(|_| scope.spawn(move |_| pass(ticks))));
        pass(1);
    }
    let takes = measure(op);
    assert_eq!((takes.work, takes.span), (3 + 21 + 13, 7));
}

#[test]
fn a_wait_for_a_group_goes_on_behind_its_last_job() {
    let op = || {
        let group = TaskGroup::new();
        pass(5);
        (1..=3).for_each(|n| group.run(move || pass(10 * n)));
        pass(7);
        group.wait();
        pass(1);
        group.run(|| pass(2));
        group.wait();
    };
    let takes = measure(op);
    assert_eq!(
        (takes.work, takes.span),
        (5 + 60 + 7 + 1 + 2, 5 + 30 + 1 + 2)
    );
}

#[test]
fn whoever_joins_a_submitted_job_goes_on_behind_it() {
    let op = || {
        let early = submit(|| pass(100));
        pass(10);
        let late = submit(|| pass(20));
        late.join();
        pass(1);
        early.join();
    };
    let takes = measure(op);
    assert_eq!((takes.work, takes.span), (131, 100));
}

#[test]
fn the_jobs_of_a_strand_come_one_after_the_other() {
    let op = || {
        let strand = Strand::new();
        (0..5).for_each(|_| strand.spawn(|| pass(10)));
        pass(3);
        strand.submit(|| pass(2)).join();
    };
    let takes = measure(op);
    assert_eq!((takes.work, takes.span), (55, 52));
}

#[test]
fn a_pipeline_of_stages_spans_its_longest_stage_and_the_others_once() {
    // Three strands, through which ten items go: the second is the slow one.
    let op = || {
        let stages: [Strand; 3] = std::array::from_fn(|_| Strand::new());
        let ticks = [1, 10, 2];
        scope(|scope| {
            let stages = &stages;
            scope.spawn(move |_| {
                let mut last = Vec::new();
                for _ in 0..10 {
                    let mut item = stages[0].submit(move || pass(ticks[0]));
                    for stage in 1..3 {
                        item.join();
                        item = stages[stage].submit(move || pass(ticks[stage]));
                    }
                    last.push(item);
                }
                last.into_iter().for_each(JoinHandle::join);
            });
        });
    };
    let takes = measure(op);
    assert_eq!(takes.work, 130);
    // The one job that feeds them waits for each stage but the last.
    assert_eq!(takes.span, 10 * 11 + 2);
}

#[test]
fn a_spawned_job_begins_where_it_was_spawned_and_nobody_waits_for_it() {
    let pool = pool(2);
    let (say, heard) = std::sync::mpsc::channel();
    let ((), takes) = measured(|| {
        pool.install(|| {
            pass(10);
            spawn(move || {
                join(|| pass(30), || pass(20));
                say.send(()).unwrap();
            });
        });
        heard.recv().unwrap();
        // The job has ended when its share of the pool is gone.
        pool.broadcast(|_| ());
    });
    assert_eq!((takes.work, takes.unjoined, takes.span), (60, 50, 10));
}

#[test]
fn a_broadcast_spans_the_longest_of_its_runs() {
    let pool = pool(3);
    let ((), takes) = measured(|| {
        pool.install(|| {
            pass(1);
            broadcast(|context| pass(10 * (context.index() as u64 + 1)));
            scope(|scope| scope.spawn_broadcast(|_, context| pass(context.index() as u64)));
        });
    });
    assert_eq!((takes.work, takes.span), (1 + 60 + 3, 1 + 30 + 2));
    check(&takes);
}

#[test]
fn calls_from_pool_to_pool_are_parts_of_the_callers_path() {
    let (outer, inner) = (pool(2), pool(2));
    let ((), takes) = measured(|| {
        outer.install(|| {
            pass(1);
            join(
                || inner.install(|| join(|| pass(10), || pass(20))),
                || inner.scope(|scope| scope.spawn(|_| pass(15))),
            );
            pass(1);
        });
    });
    assert_eq!((takes.work, takes.span), (47, 22));
    check(&takes);
}

#[test]
fn serial_pools_and_pools_of_the_current_thread_are_measured_as_others() {
    stop_clock(STEAL);
    let serial = ThreadPoolBuilder::new().serial().build().expect("a pool");
    let ((), takes) = measured(|| serial.install(|| tree(4)));
    assert_eq!((takes.work, takes.span), (16 * 78, 78));
    let here = std::thread::spawn(|| {
        let pool = ThreadPoolBuilder::new().num_threads(2).use_current_thread();
        let pool = pool.build().expect("a pool");
        let ((), takes) = measured(|| pool.install(|| tree(4)));
        assert_eq!((takes.work, takes.span), (16 * 78, 78));
    });
    here.join().unwrap();
}

#[test]
fn calls_of_one_thread_follow_each_other_and_those_of_others_do_not() {
    let pool = pool(2);
    let ((), takes) = measured(|| {
        for _ in 0..3 {
            pool.install(|| tree(2));
        }
        std::thread::scope(|scope| {
            scope.spawn(|| pool.install(|| tree(3)));
        });
    });
    assert_eq!((takes.work, takes.span), (20 * 78, 3 * 78));
}

#[test]
fn a_panic_leaves_the_measurement_whole() {
    let op = || {
        for thrower in 0..2 {
            let panicked = std::panic::catch_unwind(|| {
                join(
                    || {
                        pass(10);
                        assert!(thrower != 0, "the first of the two");
                    },
                    || {
                        pass(20);
                        assert!(thrower != 1, "the second of the two");
                    },
                );
            });
            assert!(panicked.is_err());
            pass(1);
        }
        let panicked = std::panic::catch_unwind(|| {
            scope(|scope| {
                scope.spawn(|_| {
                    pass(5);
                    panic!("a job");
                });
            });
        });
        assert!(panicked.is_err());
        pass(1);
    };
    let takes = measure(op);
    assert_eq!((takes.work, takes.span), (60 + 5 + 3, 40 + 5 + 3));
}
