//! Random fork-join programs give on a pool what they give serially: the same result, the same
//! panic, each leaf run once, each closure dropped once.
#![cfg(not(any(heist_loom, heist_shuttle)))]

use std::collections::BTreeSet;
use std::panic::{catch_unwind, panic_any, resume_unwind, AssertUnwindSafe};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use heist_core::{
    JoinContext, JoinError, JoinHandle, Pin, Priority, Strand, TaskGroup, ThreadPool,
    ThreadPoolBuilder, Topology, Waiting,
};
use heist_sync::allowed_processors;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Program {
    /// Gives its number.
    Leaf(u32),
    /// Panics with its number.
    Panic(u32),
    Join(Box<Program>, Box<Program>),
    Scope(Vec<Program>),
    ScopeFifo(Vec<Program>),
    Group(Vec<Program>),
    /// One at a time.
    Strand(Vec<Program>),
    Fork(Box<Program>),
    /// Moves to the other pool.
    Install(Box<Program>),
    Broadcast(Box<Program>),
    /// The joins below it are those of a context, until something else comes between.
    Context(Box<Program>),
    /// Jobs that a scope waits for while the rest goes on, with the same context if there is one.
    InPlace(Vec<Program>, Box<Program>),
    /// Gives a number if the part panics.
    Catch(Box<Program>),
    /// Waits for descendants only.
    Strict(Box<Program>),
    /// Runs any other job first.
    Yield(Box<Program>),
    /// In a call that might block, until it does something.
    Block(Box<Program>),
    /// A fork that is joined in a scope, which spawns only then.
    Late(Box<Program>, Box<Program>),
    /// The initialiser of a value that both halves of a join want.
    Once(Box<Program>),
    /// A fork with this priority or hint.
    Placed(Place, Box<Program>),
    /// Jobs with this priority.
    Lane(Priority, Vec<Program>),
    /// Gives a number if the fork panics, without a panic.
    Try(Box<Program>),
    /// A fork that is aborted, unless it has begun: gives a number in both cases.
    Abort(Box<Program>),
    /// Forks that are joined in the order in which they began.
    Forks(Vec<Program>),
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Lane(Priority),
    Near(usize),
    OnlyOn(usize),
}

fn lanes() -> impl Strategy<Value = Priority> {
    prop_oneof![
        Just(Priority::High),
        Just(Priority::Normal),
        Just(Priority::Low)
    ]
}

fn places() -> impl Strategy<Value = Place> {
    prop_oneof![
        lanes().prop_map(Place::Lane),
        (0..6_usize).prop_map(Place::Near),
        (0..6_usize).prop_map(Place::OnlyOn),
    ]
}

fn leaves() -> impl Strategy<Value = Program> {
    prop_oneof![9 => any::<u16>().prop_map(|n| Program::Leaf(n.into())), 1 => (0..5_u32).prop_map(Program::Panic)]
}

/// Programs in which some frames wait for descendants only: on one pool, because those of several
/// may wait for each other.
fn strict_programs() -> impl Strategy<Value = Program> {
    leaves().prop_recursive(6, 60, 5, |inner| {
        let many = prop::collection::vec(inner.clone(), 0..5);
        let (forks, one) = (many.clone(), inner.prop_map(Box::new));
        prop_oneof![
            3 => (one.clone(), one.clone()).prop_map(|(a, b)| Program::Join(a, b)),
            2 => one.clone().prop_map(Program::Context),
            2 => (many.clone(), one.clone()).prop_map(|(jobs, rest)| Program::InPlace(jobs, rest)),
            1 => one.clone().prop_map(Program::Catch),
            2 => many.clone().prop_map(Program::Scope),
            1 => many.clone().prop_map(Program::Group),
            1 => (lanes(), many.clone()).prop_map(|(lane, jobs)| Program::Lane(lane, jobs)),
            1 => many.prop_map(Program::Strand),
            2 => one.clone().prop_map(Program::Fork),
            1 => (places(), one.clone()).prop_map(|(place, job)| Program::Placed(place, job)),
            1 => one.clone().prop_map(Program::Broadcast),
            3 => one.clone().prop_map(Program::Strict),
            3 => one.clone().prop_map(Program::Yield),
            2 => one.clone().prop_map(Program::Block),
            1 => one.clone().prop_map(Program::Try),
            1 => forks.prop_map(Program::Forks),
            2 => (one.clone(), one).prop_map(|(a, b)| Program::Late(a, b)),
        ]
    })
}

/// Programs in which values are made once. Without a yield, which may run on top of an initialiser
/// the very half that waits for it.
fn once_programs() -> impl Strategy<Value = Program> {
    leaves().prop_recursive(6, 60, 5, |inner| {
        let many = prop::collection::vec(inner.clone(), 0..5);
        let one = inner.clone().prop_map(Box::new);
        prop_oneof![
            3 => (one.clone(), one.clone()).prop_map(|(a, b)| Program::Join(a, b)),
            1 => one.clone().prop_map(Program::Context),
            1 => (many.clone(), one.clone()).prop_map(|(jobs, rest)| Program::InPlace(jobs, rest)),
            1 => one.clone().prop_map(Program::Catch),
            2 => many.clone().prop_map(Program::Scope),
            1 => many.prop_map(Program::Group),
            1 => one.clone().prop_map(Program::Fork),
            1 => one.clone().prop_map(Program::Broadcast),
            1 => one.clone().prop_map(Program::Strict),
            1 => one.clone().prop_map(Program::Block),
            1 => (one.clone(), one.clone()).prop_map(|(a, b)| Program::Late(a, b)),
            4 => one.prop_map(Program::Once),
        ]
    })
}

fn programs() -> impl Strategy<Value = Program> {
    leaves().prop_recursive(6, 60, 5, |inner| {
        let many = prop::collection::vec(inner.clone(), 0..5);
        let (forks, one) = (many.clone(), inner.prop_map(Box::new));
        prop_oneof![
            5 => (one.clone(), one.clone()).prop_map(|(a, b)| Program::Join(a, b)),
            3 => one.clone().prop_map(Program::Context),
            2 => (many.clone(), one.clone()).prop_map(|(jobs, rest)| Program::InPlace(jobs, rest)),
            1 => one.clone().prop_map(Program::Catch),
            2 => many.clone().prop_map(Program::Scope),
            1 => many.clone().prop_map(Program::ScopeFifo),
            1 => many.clone().prop_map(Program::Group),
            1 => (lanes(), many.clone()).prop_map(|(lane, jobs)| Program::Lane(lane, jobs)),
            1 => many.prop_map(Program::Strand),
            1 => one.clone().prop_map(Program::Fork),
            2 => (places(), one.clone()).prop_map(|(place, job)| Program::Placed(place, job)),
            1 => one.clone().prop_map(Program::Install),
            1 => one.clone().prop_map(Program::Block),
            1 => one.clone().prop_map(Program::Try),
            1 => one.clone().prop_map(Program::Abort),
            1 => forks.prop_map(Program::Forks),
            1 => one.prop_map(Program::Broadcast),
        ]
    })
}

const WORKERS: [usize; 6] = [2, 3, 1, 1, 2, 4];

/// The pool that a program moves to.
const OTHERS: [usize; 6] = [1, 0, 2, 4, 3, 0];

/// The one that is serial.
const SERIAL: usize = 3;

/// The one that guards all of each stack.
const GUARDED: usize = 4;

/// The one that is pinned, and whose workers are not equally far apart.
const UNEVEN: usize = 5;

/// Pinned where that can be, to processors that are taken for far apart.
fn uneven(builder: ThreadPoolBuilder) -> ThreadPoolBuilder {
    let machines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sync/tests/machines");
    let machine = Topology::read(&machines.join("far-apart.txt")).expect("it is recorded");
    let turns = allowed_processors().into_iter().cycle();
    match cfg!(target_os = "linux") {
        true => builder.pin(Pin::Cpus(turns.take(WORKERS[UNEVEN]).collect())),
        false => builder,
    }
    .topology(machine)
}

type Pools = [ThreadPool; 6];

/// The pools for all cases: building them costs more than a case.
fn pools() -> &'static Pools {
    static POOLS: OnceLock<Pools> = OnceLock::new();
    POOLS.get_or_init(build)
}

/// Those whose frames wait for descendants only. Programs of other tests would wait so too on top
/// of a frame that yields, and might move to a pool that waits for them.
fn strict_pools() -> &'static Pools {
    static POOLS: OnceLock<Pools> = OnceLock::new();
    POOLS.get_or_init(build)
}

fn build() -> Pools {
    [0, 1, 2, SERIAL, GUARDED, UNEVEN].map(|on| {
        let builder = ThreadPoolBuilder::new().num_threads(WORKERS[on]);
        match on {
            SERIAL => builder.serial(),
            GUARDED => builder.stack_guard(usize::MAX),
            UNEVEN => uneven(builder).compensation_workers(1),
            _ => builder.compensation_workers(on),
        }
        .build()
        .expect("a pool")
    })
}

/// Stands for a panic that was caught.
const CAUGHT: u64 = 77;

/// Stands for a part that may have run or not.
const ABORTED: u64 = 78;

/// The result of a program: a number, or a panic with one of some numbers.
type Outcome = Result<u64, BTreeSet<u32>>;

/// The serial run of some parts, of which any may panic first.
fn all(parts: &[Program], on: usize, leaves: &mut usize) -> Outcome {
    let outcomes: Vec<_> = parts.iter().map(|part| serial(part, on, leaves)).collect();
    let panics: BTreeSet<u32> = outcomes
        .iter()
        .filter_map(|o| o.clone().err())
        .flatten()
        .collect();
    if panics.is_empty() {
        Ok(outcomes.into_iter().flatten().fold(0, u64::wrapping_add))
    } else {
        Err(panics)
    }
}

/// The serial run, on the pool with this number. Counts the leaves.
fn serial(program: &Program, on: usize, leaves: &mut usize) -> Outcome {
    match program {
        Program::Leaf(n) => {
            *leaves += 1;
            Ok((*n).into())
        }
        Program::Panic(n) => {
            *leaves += 1;
            Err(BTreeSet::from([*n]))
        }
        Program::Join(a, b) => {
            let (a, b) = (serial(a, on, leaves), serial(b, on, leaves));
            let a = a?;
            Ok(a.wrapping_mul(3).wrapping_add(b?))
        }
        Program::Scope(parts)
        | Program::ScopeFifo(parts)
        | Program::Group(parts)
        | Program::Lane(_, parts)
        | Program::Forks(parts)
        | Program::Strand(parts) => all(parts, on, leaves),
        Program::Abort(_) => Ok(ABORTED),
        Program::Fork(part)
        | Program::Placed(_, part)
        | Program::Context(part)
        | Program::Strict(part)
        | Program::Block(part)
        | Program::Yield(part) => serial(part, on, leaves),
        Program::Late(first, second) => {
            let first = serial(first, on, leaves)?;
            Ok(first.wrapping_add(serial(second, on, leaves)?))
        }
        Program::InPlace(jobs, rest) => {
            let mut parts = jobs.clone();
            parts.push(rest.as_ref().clone());
            all(&parts, on, leaves)
        }
        Program::Catch(part) | Program::Try(part) => Ok(serial(part, on, leaves).unwrap_or(CAUGHT)),
        // After a panic the other half tries too.
        Program::Once(part) => serial(part, on, leaves)
            .map(|value| value.wrapping_mul(4))
            .or_else(|_| serial(part, on, leaves)),
        Program::Install(part) => serial(part, OTHERS[on], leaves),
        Program::Broadcast(part) => {
            let runs = vec![part.as_ref().clone(); WORKERS[on]];
            all(&runs, on, leaves)
        }
    }
}

/// The traces of a run on the pools.
#[derive(Clone, Default)]
struct Trace {
    leaves: Arc<AtomicUsize>,
    /// Cloned into every closure; all clones must be gone in the end.
    token: Arc<()>,
}

fn parallel(program: &Program, on: usize, trace: &Trace) -> u64 {
    let token = Arc::clone(&trace.token);
    match program {
        Program::Leaf(n) => {
            trace.leaves.fetch_add(1, Ordering::Relaxed);
            (*n).into()
        }
        Program::Panic(n) => {
            trace.leaves.fetch_add(1, Ordering::Relaxed);
            panic_any(*n)
        }
        Program::Join(a, b) => {
            let other = Arc::clone(&token);
            let (a, b) = heist_core::join(
                move || (parallel(a, on, trace), token).0,
                move || (parallel(b, on, trace), other).0,
            );
            a.wrapping_mul(3).wrapping_add(b)
        }
        Program::Scope(parts) => in_scope(parts, on, trace),
        Program::ScopeFifo(parts) => in_scope_fifo(parts, on, trace),
        Program::Group(parts) => in_group(Priority::Normal, parts, on, trace),
        Program::Lane(lane, parts) => in_group(*lane, parts, on, trace),
        Program::Placed(place, part) => placed(*place, part, on, trace),
        Program::Strand(parts) => in_strand(parts, on, trace),
        Program::Fork(part) => submitted(part, on, trace).join(),
        Program::Try(part) => tried(part, on, trace),
        Program::Abort(part) => aborted(part, on, trace),
        Program::Forks(parts) => in_order(parts, on, trace),
        Program::Install(part) => {
            let other = OTHERS[on];
            pools()[other].install(move || (parallel(part, other, trace), token).0)
        }
        Program::Broadcast(part) => {
            let results = heist_core::broadcast(|_| {
                let token = Arc::clone(&token);
                (parallel(part, on, trace), token).0
            });
            results.into_iter().fold(0, u64::wrapping_add)
        }
        Program::Context(part) => heist_core::with_context(|cx| carried(part, on, trace, cx)),
        Program::InPlace(jobs, rest) => in_place(jobs, on, trace, || parallel(rest, on, trace)),
        Program::Catch(part) => caught(|| parallel(part, on, trace)),
        Program::Strict(part) => {
            heist_core::with_waiting(Waiting::Descendants, || parallel(part, on, trace))
        }
        Program::Yield(part) => {
            heist_core::yield_now();
            parallel(part, on, trace)
        }
        Program::Block(part) => heist_core::blocking(|| parallel(part, on, trace)),
        Program::Late(first, second) => late(first, second, on, trace),
        Program::Once(part) => made_once(part, on, trace),
    }
}

fn submitted(part: &Program, on: usize, trace: &Trace) -> JoinHandle<u64> {
    let (part, trace, token) = (part.clone(), trace.clone(), Arc::clone(&trace.token));
    heist_core::submit(move || (parallel(&part, on, &trace), token).0)
}

fn tried(part: &Program, on: usize, trace: &Trace) -> u64 {
    let outcome = submitted(part, on, trace).try_join();
    outcome.unwrap_or_else(|error| {
        drop(error.into_panic().expect("it was not cancelled"));
        CAUGHT
    })
}

fn in_order(parts: &[Program], on: usize, trace: &Trace) -> u64 {
    let parts = parts.iter();
    let handles: Vec<_> = parts.map(|part| submitted(part, on, trace)).collect();
    let outcomes: Vec<_> = handles.into_iter().map(JoinHandle::try_join).collect();
    outcomes.into_iter().fold(0, |sum, outcome| match outcome {
        Ok(value) => sum.wrapping_add(value),
        Err(error) => resume_unwind(error.into_panic().expect("it was not cancelled")),
    })
}

/// The part runs whole or not at all, as `abort` says.
fn aborted(part: &Program, on: usize, trace: &Trace) -> u64 {
    let own = Trace {
        leaves: Arc::default(),
        token: Arc::clone(&trace.token),
    };
    let handle = submitted(part, on, &own);
    let is_aborted = handle.abort();
    let outcome = handle.try_join();
    assert_eq!(is_aborted, matches!(outcome, Err(JoinError::Cancelled)));
    let mut leaves = 0;
    if !is_aborted {
        // The serial run only counts them here.
        drop(serial(part, on, &mut leaves));
    }
    assert_eq!(own.leaves.load(Ordering::Relaxed), leaves);
    ABORTED
}

fn in_scope(parts: &[Program], on: usize, trace: &Trace) -> u64 {
    let sum = Mutex::new(0_u64);
    heist_core::scope(|scope| {
        for part in parts {
            let (sum, token) = (&sum, Arc::clone(&trace.token));
            scope.spawn(move |_| add(sum, (parallel(part, on, trace), token).0));
        }
    });
    sum.into_inner().unwrap()
}

fn in_scope_fifo(parts: &[Program], on: usize, trace: &Trace) -> u64 {
    let sum = Mutex::new(0_u64);
    heist_core::scope_fifo(|scope| {
        for part in parts {
            let (sum, token) = (&sum, Arc::clone(&trace.token));
            scope.spawn_fifo(move |_| add(sum, (parallel(part, on, trace), token).0));
        }
    });
    sum.into_inner().unwrap()
}

fn in_group(lane: Priority, parts: &[Program], on: usize, trace: &Trace) -> u64 {
    let sum = Arc::new(Mutex::new(0_u64));
    let group = TaskGroup::new().with_priority(lane);
    for part in parts {
        let (part, sum, trace) = (part.clone(), Arc::clone(&sum), trace.clone());
        group.run(move || add(&sum, parallel(&part, on, &trace)));
    }
    group.wait();
    let sum = *sum.lock().unwrap();
    sum
}

fn in_strand(parts: &[Program], on: usize, trace: &Trace) -> u64 {
    let strand = Strand::new();
    let begun = Arc::new(AtomicUsize::new(0));
    let submit = |(n, part): (usize, &Program)| {
        let (part, begun, trace) = (part.clone(), Arc::clone(&begun), trace.clone());
        strand.submit(move || {
            let before = begun.fetch_add(1, Ordering::Relaxed);
            assert_eq!(before, 2 * n, "after the one before has ended");
            let value = catch_unwind(AssertUnwindSafe(|| parallel(&part, on, &trace)));
            begun.fetch_add(1, Ordering::Relaxed);
            value
        })
    };
    let jobs: Vec<_> = parts.iter().enumerate().map(submit).collect();
    let outcomes: Vec<_> = jobs.into_iter().map(JoinHandle::join).collect();
    let values = outcomes
        .into_iter()
        .map(|value| value.unwrap_or_else(|payload| resume_unwind(payload)));
    values.fold(0, u64::wrapping_add)
}

fn add(sum: &Mutex<u64>, value: u64) {
    let mut sum = sum.lock().unwrap();
    *sum = sum.wrapping_add(value);
}

/// Both halves of a join want the value that the part makes.
fn made_once(part: &Program, on: usize, trace: &Trace) -> u64 {
    let once = heist_core::Once::new();
    let value = || *once.get_or_init(|| parallel(part, on, trace));
    let (a, b) = heist_core::join(value, value);
    a.wrapping_mul(3).wrapping_add(b)
}

fn placed(place: Place, part: &Program, on: usize, trace: &Trace) -> u64 {
    let job = heist_core::job();
    let job = match place {
        Place::Lane(lane) => job.priority(lane),
        Place::Near(worker) => job.near(worker % WORKERS[on]),
        Place::OnlyOn(worker) => job.only_on(worker % WORKERS[on]),
    };
    let (part, trace) = (part.clone(), trace.clone());
    let token = Arc::clone(&trace.token);
    job.submit(move || (parallel(&part, on, &trace), token).0)
        .join()
}

/// A job that was submitted before a scope began is joined inside of it.
fn late(first: &Program, second: &Program, on: usize, trace: &Trace) -> u64 {
    let first = submitted(first, on, trace);
    let sum = Mutex::new(0_u64);
    heist_core::scope(|scope| {
        let value = first.join();
        let (sum, token) = (&sum, Arc::clone(&trace.token));
        scope.spawn(move |_| {
            let second = (parallel(second, on, trace), token).0;
            *sum.lock().unwrap() = value.wrapping_add(second);
        });
    });
    sum.into_inner().unwrap()
}

/// As [`parallel`], with a context for the joins.
fn carried(program: &Program, on: usize, trace: &Trace, mut cx: JoinContext<'_>) -> u64 {
    match program {
        Program::Join(a, b) => {
            let token = Arc::clone(&trace.token);
            let other = Arc::clone(&token);
            let (a, b) = cx.join(
                move |cx| (carried(a, on, trace, cx), token).0,
                move |cx| (carried(b, on, trace, cx), other).0,
            );
            a.wrapping_mul(3).wrapping_add(b)
        }
        Program::InPlace(jobs, rest) => {
            in_place(jobs, on, trace, || carried(rest, on, trace, cx.reborrow()))
        }
        Program::Catch(part) => caught(|| carried(part, on, trace, cx.reborrow())),
        Program::Block(part) => heist_core::blocking(|| carried(part, on, trace, cx)),
        _ => parallel(program, on, trace),
    }
}

fn in_place(jobs: &[Program], on: usize, trace: &Trace, rest: impl FnOnce() -> u64) -> u64 {
    let sum = Mutex::new(0_u64);
    let add = |value| {
        let mut sum = sum.lock().unwrap();
        *sum = sum.wrapping_add(value);
    };
    heist_core::in_place_scope(|scope| {
        for job in jobs {
            let token = Arc::clone(&trace.token);
            scope.spawn(move |_| add((parallel(job, on, trace), token).0));
        }
        add(rest());
    });
    sum.into_inner().unwrap()
}

fn caught(op: impl FnOnce() -> u64) -> u64 {
    catch_unwind(AssertUnwindSafe(op)).unwrap_or(CAUGHT)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 300 } else { 3000 }))]

    #[test]
    fn a_program_gives_on_a_pool_what_it_gives_serially(program in programs()) {
        check(&program, 0)?;
        check(&program, SERIAL)?;
        check(&program, GUARDED)?;
        check(&program, UNEVEN)?;
    }

    #[test]
    fn so_does_one_in_which_frames_wait_for_descendants_only(program in strict_programs()) {
        [0, 2, SERIAL].into_iter().try_for_each(|on| check_on(strict_pools(), &program, on))?;
    }

    #[test]
    fn so_does_one_in_which_values_are_made_once(program in once_programs()) {
        (0..WORKERS.len()).try_for_each(|on| check(&program, on))?;
    }
}

/// The program runs on this pool as it does serially.
fn check(program: &Program, on: usize) -> Result<(), TestCaseError> {
    check_on(pools(), program, on)
}

fn check_on(pools: &Pools, program: &Program, on: usize) -> Result<(), TestCaseError> {
    let mut leaves = 0;
    let expected = serial(program, on, &mut leaves);
    let trace = Trace::default();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        pools[on].install(|| parallel(program, on, &trace))
    }));
    match (outcome, expected) {
        (Ok(value), Ok(expected)) => prop_assert_eq!(value, expected),
        (Err(payload), Err(accepted)) => {
            let number = payload
                .downcast::<u32>()
                .expect("a panic of the program's own");
            prop_assert!(
                accepted.contains(&number),
                "{} is not among {:?}",
                number,
                accepted
            );
        }
        (outcome, expected) => prop_assert!(
            false,
            "{:?} instead of {:?}",
            outcome.map_err(drop),
            expected
        ),
    }
    prop_assert_eq!(trace.leaves.load(Ordering::Relaxed), leaves);
    // A group's or a fork's closure may still be on its way out of the box that it ran in when its
    // end is known.
    while Arc::strong_count(&trace.token) > 1 {
        std::thread::yield_now();
    }
    Ok(())
}
