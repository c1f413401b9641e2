//! Draws the Mandelbrot set, a row a piece.

use std::f64::consts::TAU;
use std::fs::File;
use std::io::{self, BufWriter};

use anyhow::Context as _;

use super::contract::{Fact, Flag, Profile, Setup, Size, Workload};
use super::join::join_each;
use crate::strategy::{Bag, Pieces, Serial};

/// A point that has not escaped by then counts as inside.
const STEPS_MAX: u32 = 1_000;

/// From this distance on a point surely escapes. Far beyond 2, so that the
/// smoothed count has no visible steps.
const ESCAPE: f64 = 1e4;

pub(crate) struct Mandelbrot {
    width: usize,
    height: usize,
}

impl Workload for Mandelbrot {
    const PROFILE: Profile = Profile {
        name: "mandelbrot",
        about: "Draws the Mandelbrot set into a PNG, a row a piece",
        tasks: "a row of the picture",
        size: Some(Size {
            what: "width of the picture in pixels",
            default: 1_200,
            accepted: 2..=16_384,
        }),
        flags: &[Flag::Output],
    };

    type Scratch = Vec<u8>;
    /// Red, green and blue of each pixel, row by row.
    type Output = Vec<u8>;

    fn prepare(setup: &Setup) -> anyhow::Result<Self> {
        let width = setup.len();
        let height = width * 2 / 3;
        Ok(Self { width, height })
    }

    fn input(&self) -> String {
        format!("{} x {} pixels", self.width, self.height)
    }

    fn fresh(&self) -> Vec<u8> {
        vec![0; self.width * self.height * 3]
    }

    fn serial(&self, mut pixels: Vec<u8>, serial: &mut Serial<'_>) -> Vec<u8> {
        for (y, row) in pixels.chunks_mut(self.width * 3).enumerate() {
            serial.item(|| name(y), || self.draw(y, row));
        }
        pixels
    }

    fn bagged(&self, mut pixels: Vec<u8>, bag: &mut Bag<'_>) -> io::Result<Vec<u8>> {
        bag.run(
            pixels.chunks_mut(self.width * 3).enumerate().collect(),
            |(y, _)| name(*y),
            |(y, row), (): &mut (), _| self.draw(y, row),
        )?;
        Ok(pixels)
    }

    fn stealing(&self, mut pixels: Vec<u8>, pieces: Pieces<'_>) -> Vec<u8> {
        let mut rows: Vec<_> = pixels.chunks_mut(self.width * 3).collect();
        join_each(&mut rows, &|y, row| {
            pieces.item(|| name(y), || self.draw(y, row));
        });
        pixels
    }

    fn facts(&self, output: &Vec<u8>) -> Vec<Fact> {
        let inside = output.chunks(3).filter(|pixel| *pixel == [0, 0, 0]).count();
        vec![
            Fact::new("pixels", output.len() / 3),
            Fact::new("pixels_inside", inside),
            Fact::new("hash", blake3::hash(output).to_string()),
        ]
    }

    fn save(&self, output: &Vec<u8>, setup: &Setup) -> anyhow::Result<()> {
        let path = &setup.output;
        let write = || -> anyhow::Result<()> {
            let file = BufWriter::new(File::create(path)?);
            let mut encoder =
                png::Encoder::new(file, self.width.try_into()?, self.height.try_into()?);
            encoder.set_color(png::ColorType::Rgb);
            encoder.set_depth(png::BitDepth::Eight);
            let mut writer = encoder.write_header()?;
            writer.write_image_data(output)?;
            Ok(writer.finish()?)
        };
        write().with_context(|| format!("cannot write the picture to {}", path.display()))
    }
}

impl Mandelbrot {
    fn draw(&self, y: usize, row: &mut [u8]) {
        let scale = 3.4 / self.width as f64;
        let imaginary = (y as f64 + 0.5 - self.height as f64 / 2.0) * scale;
        for (x, pixel) in row.chunks_mut(3).enumerate() {
            let real = (x as f64 + 0.5) * scale - 2.45;
            pixel.copy_from_slice(&colour(escape(real, imaginary)));
        }
    }
}

/// After how many steps the point escapes, smoothed between whole steps.
fn escape(real: f64, imaginary: f64) -> Option<f64> {
    let (mut x, mut y) = (0.0_f64, 0.0_f64);
    for step in 0..STEPS_MAX {
        let (x2, y2) = (x * x, y * y);
        if x2 + y2 > ESCAPE {
            let beyond = (x2 + y2).ln() / ESCAPE.ln();
            return Some(f64::from(step) - beyond.log2());
        }
        y = 2.0 * x * y + imaginary;
        x = x2 - y2 + real;
    }
    None
}

/// Black inside; outside, colours that change more slowly the longer the escape took.
fn colour(steps: Option<f64>) -> [u8; 3] {
    let Some(steps) = steps else {
        return [0, 0, 0];
    };
    let phase = (steps.max(0.0) + 1.0).ln() * 0.55;
    [0.02, 0.12, 0.24].map(|shift| {
        let wave = 0.5 - 0.5 * (TAU * (phase + shift)).cos();
        // A float-to-integer cast saturates; 1 keeps the outside apart from black.
        (1.0 + 254.0 * wave) as u8
    })
}

fn name(y: usize) -> String {
    format!("row {y}")
}
