//! A picture is brought to many sizes, row by row and column by column.

use std::time::Instant;

use fast_image_resize::images::Image;
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};

const WIDTH: u32 = 2400;
const HEIGHT: u32 = 1600;

fn main() {
    let pixels = (0..HEIGHT)
        .flat_map(|y| (0..WIDTH).flat_map(move |x| [x, y, x ^ y, 255 - (x & y) % 200]))
        .map(|shade| shade as u8)
        .collect();
    let picture =
        Image::from_vec_u8(WIDTH, HEIGHT, pixels, PixelType::U8x4).expect("four bytes a pixel");
    let filters = [
        FilterType::Bilinear,
        FilterType::CatmullRom,
        FilterType::Mitchell,
        FilterType::Lanczos3,
    ];
    let mut hash = 0_u64;
    let mut wall_ns = 0;
    for size in 1..=12 {
        for filter in filters {
            let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(filter));
            let mut small = Image::new(WIDTH * size / 9, HEIGHT * size / 9, PixelType::U8x4);
            let start = Instant::now();
            Resizer::new()
                .resize(&picture, &mut small, &options)
                .expect("both are of one type");
            wall_ns += start.elapsed().as_nanos();
            for bytes in small.buffer().chunks_exact(64) {
                hash = (hash.rotate_left(5) ^ u64::from(bytes[21]))
                    .wrapping_mul(0x9E37_79B9_7F4A_7C15);
            }
        }
    }
    println!("wall_ns {wall_ns}");
    println!("hash {hash:016x}");
}
