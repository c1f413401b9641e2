//! A picture is optimised: filters and compressions are tried side by side, the smallest is kept.

use std::time::Instant;

use oxipng::{BitDepth, ColorType, Options, RawImage};

const WIDTH: u32 = 640;
const HEIGHT: u32 = 480;

fn main() {
    let mut pixels = Vec::new();
    for y in 0..HEIGHT {
        for x in 0..WIDTH {
            let noise = (x.wrapping_mul(0x9E37_79B9) ^ y.wrapping_mul(0x85EB_CA6B))
                .wrapping_mul(0xC2B2_AE35)
                >> 30;
            let shade = (x / 3 + y / 2 + noise) as u8;
            pixels.extend([shade, (x ^ y) as u8, (x * y / 512) as u8]);
        }
    }
    let color = ColorType::RGB {
        transparent_color: None,
    };
    let image = RawImage::new(WIDTH, HEIGHT, color, BitDepth::Eight, pixels)
        .expect("the pixels should fit the size");
    let options = Options::from_preset(4);
    let start = Instant::now();
    let png = image
        .create_optimized_png(&options)
        .expect("the picture should be optimised");
    let wall_ns = start.elapsed().as_nanos();
    let hash = png.iter().fold(0_u64, |hash, &byte| {
        (hash.rotate_left(5) ^ u64::from(byte)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    });
    println!("wall_ns {wall_ns}");
    println!("bytes {} hash {hash:016x}", png.len());
}
