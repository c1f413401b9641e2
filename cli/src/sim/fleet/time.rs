//! Times on the command line, and as texts show them.

/// Reads a time: a number of seconds, or one with a unit.
pub(super) fn seconds(given: &str) -> Result<f64, String> {
    let units = [("d", 86_400.0), ("h", 3_600.0), ("m", 60.0), ("s", 1.0)];
    let unit = units.iter().find(|(unit, _)| given.ends_with(unit));
    let (number, factor) = match unit {
        Some((unit, factor)) => (given.trim_end_matches(unit).trim_end(), *factor),
        None => (given, 1.0),
    };
    let seconds = number.parse().ok().map(|number: f64| number * factor);
    let seconds = seconds.filter(|seconds| (0.0..=super::trace::SECONDS_MAX).contains(seconds));
    seconds.ok_or_else(|| {
        "accepted is a number of seconds, or one with a unit such as 90s, 15m, 36h or 2d; up to \
         400d"
            .to_owned()
    })
}

/// Reads the time between two measurements.
pub(super) fn period(given: &str) -> Result<f64, String> {
    let period = seconds(given).ok().filter(|period| *period >= 0.001);
    period.ok_or_else(|| {
        "accepted is a time of at least 0.001 s, such as 0.1, 5s, 15m or 1h; up to 400d".to_owned()
    })
}

/// A time as a text: in the unit in which it is a small number.
pub(super) fn shown(seconds: f64) -> String {
    match seconds {
        seconds if seconds >= 2.0 * 86_400.0 => format!("{:.1} d", seconds / 86_400.0),
        seconds if seconds >= 2.0 * 3_600.0 => format!("{:.1} h", seconds / 3_600.0),
        seconds if seconds >= 120.0 => format!("{:.1} min", seconds / 60.0),
        seconds if seconds < 0.1 => format!("{:.0} ms", seconds * 1e3),
        seconds => format!("{seconds:.1} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_and_others_are_told_which() {
        for (given, read) in [
            ("90", 90.0),
            ("1.5m", 90.0),
            ("2 h", 7200.0),
            ("1d", 86_400.0),
        ] {
            assert_eq!(seconds(given), Ok(read), "{given}");
        }
        for given in ["", "s", "-1", "1w", "NaN", "inf", "401d", "1e99"] {
            assert!(seconds(given).is_err(), "{given}");
        }
        assert_eq!(shown(90.0), "90.0 s");
        assert_eq!(shown(86_400.0), "24.0 h");
        assert_eq!(shown(0.001), "1 ms");
        assert_eq!(period("0.001"), Ok(0.001));
        assert!(period("0").is_err() && period("0.0009s").is_err());
    }
}
