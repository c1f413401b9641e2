//! The suite on worker processes of this machine.

use std::path::Path;
use std::time::Duration;

use heist_cluster::planner::NodeId;
use heist_cluster::{Cluster, Local};
use heist_cluster_suite::calls;
use heist_cluster_suite::world::World;

heist_cluster_suite::suite!(Here);

struct Here;

impl World for Here {
    type Backend = Local;
    const TASK: Duration = Duration::from_millis(50);
    const TAKES_TURNS: bool = false;

    fn backend(_: &Path) -> Local {
        Local::new().nodes(3).cpus(2).under_test_harness()
    }

    fn kill(cluster: &Cluster, node: &NodeId) {
        let died = cluster
            .pin(node.clone())
            .retries(0)
            .call(calls::die, ())
            .get();
        assert!(died.is_err_and(|error| error.is_node_death()));
    }

    /// A worker that has died is replaced.
    fn revive(cluster: &Cluster, node: &NodeId) {
        assert_eq!(
            cluster.pin(node.clone()).call(calls::add, (1, 2)).get(),
            Ok(3)
        );
    }
}
