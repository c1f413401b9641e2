//! The thread that is a worker.
//!
//! Each file uses those above it:
//!
//! | file | holds |
//! |---|---|
//! | `current` | which worker the calling thread is |
//! | `wake` | wake-ups: for a latch, a job from outside, mail, the end |
//! | `activity`, `stack` | counting and recording; how deep the stack is |
//! | `descendants` | the jobs that a frame has pushed, where it may wait for no others |
//! | `pieces` | those of an initialiser, which run on those that wait for its value |
//! | `service` | the owner's answers to thieves and sleepers |
//! | `overflow` | such a frame's jobs, when the deque is full |
//! | `push`, `take` | jobs that go into the deque, and where a worker takes some from |
//! | `yielded` | jobs that let others go first |
//! | `region` | what holds for the jobs that a call begins |
//! | `run` | running a job |
//! | `lend` | the second closures of joins, lent and taken back |
//! | `needed` | those for which an initialiser may wait, wherever they are queued |
//! | `backlog` | jobs that whoever waits for them may run, before the pool does |
//! | `search`, `wait` | finding a job; waiting for a latch |
//! | `latch`, `completion`, `signal` | waits that belong to no single worker, or can be repeated |
//! | `shares`, `guest` | what keeps the pool while futures are scheduled, and its memory for them |
//! | `claimed` | a job that others than its queue may run or cancel |
//! | `main_loop` | the top of a worker's stack |
//! | `driven` | the main loop as a future, which a function of the program's polls |
//! | `caller`, `serial`, `adopted` | threads of the program that are workers for a call, or for good |

mod activity;
mod adopted;
pub(crate) mod backlog;
mod blocking;
mod caller;
pub(crate) mod claimed;
pub(crate) mod completion;
mod current;
mod descendants;
mod driven;
pub(crate) mod guest;
pub(crate) mod latch;
mod lend;
mod main_loop;
pub(crate) mod needed;
pub(crate) mod overflow;
mod pieces;
mod push;
pub(crate) mod region;
mod run;
mod search;
mod serial;
mod service;
mod shares;
pub(crate) mod signal;
mod stack;
mod take;
pub(crate) mod wait;
mod wake;
mod yielded;

pub(crate) use current::Worker;
