//! Every public item of rayon-core 1.13.0 with its type parameters, bounds, and auto traits. An
//! error here does not compile; the variance is in the examples of the original's documentation
//! that must not compile.

#![expect(deprecated, reason = "they belong to it")]

use std::any::Any;
use std::error::Error;
use std::fmt::Debug;
use std::io;
use std::rc::Rc;

use rayon_core::*;
use static_assertions::{assert_impl_all, assert_not_impl_any};

assert_impl_all!(ThreadPool: Send, Sync, Debug);
assert_impl_all!(ThreadPoolBuilder: Default, Debug);
assert_not_impl_any!(ThreadPoolBuilder: Send, Sync, Clone);
assert_impl_all!(ThreadBuilder: Send, Debug);
assert_not_impl_any!(ThreadBuilder: Sync);
assert_impl_all!(ThreadPoolBuildError: Send, Sync, Debug, Error);
assert_impl_all!(FnContext: Debug);
assert_not_impl_any!(FnContext: Send, Sync, Clone);
assert_impl_all!(BroadcastContext<'_>: Debug);
assert_not_impl_any!(BroadcastContext<'_>: Send, Sync, Clone);
assert_impl_all!(Scope<'_>: Send, Sync, Debug);
assert_impl_all!(ScopeFifo<'_>: Send, Sync, Debug);
assert_impl_all!(Yield: Send, Sync, Copy, Debug, PartialEq, Eq);
assert_impl_all!(Configuration: Default, Debug);

type Unit = fn();
type Told = fn(FnContext);
type OnAll = fn(BroadcastContext<'_>);

/// The parameters can be given by hand, in the original's order.
#[test]
fn the_free_functions_are_there_with_their_parameters() {
    let _: fn() -> usize = max_num_threads;
    let _: fn() -> usize = current_num_threads;
    let _: fn() -> Option<usize> = current_thread_index;
    let _: fn() -> Option<bool> = current_thread_has_pending_tasks;
    let _: fn() -> Option<Yield> = yield_now;
    let _: fn() -> Option<Yield> = yield_local;
    let _: fn(Unit, Unit) -> ((), ()) = join::<Unit, Unit, (), ()>;
    let _: fn(Told, Told) -> ((), ()) = join_context::<Told, Told, (), ()>;
    let _: fn(fn(&Scope<'static>)) = scope::<fn(&Scope<'static>), ()>;
    let _: fn(fn(&ScopeFifo<'static>)) = scope_fifo::<fn(&ScopeFifo<'static>), ()>;
    let _: fn(fn(&Scope<'static>)) = in_place_scope::<fn(&Scope<'static>), ()>;
    let _: fn(fn(&ScopeFifo<'static>)) = in_place_scope_fifo::<fn(&ScopeFifo<'static>), ()>;
    let _: fn(Unit) = spawn::<Unit>;
    let _: fn(Unit) = spawn_fifo::<Unit>;
    let _: fn(OnAll) -> Vec<()> = broadcast::<OnAll, ()>;
    let _: fn(OnAll) = spawn_broadcast::<OnAll>;
    let _: fn(Configuration) -> Result<(), Box<dyn Error>> = initialize;
}

#[test]
fn the_methods_of_a_pool_are_there_with_their_parameters() {
    let _: fn(Configuration) -> Result<ThreadPool, Box<dyn Error>> = ThreadPool::new;
    let _: fn(&ThreadPool, Unit) = ThreadPool::install::<Unit, ()>;
    let _: fn(&ThreadPool, OnAll) -> Vec<()> = ThreadPool::broadcast::<OnAll, ()>;
    let _: fn(&ThreadPool) -> usize = ThreadPool::current_num_threads;
    let _: fn(&ThreadPool) -> Option<usize> = ThreadPool::current_thread_index;
    let _: fn(&ThreadPool) -> Option<bool> = ThreadPool::current_thread_has_pending_tasks;
    let _: fn(&ThreadPool, Unit, Unit) -> ((), ()) = ThreadPool::join::<Unit, Unit, (), ()>;
    let _: fn(&ThreadPool, fn(&Scope<'static>)) = ThreadPool::scope::<fn(&Scope<'static>), ()>;
    let _: fn(&ThreadPool, fn(&ScopeFifo<'static>)) =
        ThreadPool::scope_fifo::<fn(&ScopeFifo<'static>), ()>;
    let _: fn(&ThreadPool, fn(&Scope<'static>)) =
        ThreadPool::in_place_scope::<fn(&Scope<'static>), ()>;
    let _: fn(&ThreadPool, fn(&ScopeFifo<'static>)) =
        ThreadPool::in_place_scope_fifo::<fn(&ScopeFifo<'static>), ()>;
    let _: fn(&ThreadPool, Unit) = ThreadPool::spawn::<Unit>;
    let _: fn(&ThreadPool, Unit) = ThreadPool::spawn_fifo::<Unit>;
    let _: fn(&ThreadPool, OnAll) = ThreadPool::spawn_broadcast::<OnAll>;
    let _: fn(&ThreadPool) -> Option<Yield> = ThreadPool::yield_now;
    let _: fn(&ThreadPool) -> Option<Yield> = ThreadPool::yield_local;
}

#[test]
fn the_small_types_are_there_with_their_methods() {
    let _: fn(&FnContext) -> bool = FnContext::migrated;
    let _: fn(&BroadcastContext<'static>) -> usize = BroadcastContext::index;
    let _: fn(&BroadcastContext<'static>) -> usize = BroadcastContext::num_threads;
    let _: fn(&ThreadBuilder) -> usize = ThreadBuilder::index;
    let _: fn(&ThreadBuilder) -> Option<&str> = ThreadBuilder::name;
    let _: fn(&ThreadBuilder) -> Option<usize> = ThreadBuilder::stack_size;
    let _: fn(ThreadBuilder) = ThreadBuilder::run;
    let _ = Scope::spawn::<fn(&Scope<'static>)>;
    let _ = Scope::spawn_broadcast::<fn(&Scope<'static>, BroadcastContext<'_>)>;
    let _ = ScopeFifo::spawn_fifo::<fn(&ScopeFifo<'static>)>;
    let _ = ScopeFifo::spawn_broadcast::<fn(&ScopeFifo<'static>, BroadcastContext<'_>)>;
    match Yield::Idle {
        Yield::Executed | Yield::Idle => {}
    }
}

/// The bounds on the closures of a builder: names and spawn handlers are called by the thread that
/// builds the pool, so they need not be `Send`.
#[test]
fn the_builder_takes_what_the_original_takes() {
    let not_send = Rc::new(());
    let mut borrowed = 0;
    let name = Rc::clone(&not_send);
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .stack_size(1 << 20)
        .breadth_first()
        .thread_name(move |index| format!("{index}{name:?}"))
        .panic_handler(|_: Box<dyn Any + Send>| ())
        .start_handler(|_: usize| ())
        .exit_handler(|_: usize| ())
        .spawn_handler(|thread: ThreadBuilder| -> io::Result<()> {
            borrowed += Rc::strong_count(&not_send);
            std::thread::spawn(|| thread.run());
            Ok(())
        })
        .build()
        .unwrap();
    assert_eq!(pool.install(|| 1), 1);
    assert_eq!(borrowed, 2);

    let configured = Configuration::new()
        .num_threads(2)
        .stack_size(1 << 20)
        .breadth_first()
        .thread_name(|index| index.to_string())
        .panic_handler(|_| ())
        .start_handler(|_| ())
        .exit_handler(|_| ());
    assert_eq!(configured.build().unwrap().current_num_threads(), 2);
}

#[test]
fn in_place_scopes_take_and_return_what_is_not_send() {
    let result: Rc<i32> = in_place_scope(|_| Rc::new(1));
    assert_eq!(*in_place_scope_fifo(|_| Rc::clone(&result)), 1);
}

#[test]
fn errors_tell_their_story_as_the_original_does() {
    let io = || io::Error::other("no thread today");
    let error = ThreadPoolBuilder::new()
        .spawn_handler(|_| Err(io()))
        .build()
        .unwrap_err();
    assert_eq!(error.to_string(), "no thread today");
    assert_eq!(error.source().unwrap().to_string(), "no thread today");

    let text = "The current thread is already part of another thread pool.";
    let twice = || {
        ThreadPoolBuilder::new()
            .num_threads(1)
            .use_current_thread()
            .build()
    };
    let error = std::thread::spawn(move || {
        let _pool = twice().unwrap();
        twice().unwrap_err()
    });
    let error = error.join().unwrap();
    assert_eq!(error.to_string(), text);
    assert_eq!(error.description(), text);
    assert!(error.source().is_none());
}
