//! How long strands are: quantiles of a histogram by octaves.

use serde::Serialize;

use super::file::Grain;

/// Strands shorter than a microsecond are fine.
const FINE_NS: f64 = 1000.0;

/// The lengths of strands.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct GrainSummary {
    /// The number of strands.
    pub strands: u64,
    /// One in a hundred strands is shorter than about this.
    pub p1_ns: f64,
    /// Half of the strands are.
    pub p50_ns: f64,
    /// All but one in a hundred are.
    pub p99_ns: f64,
    /// The share of strands below a microsecond, from 0 to 1.
    pub fine_share: f64,
    /// The share of the work in them.
    pub fine_work_share: f64,
    /// The strands by length, shortest first.
    pub octaves: Vec<Octave>,
}

/// The strands of one octave of length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Octave {
    /// They are shorter than this, and not shorter than half of it.
    pub below_ns: u64,
    /// Their number.
    pub strands: u64,
    /// The sum of their lengths.
    pub work_ns: u64,
}

impl GrainSummary {
    /// The summary of histograms that are added up.
    #[must_use]
    pub fn new<'a>(grains: impl IntoIterator<Item = &'a Grain>) -> Self {
        let octaves = added(grains);
        let strands = octaves
            .iter()
            .map(|octave| octave.strands as f64)
            .sum::<f64>();
        let work = octaves
            .iter()
            .map(|octave| octave.work_ns as f64)
            .sum::<f64>();
        let (fine, fine_work) = octaves.iter().fold((0.0, 0.0), |(number, work), octave| {
            let (of_strands, of_work) = fine(octave);
            (
                number + of_strands * octave.strands as f64,
                work + of_work * octave.work_ns as f64,
            )
        });
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        Self {
            strands: strands as u64,
            p1_ns: quantile(&octaves, strands, 0.01),
            p50_ns: quantile(&octaves, strands, 0.50),
            p99_ns: quantile(&octaves, strands, 0.99),
            fine_share: share(fine, strands),
            fine_work_share: share(fine_work, work),
            octaves,
        }
    }
}

/// The shares of an octave's strands and of its work that are fine, if lengths are spread evenly
/// over its logarithm.
fn fine(octave: &Octave) -> (f64, f64) {
    let most = octave.below_ns as f64;
    let least = most / 2.0;
    let edge = FINE_NS.clamp(least, most);
    ((edge / least).log2(), (edge - least) / (most - least))
}

fn added<'a>(grains: impl IntoIterator<Item = &'a Grain>) -> Vec<Octave> {
    let mut octaves: Vec<Octave> = Vec::new();
    for grain in grains.into_iter().filter(|grain| grain.strands > 0) {
        let at = octaves.binary_search_by_key(&grain.below_ns, |octave| octave.below_ns);
        let at = at.unwrap_or_else(|at| {
            let below_ns = grain.below_ns;
            octaves.insert(
                at,
                Octave {
                    below_ns,
                    ..Octave::default()
                },
            );
            at
        });
        octaves[at].strands = octaves[at].strands.saturating_add(grain.strands);
        octaves[at].work_ns = octaves[at].work_ns.saturating_add(grain.work_ns);
    }
    octaves
}

/// The mean length of the strands in the octave in which the quantile lies.
fn quantile(octaves: &[Octave], strands: f64, share: f64) -> f64 {
    let mut before = 0.0;
    let holds = |octave: &&Octave| {
        before += octave.strands as f64;
        before >= share * strands
    };
    let octave = octaves.iter().find(holds);
    octave.map_or(0.0, |octave| {
        let below = octave.below_ns as f64;
        (octave.work_ns as f64 / octave.strands as f64).clamp(below / 2.0, below)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grain(below_ns: u64, strands: u64, work_ns: u64) -> Grain {
        Grain {
            below_ns,
            strands,
            work_ns,
        }
    }

    #[test]
    fn quantiles_are_the_means_of_their_octaves() {
        let grains = [
            grain(512, 2, 800),
            grain(16_384, 95, 95 * 11_000),
            grain(1 << 24, 3, 3 * 9_000_000),
        ];
        let summary = GrainSummary::new(&grains);
        assert_eq!(summary.strands, 100);
        assert_eq!((summary.p1_ns, summary.p50_ns), (400.0, 11_000.0));
        assert_eq!(summary.p99_ns, 9_000_000.0);
    }

    #[test]
    fn fine_strands_are_counted_with_the_work_that_they_carry() {
        let summary = GrainSummary::new(&[grain(1000, 31, 20), grain(2000, 69, 9_980)]);
        assert!((summary.fine_share - 0.31).abs() < 1e-9);
        assert!((summary.fine_work_share - 0.002).abs() < 1e-9);
    }

    #[test]
    fn an_octave_around_a_microsecond_is_divided() {
        // The octaves are those of the processor's clock, not of nanoseconds.
        let around = GrainSummary::new(&[grain(1600, 100, 10_000)]);
        assert!((around.fine_share - 1.25_f64.log2()).abs() < 1e-9);
        assert!((around.fine_work_share - 0.25).abs() < 1e-9);
        let above = GrainSummary::new(&[grain(2000, 100, 10_000)]);
        assert_eq!((above.fine_share, above.fine_work_share), (0.0, 0.0));
    }

    #[test]
    fn octaves_of_several_histograms_are_added_and_in_order() {
        let summary = GrainSummary::new(&[grain(64, 1, 40), grain(8, 1, 5), grain(64, 2, 90)]);
        let octave = |below_ns, strands, work_ns| Octave {
            below_ns,
            strands,
            work_ns,
        };
        assert_eq!(summary.octaves, [octave(8, 1, 5), octave(64, 3, 130)]);
    }

    #[test]
    fn no_strands_have_no_length() {
        assert_eq!(GrainSummary::new(&[]), GrainSummary::default());
    }
}
