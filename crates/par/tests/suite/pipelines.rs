//! Random pipelines give what std's iterators give.

use std::sync::OnceLock;

use heist_core::{ThreadPool, ThreadPoolBuilder};
use proptest::prelude::*;

fn pools() -> &'static [ThreadPool] {
    static POOLS: OnceLock<Vec<ThreadPool>> = OnceLock::new();
    POOLS.get_or_init(|| {
        let workers = [1, 2, 5].into_iter();
        let pools = workers.map(|workers| ThreadPoolBuilder::new().num_threads(workers).build());
        pools.collect::<Result<_, _>>().expect("three pools")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_pipeline_gives_what_stds_iterators_give(
        bytes in prop::collection::vec(any::<u8>(), 0..32),
        pool in 0..3_usize,
    ) {
        pools()[pool].install(|| crate::pipeline::check(&bytes));
    }
}
