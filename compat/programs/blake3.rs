//! Long inputs are hashed as trees, by a join for each inner node.

use std::time::Instant;

use blake3::Hasher;

const LEN: usize = 256 << 20;
const PART: usize = 3 << 20;

fn main() {
    let mut word = 0x9E37_79B9_7F4A_7C15_u64;
    let mut bytes = Vec::with_capacity(LEN);
    while bytes.len() < LEN {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    let start = Instant::now();
    let mut at_once = Hasher::new();
    at_once.update_rayon(&bytes);
    let mut in_parts = Hasher::new_keyed(at_once.finalize().as_bytes());
    for part in bytes.chunks(PART) {
        in_parts.update_rayon(part);
    }
    let parts: Vec<_> = bytes
        .chunks(PART)
        .map(|part| Hasher::new().update_rayon(part).finalize())
        .collect();
    let wall_ns = start.elapsed().as_nanos();
    let mut all = Hasher::new();
    for part in &parts {
        all.update(part.as_bytes());
    }
    println!("wall_ns {wall_ns}");
    println!(
        "{} {} {}",
        at_once.finalize(),
        in_parts.finalize(),
        all.finalize()
    );
}
