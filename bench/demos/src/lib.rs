//! Demo programs in the manner of those that come with rayon, each once in its
//! serial and once in its parallel form: what a user's program gains or loses
//! when rayon runs on another scheduler.
//!
//! They are written for this benchmark against rayon's public interface. An
//! peer calls [`demos`] with the [`Form`] that it measures.
#![forbid(unsafe_code)]

mod demo;
mod join;

mod factorial;
mod fibonacci;
mod find;
mod life;
mod map_collect;
mod matmul;
mod mergesort;
mod nbody;
mod nqueens;
mod pythagoras;
mod quicksort;
mod sieve;
mod sort;
mod str_split;
mod tree;
mod tsp;
mod vec_collect;

pub use demo::Form;

use demo::measure;
use heist_bench_workloads::{Outcome, Request};

/// Runs the asked-for workload if it is a demo.
///
/// # Errors
///
/// If a size that the demo needs is missing, or is one that it cannot take.
pub fn demos(form: Form<'_>, request: &Request) -> Outcome {
    let measure = match request.workload() {
        "demo_factorial" => measure::<factorial::Factorial>,
        "demo_fibonacci" => measure::<fibonacci::Fibonacci>,
        "demo_find" => measure::<find::Find>,
        "demo_life" => measure::<life::Life>,
        "demo_map_collect" => measure::<map_collect::MapCollect>,
        "demo_matmul" => measure::<matmul::Matmul>,
        "demo_mergesort" => measure::<mergesort::Mergesort>,
        "demo_nbody" => measure::<nbody::NBody>,
        "demo_nqueens" => measure::<nqueens::NQueens>,
        "demo_pythagoras" => measure::<pythagoras::Pythagoras>,
        "demo_quicksort" => measure::<quicksort::Quicksort>,
        "demo_sieve" => measure::<sieve::Sieve>,
        "demo_sort" => measure::<sort::Sort>,
        "demo_str_split" => measure::<str_split::StrSplit>,
        "demo_tree" => measure::<tree::Sum>,
        "demo_tree_walk" => measure::<tree::Walk>,
        "demo_tsp" => measure::<tsp::Tsp>,
        "demo_vec_collect" => measure::<vec_collect::VecCollect>,
        _ => return Ok(false),
    };
    measure(form, request)?;
    Ok(true)
}
