//! Hexadecimal digits of pi from any position on, after Bailey, Borwein and Plouffe, "On the rapid
//! computation of various polylogarithmic constants" (Mathematics of Computation, 1997).
//!
//! Pi is the sum over k of 16^-k (4/(8k+1) - 2/(8k+4) - 1/(8k+5) - 1/(8k+6)). Times 16^n its
//! fraction begins with digit n, and needs the fractions of 16^(n-k)/(8k+j) only, which
//! modular powers give. They are summed as multiples of 2^-128: such sums do not depend on
//! their order, and the errors are known, so that the digits are exact or not given.

use std::ops::Range;

use heist::prelude::*;

/// How many digits are computed at a time.
pub const DIGITS_PER_WINDOW: u64 = 16;

/// How many digits can be had: with more, products of remainders would not fit 64 bits.
pub const DIGITS_MAX: u64 = 1 << 28;

/// The digits of these windows, in order.
pub(crate) fn digits(windows: Range<u64>) -> String {
    let digits: Vec<String> = windows
        .into_par_iter()
        .map(|window| digits_at(window * DIGITS_PER_WINDOW, DIGITS_PER_WINDOW as usize))
        .collect();
    digits.concat()
}

/// `count` digits from position `at` on, the first after the point being 0.
fn digits_at(at: u64, count: usize) -> String {
    let fraction = fraction(at);
    // Each of 4 (at + 32) quotients is too small by less than 1, and then taken up to 4 times;
    // what comes after them is less than 16.
    let error = u128::from(16 * (at + 33));
    let digits = |fraction: u128| format!("{fraction:032x}")[..count].to_owned();
    let low = digits(fraction.wrapping_sub(error));
    if low == digits(fraction.wrapping_add(error)) {
        return low;
    }
    // The digits that follow are all 0 or all f, as far as can be seen. From a later
    // position one sees farther.
    assert!(count > 1, "digit {at} of pi needs more than 128 bits");
    digits_at(at, count / 2) + &digits_at(at + count as u64 / 2, count - count / 2)
}

/// The fraction of 16^n pi, as a multiple of 2^-128, with a small error.
fn fraction(n: u64) -> u128 {
    let whole = (0..=n)
        .into_par_iter()
        .map(|k| term(k, |divisor| part_of(power_of_16(n - k, divisor), divisor)))
        .reduce(|| 0, u128::wrapping_add);
    // 16^-32 is 2^-128.
    let rest = (1..32_u64).map(|i| {
        term(n + i, |divisor| {
            (u128::MAX >> (4 * i)) / u128::from(divisor)
        })
    });
    rest.fold(whole, u128::wrapping_add)
}

/// The four fractions that belong to `k`, if `fraction` says what a divisor makes of 1.
fn term(k: u64, fraction: impl Fn(u64) -> u128) -> u128 {
    let part = |j| fraction(8 * k + j);
    part(1)
        .wrapping_mul(4)
        .wrapping_sub(part(4).wrapping_mul(2))
        .wrapping_sub(part(5))
        .wrapping_sub(part(6))
}

/// `remainder / divisor` as a multiple of 2^-128, rounded down; less than 1.
fn part_of(remainder: u64, divisor: u64) -> u128 {
    let divisor = u128::from(divisor);
    let high = (u128::from(remainder) << 64) / divisor;
    let left = (u128::from(remainder) << 64) % divisor;
    (high << 64) + (left << 64) / divisor
}

/// 16^exponent modulo `divisor`, which is less than 2^32.
fn power_of_16(exponent: u64, divisor: u64) -> u64 {
    let mut power = 1 % divisor;
    for bit in (0..u64::BITS - exponent.leading_zeros()).rev() {
        power = power * power % divisor;
        if exponent >> bit & 1 == 1 {
            power = power * 16 % divisor;
        }
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pi after the point, by Machin's formula: 16 arctan(1/5) - 4 arctan(1/239), in whole
    /// numbers of `words` times 32 bits.
    fn machin(words: usize) -> String {
        let divide = |number: &mut [u32], divisor: u64| {
            let mut left = 0;
            for word in number {
                let value = (left << 32) | u64::from(*word);
                *word = (value / divisor) as u32;
                left = value % divisor;
            }
        };
        let mut pi = vec![0_i64; words];
        for (factor, inverse) in [(16, 5_u64), (-4, 239)] {
            // The first word is before the point.
            let mut power = vec![0_u32; words];
            power[0] = 1;
            divide(&mut power, inverse);
            for k in 0.. {
                if power.iter().all(|word| *word == 0) {
                    break;
                }
                let mut term = power.clone();
                divide(&mut term, 2 * k + 1);
                let sign = if k % 2 == 0 { factor } else { -factor };
                for (sum, word) in pi.iter_mut().zip(term) {
                    *sum += sign * i64::from(word);
                }
                divide(&mut power, inverse * inverse);
            }
        }
        for at in (1..words).rev() {
            let carry = pi[at] >> 32;
            pi[at] &= (1 << 32) - 1;
            pi[at - 1] += carry;
        }
        assert_eq!(pi[0], 3);
        pi[1..].iter().map(|word| format!("{word:08x}")).collect()
    }

    #[test]
    fn pi_begins_as_everybody_knows() {
        assert_eq!(digits(0..2), "243f6a8885a308d313198a2e03707344");
    }

    #[test]
    fn digits_agree_with_another_formula() {
        let expected = machin(260);
        assert_eq!(digits(0..125), expected[..2000]);
    }

    #[test]
    fn windows_join_wherever_they_are_cut() {
        let whole = digits(0..9);
        assert_eq!(digits(0..4) + &digits(4..5) + &digits(5..9), whole);
        assert_eq!(digits_at(37, 8), whole[37..45]);
    }

    #[test]
    fn a_far_digit_is_the_known_one() {
        // Bailey, Borwein and Plouffe's own table.
        assert_eq!(digits_at(999_999, 13), "26c65e52cb459");
    }
}
