//! The table `[rebalance]` of a job file.

use std::fmt;

use heist_cluster::planner::Config;
use serde::de::value::{MapAccessDeserializer, StringDeserializer};
use serde::de::{DeserializeSeed, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The planner's settings, and whether it is wanted.
#[derive(Debug)]
pub(super) struct Rebalance {
    pub(super) enabled: bool,
    pub(super) settings: Config,
}

// The settings are the planner's to name and to check. So its own code reads the table, from
// which `enabled` is taken out; serde's way to do so would lose the lines of errors.
impl<'de> Deserialize<'de> for Rebalance {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(RebalanceVisitor)
    }
}

struct RebalanceVisitor;

impl<'de> Visitor<'de> for RebalanceVisitor {
    type Value = Rebalance;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table with `enabled` and settings of the planner")
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Rebalance, M::Error> {
        let mut enabled = true;
        let settings = MapAccessDeserializer::new(WithoutEnabled {
            map,
            enabled: &mut enabled,
        });
        let settings = Config::deserialize(settings)?;
        Ok(Rebalance { enabled, settings })
    }
}

/// The entries of a table but for `enabled`, which is noted.
struct WithoutEnabled<'a, M> {
    map: M,
    enabled: &'a mut bool,
}

impl<'de, M: MapAccess<'de>> MapAccess<'de> for WithoutEnabled<'_, M> {
    type Error = M::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, M::Error> {
        let mut seed = seed;
        loop {
            match self.map.next_key_seed(SettingSeed(seed))? {
                None => return Ok(None),
                Some(Key::Setting(setting)) => return Ok(Some(setting)),
                Some(Key::Enabled(unused)) => {
                    *self.enabled = self.map.next_value()?;
                    seed = unused;
                }
            }
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, M::Error> {
        self.map.next_value_seed(seed)
    }
}

/// A key of the table: `enabled`, or what the planner's own code makes of it.
enum Key<K, V> {
    Enabled(K),
    Setting(V),
}

struct SettingSeed<K>(K);

impl<'de, K: DeserializeSeed<'de>> DeserializeSeed<'de> for SettingSeed<K> {
    type Value = Key<K, K::Value>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        let key = String::deserialize(from)?;
        if key == "enabled" {
            return Ok(Key::Enabled(self.0));
        }
        let setting = self.0.deserialize(StringDeserializer::<D::Error>::new(key));
        setting
            .map(Key::Setting)
            .map_err(|error| D::Error::custom(format_args!("{error}, or `enabled`")))
    }
}
