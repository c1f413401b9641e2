//! The abilities of peers as traits; a peer implements those that its runtime has.

use std::future::Future;
use std::sync::Arc;

use crate::node::Tree;

/// One of two tasks side by side; called with 0 and with 1. Shared, because
/// some runtimes take only tasks that borrow nothing.
pub type PairTask = Arc<dyn Fn(usize) + Send + Sync>;

/// A peer that runs two closures in parallel and waits for both.
pub trait ForkJoin {
    /// The value that a task needs in hand for a join; `()` where the runtime knows by itself.
    type Context<'s>;

    /// Runs `task` inside the pool and waits for it; called from outside.
    fn install<R, F>(&mut self, task: F) -> R
    where
        F: for<'s> FnOnce(&mut Self::Context<'s>) -> R + Send,
        R: Send;

    /// Runs both closures, in parallel if a worker is free.
    fn join<A, B, RA, RB>(context: &mut Self::Context<'_>, a: A, b: B) -> (RA, RB)
    where
        A: for<'s> FnOnce(&mut Self::Context<'s>) -> RA + Send,
        B: for<'s> FnOnce(&mut Self::Context<'s>) -> RB + Send,
        RA: Send,
        RB: Send;

    /// A region of two tasks, `task(0)` and `task(1)`, opened from outside.
    fn pair(&mut self, task: &PairTask) {
        self.install(move |context| {
            Self::join(context, move |_| task(0), move |_| task(1));
        });
    }
}

/// A peer whose joins are handed a context that must go on by value to be of use. No trait
/// can say that together with contexts that are borrowed, so the bodies are the peer's:
/// those of `fib` and `tree`, word for word.
pub trait ByValue {
    /// The Fibonacci number, inside the pool; called from outside.
    fn fib(&mut self, n: u64) -> u64;

    /// The sum over the tree, inside the pool; called from outside.
    fn sum(&mut self, root: &Tree) -> u64;
}

/// A peer with a parallel loop over indices, called from outside.
pub trait Loop {
    /// Calls `body` once for every index below `len`.
    fn for_each<F: Fn(usize) + Sync + Send>(&mut self, len: usize, body: F);
}

/// A peer that makes vectors in parallel, called from outside.
pub trait Collect {
    /// The results of `op` on each number below `len`, in their order.
    fn map<F: Fn(u64) -> u64 + Sync + Send>(&mut self, len: u64, op: F) -> Vec<u64>;

    /// The numbers below `len` that `keep` is true of, in their order.
    fn filter<F: Fn(u64) -> bool + Sync + Send>(&mut self, len: u64, keep: F) -> Vec<u64>;
}

/// A peer that comes with sorts, called from outside.
pub trait Sort {
    /// Sorts so that equal items keep their order.
    fn sort_stable<T: Ord + Send>(&mut self, data: &mut [T]);

    /// Sorts in any way.
    fn sort_unstable<T: Ord + Send>(&mut self, data: &mut [T]);
}

/// A peer whose tasks from outside are urgent or for idle times.
pub trait Prioritised: Clone + Send + 'static {
    /// Starts a task.
    fn start<F: FnOnce() + Send + 'static>(&self, is_urgent: bool, task: F);

    /// A parallel loop over indices, in a task.
    fn loop_here<F: Fn(usize) + Sync + Send>(len: usize, body: F);
}

/// A peer with tasks that are started one by one and waited for together.
pub trait Spawn {
    /// Through what a task starts further tasks.
    type Scope<'s>: Copy;

    /// Runs `task` on a worker and waits for it and for all it spawned.
    fn inside<F: FnOnce(Self::Scope<'_>) + Send + 'static>(&mut self, task: F);

    /// Runs `task` on the calling thread and waits for all that it spawned into
    /// the pool; false, without a call of `task`, where the peer has no such thing.
    fn outside<F: FnOnce(Self::Scope<'_>)>(&mut self, task: F) -> bool;

    /// Starts a task.
    fn spawn<F: FnOnce(Self::Scope<'_>) + Send + 'static>(scope: Self::Scope<'_>, task: F);
}

/// A peer whose workers can be told to stand aside, and to come back.
pub trait Resize: Sync {
    /// So many workers take tasks from now on.
    fn set_active(&self, workers: usize);

    /// Runs `task` inside the pool and waits for it; called from outside.
    fn inside<R: Send>(&self, task: impl FnOnce() -> R + Send) -> R;
}

/// A peer with values that are made once, when they are first wanted, by an initialiser that may
/// be parallel.
pub trait MakeOnce: Spawn + for<'s> ForkJoin<Context<'s> = ()> {
    /// A place for such a value.
    type Value: Default + Send + Sync + 'static;

    /// The value, which `f` makes if there is none.
    fn get_or_init(value: &Self::Value, f: impl FnOnce() -> u64 + Send) -> u64;
}

/// A peer whose tasks may block.
pub trait Block: Spawn {
    /// Starts a task that blocks.
    fn spawn_blocking<F: FnOnce() + Send + 'static>(scope: Self::Scope<'_>, task: F);

    /// Calls `op`, which may block, in the middle of a task.
    fn block<R>(op: impl FnOnce() -> R) -> R;
}

/// A peer with a queue whose jobs run on its workers, one at a time and in order.
pub trait SerialQueue {
    /// A handle of one such queue.
    type Queue: Clone + Send + 'static;

    /// A new queue.
    fn queue(&mut self) -> Self::Queue;

    /// Queues a job; called from outside.
    fn submit<F: FnOnce() + Send + 'static>(queue: &Self::Queue, job: F);
}

/// A peer whose tasks are futures.
pub trait Futures: Clone + Send + Sync + 'static {
    /// Ready with the output of a task when that has ended.
    type Handle<T: Send + 'static>: Future<Output = T> + Send;

    /// Starts a task.
    fn spawn_future<F>(&self, task: F) -> Self::Handle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static;

    /// Starts a task that nobody waits for.
    fn start_future<F: Future<Output = ()> + Send + 'static>(&self, task: F);

    /// Lets other tasks go first.
    fn yield_now() -> impl Future<Output = ()> + Send;

    /// Waits for a future on the calling thread, which is outside.
    fn block_on<F: Future>(&self, future: F) -> F::Output;
}
