//! The settings of pools that the environment gives.

use std::ffi::OsString;
use std::time::Duration;

use heist_sync::{thread, usable_processors, BarrierRequest};

use crate::base::error::ThreadPoolBuildError;
use crate::state::limits::max_num_threads;

/// How many workers a pool gets by default.
///
/// `RAYON_NUM_THREADS` is there for programs on the stand-in for rayon-core.
pub(crate) fn default_workers(
    heist: Option<OsString>,
    rayon: Option<OsString>,
) -> Result<usize, ThreadPoolBuildError> {
    let accepted = "a whole number from 0 to 65535, where 0 means one worker for each processor that the process may use";
    let told = match (heist, rayon) {
        (Some(value), _) => Some(("HEIST_NUM_THREADS", value)),
        (None, Some(value)) => Some(("RAYON_NUM_THREADS", value)),
        (None, None) => None,
    };
    let workers = match told {
        None => 0,
        Some((name, value)) => value
            .to_str()
            .and_then(|text| text.trim().parse().ok())
            .filter(|&n| n <= max_num_threads())
            .ok_or_else(|| ThreadPoolBuildError::variable(name, value, accepted))?,
    };
    Ok(match workers {
        // The standard library sees quotas of the second version at the usual mount only.
        0 => thread::available_parallelism()
            .map_or(1, |available| usable_processors().min(available.get())),
        n => n,
    })
}

/// How many events each worker keeps by default.
pub(crate) fn events_to_record(
    variable: Option<OsString>,
) -> Result<Option<usize>, ThreadPoolBuildError> {
    let accepted = "a whole number from 0 to 4294967295, where 0 means that none are recorded";
    let Some(value) = variable else {
        return Ok(None);
    };
    let capacity: Option<u32> = value.to_str().and_then(|text| text.trim().parse().ok());
    match capacity.and_then(|capacity| usize::try_from(capacity).ok()) {
        Some(0) => Ok(None),
        Some(capacity) => Ok(Some(capacity)),
        None => {
            let name = "HEIST_RECORD_EVENTS";
            Err(ThreadPoolBuildError::variable(name, value, accepted))
        }
    }
}

/// Whether a pool says on standard error that it has started.
pub(crate) fn wants_banner(variable: Option<OsString>) -> Result<bool, ThreadPoolBuildError> {
    wants("HEIST_BANNER", variable)
}

/// Whether the process writes a live view of itself.
pub(crate) fn wants_live_view(variable: Option<OsString>) -> Result<bool, ThreadPoolBuildError> {
    wants("HEIST_LIVE", variable)
}

/// Whether this variable asks for something.
fn wants(name: &'static str, variable: Option<OsString>) -> Result<bool, ThreadPoolBuildError> {
    let Some(value) = variable else {
        return Ok(false);
    };
    match value.to_str() {
        Some("0") => Ok(false),
        Some("1") => Ok(true),
        _ => Err(ThreadPoolBuildError::variable(name, value, "0 or 1")),
    }
}

/// After how long a pool that stands still is reported.
pub(crate) fn stall_patience(
    variable: Option<OsString>,
) -> Result<Option<Duration>, ThreadPoolBuildError> {
    let accepted = "a number of seconds from 0.1 to 86400, or 0, which means that nothing watches";
    let Some(value) = variable else {
        return Ok(None);
    };
    let seconds: Option<f64> = value.to_str().and_then(|text| text.trim().parse().ok());
    match seconds {
        Some(0.0) => Ok(None),
        Some(seconds) if (0.1..=86_400.0).contains(&seconds) => {
            Ok(Some(Duration::from_secs_f64(seconds)))
        }
        _ => Err(ThreadPoolBuildError::variable(
            "HEIST_STALL",
            value,
            accepted,
        )),
    }
}

/// Whether calls outside of any pool must not build the global one.
pub(crate) fn global_is_explicit(variable: Option<OsString>) -> Result<bool, ThreadPoolBuildError> {
    let Some(value) = variable else {
        return Ok(false);
    };
    match value.to_str() {
        Some("implicit") => Ok(false),
        Some("explicit") => Ok(true),
        _ => {
            let (name, accepted) = ("HEIST_GLOBAL", "implicit or explicit");
            Err(ThreadPoolBuildError::variable(name, value, accepted))
        }
    }
}

/// The barriers that the environment asks for.
pub(crate) fn barrier_request(
    variable: Option<OsString>,
) -> Result<BarrierRequest, ThreadPoolBuildError> {
    let Some(value) = variable else {
        return Ok(BarrierRequest::Auto);
    };
    match value.to_str() {
        Some("auto") => Ok(BarrierRequest::Auto),
        Some("membarrier") => Ok(BarrierRequest::Membarrier),
        Some("fence") => Ok(BarrierRequest::Fence),
        _ => {
            let accepted = "auto, membarrier or fence";
            Err(ThreadPoolBuildError::variable(
                "HEIST_BARRIER",
                value,
                accepted,
            ))
        }
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_number_in_the_environment_is_taken_and_zero_means_the_default() {
        let default = default_workers(None, None).expect("no variable, no error");
        assert!(default >= 1);
        assert_eq!(default_workers(Some("0".into()), None).unwrap(), default);
        assert_eq!(default_workers(Some("7".into()), None).unwrap(), 7);
    }

    #[test]
    fn the_variable_of_rayon_counts_if_that_of_heist_is_not_set() {
        let of = |heist: Option<&str>, rayon: &str| {
            default_workers(heist.map(OsString::from), Some(rayon.into()))
        };
        assert_eq!(of(None, "5").unwrap(), 5);
        assert_eq!(of(Some("7"), "5").unwrap(), 7);
        let text = of(None, "five").unwrap_err().to_string();
        assert!(
            text.contains("RAYON_NUM_THREADS") && text.contains("\"five\""),
            "{text}"
        );
    }

    #[test]
    fn a_malformed_number_is_an_error_that_says_what_was_given_and_what_is_accepted() {
        for value in ["", "two", "-1", "1.5", "65536", "4 cores"] {
            let error = default_workers(Some(value.into()), None).unwrap_err();
            let text = error.to_string();
            assert!(text.contains("HEIST_NUM_THREADS"), "{text}");
            assert!(text.contains(&format!("{value:?}")), "{text}");
            assert!(text.contains("0 to 65535"), "{text}");
        }
    }

    #[test]
    fn the_number_of_events_comes_from_the_environment_and_zero_means_none() {
        assert_eq!(events_to_record(None).unwrap(), None);
        assert_eq!(events_to_record(Some("0".into())).unwrap(), None);
        assert_eq!(events_to_record(Some("4096".into())).unwrap(), Some(4096));
        for value in ["", "all", "-1", "4294967296"] {
            let text = events_to_record(Some(value.into()))
                .unwrap_err()
                .to_string();
            assert!(text.contains("HEIST_RECORD_EVENTS"), "{text}");
            assert!(text.contains(&format!("{value:?}")), "{text}");
        }
    }

    #[test]
    fn the_patience_with_stalls_is_a_number_of_seconds_and_zero_means_none() {
        let of = |value: &str| stall_patience(Some(value.into()));
        assert_eq!(stall_patience(None).unwrap(), None);
        assert_eq!(of("0").unwrap(), None);
        assert_eq!(of("10").unwrap(), Some(Duration::from_secs(10)));
        assert_eq!(of(" 0.5 ").unwrap(), Some(Duration::from_millis(500)));
        for value in ["", "ten", "-1", "0.01", "86401", "NaN", "inf", "10s"] {
            let text = of(value).unwrap_err().to_string();
            assert!(text.contains("HEIST_STALL"), "{text}");
            assert!(text.contains(&format!("{value:?}")), "{text}");
        }
    }

    #[test]
    fn the_banner_and_the_live_view_are_asked_for_with_one_and_with_nothing_else() {
        type Wants = fn(Option<OsString>) -> Result<bool, ThreadPoolBuildError>;
        let all: [(_, Wants); 2] = [
            ("HEIST_BANNER", wants_banner),
            ("HEIST_LIVE", wants_live_view),
        ];
        for (name, wants) in all {
            assert!(!wants(None).unwrap());
            assert!(!wants(Some("0".into())).unwrap());
            assert!(wants(Some("1".into())).unwrap());
            for value in ["", "yes", "true", "2"] {
                let text = wants(Some(value.into())).unwrap_err().to_string();
                assert!(text.contains(name) && text.contains("0 or 1"), "{text}");
            }
        }
    }

    #[test]
    fn a_malformed_barrier_is_an_error_that_names_the_modes() {
        assert_eq!(barrier_request(None).unwrap(), BarrierRequest::Auto);
        assert_eq!(
            barrier_request(Some("fence".into())).unwrap(),
            BarrierRequest::Fence
        );
        let text = barrier_request(Some("mfence".into()))
            .unwrap_err()
            .to_string();
        assert!(text.contains("\"mfence\"") && text.contains("auto, membarrier or fence"));
    }
}
