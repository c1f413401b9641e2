//! All shortest paths of a graph, the ranks of its nodes, and walks over a map of nodes.

use std::time::Instant;

use petgraph::algo::{page_rank, parallel_johnson};
use petgraph::graphmap::DiGraphMap;
use petgraph::Graph;
use rayon::prelude::*;

const NODES: u32 = 500;
const EDGES: u32 = 4_000;
const MAP_NODES: u32 = 100_000;

fn main() {
    let graph = Graph::<(), i64>::from_edges(edges(NODES, EDGES));
    let map = DiGraphMap::<u32, i64>::from_edges(edges(MAP_NODES, 6 * MAP_NODES));
    let start = Instant::now();
    let paths = parallel_johnson(&graph, |edge| *edge.weight()).expect("no cycle is negative");
    let ranks = page_rank::parallel_page_rank(&graph, 0.85_f64, 10, Some(1e-12));
    let mut degrees = 0;
    let mut weights = 0;
    for _ in 0..30 {
        degrees += map
            .par_nodes()
            .map(|node| map.neighbors(node).filter(|&other| other < node).count())
            .sum::<usize>();
        weights += map
            .par_all_edges()
            .filter(|(from, to, _)| from < to)
            .map(|(_, _, weight)| weight)
            .sum::<i64>();
    }
    let wall_ns = start.elapsed().as_nanos();
    println!("wall_ns {wall_ns}");
    let lengths: i64 = paths.values().filter(|&&length| length < i64::MAX).sum();
    let best = (0..ranks.len()).max_by(|&a, &b| ranks[a].total_cmp(&ranks[b]));
    println!("paths {} of {lengths} in all, best {best:?}", paths.len());
    println!("degrees {degrees} weights {weights}");
}

fn edges(nodes: u32, edges: u32) -> impl Iterator<Item = (u32, u32, i64)> {
    let scattered =
        |x: u32| (x.wrapping_mul(0x9E37_79B9) ^ (x >> 7)).wrapping_mul(0x85EB_CA6B) >> 8;
    (0..edges).map(move |edge| {
        let [from, to, weight] = [0, 1, 2].map(|at| scattered(3 * edge + at));
        (from % nodes, to % nodes, i64::from(weight % 100 + 1))
    })
}
