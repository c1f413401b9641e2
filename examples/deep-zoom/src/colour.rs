//! The colour of a pixel: of the number of iterations, made smooth, with light from above.

use crate::perturbation::{follow, Escape, ESCAPED_SQUARED};
use crate::view::View;

/// The colours of a turn: red, green and blue, from 0 to 1.
const TURN: [[f64; 3]; 6] = [
    [0.03, 0.05, 0.20],
    [0.08, 0.32, 0.62],
    [0.55, 0.85, 0.90],
    [0.99, 0.95, 0.78],
    [0.93, 0.58, 0.16],
    [0.38, 0.08, 0.16],
];

/// Where the light comes from; its length is 1.
const LIGHT: [f64; 2] = [-0.6, 0.8];
/// How high it stands: the higher, the flatter the picture.
const LIGHT_HEIGHT: f64 = 1.4;

/// The colour of a pixel of a picture.
pub(crate) fn of_pixel(view: &View, orbit: &[[f64; 2]], column: u32, row: u32) -> [u8; 3] {
    let mut light = [0.0; 3];
    for offset in view.points(column, row) {
        if let Some(escape) = follow(orbit, offset, view.spacing, view.iterations) {
            let colour = of_escape(&escape, view.turns);
            // The average is taken of light, which is about the square of a file's values.
            light = [0, 1, 2].map(|at| light[at] + colour[at] * colour[at]);
        }
    }
    let points = f64::from(view.samples * view.samples);
    light.map(|light| ((light / points).sqrt() * 255.0).round() as u8)
}

/// The colour of a point that has escaped; those of the set are black.
fn of_escape(escape: &Escape, turns: f64) -> [f64; 3] {
    let turn = libm::log2(smooth_iterations(escape).max(1.0)) * turns;
    let [re, im] = escape.z;
    let [slope_re, slope_im] = escape.slope;
    let slope_squared = slope_re * slope_re + slope_im * slope_im;
    // The direction in which it escapes, and with it the way uphill, is z / slope.
    let uphill = [re * slope_re + im * slope_im, im * slope_re - re * slope_im];
    let steepness = (uphill[0] * uphill[0] + uphill[1] * uphill[1]).sqrt();
    let facing = (uphill[0] * LIGHT[0] + uphill[1] * LIGHT[1]) / steepness;
    let lit = ((facing + LIGHT_HEIGHT) / (1.0 + LIGHT_HEIGHT)).clamp(0.0, 1.0);
    // How many points it is to the set, about (Milnor, "Self-similarity and hairiness in the
    // Mandelbrot set", 1989).
    let size_squared = re * re + im * im;
    let distance = (size_squared / slope_squared).sqrt() * libm::log(size_squared);
    // Darker there, but not so dark that what is dense turns black.
    let bright = distance.clamp(0.0, 1.0).sqrt() * (0.4 + 0.6 * lit);
    in_turn(turn).map(|part| part * bright)
}

/// The number of iterations, with a fraction that says how far out it escaped: it has no steps
/// from one number to the next.
fn smooth_iterations(escape: &Escape) -> f64 {
    let [re, im] = escape.z;
    let beyond = libm::log(re * re + im * im) / libm::log(ESCAPED_SQUARED);
    f64::from(escape.iterations) + 1.0 - libm::log2(beyond)
}

fn in_turn(turn: f64) -> [f64; 3] {
    let place = (turn - turn.floor()) * TURN.len() as f64;
    // A fraction times the length may round up to it.
    let at = place as usize % TURN.len();
    let (from, to) = (TURN[at], TURN[(at + 1) % TURN.len()]);
    let part = place.fract();
    let part = part * part * (3.0 - 2.0 * part);
    [0, 1, 2].map(|at| from[at] + (to[at] - from[at]) * part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_iterations_has_no_steps() {
        let escape = |iterations, re: f64| Escape {
            iterations,
            z: [re, 0.0],
            slope: [1.0, 0.0],
        };
        // Far away an iteration is a squaring.
        for re in [1000.5, 3000.0, 900_000.0] {
            let now = smooth_iterations(&escape(7, re));
            let next = smooth_iterations(&escape(8, re * re));
            assert!((now - next).abs() < 1e-9, "{now}, {next}");
        }
    }

    #[test]
    fn colours_come_round() {
        for (at, colour) in TURN.into_iter().enumerate() {
            let turn = at as f64 / TURN.len() as f64;
            for found in [in_turn(turn), in_turn(turn + 3.0)] {
                let error = [0, 1, 2].map(|at| (found[at] - colour[at]).abs());
                assert!(
                    error.into_iter().all(|error| error < 1e-9),
                    "{turn}: {found:?}"
                );
            }
        }
    }

    #[test]
    fn points_of_the_set_are_black_and_others_are_not() {
        let view = View {
            width: 2,
            height: 1,
            samples: 1,
            spacing: 2.0,
            iterations: 100,
            turns: 0.4,
        };
        // Around -1: the pixels are -2, at the tip of the set, and 0.
        let orbit = [[0.0, 0.0], [-1.0, 0.0], [0.0, 0.0], [-1.0, 0.0]];
        assert_eq!(of_pixel(&view, &orbit, 0, 0), [0; 3]);
        assert_eq!(of_pixel(&view, &orbit, 1, 0), [0; 3]);
        let outside = View {
            spacing: 4.0,
            ..view
        };
        assert_ne!(of_pixel(&outside, &orbit, 1, 0), [0; 3], "1 escapes");
    }
}
