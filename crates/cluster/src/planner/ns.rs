//! Durations as whole nanoseconds, the form in which data about time is written.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serializer};

pub(super) mod option;

/// The nanoseconds of `duration`; of more than 584 years, the largest number there is.
pub(super) fn of(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

pub(super) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(of(*time))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    u64::deserialize(from).map(Duration::from_nanos)
}
