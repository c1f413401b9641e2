//! Patterns are typed letter by letter, and paths that match them are found and sorted.

use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Instant;

use nucleo::pattern::{CaseMatching, Normalization};
use nucleo::{Config, Nucleo};

const PATHS: u32 = 80_000;
const PATTERNS: [&str; 5] = ["core", "src lib", "tstpar", "widget rs", "x17"];
const WORDS: [&str; 8] = [
    "core", "library", "parallel", "tests", "widgets", "source", "examples", "extra",
];

fn main() {
    // Nucleo has a pool of its own, whose size no environment variable sets.
    let threads = std::env::var("RAYON_NUM_THREADS")
        .ok()
        .and_then(|n| n.parse().ok());
    let threads = threads.or(available_parallelism().ok().map(usize::from));
    let mut matcher =
        Nucleo::<u32>::new(Config::DEFAULT.match_paths(), Arc::new(|| ()), threads, 1);
    let injector = matcher.injector();
    for path in 0..PATHS {
        let word = |at: u32| WORDS[(path.wrapping_mul(0x9E37_79B9) >> (8 + 3 * at)) as usize % 8];
        let text = format!("src/{}/{}/{}_{path}.rs", word(0), word(1), word(2));
        injector.push(path, |_, columns| columns[0] = text.as_str().into());
    }
    let start = Instant::now();
    let mut found = Vec::new();
    for pattern in PATTERNS {
        for end in 1..=pattern.len() {
            let (matching, normal) = (CaseMatching::Smart, Normalization::Smart);
            matcher
                .pattern
                .reparse(0, &pattern[..end], matching, normal, end > 1);
            while matcher.tick(1000).running {}
            let snapshot = matcher.snapshot();
            let first = snapshot.get_matched_item(0).map_or(0, |item| *item.data);
            found.push((snapshot.matched_item_count(), first));
        }
    }
    let wall_ns = start.elapsed().as_nanos();
    println!("wall_ns {wall_ns}");
    println!("{found:?}");
}
