//! The demo as a trait, and its measurement.

use heist_bench_workloads::{sample_of, Request};

/// The form of a demo that is measured.
#[derive(Clone, Copy, Debug)]
pub enum Form<'p> {
    /// The plain program, on the calling thread.
    Serial,
    /// The one that uses rayon, inside this pool.
    Parallel(&'p rayon::ThreadPool),
}

/// A problem with its input, and two programs that solve it.
pub(crate) trait Demo: Sized + Sync {
    /// The result of both programs; equal for any number of workers.
    type Output: Send;

    /// Makes the input in the asked-for size.
    fn new(request: &Request) -> Result<Self, String>;

    /// Solves the problem on the calling thread.
    fn serial(&self) -> Self::Output;

    /// Solves the problem in parallel; called inside a pool.
    fn parallel(&self) -> Self::Output;

    /// A number that depends on the whole output.
    fn checksum(output: Self::Output) -> u64;
}

/// Measures a demo; a unit is one run of it.
pub(crate) fn measure<D: Demo>(form: Form<'_>, request: &Request) -> Result<(), String> {
    let demo = D::new(request)?;
    keep_freed_memory();
    let run = || match form {
        Form::Serial => demo.serial(),
        Form::Parallel(pool) => pool.install(|| demo.parallel()),
    };
    request.repeat(|| sample_of(1, run, D::checksum))
}

/// Makes glibc keep what is freed. By default it gives large blocks back to the
/// kernel or not depending on what small blocks happen to lie above them, and
/// faulting them in again may cost more than the demo itself. It keeps blocks
/// no larger than the largest that was ever freed, of up to 32 MiB.
fn keep_freed_memory() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(31 << 20)));
}

/// For the tests of the demos: the demo of the given sizes, and the checksum
/// that its serial form has in common with its parallel one on one worker and
/// on several.
#[cfg(test)]
pub(crate) fn agreed<D: Demo>(sizes: &str) -> (D, u64) {
    let words = ["demo"].into_iter().chain(sizes.split(' '));
    let request = Request::parse(words.map(str::to_owned)).unwrap();
    let demo = D::new(&request).unwrap();
    let serial = D::checksum(demo.serial());
    for workers in [1, 3] {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(workers);
        let parallel = builder.build().unwrap().install(|| demo.parallel());
        assert_eq!(D::checksum(parallel), serial, "with {workers} workers");
    }
    (demo, serial)
}
