//! A picture is filtered, mapped and searched for a pattern.

use std::time::Instant;

use image::{GrayImage, Luma};
use imageproc::filter::{filter_clamped_parallel, sharpen3x3_parallel};
use imageproc::kernel::{Kernel, SOBEL_HORIZONTAL_3X3};
use imageproc::map::{map_enumerated_pixels_mut_parallel, map_pixels_parallel};
use imageproc::template_matching::{find_extremes, match_template_parallel, MatchTemplateMethod};

const WIDTH: u32 = 1200;
const HEIGHT: u32 = 900;
const STEPS: u32 = 4;

fn main() {
    let mut picture = GrayImage::from_fn(WIDTH, HEIGHT, |x, y| {
        let noise =
            (x.wrapping_mul(0x9E37_79B9) ^ y.wrapping_mul(0x85EB_CA6B)).wrapping_mul(0xC2B2_AE35);
        Luma([(x / 5 + y / 3 + (noise >> 28)) as u8])
    });
    let start = Instant::now();
    let mut hash = 0_u64;
    let smooth = [1_u16; 25];
    for step in 0..STEPS {
        let sums =
            imageproc::filter::filter_parallel(&picture, Kernel::new(&smooth, 5, 5), |sum| sum);
        picture = map_pixels_parallel(&sums, |pixel: Luma<u16>| Luma([(pixel.0[0] / 25) as u8]));
        picture = sharpen3x3_parallel(&picture);
        let edges = filter_clamped_parallel::<_, _, i16>(&picture, SOBEL_HORIZONTAL_3X3);
        map_enumerated_pixels_mut_parallel(&mut picture, |x, y, pixel| {
            let edge = edges.get_pixel(x, y).0[0].unsigned_abs();
            Luma([pixel.0[0].wrapping_add((edge >> 3) as u8)])
        });
        for &byte in picture.iter() {
            hash = (hash.rotate_left(5) ^ u64::from(byte)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
        let corner = |x, y| image::imageops::crop_imm(&picture, x, y, 160, 120).to_image();
        let (whole, pattern) = (corner(100 * step, 200), corner(100 * step + 31, 217));
        let pattern = image::imageops::crop_imm(&pattern, 0, 0, 32, 24).to_image();
        let method = MatchTemplateMethod::SumOfSquaredErrors;
        let matches = match_template_parallel(&whole, &pattern, method);
        hash ^= u64::from(find_extremes(&matches).min_value_location.0);
    }
    let wall_ns = start.elapsed().as_nanos();
    println!("wall_ns {wall_ns}");
    println!("hash {hash:016x}");
}
