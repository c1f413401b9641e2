//! The shortest round trip through all cities, by branch and bound with one
//! shared bound.

use std::sync::atomic::{AtomicU32, Ordering};

use heist_bench_workloads::rng::numbers;
use heist_bench_workloads::Request;
use rayon::Scope;

use crate::demo::Demo;

/// Edge of the square in which the cities lie.
const SQUARE: u64 = 1000;
/// Trips that have seen fewer cities are searched by tasks of their own.
const FORK_BELOW: u32 = 5;

pub(crate) struct Tsp {
    /// From each city to each other.
    distances: Vec<Vec<u32>>,
    /// How far it is from each city to the nearest other.
    nearest: Vec<u32>,
}

/// A trip that began in city 0.
#[derive(Clone, Copy)]
struct Trip {
    at: usize,
    /// A set of bits.
    seen: u32,
    len: u32,
    /// A lower bound of the rest: from each city that is left, the way to its nearest.
    rest_min: u32,
}

/// One search: the problem, and the shortest round trip that is known so far.
struct Search<'t> {
    tsp: &'t Tsp,
    /// A bound only, which orders nothing else; the end of the scope comes
    /// before the last read.
    best: AtomicU32,
}

impl Demo for Tsp {
    /// The length of the shortest round trip; there may be several.
    type Output = u32;

    fn new(request: &Request) -> Result<Self, String> {
        let cities = match request.len("cities")? {
            cities @ 2..=32 => cities,
            cities => {
                return Err(format!(
                    "cannot travel through `cities={cities}`; 2 to 32 are possible"
                ))
            }
        };
        let places = numbers(2 * cities);
        let places: Vec<[i64; 2]> = places
            .chunks(2)
            .map(|pair| [pair[0], pair[1]].map(|number| (number % SQUARE) as i64))
            .collect();
        let distance = |a: &[i64; 2], b: &[i64; 2]| {
            let square = (a[0] - b[0]).pow(2) + (a[1] - b[1]).pow(2);
            (square as f64).sqrt().round() as u32
        };
        Ok(Self::from_distances(
            places
                .iter()
                .map(|a| places.iter().map(|b| distance(a, b)).collect())
                .collect(),
        ))
    }

    fn serial(&self) -> u32 {
        let search = Search::new(self);
        search.all(self.start());
        search.best.into_inner()
    }

    fn parallel(&self) -> u32 {
        let search = Search::new(self);
        rayon::scope(|scope| search.fork(scope, self.start()));
        search.best.into_inner()
    }

    fn checksum(output: u32) -> u64 {
        u64::from(output)
    }
}

impl Tsp {
    fn from_distances(distances: Vec<Vec<u32>>) -> Self {
        let cities = 0..distances.len();
        let nearest = |from: usize| {
            let others = cities.clone().filter(|&city| city != from);
            others.map(|city| distances[from][city]).min().unwrap_or(0)
        };
        let nearest = cities.clone().map(nearest).collect();
        Self { distances, nearest }
    }

    fn start(&self) -> Trip {
        Trip {
            at: 0,
            seen: 1,
            len: 0,
            rest_min: self.nearest.iter().sum(),
        }
    }

    /// The cities that a trip has not seen.
    fn left(&self, trip: Trip) -> impl Iterator<Item = usize> {
        (0..self.distances.len()).filter(move |city| trip.seen & (1 << city) == 0)
    }

    fn extended(&self, trip: Trip, to: usize) -> Trip {
        Trip {
            at: to,
            seen: trip.seen | (1 << to),
            len: trip.len + self.distances[trip.at][to],
            rest_min: trip.rest_min - self.nearest[trip.at],
        }
    }

    fn is_complete(&self, trip: Trip) -> bool {
        trip.seen.count_ones() as usize == self.distances.len()
    }

    /// The length of the trip that always goes on to the nearest city.
    fn greedy(&self) -> u32 {
        let mut trip = self.start();
        while let Some(next) = self
            .left(trip)
            .min_by_key(|&city| self.distances[trip.at][city])
        {
            trip = self.extended(trip, next);
        }
        trip.len + self.distances[trip.at][0]
    }
}

impl<'t> Search<'t> {
    /// Begins with a good bound, so that how much is searched depends little on
    /// which worker finds what first.
    fn new(tsp: &'t Tsp) -> Self {
        let best = AtomicU32::new(tsp.greedy());
        Self { tsp, best }
    }

    /// Searches all trips that begin like this one.
    fn all(&self, trip: Trip) {
        if self.tsp.is_complete(trip) {
            self.close(trip);
        }
        for next in self.branches(trip) {
            self.all(next);
        }
    }

    /// The same with a task for each branch near the root.
    fn fork<'s>(&'s self, scope: &Scope<'s>, trip: Trip) {
        if trip.seen.count_ones() >= FORK_BELOW {
            return self.all(trip);
        }
        if self.tsp.is_complete(trip) {
            self.close(trip);
        }
        for next in self.branches(trip) {
            scope.spawn(move |scope| self.fork(scope, next));
        }
    }

    /// The trip with one more city that can still beat the best one.
    fn branches(&self, trip: Trip) -> impl Iterator<Item = Trip> + use<'_> {
        let next = self.tsp.left(trip);
        next.map(move |city| self.tsp.extended(trip, city))
            .filter(|next| next.len + next.rest_min < self.best.load(Ordering::Relaxed))
    }

    /// Goes home.
    fn close(&self, trip: Trip) {
        let len = trip.len + self.tsp.distances[trip.at][0];
        self.best.fetch_min(len, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::agreed;

    #[test]
    fn both_forms_find_a_shortest_trip() {
        agreed::<Tsp>("cities=10");
        // Along the edge of a square; its diagonals are no use.
        let distances = vec![
            vec![0, 10, 14, 10],
            vec![10, 0, 10, 14],
            vec![14, 10, 0, 10],
            vec![10, 14, 10, 0],
        ];
        assert_eq!(Tsp::from_distances(distances).parallel(), 40);
    }

    #[test]
    fn too_many_cities_are_refused_with_their_number() {
        let request = Request::parse(["demo", "cities=33"].map(str::to_owned)).unwrap();
        let error = Tsp::new(&request).err().unwrap();
        assert!(error.contains("`cities=33`"), "{error}");
    }
}
