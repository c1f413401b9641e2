//! The suite on a Ray cluster that is up already: `cargo xtask cluster with ray -- cargo test
//! -p heist-cluster-suite --test ray`. Without one the tests say so and pass.

use std::io::{stderr, Write as _};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use heist_cluster::{Cluster, Ray};
use heist_cluster_suite::calls;

/// The connection that all tests share, one after another; `None` if there is no cluster.
fn cluster() -> Option<MutexGuard<'static, Cluster>> {
    static CLUSTER: OnceLock<Option<Mutex<Cluster>>> = OnceLock::new();
    let cluster = CLUSTER.get_or_init(|| {
        if std::env::var_os("RAY_ADDRESS").is_none() {
            let _ = writeln!(stderr(), "skipped: RAY_ADDRESS names no Ray cluster");
            return None;
        }
        Some(Mutex::new(Cluster::connect(Ray::new()).expect("Ray")))
    });
    let cluster = cluster.as_ref()?;
    // A test that failed leaves the cluster usable.
    Some(cluster.lock().unwrap_or_else(PoisonError::into_inner))
}

#[test]
fn arguments_and_results_arrive() {
    if let Some(cluster) = cluster() {
        calls::arguments_and_results_arrive(&cluster);
    }
}

#[test]
fn errors_and_panics_are_values() {
    if let Some(cluster) = cluster() {
        calls::errors_and_panics_are_values(&cluster);
    }
}

#[test]
fn a_function_has_a_pool() {
    if let Some(cluster) = cluster() {
        calls::a_function_has_a_pool(&cluster);
    }
}

#[test]
fn shared_data_reaches_all_calls() {
    if let Some(cluster) = cluster() {
        calls::shared_data_reaches_all_calls(&cluster);
    }
}

#[test]
fn many_calls_come_back() {
    if let Some(cluster) = cluster() {
        calls::many_calls_come_back(&cluster, 3000);
    }
}

#[test]
fn a_pinned_call_runs_where_it_should() {
    if let Some(cluster) = cluster() {
        calls::a_pinned_call_runs_where_it_should(&cluster);
    }
}

#[test]
fn cancelled_calls_end() {
    if let Some(cluster) = cluster() {
        calls::cancelled_calls_end(&cluster);
    }
}
