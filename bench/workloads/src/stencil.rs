//! The same sweep over a small array again and again, in two halves with one join: each
//! worker does best with the half that lies in its cache already.

use crate::peer::ForkJoin;
use crate::rng::numbers;
use crate::{sample_of, Request};

/// Measures `sweeps` sweeps over `len` cells, back to back inside the pool; a unit is one
/// sweep.
pub(crate) fn run<P: ForkJoin>(peer: &mut P, request: &Request) -> Result<(), String> {
    let (len, sweeps) = (request.len("len")?, request.size("sweeps")?);
    let mut grid = Grid::new(len);
    request.repeat(|| {
        grid.restart();
        let grid = &mut grid;
        let work = || peer.install(move |context| grid.sweep::<P>(context, sweeps));
        sample_of(sweeps, work, fingerprint)
    })
}

/// The cells as they are, and the place of those of the next sweep.
struct Grid {
    start: Vec<f32>,
    cells: Vec<f32>,
    next: Vec<f32>,
}

impl Grid {
    fn new(len: usize) -> Self {
        // As many bits as a fraction has: every number is exact.
        let start: Vec<f32> = numbers(len)
            .into_iter()
            .map(|number| (number >> 40) as f32 / (1 << 24) as f32)
            .collect();
        let (cells, next) = (start.clone(), start.clone());
        Self { start, cells, next }
    }

    /// Back to the first numbers, so that every sample has the same result.
    fn restart(&mut self) {
        self.cells.copy_from_slice(&self.start);
        self.next.copy_from_slice(&self.start);
    }

    /// Sweeps as often as that and returns the cells.
    fn sweep<P: ForkJoin>(&mut self, context: &mut P::Context<'_>, sweeps: u64) -> &[f32] {
        for _ in 0..sweeps {
            halves::<P>(context, &self.cells, &mut self.next);
            std::mem::swap(&mut self.cells, &mut self.next);
        }
        &self.cells
    }
}

/// One sweep: the inner cells of `next` out of `cells`. The cells at the ends stay.
fn halves<P: ForkJoin>(context: &mut P::Context<'_>, cells: &[f32], next: &mut [f32]) {
    let middle = cells.len() / 2;
    let (low, high) = next.split_at_mut(middle);
    let inner = high.len() - 1;
    P::join(
        context,
        |_| relax(&cells[..=middle], &mut low[1..]),
        |_| relax(&cells[middle - 1..], &mut high[..inner]),
    );
}

/// Each of `next` becomes the weighted mean of three of `cells`, which reach one further at
/// either end. The weights are powers of two, so that a compiler which multiplies and adds
/// in one step comes to the same numbers.
#[inline(never)]
fn relax(cells: &[f32], next: &mut [f32]) {
    for (cell, near) in next.iter_mut().zip(cells.windows(3)) {
        *cell = 0.25 * near[0] + 0.5 * near[1] + 0.25 * near[2];
    }
}

/// A number that hangs on every bit of every cell.
fn fingerprint(cells: &[f32]) -> u64 {
    cells.iter().fold(0, |sum: u64, cell| {
        sum.wrapping_mul(31).wrapping_add(u64::from(cell.to_bits()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs one closure after the other.
    struct Plain;

    impl ForkJoin for Plain {
        type Context<'s> = ();

        fn install<R: Send, F: FnOnce(&mut ()) -> R + Send>(&mut self, task: F) -> R {
            task(&mut ())
        }

        fn join<A, B, RA: Send, RB: Send>(context: &mut (), a: A, b: B) -> (RA, RB)
        where
            A: FnOnce(&mut ()) -> RA + Send,
            B: FnOnce(&mut ()) -> RB + Send,
        {
            (a(context), b(context))
        }
    }

    #[test]
    fn two_halves_make_the_same_cells_as_a_whole() {
        for len in [4, 5, 64, 101] {
            let mut grid = Grid::new(len);
            let mut whole = grid.start.clone();
            for _ in 0..3 {
                let before = whole.clone();
                relax(&before, &mut whole[1..len - 1]);
            }
            assert_eq!(grid.sweep::<Plain>(&mut (), 3), whole);
            assert_ne!(whole, grid.start);
        }
    }

    #[test]
    fn every_sample_begins_with_the_same_cells() {
        let mut grid = Grid::new(100);
        let first = fingerprint(grid.sweep::<Plain>(&mut (), 7));
        grid.restart();
        assert_eq!(fingerprint(grid.sweep::<Plain>(&mut (), 7)), first);
    }
}
