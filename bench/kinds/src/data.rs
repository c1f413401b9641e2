//! The data that all kinds work on, the same in each run.

use heist_bench_workloads::rng::numbers;

const ITEMS: usize = 1 << 18;
/// The items of an input for sorts.
const SORTED: usize = 1 << 16;

/// Inputs of every type that the kinds need.
#[derive(Debug)]
pub(crate) struct Data {
    /// Below 2^20, so that sums of them are exact as floats too.
    pub(crate) integers: Vec<u64>,
    pub(crate) small: Vec<u32>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) floats: Vec<f64>,
    pub(crate) singles: Vec<f32>,
    pub(crate) pairs: Vec<(u32, u64)>,
    pub(crate) strings: Vec<String>,
    pub(crate) nested: Vec<Vec<u32>>,
    pub(crate) text: String,
    /// Inputs that sorts find easy or hard.
    pub(crate) nearly_sorted: Vec<u64>,
    pub(crate) many_equal: Vec<u64>,
    pub(crate) organ_pipes: Vec<u64>,
    pub(crate) killer: Vec<u64>,
}

impl Data {
    pub(crate) fn new() -> Self {
        let integers: Vec<u64> = numbers(ITEMS).iter().map(|n| n >> 44).collect();
        let small: Vec<u32> = integers.iter().map(|n| *n as u32).collect();
        let text = integers[..ITEMS / 8]
            .iter()
            .map(|n| match n % 7 {
                0 => format!("{n:x} {n}\n"),
                _ => format!("{n} "),
            })
            .collect();
        Self {
            bytes: integers.iter().map(|n| *n as u8).collect(),
            floats: integers.iter().map(|n| *n as f64).collect(),
            singles: integers.iter().map(|n| *n as f32).collect(),
            pairs: integers.iter().map(|n| ((n >> 8) as u32, *n)).collect(),
            strings: integers[..ITEMS / 16]
                .iter()
                .map(|n| format!("key {n:08x}"))
                .collect(),
            nested: small[..1 << 16].chunks(64).map(<[u32]>::to_vec).collect(),
            nearly_sorted: (0..SORTED)
                .map(|place| match place % 100 {
                    50 => integers[place],
                    _ => place as u64,
                })
                .collect(),
            many_equal: integers[..SORTED].iter().map(|n| n % 16).collect(),
            organ_pipes: (0..SORTED as u64 / 2)
                .chain((0..SORTED as u64 / 2).rev())
                .collect(),
            killer: median_of_three_killer(SORTED),
            small,
            integers,
            text,
        }
    }
}

/// Makes each median of the first, middle and last one of the two least (Musser, 1997).
fn median_of_three_killer(len: usize) -> Vec<u64> {
    let half = len / 2;
    let mut items = vec![0; 2 * half];
    for place in 1..=half {
        if place % 2 == 1 {
            items[place - 1] = place as u64;
            items[place] = (half + place) as u64;
        }
        items[half + place - 1] = 2 * place as u64;
    }
    items
}

/// A number that depends on the length and some items of a result, in next to no time.
pub(crate) fn probe<T>(items: &[T], number: impl Fn(&T) -> u64) -> u64 {
    let length = items.len();
    let places = [0, length / 3, length / 2, length.wrapping_sub(1)];
    places
        .iter()
        .filter_map(|place| items.get(*place))
        .fold(length as u64, |sum, item| {
            sum.rotate_left(7).wrapping_add(number(item))
        })
}
