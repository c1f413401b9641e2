//! Samples, as a peer prints them.

use heist_bench_workloads::Sample;

use crate::definition::Definition;

/// Reads one sample per line.
pub(crate) fn samples(text: &str) -> Result<Vec<Sample>, String> {
    let parse = |line: &str| {
        serde_json::from_str(line).map_err(|error| format!("cannot read `{line}`: {error}"))
    };
    let samples: Vec<Sample> = text.lines().map(parse).collect::<Result<_, _>>()?;
    if samples.is_empty() {
        return Err("it ended without a sample".to_owned());
    }
    Ok(samples)
}

/// The first fault of the samples, if there is one.
pub(crate) fn check(definition: &Definition, samples: &[Sample], expected: &str) -> Option<String> {
    samples.iter().find_map(|sample| {
        if sample.checksum != expected {
            Some(format!(
                "wrong result {}, expected {expected}",
                sample.checksum
            ))
        } else if figure(sample, &definition.figure).is_none() {
            Some(format!(
                "a sample without the figure `{}`",
                definition.figure
            ))
        } else {
            None
        }
    })
}

/// The number `name` of one sample.
pub(crate) fn figure(sample: &Sample, name: &str) -> Option<f64> {
    match name {
        "ns_per_unit" if sample.units > 0 => Some(sample.ns as f64 / sample.units as f64),
        _ => sample.extra.get(name).copied(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::tests::fib;

    #[test]
    fn a_figure_is_time_per_unit_or_a_named_number() {
        let sample = Sample::new(30, 10, 0).with("p50_us", 2.0);
        assert_eq!(figure(&sample, "ns_per_unit"), Some(3.0));
        assert_eq!(figure(&sample, "p50_us"), Some(2.0));
        assert_eq!(figure(&sample, "p99_us"), None);
    }

    #[test]
    fn a_wrong_result_is_found_in_any_sample() {
        let samples = [Sample::new(1, 1, 5), Sample::new(1, 1, 6)];
        assert_eq!(check(&fib(), &samples[..1], "5"), None);
        let failure = check(&fib(), &samples, "5").unwrap();
        assert!(failure.contains('6') && failure.contains('5'), "{failure}");
    }

    #[test]
    fn a_sample_without_the_headline_figure_is_a_failure() {
        let definition = Definition {
            figure: "p50_us".to_owned(),
            ..fib()
        };
        let failure = check(&definition, &[Sample::new(1, 1, 5)], "5").unwrap();
        assert!(failure.contains("p50_us"), "{failure}");
    }

    #[test]
    fn a_peer_that_prints_nothing_has_failed() {
        assert!(samples("").unwrap_err().contains("without a sample"));
        assert!(samples("hello").unwrap_err().contains("`hello`"));
    }
}
