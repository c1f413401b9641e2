//! A large picture, and small ones of it.

use std::ops::Range;

use crate::parallel::*;

/// The widest small picture.
pub const WIDTH_MAX: usize = 800;

/// A picture in memory.
#[derive(Debug)]
pub struct Picture {
    width: usize,
    height: usize,
    /// Red, green and blue of each pixel, line by line.
    pixels: Vec<[u8; 3]>,
}

impl Picture {
    /// Rings of colours.
    #[must_use]
    pub fn rings(width: usize, height: usize) -> Self {
        let colour = |at: usize| {
            let (x, y) = (at % width, at / width);
            let squares = x * x + y * y;
            [squares >> 10, squares >> 11, squares >> 12].map(|shade| shade as u8)
        };
        let pixels = (0..width * height).into_par_iter().map(colour).collect();
        Self {
            width,
            height,
            pixels,
        }
    }

    /// This picture in another width, as a PPM file. Each pixel is the mean of those that it stands
    /// for; lines are computed in parallel.
    ///
    /// # Panics
    ///
    /// Panics if `width` is 0 or more than [`WIDTH_MAX`].
    #[must_use]
    pub fn thumbnail(&self, width: usize) -> Vec<u8> {
        assert!((1..=WIDTH_MAX).contains(&width), "{width} pixels");
        let height = (self.height * width / self.width).max(1);
        let mut file = format!("P6 {width} {height} 255\n").into_bytes();
        let head = file.len();
        file.resize(head + 3 * width * height, 0);
        let lines = file[head..].par_chunks_exact_mut(3 * width);
        lines.enumerate().for_each(|(y, line)| {
            let rows = part(self.height, y, height);
            for (x, pixel) in line.chunks_exact_mut(3).enumerate() {
                let columns = part(self.width, x, width);
                let mut sums = [0_u32; 3];
                for row in rows.clone() {
                    for colours in &self.pixels[row * self.width..][columns.clone()] {
                        for (sum, &colour) in sums.iter_mut().zip(colours) {
                            *sum += u32::from(colour);
                        }
                    }
                }
                let count = (rows.len() * columns.len()) as u32;
                for (colour, sum) in pixel.iter_mut().zip(sums) {
                    *colour = (sum / count) as u8;
                }
            }
        });
        file
    }
}

/// The part with this index of so many, at least one long.
fn part(len: usize, index: usize, parts: usize) -> Range<usize> {
    let begin = index * len / parts;
    begin..((index + 1) * len / parts).max(begin + 1)
}
