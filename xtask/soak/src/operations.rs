//! The operations that the threads outside of the pools choose from.

use std::sync::atomic::{AtomicU64, AtomicU8, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use fastrand::Rng;
use heist::prelude::*;
use heist::{JoinHandle, TaskGroup, ThreadPool, Yield};

use crate::books::{self, Entry};
use crate::tree::{self, Context, Node};
use crate::world::{builder, World, STACK};

/// An outside thread in the middle of a round.
pub(crate) struct Actor {
    pub(crate) world: Arc<World>,
    pub(crate) rng: Rng,
}

/// An operation by its name.
pub(crate) type Operation = (&'static str, fn(&mut Actor));

/// The operations, each as often as it is to be chosen.
pub(crate) const OPERATIONS: [Operation; 21] = [
    ("tree", Actor::tree),
    ("tree", Actor::tree),
    ("tree", Actor::tree),
    ("tree", Actor::tree),
    ("injected jobs", Actor::injected_jobs),
    ("injected jobs", Actor::injected_jobs),
    ("injected jobs", Actor::injected_jobs),
    ("group", Actor::group),
    ("forks", Actor::forks),
    ("aborts", Actor::aborts),
    ("external callers", Actor::external_callers),
    ("external callers", Actor::external_callers),
    ("bursts", Actor::bursts),
    ("bursts", Actor::bursts),
    ("broadcasts", Actor::broadcasts),
    ("loops", Actor::loops),
    ("producer", Actor::producer),
    ("pool for a while", Actor::pool_for_a_while),
    ("pool for a while", Actor::pool_for_a_while),
    ("meeting", Actor::meeting),
    ("adopted thread", Actor::adopted_thread),
];

impl Actor {
    fn any_pool(&mut self) -> usize {
        self.rng.usize(..self.world.pools.len())
    }

    /// A tree that has not run yet.
    fn seedling(&mut self, strict: bool) -> (Arc<Context>, Node) {
        let context = Context {
            world: Arc::clone(&self.world),
            op: self.rng.u64(..),
            bombs: self.rng.u8(..3) == 0,
        };
        let size = 1 << self.rng.u32(0..12);
        let node = Node {
            seed: self.rng.u64(..),
            size,
            strict,
        };
        (Arc::new(context), node)
    }

    fn tree(&mut self) {
        let pool = self.any_pool();
        let strict = self.world.is_strict(pool);
        let (context, node) = self.seedling(strict);
        let way = self.rng.u8(..);
        run_tree(&self.world.pools[pool], &context, node, way);
    }

    /// Jobs that nobody waits for before the round ends.
    fn injected_jobs(&mut self) {
        let pool = self.any_pool();
        let jobs = self.rng.u32(1..600);
        inject(&self.world.pools[pool], jobs, &mut self.rng);
    }

    fn group(&mut self) {
        let pool = self.any_pool();
        let group = Arc::new(TaskGroup::new_in(&self.world.pools[pool]));
        for _ in 0..self.rng.u32(1..4) {
            let (op, jobs) = (self.rng.u64(..), self.rng.u32(1..200));
            let bomb = self.rng.u32(..4 * jobs);
            let ran = Arc::new(AtomicU64::new(0));
            for job in 0..jobs {
                let mut entry = Entry::<25>::new(job as u8);
                let (more, ran) = (Arc::clone(&group), Arc::clone(&ran));
                group.run(move || {
                    entry.run();
                    if job % 8 == 0 {
                        let (mut entry, ran) = (Entry::<90>::new(1), Arc::clone(&ran));
                        more.run(move || {
                            entry.run();
                            ran.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                    // Else the last job of a group could be the one that drops it.
                    drop(more);
                    ran.fetch_add(1, Ordering::Relaxed);
                    if job == bomb {
                        books::throw(op);
                    }
                });
            }
            let outcome = books::caught(op, || group.wait());
            if outcome.is_some() != (bomb >= jobs) {
                books::complain("a group lost its panic, or made one up".to_owned());
            }
            let expected = u64::from(jobs + jobs.div_ceil(8));
            let ran = ran.load(Ordering::Relaxed);
            if ran != expected {
                books::complain(format!("a group of {expected} jobs ended after {ran}"));
            }
        }
    }

    fn forks(&mut self) {
        let pool = self.any_pool();
        let pool = &self.world.pools[pool];
        let mut handles = Vec::new();
        for _ in 0..self.rng.u32(1..100) {
            let (op, value) = (self.rng.u64(..), self.rng.u64(..));
            let (bombs, is_dropped) = (self.rng.u8(..20) == 0, self.rng.u8(..4) == 0);
            let mut entry = Entry::<33>::new(value as u8);
            let handle = pool.submit(move || {
                entry.run();
                match (bombs, is_dropped) {
                    (true, true) => books::throw_to_handler(op),
                    (true, false) => books::throw(op),
                    _ => value,
                }
            });
            if is_dropped {
                drop(handle);
            } else {
                handles.push((handle, op, (!bombs).then_some(value)));
            }
        }
        self.rng.shuffle(&mut handles);
        for (handle, op, expected) in handles {
            let value = books::caught(op, || JoinHandle::join(handle));
            if value != expected {
                books::complain(format!("a handle gave {value:?} for {expected:?}"));
            }
        }
    }

    /// Jobs that are aborted here, stolen there, and joined on either side.
    fn aborts(&mut self) {
        let pool = self.any_pool();
        let pool = &self.world.pools[pool];
        for _ in 0..self.rng.u32(1..100) {
            let ran = Arc::new(AtomicU64::new(0));
            let submit = {
                let ran = Arc::clone(&ran);
                move || heist::submit(move || ran.fetch_add(1, Ordering::Relaxed))
            };
            let handle = match self.rng.bool() {
                true => pool.install(submit),
                false => pool.submit({
                    let ran = Arc::clone(&ran);
                    move || ran.fetch_add(1, Ordering::Relaxed)
                }),
            };
            (0..self.rng.u32(..64)).for_each(|_| std::hint::spin_loop());
            let is_aborted = self.rng.bool() && handle.abort();
            let outcome = match self.rng.bool() {
                true => pool.install(|| handle.try_join()),
                false => handle.try_join(),
            };
            let runs = ran.load(Ordering::Relaxed);
            if runs != u64::from(!is_aborted) || outcome.is_ok() == is_aborted {
                books::complain(format!(
                    "a job ran {runs} times and gave {outcome:?}; aborted: {is_aborted}"
                ));
            }
        }
    }

    /// Regions of almost nothing, one behind the other.
    fn external_callers(&mut self) {
        let pool = self.any_pool();
        let pool = &self.world.pools[pool];
        for _ in 0..self.rng.u32(1..500) {
            let number = self.rng.u32(..);
            let outcome = match number % 8 {
                0..3 => pool.participate(|| (number, number)),
                3..6 => pool.join(|| number, || number),
                6 => {
                    let mut entry = Entry::<8>::new(number as u8);
                    // Left behind in the place.
                    pool.participate(|| heist::spawn(move || entry.run()));
                    (number, number)
                }
                _ => {
                    let (mut a, mut b) = (0, 0);
                    pool.scope(|scope| {
                        scope.spawn(|_| a = number);
                        scope.spawn(|_| b = number);
                    });
                    (a, b)
                }
            };
            if outcome != (number, number) {
                books::complain(format!("an external caller got {outcome:?} for {number}"));
            }
        }
    }

    /// Work with pauses in which workers fall asleep.
    fn bursts(&mut self) {
        let pool = self.any_pool();
        let pool = &self.world.pools[pool];
        for _ in 0..self.rng.u32(1..60) {
            let jobs = self.rng.u32(1..8);
            let ran = AtomicU64::new(0);
            pool.in_place_scope(|scope| {
                for job in 0..jobs {
                    let (mut entry, ran) = (Entry::<16>::new(job as u8), &ran);
                    scope.spawn(move |_| {
                        entry.run();
                        ran.fetch_add(1, Ordering::Relaxed);
                    });
                }
            });
            if ran.into_inner() != u64::from(jobs) {
                books::complain(format!("a scope of {jobs} jobs ended too early"));
            }
            match self.rng.u8(..4) {
                0 => std::thread::yield_now(),
                1 => std::thread::sleep(Duration::from_micros(self.rng.u64(..300))),
                _ => (0..self.rng.u32(..3000)).for_each(|_| std::hint::spin_loop()),
            }
        }
    }

    fn broadcasts(&mut self) {
        let pool = self.any_pool();
        let pool = &self.world.pools[pool];
        let workers = pool.current_num_threads();
        let runs: Arc<Vec<AtomicU8>> = Arc::new((0..workers).map(|_| AtomicU8::new(0)).collect());
        let rounds = self.rng.u8(1..10);
        for _ in 0..rounds {
            let runs = Arc::clone(&runs);
            pool.spawn_broadcast(move |worker| {
                runs[worker.index()].fetch_add(1, Ordering::Relaxed);
            });
        }
        let op = self.rng.u64(..);
        let bomb = self.rng.usize(..4 * workers);
        let indices = books::caught(op, || {
            pool.broadcast(|worker| match worker.index() == bomb {
                true => books::throw(op),
                false => worker.index(),
            })
        });
        let expected = (bomb >= workers).then(|| (0..workers).collect::<Vec<_>>());
        if indices != expected {
            books::complain(format!("a broadcast gave {indices:?} for {expected:?}"));
        }
        // All workers see broadcasts in one order, so the others have run.
        let wrong = runs
            .iter()
            .filter(|runs| runs.load(Ordering::Relaxed) != rounds);
        if wrong.count() > 0 {
            books::complain(format!("{rounds} broadcasts left {runs:?}"));
        }
    }

    fn loops(&mut self) {
        let pool = self.any_pool();
        let (len, op) = (self.rng.usize(..20_000), self.rng.u64(..));
        let visits: Vec<AtomicU8> = (0..len).map(|_| AtomicU8::new(0)).collect();
        let bomb = self.rng.usize(..4 * len + 1);
        let seed = self.rng.u64(..);
        let pool = &self.world.pools[pool];
        let outcome = books::caught(op, || {
            pool.participate(|| {
                heist::parallel_for(0..len, |part| {
                    for index in part {
                        visits[index].fetch_add(1, Ordering::Relaxed);
                        if index == bomb {
                            books::throw(op);
                        }
                    }
                });
            });
        });
        // A panic may leave parts out.
        let visits = visits.into_iter().map(AtomicU8::into_inner);
        let wrong = |visits: u8| visits > 1 || (outcome.is_some() && visits != 1);
        if visits.filter(|visits| wrong(*visits)).count() > 0 {
            books::complain(format!(
                "a loop over {len} indices missed some, or took them twice"
            ));
        }
        let odd = |item: &u64| item % 2 == 1;
        let items = (0..len as u64).map(|index| tree::mixed(seed ^ index));
        let expected: Vec<u64> = items.clone().filter(odd).collect();
        let all: Vec<u64> = items.collect();
        let mut found: Vec<u64> = pool.install(|| all.par_iter().copied().filter(odd).collect());
        if found != expected {
            books::complain("an iterator collected something else".to_owned());
        }
        pool.participate(|| found.par_sort_unstable());
        if !found.is_sorted() || found.len() != expected.len() {
            books::complain("a sort did not sort".to_owned());
        }
    }

    /// One job that spawns many, of which few wait at a time.
    fn producer(&mut self) {
        let pool = self.any_pool();
        let jobs = self.rng.u64(1..20_000);
        self.world.pools[pool].install(|| {
            let ran = Arc::new(AtomicU64::new(0));
            for job in 0..jobs {
                let (mut entry, ran_too) = (Entry::<6>::new(job as u8), Arc::clone(&ran));
                heist::spawn(move || {
                    entry.run();
                    ran_too.fetch_add(1, Ordering::Relaxed);
                });
                while job > ran.load(Ordering::Relaxed) + 64 {
                    if heist::yield_local() != Some(Yield::Executed) {
                        heist::yield_now();
                    }
                }
            }
        });
    }

    /// Builds a pool, gives it work from several threads, and ends it in some way.
    fn pool_for_a_while(&mut self) {
        let pool = self.world.fresh(&mut self.rng, 1);
        let queued = self.rng.u32(..400);
        inject(&pool, queued, &mut self.rng);
        let trees: Vec<_> = (0..self.rng.u32(..3))
            .map(|_| (self.seedling(true), self.rng.u8(..)))
            .collect();
        std::thread::scope(|scope| {
            for ((context, node), way) in &trees {
                let pool = &pool;
                outside(scope, "visitor", move || {
                    run_tree(pool, context, *node, *way);
                });
            }
        });
        let late = self.rng.u32(..200);
        inject(&pool, late, &mut self.rng);
        match self.rng.u8(..4) {
            0 => drop(pool),
            1 => {
                // The last handle goes on a worker.
                let (mut entry, mine) = (Entry::<1>::new(1), Arc::clone(&pool));
                pool.spawn(move || {
                    entry.run();
                    drop(mine);
                });
            }
            _ => {
                let ran = Arc::new(AtomicU64::new(0));
                for _ in 0..late {
                    let (mut entry, ran) = (Entry::<12>::new(2), Arc::clone(&ran));
                    pool.spawn(move || {
                        entry.run();
                        ran.fetch_add(1, Ordering::Relaxed);
                    });
                }
                if let Some(pool) = Arc::into_inner(pool) {
                    pool.shutdown();
                    let ran = ran.load(Ordering::Relaxed);
                    if ran != u64::from(late) {
                        books::complain(format!("{ran} of {late} jobs ran before a shutdown"));
                    }
                }
            }
        }
    }

    /// Two halves of a join that wait for each other: the second must start elsewhere,
    /// however private it is, because the first blocks its worker.
    fn meeting(&mut self) {
        let pool = self.world.fresh(&mut self.rng, 2);
        for _ in 0..self.rng.u32(1..40) {
            let both = Barrier::new(2);
            let meet = || {
                both.wait();
            };
            match self.rng.u8(..3) {
                0 => _ = pool.join(meet, meet),
                1 => _ = pool.install(|| heist::join(meet, meet)),
                _ => pool.scope(|scope| {
                    scope.spawn(|_| meet());
                    meet();
                }),
            }
            if self.rng.bool() {
                std::thread::sleep(Duration::from_micros(self.rng.u64(..200)));
            }
        }
    }

    /// A thread becomes a worker in the middle of its life; another enters as an external caller.
    fn adopted_thread(&mut self) {
        let (workers, jobs) = (self.rng.usize(1..4), self.rng.u32(..100));
        let (context, node) = self.seedling(true);
        let mut rng = self.rng.fork();
        std::thread::scope(|scope| {
            outside(scope, "adopted", move || {
                let pool = builder("beside", workers).use_current_thread();
                let pool = pool.build().expect("a pool with the calling thread");
                inject(&pool, jobs, &mut rng);
                run_tree(&pool, &context, node, 0);
                while heist::yield_now() == Some(Yield::Executed) {}
            });
        });
    }
}

/// A thread that is no worker, with the stack that workers have.
pub(crate) fn outside<'scope, 'env>(
    scope: &'scope std::thread::Scope<'scope, 'env>,
    name: &str,
    run: impl FnOnce() + Send + 'scope,
) {
    let builder = std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(STACK);
    if let Err(error) = builder.spawn_scoped(scope, run) {
        books::complain(format!("could not start a thread: {error}"));
    }
}

/// Runs the tree in the pool, and compares with the serial run.
fn run_tree(pool: &ThreadPool, context: &Arc<Context>, node: Node, way: u8) {
    let run = || tree::parallel(context, node);
    let value = books::caught(context.op, || match way % 5 {
        0 => pool.install(run),
        1 => pool.participate(run),
        2 => pool.scope(|_| run()),
        3 => {
            let mut value = 0;
            pool.in_place_scope(|scope| scope.spawn(|_| value = run()));
            value
        }
        _ => pool.join(run, || ()).0,
    });
    let expected = tree::serial(context, node);
    if value != expected {
        books::complain(format!("a tree gave {value:?} for {expected:?}: {node:?}"));
    }
}

/// Jobs that nobody waits for, small and large, some of which spawn others or panic.
fn inject(pool: &ThreadPool, jobs: u32, rng: &mut Rng) {
    for _ in 0..jobs {
        let op = rng.u64(..);
        let bombs = op.is_multiple_of(50);
        let children = op % 7;
        let mut entry = Entry::<14>::new(op as u8);
        let mut job = move || {
            entry.run();
            for child in 0..children {
                if child % 2 == 0 {
                    let mut entry = Entry::<400>::new(child as u8);
                    heist::spawn(move || entry.run());
                } else {
                    let mut entry = Entry::<9>::new(child as u8);
                    heist::spawn_fifo(move || entry.run());
                }
            }
            if bombs {
                books::throw_to_handler(op);
            }
        };
        let worker = (op >> 16) as usize % pool.current_num_threads();
        match (op >> 8) % 7 {
            0 => pool.spawn(job),
            1 => pool.spawn_fifo(job),
            2 => pool.spawn_on(worker, job),
            3 => pool.job().only_on(worker).spawn(job),
            4 => pool.job().priority(heist::Priority::High).spawn(job),
            5 => pool.job().priority(heist::Priority::Low).spawn(job),
            _ => {
                let mut large = Entry::<2000>::new(3);
                pool.spawn(move || {
                    large.run();
                    job();
                });
            }
        }
    }
}
