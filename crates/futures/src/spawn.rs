//! `spawn_future`: a future that runs on its own.

use std::cell::Cell;
use std::future::Future;
use std::marker::PhantomData;

use heist_core::hosting::{Host, Hosted, Order};
#[cfg(doc)]
use heist_core::{
    spawn, with_cancellation, with_propagation, JoinError, Once, ThreadPoolBuilder, Waiting,
};

use crate::handle::FutureHandle;
use crate::polling::order_of_spawn;
use crate::task::{task, Runnable};

/// Runs a future in the pool of the calling worker, or else in the global pool, and returns a
/// handle to its output, which is a future too.
///
/// On a worker the future's first poll is the newest of the worker's jobs, as with
/// [`spawn`](spawn()), and it is stolen like any other. Each later poll comes after a wake-up,
/// behind at most as many others as are ready then, and 61 more; a worker that waits, in a scope
/// say, lets one go for each 32 of its other jobs. Of futures in a chain, each of which spawns
/// others, every 62nd leaves all that it spawns behind those that are ready. A future
/// that is pending does not keep the pool from ending: when the pool has ended, the next wake-up
/// leads to the future being dropped, on a thread of its own for such futures, and its handle says
/// [`Cancelled`](JoinError::Cancelled).
///
/// It takes the surroundings of [`with_propagation`] along, but no token of [`with_cancellation`]:
/// [`abort`](FutureHandle::abort) stops a future.
///
/// # Deadlocks
///
/// A future that another thread wakes, a timer say, waits for any worker, as a job from outside
/// does. A frame that runs only its [descendants](Waiting::Descendants), such as one in
/// [`with_propagation`] or the initialiser of a [`Once`], does not take it, since the future could
/// have begun anywhere. If such a frame waits for it on the last free worker, it waits for ever,
/// unless the pool has a [compensation worker](ThreadPoolBuilder::compensation_workers), which
/// steps in.
///
/// In a pool [without threads](ThreadPoolBuilder::serial), a thread that wakes a future polls it
/// there, in the middle of the wake-up, if nobody else is in the pool. A channel that wakes its
/// receivers under a lock may then wait for itself.
///
/// # Panics
///
/// Panics in a child made by `fork`, where the pool has no workers.
///
/// # Cost
///
/// One allocation for the future, its state and its output. A panic in the future's destructor
/// counts as one of the future.
///
/// # Examples
///
/// ```
/// use heist::futures::{block_on, spawn_future};
///
/// let answer = spawn_future(async {
///     let half = spawn_future(async { 21 });
///     2 * half.await.unwrap()
/// });
/// assert_eq!(block_on(answer).unwrap(), 42);
/// ```
#[track_caller]
pub fn spawn_future<F>(future: F) -> FutureHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    spawn_in(Host::current(), future)
}

pub(crate) fn spawn_in<F>(host: Host, future: F) -> FutureHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    host.demand_workers();
    let schedule = |runnable: Runnable<Host>, is_again| {
        let order = match is_again {
            true => Order::Again,
            false => match order(WAKE) {
                Order::Next => Order::Woken,
                order => order,
            },
        };
        Host::schedule(order, Scheduled::<F>::new(runnable));
    };
    let (runnable, handle) = task(host, future, schedule);
    let order = order_of_spawn(|| order(SPAWN));
    Host::schedule(order, Scheduled::<F>::new(runnable));
    FutureHandle::new(handle)
}

/// A future that is ready to be polled.
struct Scheduled<F> {
    runnable: Runnable<Host>,
    future: PhantomData<fn() -> F>,
}

impl<F> Scheduled<F> {
    fn new(runnable: Runnable<Host>) -> Self {
        let future = PhantomData;
        Self { runnable, future }
    }
}

impl<F: 'static> Hosted for Scheduled<F> {
    type Origin = F;

    fn host(&self) -> &Host {
        self.runnable.meta()
    }

    fn run(self) -> bool {
        self.runnable.run()
    }
}

/// The credit of a thread. As long as it lasts, the futures that the thread wakes or spawns come
/// next. Without a bound, two futures that wake each other, or a chain that spawns for ever, would
/// keep a worker from all others.
const CREDIT: u32 = 61;
/// The cost of a wake-up: ten in a row. Tokio's three take an await 4 % more instructions.
const WAKE: u32 = 6;
/// The cost of a spawn, or of all that one poll spawns.
const SPAWN: u32 = 1;

/// The order of an action of this cost. A thread that has used up its credit gets it anew.
fn order(cost: u32) -> Order {
    thread_local! {
        static LEFT: Cell<u32> = const { Cell::new(CREDIT) }
    }
    LEFT.with(|left| {
        let rest = left.get().checked_sub(cost);
        left.set(rest.unwrap_or(CREDIT));
        match rest {
            Some(_) => Order::Next,
            None => Order::InTurn,
        }
    })
}
