//! Local futures: made on a worker's thread, polled there only, and dropped there.
//!
//! Such a future is kept in a thread-local table of its worker, so that the compiler keeps other
//! threads from it. A task like that of any other future carries a key to its place in the table.
//! Each wake-up goes to the worker's mailbox, which no other thread reads; a sleeping worker is
//! woken for it.

use std::any::Any;
use std::cell::RefCell;
use std::future::Future;
use std::marker::PhantomData;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use heist_core::hosting::{self, held_back, Host};
#[cfg(doc)]
use heist_core::Callers;
use heist_sync::thread::{self, ThreadId};
use heist_sync::thread_local;

use crate::handle::FutureHandle;
use crate::task::{task, Output, Runnable};

/// As [`SpawnFuture::spawn_local_on`](crate::SpawnFuture::spawn_local_on), in the pool of the
/// calling worker, or else in the global pool.
///
/// # Panics
///
/// Panics if the pool has no such worker, or is open to [`Callers`].
///
/// # Examples
///
/// ```
/// use heist::futures::{block_on, spawn_local_on};
///
/// let builder = heist::ThreadPoolBuilder::new().num_threads(2);
/// builder.callers(heist::Callers::Move).build_global()?;
/// let index = spawn_local_on(1, || async { heist::current_thread_index() });
/// assert_eq!(block_on(index).unwrap(), Some(1));
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[track_caller]
pub fn spawn_local_on<F>(
    worker: usize,
    make: impl FnOnce() -> F + Send + 'static,
) -> FutureHandle<F::Output>
where
    F: Future + 'static,
    F::Output: Send,
{
    spawn_local_in(Host::current(), worker, make)
}

/// Runs a future, which need not be [`Send`], on the calling worker, beside the one or the job that
/// calls this: see [`SpawnFuture::spawn_local_on`](crate::SpawnFuture::spawn_local_on).
///
/// # Panics
///
/// Panics if the calling thread is no worker, or the pool is open to [`Callers`].
///
/// # Examples
///
/// ```
/// use std::rc::Rc;
/// use heist::futures::{block_on, spawn_local, SpawnFuture};
///
/// let pool = heist::ThreadPoolBuilder::new().num_threads(2).callers(heist::Callers::Move).build()?;
/// let sum = pool.spawn_local_on(0, || async {
///     let numbers = Rc::new([1, 2, 3]);
///     let copy = Rc::clone(&numbers);
///     let first = spawn_local(async move { copy[0] });
///     first.await.unwrap() + numbers[1] + numbers[2]
/// });
/// assert_eq!(block_on(sum).unwrap(), 6);
/// # Ok::<(), heist::ThreadPoolBuildError>(())
/// ```
#[track_caller]
pub fn spawn_local<F>(future: F) -> FutureHandle<F::Output>
where
    F: Future + 'static,
    F::Output: Send,
{
    let worker = heist_core::current_thread_index();
    let worker = worker.expect("could not spawn a local future: the calling thread is no worker");
    let host = Host::current();
    host.demand_own_thread(worker);
    let key = keep(Entry {
        future: Box::new(Box::pin(future)),
        waker: None,
    });
    spawn(host, worker, Local::<fn() -> F, F>::new(State::Kept(key)))
}

pub(crate) fn spawn_local_in<F>(
    host: Host,
    worker: usize,
    make: impl FnOnce() -> F + Send + 'static,
) -> FutureHandle<F::Output>
where
    F: Future + 'static,
    F::Output: Send,
{
    host.demand_own_thread(worker);
    spawn(host, worker, Local::new(State::New(make)))
}

/// Runs the stand-in of a local future on that worker only.
fn spawn<M, F>(host: Host, worker: usize, local: Local<M, F>) -> FutureHandle<F::Output>
where
    M: FnOnce() -> F + Send + 'static,
    F: Future + 'static,
    F::Output: Send,
{
    let schedule = move |runnable: Runnable<Host>, _| {
        let host = runnable.meta().clone();
        host.mail::<F>(worker, move || {
            runnable.run();
        });
    };
    let (runnable, handle) = task(host, local, schedule);
    runnable.schedule();
    FutureHandle::new(handle)
}

/// Stands for a future that lies on a worker's thread.
struct Local<M, F> {
    state: State<M>,
    future: PhantomData<fn() -> F>,
}

enum State<M> {
    /// The future is not made yet.
    New(M),
    Kept(Key),
    /// It is being polled, or has ended.
    Away,
}

impl<M, F> Local<M, F> {
    fn new(state: State<M>) -> Self {
        let future = PhantomData;
        Self { state, future }
    }
}

// The pinned future is in the table.
impl<M, F> Unpin for Local<M, F> {}

impl<M, F> Future for Local<M, F>
where
    M: FnOnce() -> F,
    F: Future + 'static,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut entry = match mem::replace(&mut self.state, State::Away) {
            State::New(make) => Entry {
                future: Box::new(Box::pin(make())),
                waker: None,
            },
            State::Kept(key) => take(&key).expect("its own thread polls it, while the pool lives"),
            State::Away => panic!("a future was polled again after it had ended"),
        };
        let future: &mut Pin<Box<F>> = entry.future.downcast_mut().expect("the key is its own");
        match panic::catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(Poll::Pending) => {
                entry.waker.get_or_insert_with(|| cx.waker().clone());
                self.state = State::Kept(keep(entry));
                Poll::Pending
            }
            Ok(Poll::Ready(output)) => {
                let output = Output::new(output);
                drop(entry);
                Poll::Ready(output.take())
            }
            Err(payload) => {
                held_back(|| drop(entry));
                panic::resume_unwind(payload)
            }
        }
    }
}

impl<M, F> Drop for Local<M, F> {
    fn drop(&mut self) {
        if let State::Kept(key) = &self.state {
            // Another thread comes here only when the pool has ended; then the future has been
            // dropped, or is about to be.
            drop(take(key));
        }
    }
}

/// The place of a future.
struct Key {
    thread: ThreadId,
    pools: u32,
    index: usize,
}

/// A future that is not being polled.
struct Entry {
    /// A `Pin<Box<F>>`.
    future: Box<dyn Any>,
    /// A future after its first poll.
    waker: Option<Waker>,
}

/// The most places that an empty table keeps.
const KEPT: usize = 1024;

/// The local futures of a thread.
struct Table {
    entries: Vec<Option<Entry>>,
    free: Vec<usize>,
    /// The number of ended pools of which the thread was a worker. Keys of theirs may be left.
    pools: u32,
}

thread_local! {
    static TABLE: RefCell<Table> = const {
        RefCell::new(Table { entries: Vec::new(), free: Vec::new(), pools: 0 })
    }
}

/// Keeps a future on this thread until its key is used or the thread's pool ends.
fn keep(entry: Entry) -> Key {
    hosting::at_end(drop_all);
    let thread = thread::current().id();
    TABLE.with(|table| {
        let table = &mut *table.borrow_mut();
        let index = table.free.pop().unwrap_or(table.entries.len());
        if index == table.entries.len() {
            table.entries.push(None);
        }
        table.entries[index] = Some(entry);
        let pools = table.pools;
        Key {
            thread,
            pools,
            index,
        }
    })
}

/// The future of this key, unless it is on another thread or its pool has ended.
fn take(key: &Key) -> Option<Entry> {
    if key.thread != thread::current().id() {
        return None;
    }
    let taken = TABLE.try_with(|table| {
        let mut table = table.borrow_mut();
        if table.pools != key.pools {
            return None;
        }
        table.free.push(key.index);
        let entry = table.entries[key.index].take();
        if table.free.len() == table.entries.len() && table.free.len() > KEPT {
            // No key is left; the memory of a burst goes back.
            table.free = Vec::new();
            table.entries = Vec::new();
        }
        entry
    });
    // If the table is gone, the thread's locals are being dropped.
    taken.ok().flatten()
}

/// The pool of this thread has ended: drops the futures, and tells those who await them.
fn drop_all() {
    let mut first_panic = None;
    loop {
        let entries = TABLE.with(|table| {
            let table = &mut *table.borrow_mut();
            table.pools += 1;
            table.free.clear();
            mem::take(&mut table.entries)
        });
        // The dropped futures may have spawned more.
        if entries.is_empty() {
            break;
        }
        for Entry { future, waker } in entries.into_iter().flatten() {
            if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| drop(future))) {
                first_panic.get_or_insert(payload);
            }
            // Waking a task whose pool has ended drops it, and its handle reports that.
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
    if let Some(payload) = first_panic {
        panic::resume_unwind(payload);
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn an_empty_table_gives_the_memory_of_a_burst_back() {
        let pool = heist_core::ThreadPoolBuilder::new().num_threads(1).build();
        let kept = pool.expect("a pool").install(|| {
            let entry = || Entry {
                future: Box::new(()),
                waker: None,
            };
            let keys: Vec<_> = (0..10 * KEPT).map(|_| keep(entry())).collect();
            assert!(keys.iter().all(|key| take(key).is_some()));
            TABLE.with_borrow(|table| table.entries.capacity() + table.free.capacity())
        });
        assert!(kept <= 2 * KEPT, "{kept} places");
    }
}
