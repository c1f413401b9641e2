//! Orbits of points whose coordinates need more bits than a float has.

use std::str::FromStr as _;

use dashu_float::round::mode::HalfEven;
use dashu_float::{DBig, FBig};

/// A number of as many bits as its context says.
type Real = FBig<HalfEven, 2>;

/// The orbit of a reference ends when it is farther from 0: whoever follows it goes on alone.
const FAR_SQUARED: f64 = 4.0;

/// The longest decimal number that is read.
const CHARACTERS_MAX: usize = 1000;

/// A point of the plane, to as many bits as wanted.
#[derive(Clone, Debug)]
pub struct Point {
    re: Real,
    im: Real,
}

impl Point {
    /// Reads the coordinates, to `bits` bits.
    ///
    /// # Errors
    ///
    /// Says what is accepted instead.
    pub fn parse(re: &str, im: &str, bits: usize) -> Result<Self, String> {
        Ok(Self {
            re: parse(re, bits)?,
            im: parse(im, bits)?,
        })
    }

    /// The point at some distance from this one.
    #[must_use]
    pub fn offset(&self, [re, im]: [f64; 2]) -> Self {
        let add = |to: &Real, offset: f64| {
            // Pixels have finite coordinates.
            let offset = Real::try_from(offset).unwrap_or_default();
            to + offset.with_precision(to.precision()).value()
        };
        Self {
            re: add(&self.re, re),
            im: add(&self.im, im),
        }
    }
}

/// How many bits coordinates need, if points are so far apart: an orbit magnifies the error
/// of its beginning as it does the distance between points.
#[must_use]
pub fn bits(spacing: f64) -> usize {
    64 + (-spacing.log2()).ceil().max(0.0) as usize
}

/// The orbit of 0 under z -> z^2 + `c`, rounded to floats: up to `iterations` steps, and fewer
/// if it escapes. It has two points at least.
#[must_use]
pub fn reference(c: &Point, iterations: u32) -> Vec<[f64; 2]> {
    let mut orbit = vec![[0.0, 0.0]];
    for z in iterate(c).take(iterations.max(1) as usize) {
        let [re, im] = z;
        orbit.push(z);
        if re * re + im * im > FAR_SQUARED {
            break;
        }
    }
    orbit
}

/// The points after 0 in its orbit, each computed in full and then rounded.
pub fn iterate(c: &Point) -> impl Iterator<Item = [f64; 2]> + use<'_> {
    let (mut re, mut im) = (Real::ZERO, Real::ZERO);
    std::iter::repeat_with(move || {
        let next = &re * &re - &im * &im + &c.re;
        im = ((&re * &im) << 1) + &c.im;
        re = next;
        [re.to_f64().value(), im.to_f64().value()]
    })
}

fn parse(text: &str, bits: usize) -> Result<Real, String> {
    let accepted = |number: &Real| number.to_f64().value().abs() <= FAR_SQUARED;
    // No exponent: it might ask for a number that does not fit into memory.
    let is_plain = text
        .chars()
        .all(|char| char.is_ascii_digit() || "+-.".contains(char));
    let number = (is_plain && text.len() <= CHARACTERS_MAX).then(|| DBig::from_str(text).ok());
    let number = number.flatten().map(|number| {
        let number = number.with_rounding::<HalfEven>();
        number.with_base_and_precision::<2>(bits).value()
    });
    number.filter(accepted).ok_or_else(|| {
        format!(
            "{text:?} is no coordinate; a decimal number from -4 to 4 without an exponent is \
             accepted, of {CHARACTERS_MAX} characters at most"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_read_to_the_last_bit_that_is_wanted() {
        let third = "0.".to_owned() + &"3".repeat(90);
        let point = Point::parse(&third, "-1", 256).expect("two numbers");
        let nearly = &point.re * Real::from(3_u8) - Real::ONE;
        assert!(nearly.to_f64().value().abs() < 2.0_f64.powi(-250));
        assert_eq!(point.im, -Real::ONE);
    }

    #[test]
    fn what_is_no_coordinate_is_refused() {
        for text in ["", "1e9999999999", "4.5", "one", "0x1", "inf", "1.2.3", "-"] {
            let error = Point::parse(text, "0", 64).map(|_| ()).expect_err(text);
            assert!(error.contains("from -4 to 4"), "{error}");
        }
    }

    #[test]
    fn known_orbits_are_followed() {
        let of = |re, im| reference(&Point::parse(re, im, 128).expect("a point"), 5);
        assert_eq!(
            of("-1", "0"),
            [
                [0.0, 0.0],
                [-1.0, 0.0],
                [0.0, 0.0],
                [-1.0, 0.0],
                [0.0, 0.0],
                [-1.0, 0.0]
            ]
        );
        let i = of("0", "1");
        assert_eq!(
            i,
            [
                [0.0, 0.0],
                [0.0, 1.0],
                [-1.0, 1.0],
                [0.0, -1.0],
                [-1.0, 1.0],
                [0.0, -1.0]
            ]
        );
        assert_eq!(of("3", "0"), [[0.0, 0.0], [3.0, 0.0]], "it escapes at once");
    }
}
