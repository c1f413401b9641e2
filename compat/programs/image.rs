//! Pictures are painted, changed and measured by parallel iterators over their pixels.

use std::time::Instant;

use image::{ImageBuffer, Rgb, RgbImage};
use rayon::prelude::*;

const WIDTH: u32 = 1600;
const HEIGHT: u32 = 1200;
const STEPS: u32 = 4;

fn main() {
    let start = Instant::now();
    let mut found = Vec::new();
    for step in 0..STEPS {
        let mut picture: RgbImage =
            ImageBuffer::from_par_fn(WIDTH, HEIGHT, |x, y| Rgb(escape(x + 40 * step, y)));
        picture.par_pixels_mut().for_each(|pixel| {
            let [r, g, b] = pixel.0.map(u32::from);
            let grey = (r * 30 + g * 59 + b * 11) / 100;
            pixel.0 = pixel.0.map(|shade| ((u32::from(shade) + grey) / 2) as u8);
        });
        let light = picture
            .par_pixels()
            .filter(|pixel| pixel.0[1] > 127)
            .count();
        picture
            .par_enumerate_pixels_mut()
            .filter(|(x, y, _)| (x ^ y) % 5 == 0)
            .for_each(|(_, _, pixel)| pixel.0.reverse());
        let sum: u64 = picture
            .par_enumerate_pixels()
            .map(|(x, y, pixel)| u64::from(pixel.0[0]) * u64::from(x ^ y))
            .sum();
        found.push((light, sum));
    }
    let wall_ns = start.elapsed().as_nanos();
    println!("wall_ns {wall_ns}");
    println!("{found:?}");
}

/// The colour of a point by how soon it escapes.
fn escape(x: u32, y: u32) -> [u8; 3] {
    let (cx, cy) = (f64::from(x) / 700.0 - 2.0, f64::from(y) / 600.0 - 1.0);
    let (mut zx, mut zy, mut steps) = (0.0, 0.0, 0_u8);
    while zx * zx + zy * zy < 4.0 && steps < 60 {
        (zx, zy) = (zx * zx - zy * zy + cx, 2.0 * zx * zy + cy);
        steps += 1;
    }
    [steps * 4, 255 - steps * 3, steps]
}
