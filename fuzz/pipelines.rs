//! Pipelines of parallel iterators chosen by a fuzzer, each compared with std's.

#![no_main]

#[path = "../crates/par/tests/suite/pipeline/mod.rs"]
mod pipeline;

use std::sync::OnceLock;

use heist_core::{ThreadPool, ThreadPoolBuilder};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    static POOL: OnceLock<ThreadPool> = OnceLock::new();
    let builder = || ThreadPoolBuilder::new().num_threads(2);
    let pool = POOL.get_or_init(|| builder().build().expect("a pool"));
    pool.install(|| pipeline::check(bytes));
});
