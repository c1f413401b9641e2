//! The problems of the benchmark, written once over the abilities of peers, so that two peers
//! differ in the parallel construct only.
//!
//! A peer implements the traits of [`peer`] that fit its runtime and calls
//! [`serve`] from `main`; [`fork_join`], [`loops`], [`spawns`] and [`mixed`] run
//! the workload that the command line asks for if it is one of theirs.
#![deny(unsafe_code)]

pub mod peer;
pub mod protocol;
pub mod rng;
pub mod wave;

mod blocking;
mod burst;
mod collect;
mod fib;
mod futures;
mod injected;
mod inversion;
mod measure;
mod node;
mod nqueens;
mod once;
mod pair;
mod rayon_like;
mod region;
mod resize;
mod silent;
mod skew;
mod sort;
mod spawn;
mod spin;
mod stencil;
mod stop;
mod strand;
mod tree;
mod uts;
mod wait_group;

pub use collect::collects;
pub use measure::sample_of;
pub use node::{Node, Tree};
pub use pair::pairs;
pub use protocol::{serve, Outcome, Request, Sample};
pub use sort::{fingerprint, partition, sorts};

use peer::{
    Block, ByValue, Collect, ForkJoin, Futures, Loop, MakeOnce, Prioritised, Resize, SerialQueue,
    Sort, Spawn,
};

/// Runs the asked-for workload if it is one for peers with a join.
///
/// # Errors
///
/// If a size that the workload needs is missing.
pub fn fork_join<P: ForkJoin>(peer: &mut P, request: &Request) -> Outcome {
    match request.workload() {
        "fib" => fib::run(peer, request)?,
        "tree" => tree::run(peer, request)?,
        "tree_small" => tree::run_small(peer, request)?,
        "nqueens_join" => nqueens::run_join(peer, request)?,
        "uts" => uts::run(peer, request)?,
        "sort_join" => sort::run_join(peer, request)?,
        "stencil" => stencil::run(peer, request)?,
        "leaves" => pair::run_leaves_inside(peer, request)?,
        "silent_stopped" => silent::run_stopped(peer, request)?,
        "silent_busy" => silent::run_busy(peer, request)?,
        _ => return pairs(request, |task| peer.pair(task)),
    }
    Ok(true)
}

/// Runs the asked-for workload if it is one of jobs that block.
///
/// # Errors
///
/// If a size that the workload needs is missing.
pub fn blocking<P: Block>(peer: &mut P, request: &Request) -> Outcome {
    match request.workload() {
        "blocking" => blocking::run_sleeps(peer, request)?,
        "blocking_empty" => blocking::run_empty(peer, request)?,
        "blocking_beside" => blocking::run_beside(peer, request)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Runs the asked-for workload if it is one for peers whose contexts go by value.
///
/// # Errors
///
/// If a size that the workload needs is missing.
pub fn by_value<P: ByValue>(peer: &mut P, request: &Request) -> Outcome {
    match request.workload() {
        "fib" => fib::run_by_value(peer, request)?,
        "tree" => tree::run_by_value(peer, request)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Runs the asked-for workload if it is one for peers with a parallel loop.
///
/// # Errors
///
/// If a size that the workload needs is missing.
pub fn loops<P: Loop>(peer: &mut P, request: &Request) -> Outcome {
    match request.workload() {
        "loop_uniform" => skew::run_uniform(peer, request)?,
        "loop_linear" => skew::run_linear(peer, request)?,
        "loop_cluster_low" => skew::run_cluster_low(peer, request)?,
        "loop_cluster_high" => skew::run_cluster_high(peer, request)?,
        "region_loop" => region::run_loop(peer, request)?,
        "region_loop_beside" => region::run_loop_beside(peer, request)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Runs the asked-for workload, for peers that can do whatever rayon can.
///
/// # Errors
///
/// If a size that the workload needs is missing.
pub fn all<P>(peer: &mut P, request: &Request) -> Outcome
where
    P: Loop + Spawn + Sort + Collect + for<'s> ForkJoin<Context<'s> = ()>,
{
    Ok(fork_join(peer, request)?
        || loops(peer, request)?
        || spawns(peer, request)?
        || mixed(peer, request)?
        || sorts(peer, request)?
        || collects(peer, request)?)
}

/// Runs the asked-for workload if it is one of tasks among joins, for peers that
/// need nothing in hand to fork.
///
/// # Errors
///
/// If a size that the workload needs is missing.
pub fn mixed<P>(peer: &mut P, request: &Request) -> Outcome
where
    P: Spawn + for<'s> ForkJoin<Context<'s> = ()>,
{
    match request.workload() {
        "injected_start" => injected::run(peer, request)?,
        "injected_between" => injected::run_between(peer, request)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Runs the asked-for workload if it is one for peers with values that are made once.
///
/// # Errors
///
/// If a size that the workload needs is missing.
pub fn once<P: MakeOnce>(peer: &mut P, request: &Request) -> Outcome {
    match request.workload() {
        "once" => once::run(peer, request)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Runs the asked-for workload if it is one for peers whose tasks have priorities.
///
/// # Errors
///
/// If a size that the workload needs is missing.
pub fn priorities<P>(peer: &mut P, request: &Request) -> Outcome
where
    P: Prioritised + for<'s> ForkJoin<Context<'s> = ()>,
{
    match request.workload() {
        "inversion_joins" => inversion::run_joins(peer, request)?,
        "inversion_loops" => inversion::run_loops(peer, request)?,
        "inversion_low" => inversion::run_low(peer, request)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Runs the asked-for workload if it is one for peers with a serial queue.
///
/// # Errors
///
/// If a size that the workload needs is missing.
pub fn strands<P: SerialQueue>(peer: &mut P, request: &Request) -> Outcome {
    match request.workload() {
        "strand" => strand::run(peer, request)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Runs the asked-for workload if it is one for peers whose tasks are futures.
///
/// # Errors
///
/// If a size that the workload needs is missing.
pub fn futures<P: Futures>(peer: &P, request: &Request) -> Outcome {
    match request.workload() {
        "futures_chain" => futures::run_chain(peer, request)?,
        "futures_ping_pong" => futures::run_ping_pong(peer, request)?,
        "futures_yield" => futures::run_yield(peer, request)?,
        "futures_spawn" => futures::run_spawn(peer, request)?,
        "futures_remote" => futures::run_remote(peer, request)?,
        "futures_await" => futures::run_await(peer, request)?,
        "futures_injected" => futures::run_injected(peer, request)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Runs the asked-for workload if it is one for peers that can spawn.
///
/// # Errors
///
/// If a size that the workload needs is missing.
pub fn spawns<P: Spawn>(peer: &mut P, request: &Request) -> Outcome {
    match request.workload() {
        "nqueens_spawn" => nqueens::run_spawn(peer, request)?,
        "spawn_inside" => spawn::run_inside(peer, request)?,
        "spawn_outside" => spawn::run_outside(peer, request)?,
        "burst" => burst::run(peer, request)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Runs the asked-for workload if it is the one for peers that can be resized.
///
/// # Errors
///
/// If a size that the workload needs is missing.
pub fn resizes<P>(peer: &mut P, request: &Request) -> Outcome
where
    P: Resize + for<'s> ForkJoin<Context<'s> = ()>,
{
    match request.workload() {
        "resize" => resize::run(peer, request)?,
        _ => return Ok(false),
    }
    Ok(true)
}
