//! Measures of a graph that are computed from each of its nodes.

use std::time::Instant;

use rustworkx_core::centrality::edge_betweenness_centrality;
use rustworkx_core::centrality::{betweenness_centrality, closeness_centrality};
use rustworkx_core::petgraph::graph::UnGraph;
use rustworkx_core::shortest_path::distance_matrix;
use rustworkx_core::transitivity::graph_transitivity;

const NODES: u32 = 700;
const EDGES: u32 = 4_200;

fn main() {
    let scattered =
        |x: u32| (x.wrapping_mul(0x9E37_79B9) ^ (x >> 7)).wrapping_mul(0x85EB_CA6B) >> 8;
    let edges =
        (0..EDGES).map(|edge| (scattered(2 * edge) % NODES, scattered(2 * edge + 1) % NODES));
    let graph = UnGraph::<(), ()>::from_edges(edges);
    let start = Instant::now();
    let between = betweenness_centrality(&graph, false, true, 50);
    let edges = edge_betweenness_centrality(&graph, true, 50);
    let close = closeness_centrality(&graph, true, 50);
    let mut distances = 0.0;
    for _ in 0..8 {
        distances += distance_matrix(&graph, 50, false, 0.0).sum();
    }
    let transitivity = graph_transitivity(&graph);
    let wall_ns = start.elapsed().as_nanos();
    println!("wall_ns {wall_ns}");
    // Sums of rounded numbers, whose last digits depend on the order.
    let sum = |values: &[Option<f64>]| values.iter().flatten().sum::<f64>();
    println!("between {:.6} {:.6}", sum(&between), sum(&edges));
    println!(
        "close {:.6} distances {distances} transitivity {transitivity:.6}",
        sum(&close)
    );
}
