//! Random programs in which calls are cancelled, or have something around them: each closure runs
//! or is dropped, once, the pool lives on, and no job sees the token or the surroundings of another
//! call.
#![cfg(not(any(heist_loom, heist_shuttle)))]

use std::any::Any;
use std::cell::RefCell;
use std::panic::{catch_unwind, panic_any, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use heist_core::{
    checkpoint, is_cancelled, with_cancellation, with_propagation, CancellationToken, Cancelled,
    TaskGroup, ThreadPool, ThreadPoolBuilder,
};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Program {
    Leaf,
    Panic,
    /// Cancels the innermost call.
    Cancel,
    /// Comes to a checkpoint.
    Checkpoint,
    Join(Box<Program>, Box<Program>),
    Context(Box<Program>, Box<Program>),
    Scope(Vec<Program>),
    ScopeFifo(Vec<Program>),
    /// A scope that is cancelled when its middle has been spawned.
    Dropped(Vec<Program>),
    Group(Vec<Program>),
    Submit(Box<Program>),
    /// Without anybody who waits for it.
    Spawn(Box<Program>),
    SpawnFifo(Box<Program>),
    Broadcast(Box<Program>),
    /// Moves to the other pool.
    Install(Box<Program>),
    /// A call with a token of its own.
    Call(Box<Program>),
    /// As above, a child of the token around.
    Child(Box<Program>),
    /// A call with a span of its own.
    Span(u8, Box<Program>),
    Yield(Box<Program>),
}

fn programs() -> impl Strategy<Value = Program> {
    programs_of(false)
}

/// Programs with spans: on one pool, because strict waits on several may wait for each other.
fn programs_with_spans() -> impl Strategy<Value = Program> {
    programs_of(true)
}

fn programs_of(spans: bool) -> impl Strategy<Value = Program> {
    let leaves = prop_oneof![
        8 => Just(Program::Leaf),
        1 => Just(Program::Panic),
        2 => Just(Program::Cancel),
        3 => Just(Program::Checkpoint),
    ];
    leaves.prop_recursive(7, 80, 5, move |inner| {
        let many = prop::collection::vec(inner.clone(), 0..5);
        let one = inner.clone().prop_map(Box::new);
        let span_or = |other: fn(Box<Program>) -> Program| {
            let program = move |(span, inner)| {
                if spans {
                    Program::Span(span, inner)
                } else {
                    other(inner)
                }
            };
            (any::<u8>(), one.clone()).prop_map(program)
        };
        prop_oneof![
            4 => (one.clone(), one.clone()).prop_map(|(a, b)| Program::Join(a, b)),
            2 => (one.clone(), one.clone()).prop_map(|(a, b)| Program::Context(a, b)),
            2 => many.clone().prop_map(Program::Scope),
            1 => many.clone().prop_map(Program::ScopeFifo),
            1 => many.clone().prop_map(Program::Dropped),
            1 => many.prop_map(Program::Group),
            2 => one.clone().prop_map(Program::Submit),
            2 => one.clone().prop_map(Program::Spawn),
            1 => one.clone().prop_map(Program::SpawnFifo),
            1 => one.clone().prop_map(Program::Broadcast),
            2 => span_or(Program::Install),
            3 => one.clone().prop_map(Program::Call),
            3 => span_or(Program::Child),
            2 => one.clone().prop_map(Program::Yield),
        ]
    })
}

thread_local! {
    /// The spans that the thread is in, outermost first.
    static SPANS: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) }
}

/// The pools for all cases: building them costs more than a case.
fn pools() -> &'static [ThreadPool; 2] {
    static POOLS: OnceLock<[ThreadPool; 2]> = OnceLock::new();
    POOLS.get_or_init(|| {
        [3, 1].map(|workers| {
            ThreadPoolBuilder::new()
                .num_threads(workers)
                .panic_handler(|payload| assert!(is_known(&*payload), "an assertion failed"))
                .build()
                .expect("a pool")
        })
    })
}

/// A panic of the program's own.
struct Expected;

/// True of those, and of the panic of who joins a job that a call has dropped.
fn is_known(payload: &(dyn Any + Send)) -> bool {
    let joined = |text: &&str| text.starts_with("could not join a job");
    payload.is::<Expected>() || payload.downcast_ref::<&str>().is_some_and(joined)
}

/// The surroundings of a part of the program: the tokens of the calls around it, innermost last.
#[derive(Clone, Default)]
struct Around {
    tokens: Vec<CancellationToken>,
    spans: Vec<u8>,
    /// No part is waited for by those who may run more than they have begun.
    is_exact: bool,
    on: usize,
    books: Books,
}

/// Held by each closure; all must be gone in the end, and each has begun once at most.
#[derive(Clone, Default)]
struct Books(Arc<AtomicUsize>);

impl Around {
    fn call(&self, token: CancellationToken) -> Self {
        let mut inner = self.clone();
        inner.tokens.push(token);
        inner
    }

    /// The token of no other call has anything to say here.
    fn look(&self) {
        let any = |tokens: &[CancellationToken]| tokens.iter().any(CancellationToken::is_cancelled);
        let before = any(&self.tokens);
        let here = is_cancelled();
        let after = any(&self.tokens);
        assert!(before <= here && here <= after, "{before} {here} {after}");
        let spans = SPANS.with_borrow(Vec::clone);
        assert!(spans.ends_with(&self.spans), "{spans:?} {:?}", self.spans);
        assert!(
            !self.is_exact || spans == self.spans,
            "{spans:?} {:?}",
            self.spans
        );
    }
}

// Long: one arm for each kind of program.
fn run(program: &Program, around: &Around) {
    around.look();
    let part = |program: &Program| {
        let (program, around) = (program.clone(), around.clone());
        move || run(&program, &around)
    };
    match program {
        Program::Leaf => {
            around.books.0.fetch_add(1, Ordering::Relaxed);
        }
        Program::Panic => panic_any(Expected),
        Program::Cancel => {
            if let Some(token) = around.tokens.last() {
                token.cancel();
            }
        }
        Program::Checkpoint => checkpoint(),
        Program::Join(a, b) => {
            heist_core::join(part(a), part(b));
        }
        Program::Context(a, b) => {
            let (a, b) = (part(a), part(b));
            heist_core::with_context(|mut cx| cx.join(|_| a(), |_| b()));
        }
        Program::Scope(parts) => heist_core::scope(|scope| {
            parts
                .iter()
                .map(part)
                .for_each(|part| scope.spawn(move |_| part()));
        }),
        Program::ScopeFifo(parts) => heist_core::scope_fifo(|scope| {
            parts
                .iter()
                .map(part)
                .for_each(|part| scope.spawn_fifo(move |_| part()));
        }),
        Program::Dropped(parts) => heist_core::scope(|scope| {
            for (n, part) in parts.iter().map(part).enumerate() {
                scope.spawn(move |_| part());
                if n == parts.len() / 2 {
                    scope.cancel();
                }
            }
        }),
        Program::Group(parts) => {
            let group = TaskGroup::new();
            parts.iter().map(part).for_each(|part| group.run(part));
            group.wait();
        }
        Program::Submit(inner) => heist_core::submit(part(inner)).join(),
        Program::Spawn(inner) => heist_core::spawn(part(inner)),
        Program::SpawnFifo(inner) => heist_core::spawn_fifo(part(inner)),
        Program::Broadcast(inner) => {
            let inner = part(inner);
            heist_core::broadcast(|_| inner());
        }
        Program::Install(inner) => {
            let mut there = around.clone();
            there.on = 1 - around.on;
            pools()[there.on].install(|| run(inner, &there));
        }
        Program::Call(inner) => call(inner, around, CancellationToken::new()),
        Program::Child(inner) => {
            let token = around.tokens.last().map(CancellationToken::child);
            call(inner, around, token.unwrap_or_default());
        }
        Program::Span(span, inner) => {
            let (span, mut inside) = (*span, around.clone());
            inside.spans.push(span);
            let enter = move |op: &mut dyn FnMut()| {
                SPANS.with_borrow_mut(|spans| spans.push(span));
                op();
                assert_eq!(SPANS.with_borrow_mut(Vec::pop), Some(span));
            };
            with_propagation(Arc::new(enter), || run(inner, &inside));
        }
        Program::Yield(inner) => {
            heist_core::yield_now();
            run(inner, around);
        }
    }
    around.look();
}

fn call(program: &Program, around: &Around, token: CancellationToken) {
    let inner = around.call(token.clone());
    let result = with_cancellation(&token, || run(program, &inner));
    if result == Err(Cancelled) {
        assert!(token.is_cancelled());
    }
    around.look();
}

/// True if nothing in it is waited for by those who may run more than they have begun.
fn is_plain(program: &Program) -> bool {
    match program {
        Program::Leaf | Program::Panic | Program::Cancel | Program::Checkpoint => true,
        Program::Join(a, b) | Program::Context(a, b) => is_plain(a) && is_plain(b),
        Program::Scope(parts) | Program::ScopeFifo(parts) | Program::Dropped(parts) => {
            parts.iter().all(is_plain)
        }
        Program::Group(_) | Program::Submit(_) | Program::Broadcast(_) | Program::Install(_) => {
            false
        }
        Program::Spawn(inner)
        | Program::SpawnFifo(inner)
        | Program::Call(inner)
        | Program::Child(inner)
        | Program::Span(_, inner)
        | Program::Yield(inner) => is_plain(inner),
    }
}

fn check(program: &Program) -> Result<(), TestCaseError> {
    let around = Around {
        is_exact: is_plain(program),
        ..Around::default()
    };
    let result = catch_unwind(AssertUnwindSafe(|| {
        pools()[0].install(|| run(program, &around));
    }));
    if let Err(payload) = result {
        prop_assert!(is_known(&*payload), "an assertion failed");
    }
    // A closure may still be on its way out of the box that it ran in.
    while Arc::strong_count(&around.books.0) > 1 {
        if !heist_core::give_way() {
            std::thread::yield_now();
        }
    }
    for pool in pools() {
        prop_assert!(!pool.install(is_cancelled));
        prop_assert!(pool.install(|| SPANS.with_borrow(Vec::is_empty)));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 300 } else { 3000 }))]

    #[test]
    fn each_closure_of_a_cancelled_program_runs_or_is_dropped(program in programs()) {
        check(&program)?;
    }

    #[test]
    fn each_closure_sees_its_own_spans(program in programs_with_spans()) {
        check(&program)?;
    }
}
