//! Bodies that attract each other, every one by every other.

use heist_bench_workloads::rng::numbers;
use heist_bench_workloads::{fingerprint, Request};
use rayon::prelude::*;

use crate::demo::Demo;

/// The length of one step of time.
const STEP: f64 = 1e-3;
/// Keeps the pull of very close bodies finite; the square of a length.
const SOFTENING: f64 = 1e-4;

#[derive(Clone)]
pub(crate) struct Body {
    position: [f64; 3],
    velocity: [f64; 3],
    mass: f64,
}

pub(crate) struct NBody {
    start: Vec<Body>,
    steps: u64,
}

impl Demo for NBody {
    type Output = Vec<Body>;

    fn new(request: &Request) -> Result<Self, String> {
        let bodies = request.len("bodies")?;
        let steps = request.size("steps")?;
        let numbers = numbers(7 * bodies);
        let start = numbers.chunks(7).map(body).collect();
        Ok(Self { start, steps })
    }

    fn serial(&self) -> Vec<Body> {
        self.run(|bodies| bodies.iter().map(|body| body.moved(bodies)).collect())
    }

    fn parallel(&self) -> Vec<Body> {
        self.run(|bodies| bodies.par_iter().map(|body| body.moved(bodies)).collect())
    }

    fn checksum(output: Vec<Body>) -> u64 {
        fingerprint(
            output
                .iter()
                .flat_map(|body| body.position.map(f64::to_bits)),
        )
    }
}

impl NBody {
    /// All steps, each made by `step` from the one before.
    fn run(&self, step: impl Fn(&[Body]) -> Vec<Body>) -> Vec<Body> {
        let mut bodies = self.start.clone();
        for _ in 0..self.steps {
            bodies = step(&bodies);
        }
        bodies
    }
}

impl Body {
    /// The body one step later.
    fn moved(&self, all: &[Body]) -> Self {
        let mut pull = [0.0; 3];
        // Its own pull is zero, because it is at no distance from itself.
        for other in all {
            let away: [f64; 3] =
                std::array::from_fn(|axis| other.position[axis] - self.position[axis]);
            let square = away.iter().map(|part| part * part).sum::<f64>() + SOFTENING;
            let strength = other.mass / (square * square.sqrt());
            for (sum, part) in pull.iter_mut().zip(away) {
                *sum += strength * part;
            }
        }
        let velocity: [f64; 3] =
            std::array::from_fn(|axis| self.velocity[axis] + STEP * pull[axis]);
        let position = std::array::from_fn(|axis| self.position[axis] + STEP * velocity[axis]);
        Self {
            position,
            velocity,
            mass: self.mass,
        }
    }
}

/// A body in the unit cube, made from seven random numbers.
fn body(numbers: &[u64]) -> Body {
    let unit = |place: usize| (numbers[place] >> 11) as f64 / (1u64 << 53) as f64;
    Body {
        position: [0, 1, 2].map(unit),
        velocity: [3, 4, 5].map(|place| unit(place) - 0.5),
        mass: unit(6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::agreed;

    #[test]
    fn both_forms_move_the_bodies_to_the_same_places() {
        agreed::<NBody>("bodies=50 steps=5");
    }

    #[test]
    fn the_pull_keeps_the_sum_of_momentum() {
        let (demo, _) = agreed::<NBody>("bodies=20 steps=10");
        let momentum = |bodies: &[Body]| -> f64 {
            let each = bodies.iter().map(|body| body.mass * body.velocity[0]);
            each.sum()
        };
        let difference = momentum(&demo.parallel()) - momentum(&demo.start);
        assert!(difference.abs() < 1e-9, "{difference}");
    }
}
