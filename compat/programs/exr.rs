//! A picture with noise is compressed in three ways, block by block, and read again.

use std::io::Cursor;
use std::time::Instant;

use exr::prelude::*;

const SIZE: (usize, usize) = (1600, 1200);

/// A smooth picture with a little noise, so that it compresses neither well nor badly.
fn pixel(position: Vec2<usize>) -> (f32, f32, f32) {
    let (x, y) = (position.x() as u32, position.y() as u32);
    let noise =
        (x.wrapping_mul(0x9E37_79B9) ^ y.wrapping_mul(0x85EB_CA6B)).wrapping_mul(0xC2B2_AE35);
    let noise = (noise >> 24) as f32 / 8192.0;
    let (x, y) = (x as f32 / 160.0, y as f32 / 120.0);
    (x.sin() + noise, (x * y).cos() + noise, (x + y).sin())
}

fn main() {
    let start = Instant::now();
    let mut lines = Vec::new();
    for compression in [Compression::ZIP16, Compression::PIZ, Compression::PXR24] {
        let encoding = Encoding {
            compression,
            blocks: Blocks::Tiles(Vec2(64, 64)),
            line_order: LineOrder::Increasing,
        };
        let image = Image::from_encoded_channels(SIZE, encoding, SpecificChannels::rgb(pixel));
        let mut bytes = Vec::new();
        image
            .write()
            .to_buffered(Cursor::new(&mut bytes))
            .expect("the picture should be written");
        let decoded = read()
            .no_deep_data()
            .largest_resolution_level()
            .rgb_channels(
                |size, _| vec![0_u64; size.area()],
                |pixels, position, (r, g, b): (f32, f32, f32)| {
                    let bits = [r, g, b].map(|value| u64::from(value.to_bits()));
                    pixels[position.y() * SIZE.0 + position.x()] =
                        bits[0] ^ bits[1].rotate_left(20) ^ bits[2].rotate_left(40);
                },
            )
            .first_valid_layer()
            .all_attributes()
            .from_buffered(Cursor::new(&bytes))
            .expect("the picture should be read");
        let pixels = decoded.layer_data.channel_data.pixels;
        lines.push((compression, bytes, pixels));
    }
    let wall_ns = start.elapsed().as_nanos();
    println!("wall_ns {wall_ns}");
    for (compression, bytes, pixels) in lines {
        let file = hash(bytes.iter().copied().map(u64::from));
        let pixels = hash(pixels);
        println!(
            "{compression}: {} bytes, file {file:016x}, pixels {pixels:016x}",
            bytes.len()
        );
    }
}

fn hash(values: impl IntoIterator<Item = u64>) -> u64 {
    values.into_iter().fold(0, |hash: u64, value| {
        (hash.rotate_left(5) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    })
}
