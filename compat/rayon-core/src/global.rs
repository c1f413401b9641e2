//! The defaults of rayon for pools that were not told: how many workers.

use std::env;
use std::ffi::OsString;
use std::sync::OnceLock;
use std::thread;

/// Sees to it that there is a global pool, and that the first use of the stand-in builds it with
/// rayon's defaults and not with heist's.
///
/// Every operation that may run in the global pool calls this first. On a worker it costs what the
/// operation does anyway: to look whether the thread is one.
#[inline]
pub(crate) fn ensure() {
    if heist_core::current_thread_index().is_none() {
        ensure_from_outside();
    }
}

#[cold]
fn ensure_from_outside() {
    static ENSURED: OnceLock<()> = OnceLock::new();
    ENSURED.get_or_init(|| {
        heist_core::ThreadPoolBuilder::new()
            .num_threads(default_num_threads())
            .callers(heist_core::Callers::Move)
            .stack_guard(0)
            .build_global_if_absent();
    });
}

/// How many workers a pool gets that was not told; 0 leaves it to heist.
pub(crate) fn default_num_threads() -> usize {
    // Heist's own variable is the more special one, and heist reads it itself.
    if env::var_os("HEIST_NUM_THREADS").is_some() {
        return 0;
    }
    let asked = asked_for(
        env::var_os("RAYON_NUM_THREADS"),
        env::var_os("RAYON_RS_NUM_CPUS"),
    );
    // Not left to heist, which reads the newer variable with rules of its own.
    match asked {
        0 => thread::available_parallelism().map_or(1, usize::from),
        asked => asked.min(heist_core::max_num_threads()),
    }
}

/// The number of workers that rayon's variables ask for. A zero in the newer one means the default,
/// and hides the older one; what is no number is as good as absent.
fn asked_for(newer: Option<OsString>, older: Option<OsString>) -> usize {
    let number = |variable: Option<OsString>| variable?.to_str()?.parse().ok();
    number(newer).or_else(|| number(older)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(newer: &str, older: &str) -> usize {
        let variable = |text: &str| (text != "unset").then(|| text.into());
        asked_for(variable(newer), variable(older))
    }

    #[test]
    fn the_newer_variable_wins_and_its_zero_means_the_default() {
        assert_eq!(asked("3", "5"), 3);
        assert_eq!(asked("0", "5"), 0);
        assert_eq!(asked("unset", "5"), 5);
        assert_eq!(asked("unset", "0"), 0);
        assert_eq!(asked("unset", "unset"), 0);
    }

    #[test]
    fn text_that_is_no_number_is_as_good_as_absent() {
        for malformed in ["", " 3", "three", "-1", "1.5"] {
            assert_eq!(asked(malformed, "5"), 5, "{malformed:?}");
            assert_eq!(asked(malformed, malformed), 0, "{malformed:?}");
        }
    }
}
