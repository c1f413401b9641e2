//! The settings that all meters of a process share.

use std::sync::OnceLock;

/// The settings of meters. Prices are in ticks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    /// The time is what tests say.
    pub(crate) is_virtual: bool,
    /// The time that an empty strand seems to take.
    pub(crate) empty: i64,
    /// The price of each fork on a path, if it is stolen.
    pub(crate) steal: i64,
    /// The floor of the recorded DAG; 0 if none is recorded.
    pub(crate) floor: i64,
}

static SETTINGS: OnceLock<Settings> = OnceLock::new();

impl Settings {
    /// Those of this process, if it is profiled.
    #[inline]
    pub(crate) fn get() -> Option<&'static Self> {
        SETTINGS.get()
    }

    /// Makes them those of this process, unless it has some.
    pub(crate) fn set(self) {
        let _ = SETTINGS.set(self);
    }
}
