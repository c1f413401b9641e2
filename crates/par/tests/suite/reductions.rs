//! A reduction leaves what the serial iterator's leaves, whatever loop the type of its items gets.

use std::fmt::Debug;

use heist_par::prelude::*;

use crate::pieces::pool;

const LENGTHS: [usize; 8] = [0, 1, 2, 3, 64, 65, 1_000, 50_000];

/// Reduces items of which all, some, one and none are left, by an operation that is associative.
fn same<T>(item: impl Fn(u64) -> T + Sync, op: impl Fn(T, T) -> T + Sync)
where
    T: Debug + PartialEq + Send,
{
    for len in LENGTHS.map(|len| len as u64) {
        for modulus in [1, 3, len.max(1), u64::MAX] {
            let is_left = |n: &u64| n % modulus == modulus / 2;
            let serial = (0..len).filter(is_left).map(&item).reduce(&op);
            let parallel = pool().install(|| {
                let items = (0..len).into_par_iter().filter(is_left);
                items.map(&item).reduce_with(&op)
            });
            assert_eq!(parallel, serial, "{len} items, 1 of {modulus} left");
            let whole = pool().install(|| {
                let items = (0..len).into_par_iter().map(&item);
                items.reduce(|| item(7), &op)
            });
            let serial = (0..len).map(&item).reduce(&op);
            assert_eq!(whole, serial.unwrap_or_else(|| item(7)), "{len} items");
        }
    }
}

fn mixed(n: u64) -> u64 {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17)
}

#[test]
fn numbers_of_each_width_are_reduced_as_in_sequence() {
    same(mixed, u64::max);
    same(mixed, u64::wrapping_add);
    same(|n| mixed(n) as i64, i64::min);
    same(|n| mixed(n) as usize, |a, b| a ^ b);
    same(|n| mixed(n) as isize, isize::max);
    same(|n| mixed(n) as u32, u32::max);
    same(|n| mixed(n) as f64, f64::max);
    same(|n| mixed(n) as f32, f32::min);
}

/// The operation is associative and not commutative: the functions x -> ax + b, one after the
/// other.
#[test]
fn neighbours_are_reduced_in_their_order() {
    let after = |a: u64, b: u64, c: u64, d: u64| {
        let product = a.wrapping_mul(c);
        (product, b.wrapping_mul(c).wrapping_add(d))
    };
    same(
        |n| (mixed(n) | 1, n),
        |f: (u64, u64), g| after(f.0, f.1, g.0, g.1),
    );
    same(
        |n| [mixed(n) | 1, n],
        |f: [u64; 2], g| after(f[0], f[1], g[0], g[1]).into(),
    );
    same(|n| (n, n), |first: (u64, u64), last| (first.0, last.1));
}
