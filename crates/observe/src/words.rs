//! Numbers and names as texts show them.

/// A time in nanoseconds with three digits and its unit.
///
/// # Examples
///
/// ```
/// use heist_observe::words::duration;
/// assert_eq!(duration(1_234_567.0), "1.23 ms");
/// ```
#[must_use]
pub fn duration(ns: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "us")];
    // A value that would be rounded to a thousand belongs to the next unit.
    let unit = units.into_iter().find(|(unit, _)| ns >= 0.9995 * unit);
    match unit {
        Some((unit, name)) => format!("{} {name}", three_digits(ns / unit)),
        None => format!("{ns:.0} ns"),
    }
}

/// A share from 0 to 1 in per cent.
///
/// # Examples
///
/// ```
/// use heist_observe::words::percent;
/// assert_eq!(percent(0.071), "7.1 %");
/// ```
#[must_use]
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent.abs() {
        size if size < 0.05 => "0 %".to_owned(),
        size if size < 9.95 => format!("{percent:.1} %"),
        _ => format!("{percent:.0} %"),
    }
}

/// How many times as much something is.
pub(crate) fn factor(value: f64) -> String {
    if value < 99.95 {
        format!("{value:.1}")
    } else {
        count(value.round() as u64)
    }
}

/// A whole number in groups of three digits.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number of things: `1 fork`, `2 forks`.
pub(crate) fn plural(number: u64, one: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {one}{ending}", count(number))
}

/// Text from outside, with its control characters spelt out.
pub(crate) fn harmless(text: &str) -> String {
    let spelt = |sign: char| match sign.is_control() {
        true => sign.escape_default().to_string(),
        false => sign.to_string(),
    };
    text.chars().map(spelt).collect()
}

/// A site within a sentence.
pub(crate) fn quoted(name: &str) -> String {
    // A name in brackets is of no site.
    match name
        .strip_prefix('(')
        .and_then(|name| name.strip_suffix(')'))
    {
        Some(words) => format!("code {words}"),
        None => format!("`{name}`"),
    }
}

/// A name of at most `width` characters: of a path, its end.
pub(crate) fn fitted(name: &str, width: usize) -> String {
    let length = name.chars().count();
    if length <= width {
        return name.to_owned();
    }
    let end: String = name.chars().skip(length - (width - 1)).collect();
    format!("…{end}")
}

fn three_digits(value: f64) -> String {
    match value {
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_the_unit_in_which_they_are_short() {
        let times = [
            0.0, 12.4, 999.4, 999.6, 1_234.0, 99_960.0, 860e6, 999.7e6, 9.84e9, 5e12,
        ];
        let texts = ["0 ns", "12 ns", "999 ns", "1.00 us", "1.23 us", "100 us"];
        let texts = texts
            .into_iter()
            .chain(["860 ms", "1.00 s", "9.84 s", "5000 s"]);
        for (ns, text) in times.into_iter().zip(texts) {
            assert_eq!(duration(ns), text);
        }
    }

    #[test]
    fn shares_factors_and_counts_are_short() {
        assert_eq!(
            [0.0004, 0.004, 0.0994, 0.0996, 0.714, -0.02].map(percent),
            ["0 %", "0.4 %", "9.9 %", "10 %", "71 %", "-2.0 %"]
        );
        assert_eq!(
            [1.0, 8.132, 99.94, 99.96, 1234.5].map(factor),
            ["1.0", "8.1", "99.9", "100", "1,235"]
        );
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(count),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(
            [1, 2].map(|number| plural(number, "fork")),
            ["1 fork", "2 forks"]
        );
    }

    #[test]
    fn names_from_outside_are_cut_and_cannot_move_the_cursor() {
        assert_eq!(quoted("a::b"), "`a::b`");
        assert_eq!(quoted("(outside any fork)"), "code outside any fork");
        assert_eq!(fitted("a::b::c", 7), "a::b::c");
        assert_eq!(fitted("prog::tree::walk", 8), "…e::walk");
        assert_eq!(harmless("a\u{1b}[2Jb\n"), "a\\u{1b}[2Jb\\n");
    }
}
