//! Random pipelines, each checked against the same pipeline of std's iterators.
//!
//! A pipeline is read from bytes: the source, some adaptors, and a consumer. So whatever makes
//! bytes makes pipelines: a property test, and a fuzzer.

mod erased;

use std::collections::{BTreeSet, LinkedList, VecDeque};

use erased::{Any, Indexed, Item};
use heist_par::iter::plumbing::IndexedPart;
use heist_par::iter::{repeat_n, Either};
use heist_par::prelude::*;
use heist_par::Granularity;

/// The longest pipeline.
const ADAPTORS_MAX: u8 = 6;
/// The longest sequence: what adaptors make longer is cut off there.
const LEN_MAX: usize = 5_000;

/// Runs the pipeline that the bytes describe, in the present pool.
///
/// # Panics
///
/// Panics if its result is not that of the sequential one.
pub(crate) fn check(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let mut pipeline = source(&mut bytes);
    let mut names = vec![pipeline.name];
    for _ in 0..bytes.below(ADAPTORS_MAX + 1) {
        pipeline = match pipeline.iter {
            Either::Left(iter) if pipeline.expected.len() <= LEN_MAX => {
                adapt_indexed(iter, pipeline.expected, &mut bytes)
            }
            Either::Left(iter) => Pipeline {
                iter: Either::Left(Indexed::new(iter.take(LEN_MAX))),
                expected: pipeline.expected.into_iter().take(LEN_MAX).collect(),
                name: "take",
            },
            Either::Right(iter) if pipeline.expected.len() <= LEN_MAX => {
                adapt(iter, pipeline.expected, &mut bytes)
            }
            Either::Right(_) => pipeline,
        };
        names.push(pipeline.name);
    }
    let consumer = bytes.next();
    let result = match pipeline.iter {
        Either::Left(iter) if consumer % 4 == 0 => {
            consume_indexed(iter, &pipeline.expected, &mut bytes)
        }
        Either::Left(iter) => consume(Any::new(iter), &pipeline.expected, &mut bytes),
        Either::Right(iter) => consume(iter, &pipeline.expected, &mut bytes),
    };
    if let Err(consumer) = result {
        names.push(consumer);
        panic!("another result than that of std: {}", names.join("."));
    }
}

/// The choices that make a pipeline. All further ones are 0.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        first
    }

    fn below(&mut self, limit: u8) -> u8 {
        self.next() % limit
    }

    /// A number from 1 on, mostly small.
    fn positive(&mut self) -> usize {
        [1, 2, 3, 4, 7, 16, 100, 1_000][usize::from(self.below(8))]
    }
}

/// A pipeline up to one of its adaptors, and what it should give.
struct Pipeline {
    iter: Either<Indexed, Any>,
    expected: Vec<i64>,
    name: &'static str,
}

fn indexed(
    name: &'static str,
    iter: impl IndexedParallelIterator<Item = Item> + 'static,
    expected: impl IntoIterator<Item = i64>,
) -> Pipeline {
    let expected: Vec<_> = expected.into_iter().collect();
    assert_eq!(iter.len(), expected.len(), "the length of {name}");
    let iter = Either::Left(Indexed::new(iter));
    Pipeline {
        iter,
        expected,
        name,
    }
}

fn any(
    name: &'static str,
    iter: impl ParallelIterator<Item = Item> + 'static,
    expected: impl IntoIterator<Item = i64>,
) -> Pipeline {
    let expected: Vec<_> = expected.into_iter().collect();
    if let Some(len) = iter.opt_len() {
        assert_eq!(len, expected.len(), "the length of {name}");
    }
    let iter = Either::Right(Any::new(iter));
    Pipeline {
        iter,
        expected,
        name,
    }
}

fn source(bytes: &mut Bytes<'_>) -> Pipeline {
    let len = [0, 1, 2, 3, 8, 65, 500, 3_000][usize::from(bytes.below(8))];
    let mut state = i64::from(bytes.next());
    let numbers: Vec<i64> = (0..len)
        .map(|i| {
            state = (state * 1_103_515_245 + 12_345 + i) % 1_000;
            state
        })
        .collect();
    let boxes = || numbers.iter().copied().map(Box::new);
    match bytes.below(9) {
        0 => indexed("vec", boxes().collect::<Vec<_>>().into_par_iter(), numbers),
        1 => indexed(
            "range",
            (0..len as usize)
                .into_par_iter()
                .map(|n| Box::new(n as i64)),
            0..len,
        ),
        2 => any(
            "range of i64",
            (-3..len).into_par_iter().map(Box::new),
            -3..len,
        ),
        3 => any(
            "inclusive range",
            (0..=len).into_par_iter().map(Box::new),
            0..=len,
        ),
        4 => indexed(
            "deque",
            boxes().collect::<VecDeque<_>>().into_par_iter(),
            numbers,
        ),
        5 => indexed(
            "list",
            boxes().collect::<LinkedList<_>>().into_par_iter(),
            numbers,
        ),
        6 => any(
            "bridge",
            numbers
                .clone()
                .into_iter()
                .map(Box::new)
                .par_bridge_ordered(),
            numbers,
        ),
        7 => indexed(
            "repeat",
            repeat_n(Box::new(7), len as usize),
            std::iter::repeat_n(7, len as usize),
        ),
        _ => indexed("array", [5, 3, 1].map(Box::new).into_par_iter(), [5, 3, 1]),
    }
}

// Long: one arm for each method.
fn adapt_indexed(iter: Indexed, items: Vec<i64>, bytes: &mut Bytes<'_>) -> Pipeline {
    let n = bytes.positive();
    let some = n.min(items.len());
    match bytes.below(18) {
        0 => indexed("rev", iter.rev(), items.into_iter().rev()),
        1 => indexed(
            "enumerate",
            iter.enumerate()
                .map(|(i, item)| Box::new(i as i64 * 3 + *item)),
            items
                .into_iter()
                .enumerate()
                .map(|(i, item)| i as i64 * 3 + item),
        ),
        2 => indexed("skip", iter.skip(n), items.into_iter().skip(n)),
        3 => indexed("take", iter.take(n), items.into_iter().take(n)),
        4 => indexed("step_by", iter.step_by(n), items.into_iter().step_by(n)),
        5 => indexed(
            "chunks",
            iter.chunks(n)
                .map(|chunk| Box::new(chunk.iter().fold(1, |a, b| (a * 31 + **b) % 999))),
            items
                .chunks(n)
                .map(|chunk| chunk.iter().fold(1, |a, b| (a * 31 + b) % 999)),
        ),
        6 => indexed(
            "fold_chunks",
            iter.fold_chunks(n, || Box::new(1), |a, b| Box::new((*a * 31 + *b) % 999)),
            items
                .chunks(n)
                .map(|chunk| chunk.iter().fold(1, |a, b| (a * 31 + b) % 999)),
        ),
        7 => indexed(
            "zip",
            iter.zip(0..n).map(|(a, b)| Box::new(*a * 2 + b as i64)),
            items.into_iter().zip(0..n).map(|(a, b)| a * 2 + b as i64),
        ),
        8 => indexed(
            "zip_eq",
            iter.zip_eq(0..items.len())
                .map(|(a, b)| Box::new(*a * 2 + b as i64)),
            items
                .into_iter()
                .zip(0..)
                .map(|(a, b): (i64, i64)| a * 2 + b),
        ),
        9 => {
            let other = (0..n).into_par_iter().map(|n| Box::new(n as i64));
            let mut left = items.iter().copied();
            let mut expected = Vec::new();
            for right in 0..n as i64 {
                expected.extend(left.next());
                expected.push(right);
            }
            expected.extend(left);
            indexed("interleave", iter.interleave(other), expected)
        }
        10 => {
            let other = (0..n).into_par_iter().map(|n| Box::new(n as i64));
            // It ends where one of them has nothing when it is its turn.
            let pairs = (0..).zip(&items).take(n);
            let mut expected: Vec<_> = pairs.flat_map(|(i, &left)| [left, i]).collect();
            expected.extend(items.get(n));
            indexed(
                "interleave_shortest",
                iter.interleave_shortest(other),
                expected,
            )
        }
        11 => indexed(
            "chain",
            iter.chain((0..n).into_par_iter().map(|n| Box::new(n as i64))),
            items.into_iter().chain(0..n as i64),
        ),
        12 => indexed("with_min_len", iter.with_min_len(n), items),
        13 => indexed("with_max_len", iter.with_max_len(n), items),
        14 => any(
            "positions",
            iter.positions(|item| *item % 3 == 0)
                .map(|i| Box::new(i as i64)),
            (0..)
                .zip(items)
                .filter(|(_, item)| item % 3 == 0)
                .map(|(i, _)| i),
        ),
        15 => any("by_uniform_blocks", iter.by_uniform_blocks(n), items),
        16 => {
            let (mut lower, upper) = (iter, items[some..].to_vec());
            let rest = lower.split_off(some);
            drop(lower);
            indexed("split_off", rest, upper)
        }
        _ => adapt_one_to_one(iter, items, bytes),
    }
}

/// Adaptors that keep what is indexed indexed.
fn adapt_one_to_one(iter: Indexed, items: Vec<i64>, bytes: &mut Bytes<'_>) -> Pipeline {
    let n = bytes.positive() as i64;
    match bytes.below(7) {
        0 => indexed(
            "map",
            iter.map(move |item| Box::new(*item + n)),
            items.into_iter().map(|item| item + n),
        ),
        1 => indexed(
            "update",
            iter.update(move |item| **item -= n),
            items.into_iter().map(|item| item - n),
        ),
        2 => indexed(
            "inspect",
            iter.inspect(|item| assert_ne!(**item, i64::MIN)),
            items,
        ),
        3 => indexed(
            "map_with",
            iter.map_with(Box::new(n), |n, item| Box::new(*item + **n)),
            items.into_iter().map(|item| item + n),
        ),
        4 => indexed(
            "map_init",
            iter.map_init(move || Box::new(n), |n, item| Box::new(*item * **n % 1_009)),
            items.into_iter().map(|item| item * n % 1_009),
        ),
        5 => indexed("panic_fuse", iter.panic_fuse(), items),
        _ => indexed(
            "intersperse",
            iter.intersperse(Box::new(n)),
            separated(&items, n),
        ),
    }
}

/// The items with `separator` between them.
fn separated(items: &[i64], separator: i64) -> Vec<i64> {
    let mut with: Vec<_> = items.iter().flat_map(|&item| [item, separator]).collect();
    with.pop();
    with
}

// Long: one arm for each method.
fn adapt(iter: Any, items: Vec<i64>, bytes: &mut Bytes<'_>) -> Pipeline {
    let n = bytes.positive() as i64;
    match bytes.below(14) {
        0 => any(
            "filter",
            iter.filter(move |item| **item % (n + 1) != 0),
            items.into_iter().filter(|item| item % (n + 1) != 0),
        ),
        1 => any(
            "filter_map",
            iter.filter_map(move |item| (*item % 3 != 0).then(|| Box::new(*item * 2))),
            items
                .into_iter()
                .filter(|item| item % 3 != 0)
                .map(|item| item * 2),
        ),
        2 => any(
            "flat_map",
            iter.flat_map(|item| (0..item.rem_euclid(4)).into_par_iter().map(Box::new)),
            items.into_iter().flat_map(|item| 0..item.rem_euclid(4)),
        ),
        3 => any(
            "flat_map_iter",
            iter.flat_map_iter(|item| (0..item.rem_euclid(4)).map(Box::new)),
            items.into_iter().flat_map(|item| 0..item.rem_euclid(4)),
        ),
        4 => any(
            "fold.flatten_iter",
            iter.fold(Vec::new, |mut all, item| {
                all.push(item);
                all
            })
            .flatten_iter(),
            items,
        ),
        5 => any(
            "fold.flatten",
            iter.fold(Vec::new, |mut all, item| {
                all.push(item);
                all
            })
            .flatten(),
            items,
        ),
        6 => any(
            "map",
            iter.map(move |item| Box::new(*item + n)),
            items.into_iter().map(|item| item + n),
        ),
        7 => any(
            "update",
            iter.update(move |item| **item -= n),
            items.into_iter().map(|item| item - n),
        ),
        8 => any(
            "map_init",
            iter.map_init(move || Box::new(n), |n, item| Box::new(*item * **n % 1_009)),
            items.into_iter().map(|item| item * n % 1_009),
        ),
        9 => any("panic_fuse", iter.panic_fuse(), items),
        10 => any(
            "intersperse",
            iter.intersperse(Box::new(n)),
            separated(&items, n),
        ),
        11 => any(
            "chain",
            iter.chain((0..n).into_par_iter().map(Box::new)),
            items.into_iter().chain(0..n),
        ),
        12 => any(
            "with_granularity",
            iter.with_granularity(Granularity::Static(n as usize)),
            items,
        ),
        _ => any("deterministic", iter.deterministic(), items),
    }
}

/// Consumers of indexed iterators only. The name of the one that is wrong.
fn consume_indexed(
    iter: Indexed,
    expected: &[i64],
    bytes: &mut Bytes<'_>,
) -> Result<(), &'static str> {
    let wanted = i64::from(bytes.next());
    let is_wanted = |item: Item| *item == wanted;
    let other = expected.to_vec().into_par_iter().map(Box::new);
    let (name, is_right) = match bytes.below(7) {
        0 => {
            let mut vec = vec![Box::new(1)];
            iter.collect_into_vec(&mut vec);
            (
                "collect_into_vec",
                vec.iter().map(|item| **item).eq(expected.iter().copied()),
            )
        }
        1 => {
            let first = expected.iter().position(|&item| item == wanted);
            ("position_first", iter.position_first(is_wanted) == first)
        }
        2 => {
            let last = expected.iter().rposition(|&item| item == wanted);
            ("position_last", iter.position_last(is_wanted) == last)
        }
        3 => {
            let is_there = expected.contains(&wanted);
            let place = iter.position_any(is_wanted);
            let is_one = place.map(|place| expected[place] == wanted);
            ("position_any", is_one.unwrap_or(!is_there))
        }
        4 => ("eq", iter.eq(other)),
        5 => ("cmp", iter.cmp(other).is_eq()),
        _ => ("lt", iter.lt(other.chain(vec![Box::new(0)]))),
    };
    if is_right {
        Ok(())
    } else {
        Err(name)
    }
}

// Long: one arm for each method.
/// The name of the consumer that gives a wrong result, if it does.
fn consume(iter: Any, expected: &[i64], bytes: &mut Bytes<'_>) -> Result<(), &'static str> {
    let wanted = i64::from(bytes.next());
    let items = || expected.iter().copied();
    let (name, is_right) = match bytes.below(14) {
        0 => {
            let all: Vec<_> = iter.collect();
            ("collect", all.into_iter().map(|item| *item).eq(items()))
        }
        1 => ("count", iter.count() == expected.len()),
        2 => {
            let text = iter.map(|item| format!("{item} "));
            let concatenated = text.reduce(String::new, |a, b| a + &b);
            (
                "reduce",
                concatenated == items().map(|item| format!("{item} ")).collect::<String>(),
            )
        }
        3 => ("sum", iter.map(|item| *item).sum::<i64>() == items().sum()),
        4 => {
            // Equal keys: which of them it is matters.
            let places = iter.map(|item| *item % 10);
            let min = places.fold(Vec::new, |mut all, key| {
                all.push(key);
                all
            });
            let all = min.reduce(Vec::new, |a, b| [a, b].concat());
            (
                "fold and reduce",
                all.into_iter().eq(items().map(|item| item % 10)),
            )
        }
        5 => ("min", iter.map(|item| *item).min() == items().min()),
        6 => {
            let max = iter.max_by_key(|item| **item % 10).map(|item| *item);
            ("max_by_key", max == items().max_by_key(|item| item % 10))
        }
        7 => {
            let first = iter
                .find_first(|item| **item % 50 == wanted % 50)
                .map(|item| *item);
            (
                "find_first",
                first == items().find(|item| item % 50 == wanted % 50),
            )
        }
        8 => {
            let last = iter
                .find_last(|item| **item % 50 == wanted % 50)
                .map(|item| *item);
            (
                "find_last",
                last == items().rfind(|item| item % 50 == wanted % 50),
            )
        }
        9 => (
            "any",
            iter.any(|item| *item == wanted) == expected.contains(&wanted),
        ),
        10 => {
            let (low, high): (Vec<_>, Vec<_>) = iter.partition(|item| **item < wanted);
            let is_low = low
                .into_iter()
                .map(|item| *item)
                .eq(items().filter(|&item| item < wanted));
            let is_high = high
                .into_iter()
                .map(|item| *item)
                .eq(items().filter(|&item| item >= wanted));
            ("partition", is_low && is_high)
        }
        11 => {
            let set: BTreeSet<_> = iter.map(|item| *item).collect();
            ("collect into a set", set == items().collect())
        }
        12 => {
            let mut all = Vec::new();
            iter.for_each_ordered(|item| all.push(*item));
            ("for_each_ordered", all == expected)
        }
        _ => {
            let parsed = iter.map(|item| {
                if *item == wanted {
                    Err(*item)
                } else {
                    Ok(item)
                }
            });
            let result: Result<Vec<_>, i64> = parsed.collect();
            let is_right = match result {
                Ok(all) => all.into_iter().map(|item| *item).eq(items()),
                Err(error) => error == wanted && expected.contains(&wanted),
            };
            ("collect into a result", is_right)
        }
    };
    if is_right {
        Ok(())
    } else {
        Err(name)
    }
}
