//! The computations that the simulator knows by name.

use std::fmt;
use std::str::FromStr;

use heist_run::number::whole;
use heist_sim::{simulate, Bag, Fib, Loop, Outcome, Policy, Uts};

/// A computation and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Workload {
    kind: Kind,
    size: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Fib,
    Loop,
    Skewed,
    Bag,
    Uts,
}

/// Each name, and the largest size.
const KINDS: [(&str, Kind, u64); 5] = [
    ("fib", Kind::Fib, 50),
    ("loop", Kind::Loop, 1 << 40),
    ("skewed", Kind::Skewed, 1 << 40),
    ("bag", Kind::Bag, 1 << 28),
    ("uts", Kind::Uts, 1 << 24),
];

impl Workload {
    pub(super) fn simulate(self, workers: usize, policy: &Policy, seed: u64) -> Outcome {
        let size = self.size;
        match self.kind {
            Kind::Fib => {
                let fib = Fib(u32::try_from(size).expect("it is 50 at most"));
                simulate(&fib, workers, policy, seed)
            }
            Kind::Loop => {
                let balanced = Loop {
                    len: size,
                    units: |_| 1,
                };
                simulate(&balanced, workers, policy, seed)
            }
            Kind::Skewed => {
                let skewed = Loop {
                    len: size,
                    units: |index| if index + 1 == size { size } else { 1 },
                };
                simulate(&skewed, workers, policy, seed)
            }
            Kind::Bag => simulate(&Bag { tasks: size }, workers, policy, seed),
            Kind::Uts => {
                let children = u32::try_from(size).expect("it is 2^24 at most");
                // One tree, whatever the seed of the run.
                let tree = Uts { children, seed: 1 };
                simulate(&tree, workers, policy, seed)
            }
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = KINDS.iter().find(|(_, kind, _)| *kind == self.kind);
        let name = known.map_or("", |(name, ..)| name);
        write!(f, "{name}:{}", self.size)
    }
}

impl FromStr for Workload {
    type Err = String;

    fn from_str(given: &str) -> Result<Self, String> {
        let (name, size) = given.split_once(':').unwrap_or((given, ""));
        let known = KINDS.iter().find(|(known, ..)| *known == name);
        let &(_, kind, most) = known.ok_or_else(|| {
            let names = KINDS.map(|(name, ..)| format!("{name}:N")).join(", ");
            format!("accepted are {names}")
        })?;
        let size =
            whole(size, 1..=most).map_err(|what| format!("of the size behind {name}: {what}"))?;
        Ok(Self { kind, size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computations_are_read_as_they_are_written_and_others_are_refused() {
        for given in ["fib:24", "loop:1000000", "skewed:7", "bag:1", "uts:9"] {
            let read: Workload = given.parse().expect(given);
            assert_eq!(read.to_string(), given);
        }
        for (given, accepted) in [
            ("", "fib:N, loop:N, skewed:N, bag:N, uts:N"),
            ("tree:3", "fib:N"),
            ("fib", "1 to 50"),
            ("fib:51", "1 to 50"),
            ("bag:-1", "from 1"),
        ] {
            let refusal = given.parse::<Workload>().expect_err(given);
            assert!(refusal.contains(accepted), "{given}: {refusal}");
        }
    }
}
