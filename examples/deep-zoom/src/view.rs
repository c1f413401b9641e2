//! Which part of the plane a picture shows, and how it is cut into tiles.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Pixels along the side of a tile.
const TILE: u32 = 64;

/// A picture of the plane around a centre that others know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// Pixels from left to right.
    pub width: u32,
    /// Pixels from top to bottom.
    pub height: u32,
    /// Points for each pixel, along each side.
    pub samples: u32,
    /// From one point to the next.
    pub spacing: f64,
    /// After how many iterations a point counts as one of the set.
    pub iterations: u32,
    /// How often the colours turn while the number of iterations doubles.
    pub turns: f64,
}

impl View {
    /// How far apart points are if the shorter side of a picture is to be 4 / `zoom` long.
    #[must_use]
    pub fn spacing_for(zoom: f64, width: u32, height: u32, samples: u32) -> f64 {
        4.0 / zoom / (f64::from(width.min(height)) * f64::from(samples))
    }

    /// The points of a pixel, as differences to the centre.
    pub fn points(&self, column: u32, row: u32) -> impl Iterator<Item = [f64; 2]> {
        let Self {
            width,
            height,
            samples,
            spacing,
            ..
        } = *self;
        // From the centre in steps, where all of it is a whole number and a half.
        let place = move |pixel: u32, sample: u32, pixels: u32| {
            f64::from(pixel * samples + sample) + 0.5 - f64::from(pixels * samples) / 2.0
        };
        (0..samples * samples).map(move |sample| {
            let x = place(column, sample % samples, width);
            let y = place(row, sample / samples, height);
            [x * spacing, -y * spacing]
        })
    }

    /// How many tiles there are.
    #[must_use]
    pub fn tiles(&self) -> u64 {
        u64::from(self.width.div_ceil(TILE)) * u64::from(self.height.div_ceil(TILE))
    }

    /// A tile; they are numbered from left to right and from top to bottom.
    #[must_use]
    pub fn tile(&self, number: u64) -> Tile {
        let across = u64::from(self.width.div_ceil(TILE));
        let side = |at: u64, pixels: u32| {
            // There are no more tiles than pixels.
            let start = at as u32 * TILE;
            start..pixels.min(start + TILE)
        };
        Tile {
            columns: side(number % across, self.width),
            rows: side(number / across, self.height),
        }
    }

    /// Copies the pixels of some tiles, three bytes each, to where they belong in a picture.
    ///
    /// # Panics
    ///
    /// If there are too few of them, or of bytes in the picture.
    pub fn place(&self, tiles: Range<u64>, mut pixels: &[u8], picture: &mut [u8]) {
        for (columns, row) in tiles.flat_map(|tile| self.tile(tile).rows()) {
            let start = (row as usize * self.width as usize + columns.start as usize) * 3;
            let (these, rest) = pixels.split_at(columns.len() * 3);
            picture[start..start + these.len()].copy_from_slice(these);
            pixels = rest;
        }
    }
}

/// A part of a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    columns: Range<u32>,
    rows: Range<u32>,
}

impl Tile {
    /// Its rows, with the columns of each.
    pub fn rows(self) -> impl Iterator<Item = (Range<u32>, u32)> {
        self.rows.map(move |row| (self.columns.clone(), row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(width: u32, height: u32, samples: u32) -> View {
        View {
            width,
            height,
            samples,
            spacing: View::spacing_for(1.0, width, height, samples),
            iterations: 1,
            turns: 1.0,
        }
    }

    #[test]
    fn each_pixel_is_in_one_tile() {
        for (width, height) in [(1, 1), (64, 64), (65, 130), (200, 63)] {
            let view = view(width, height, 1);
            let rows = (0..view.tiles()).flat_map(|tile| view.tile(tile).rows());
            let mut pixels: Vec<_> = rows
                .flat_map(|(columns, row)| columns.map(move |column| (row, column)))
                .collect();
            pixels.sort_unstable();
            let all = (0..height).flat_map(|row| (0..width).map(move |column| (row, column)));
            assert!(pixels.into_iter().eq(all), "{width} x {height}");
        }
    }

    #[test]
    fn points_lie_evenly_around_the_centre() {
        let corner = |view: &View, column, row| view.points(column, row).next();
        assert_eq!(corner(&view(4, 4, 1), 0, 0), Some([-1.5, 1.5]));
        assert_eq!(corner(&view(4, 4, 1), 3, 3), Some([1.5, -1.5]));
        assert_eq!(corner(&view(8, 4, 2), 0, 0), Some([-3.75, 1.75]));
        let points: Vec<_> = view(2, 2, 2).points(1, 0).collect();
        assert_eq!(points, [[0.5, 1.5], [1.5, 1.5], [0.5, 0.5], [1.5, 0.5]]);
    }
}
