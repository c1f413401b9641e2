//! The planner's settings.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ns;

/// The planner's settings. Levels and their differences are shares: 0.8 is 80 %.
///
/// # Examples
///
/// ```
/// use heist_cluster::planner::{Config, Planner};
///
/// let mut config = Config::default();
/// config.hot_level = 0.9;
/// assert!(Planner::new(config).is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Config {
    /// The weight of a new sample in the smoothed level, above 0 and up to 1: 0.5. With 1
    /// nothing is smoothed.
    pub smoothing: f64,
    /// The age at which a sample is stale: 5 s.
    #[serde(rename = "stale_after_ns", with = "ns")]
    pub stale_after: Duration,
    /// How many samples in a row must find a node hot, and how many must have come before a
    /// node is known, 1 to 1,000: 3.
    pub sustained_samples: u32,
    /// The level at which a node is hot: 0.8.
    pub hot_level: f64,
    /// How much colder than the source a target must be: 0.3.
    pub spread: f64,
    /// The level that a target stays below, and below which a hot node has calmed down; not
    /// above `hot_level`: 0.7.
    pub low_water: f64,
    /// The level at which P0 and P1 move too if nothing else can; not below `hot_level`: 0.98.
    pub emergency: f64,
    /// How many samples a job's usage needs before it is trusted, 1 to 1,000: 3.
    pub usage_samples: u32,
    /// How many times larger than estimated a job may be until then, 1 or more: 2.
    pub estimate_error: f64,
    /// The longest time for which a benefit is counted: 60 s.
    #[serde(rename = "horizon_ns", with = "ns")]
    pub horizon: Duration,
    /// How many times its cost a move must bring, 1 or more: 2.
    pub payback: f64,
    /// The share of its life, past and expected, that a job may lose by a move: 0.01.
    pub loss_max: f64,
    /// How long stopping and starting a job takes, without the transfer: 0.5 s.
    #[serde(rename = "pause_ns", with = "ns")]
    pub pause: Duration,
    /// How much time a job loses because caches are cold on the target: 1 s.
    #[serde(rename = "cold_start_ns", with = "ns")]
    pub cold_start: Duration,
    /// Bytes a second that all transfers share: 100 MiB.
    pub bandwidth_bytes_per_s: f64,
    /// How long a job stays after its first move; each further move doubles it: 30 s.
    #[serde(rename = "job_cool_down_ns", with = "ns")]
    pub job_cool_down: Duration,
    /// The time over which moves are counted for the two limits: 60 s.
    #[serde(rename = "rate_window_ns", with = "ns")]
    pub rate_window: Duration,
    /// How many moves may begin in that time in the whole fleet: 10.
    pub fleet_moves_max: u32,
    /// How many of them may have the same node at either end: 6.
    pub node_moves_max: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            smoothing: 0.5,
            stale_after: Duration::from_secs(5),
            sustained_samples: 3,
            hot_level: 0.8,
            spread: 0.3,
            low_water: 0.7,
            emergency: 0.98,
            usage_samples: 3,
            estimate_error: 2.0,
            horizon: Duration::from_secs(60),
            payback: 2.0,
            loss_max: 0.01,
            pause: Duration::from_millis(500),
            cold_start: Duration::from_secs(1),
            bandwidth_bytes_per_s: 100.0 * 1024.0 * 1024.0,
            job_cool_down: Duration::from_secs(30),
            rate_window: Duration::from_secs(60),
            fleet_moves_max: 10,
            node_moves_max: 6,
        }
    }
}

impl Config {
    /// Whether every setting is in its range and none contradicts another.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        // Bounds that no fleet needs to pass and that keep every sum finite.
        let share = (0.0, 1.0, "0 to 1");
        let factor = (1.0, 1e6, "1 to 1,000,000");
        let reals = [
            ("hot_level", self.hot_level, share),
            ("spread", self.spread, share),
            ("low_water", self.low_water, share),
            ("loss_max", self.loss_max, share),
            ("emergency", self.emergency, (0.0, 1e6, "0 to 1,000,000")),
            ("estimate_error", self.estimate_error, factor),
            ("payback", self.payback, factor),
            (
                "bandwidth_bytes_per_s",
                self.bandwidth_bytes_per_s,
                (1.0, 1e18, "1 to 1e18"),
            ),
        ];
        for (setting, value, (least, most, accepted)) in reals {
            // Not the negation: NaN is in no range.
            let is_in_range = value >= least && value <= most;
            if !is_in_range {
                return Err(ConfigError::new(setting, value, accepted.to_owned()));
            }
        }
        let is_weight = self.smoothing > 0.0 && self.smoothing <= 1.0;
        if !is_weight {
            let accepted = "above 0, up to 1".to_owned();
            return Err(ConfigError::new("smoothing", self.smoothing, accepted));
        }
        for (setting, value) in [
            ("sustained_samples", self.sustained_samples),
            ("usage_samples", self.usage_samples),
        ] {
            if !(1..=1000).contains(&value) {
                return Err(ConfigError::new(setting, value, "1 to 1,000".to_owned()));
            }
        }
        if self.low_water > self.hot_level {
            let accepted = format!("up to hot_level, {}", self.hot_level);
            return Err(ConfigError::new("low_water", self.low_water, accepted));
        }
        if self.emergency < self.hot_level {
            let accepted = format!("hot_level, {}, or more", self.hot_level);
            return Err(ConfigError::new("emergency", self.emergency, accepted));
        }
        Ok(())
    }
}

/// A setting that a planner cannot work with.
///
/// # Examples
///
/// ```
/// use heist_cluster::planner::{Config, Planner};
///
/// let mut config = Config::default();
/// config.hot_level = 80.0;
/// let error = Planner::new(config).unwrap_err();
/// assert_eq!(error.setting(), "hot_level");
/// assert!(error.to_string().contains("hot_level = 80; accepted is 0 to 1"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    setting: &'static str,
    value: String,
    accepted: String,
}

impl ConfigError {
    fn new(setting: &'static str, value: impl fmt::Display, accepted: String) -> Self {
        Self {
            setting,
            value: value.to_string(),
            accepted,
        }
    }

    /// The name of the setting.
    #[must_use]
    pub fn setting(&self) -> &str {
        self.setting
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no planner can be made with {} = {}; accepted is {}",
            self.setting, self.value, self.accepted
        )
    }
}

impl std::error::Error for ConfigError {}
