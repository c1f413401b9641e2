//! The data that all kinds work on, the same in each run.

use heist_bench_workloads::rng::numbers;

const ITEMS: usize = 1 << 18;

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
            small,
            integers,
            text,
        }
    }
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
