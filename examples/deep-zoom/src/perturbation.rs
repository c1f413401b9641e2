//! How points near a reference escape: perturbation of its orbit.
//!
//! With the orbit Z of C known, that of C + e is Z + d, where d' = (2 Z + d) d + e; d is small
//! where zooms are deep, and a float keeps its digits, which z' = z^2 + c would lose (K. I.
//! Martin's paper on his program `SuperFractalThing`, 2013). Where Z + d is smaller than d,
//! digits would be lost here too: such a point goes on from the beginning of the reference,
//! with all of Z + d for its d. So one reference serves all points, and also when it is itself
//! at an end (Zhuoran, "Another solution to perturbation glitches", fractalforums.org, 2021).

/// A point has escaped when it is so far from 0, squared. Far enough for smooth colours.
pub const ESCAPED_SQUARED: f64 = 1e6;

/// A point that has escaped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Escape {
    /// After how many iterations.
    pub iterations: u32,
    /// Where it is then.
    pub z: [f64; 2],
    /// How much farther it is for each `spacing` that it had begun farther off.
    pub slope: [f64; 2],
}

/// Follows the point at `offset` from the reference whose orbit is `orbit`; `None` if it has
/// not escaped after so many `iterations`.
#[must_use]
pub fn follow(
    orbit: &[[f64; 2]],
    offset: [f64; 2],
    spacing: f64,
    iterations: u32,
) -> Option<Escape> {
    let last = orbit.len() - 1;
    let mut at = 0;
    let (mut z, mut difference, mut slope) = ([0.0; 2], [0.0; 2], [0.0; 2]);
    for iteration in 1..=iterations {
        slope = product(double(z), slope);
        slope[0] += spacing;
        difference = sum(
            product(sum(double(orbit[at]), difference), difference),
            offset,
        );
        at += 1;
        z = sum(orbit[at], difference);
        let size = square(z);
        if size > ESCAPED_SQUARED {
            return Some(Escape {
                iterations: iteration,
                z,
                slope,
            });
        }
        if size < square(difference) || at == last {
            difference = z;
            at = 0;
        }
    }
    None
}

fn sum(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0] + b[0], a[1] + b[1]]
}

fn double(a: [f64; 2]) -> [f64; 2] {
    sum(a, a)
}

fn product(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

fn square(a: [f64; 2]) -> f64 {
    a[0] * a[0] + a[1] * a[1]
}
