//! Points in ten clouds are embedded in the plane.
//!
//! The library adds up numbers in the order in which threads happen to split the work, so that the
//! last digits of an embedding change from run to run, on rayon as well. The result is therefore
//! how well the embedding fits, to the digits that do not change.

use std::time::Instant;

use bhtsne::tSNE;

const POINTS: usize = 5000;
const DIMENSIONS: usize = 20;

fn main() {
    let mut random = Random(1);
    let data: Vec<f32> = (0..POINTS * DIMENSIONS)
        .map(|at| {
            let (point, dimension) = (at / DIMENSIONS, at % DIMENSIONS);
            let centre = f32::from(u8::from(point % 10 == dimension)) * 4.0;
            centre + random.next()
        })
        .collect();
    let samples: Vec<&[f32]> = data.chunks(DIMENSIONS).collect();
    let seed: Vec<f32> = (0..2 * POINTS).map(|_| 1e-4 * random.next()).collect();
    let start = Instant::now();
    let mut tsne = tSNE::<f32, &[f32], 2>::new(&samples);
    tsne.perplexity(15.0)
        .epochs(300)
        .initial_embedding(seed)
        .barnes_hut(0.5, |a, b| {
            let squares = a.iter().zip(b.iter()).map(|(a, b)| (a - b).powi(2));
            squares.sum::<f32>().sqrt()
        });
    let wall_ns = start.elapsed().as_nanos();
    let divergence = tsne.kl_divergence().expect("the points should be embedded");
    println!("wall_ns {wall_ns}");
    println!("divergence {divergence:.2}");
}

/// Numbers between 0 and 1 from a generator of Lehmer's kind.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 40) as f32 / (1_u64 << 24) as f32
    }
}
