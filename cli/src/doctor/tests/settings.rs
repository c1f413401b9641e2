//! The settings in the environment: what doctor says of each value.

use super::{text_of, Machine};

#[test]
fn a_malformed_value_is_shown_with_what_is_accepted() {
    let machine = Machine::two_sockets();
    let above = (heist::max_num_threads() + 1).to_string();
    let at_most = format!("from 0 to {}", heist::max_num_threads());
    for (name, value, accepted) in [
        ("HEIST_NUM_THREADS", "four", "accepts a whole number"),
        ("HEIST_NUM_THREADS", "-1", "accepts a whole number"),
        ("HEIST_NUM_THREADS", "", "accepts a whole number"),
        ("HEIST_NUM_THREADS", &above, &at_most),
        (
            "HEIST_BARRIER",
            "Fence",
            "accepts auto, membarrier or fence",
        ),
        ("HEIST_RECORD_EVENTS", "all", "from 0 to 4294967295"),
        ("HEIST_RECORD_EVENTS", "4294967296", "from 0 to 4294967295"),
        ("HEIST_BANNER", "yes", "accepts 0 or 1"),
        ("HEIST_GLOBAL", "mine", "accepts implicit or explicit"),
        (
            "HEIST_CLUSTER_PAYLOAD_MAX",
            "much",
            "accepts a number of bytes",
        ),
        (
            "RAY_ADDRESS",
            "ray://head:10001",
            "accepts host:port or auto",
        ),
    ] {
        let report = machine.report_with(&[(name, value)]);
        assert!(report.has_trouble(), "{name}={value}");
        let text = text_of(&report);
        assert!(
            text.contains(&format!("{name} = {value:?} is MALFORMED")),
            "{text}"
        );
        assert!(text.contains(accepted), "{text}");
    }
    for (name, value) in [
        ("HEIST_BARRIER", "auto"),
        ("HEIST_BARRIER", "membarrier"),
        ("HEIST_BARRIER", "fence"),
        ("HEIST_RECORD_EVENTS", " 4294967295 "),
        ("HEIST_BANNER", "0"),
        ("HEIST_BANNER", "1"),
        ("HEIST_GLOBAL", "explicit"),
        ("HEIST_CLUSTER_PAYLOAD_MAX", "1000"),
        ("RAY_ADDRESS", "10.0.0.1:6379"),
        ("RAY_ADDRESS", ""),
        ("HEIST_RAY_PYTHON", "/opt/my ray/bin/python"),
        ("XDG_STATE_HOME", "/var/state"),
    ] {
        let report = machine.report_with(&[(name, value)]);
        assert!(!report.has_trouble(), "{name}={value}");
    }
}

#[test]
fn what_only_the_stand_in_reads_is_no_trouble_if_it_is_malformed() {
    let machine = Machine::bare(2);
    let text = text_of(&machine.report());
    assert!(text.contains("  RAYON_NUM_THREADS = unset\n"), "{text}");
    assert!(text.contains("  RAYON_RS_NUM_CPUS = unset: the number"));
    let report = machine.report_with(&[("RAYON_RS_NUM_CPUS", "four")]);
    assert!(!report.has_trouble());
    let text = text_of(&report);
    assert!(
        text.contains("RAYON_RS_NUM_CPUS = \"four\" is malformed and ignored, as by rayon\n"),
        "{text}"
    );
    assert!(!text.contains("MALFORMED"), "{text}");
    // Rayon takes a number only as it is.
    let report = machine.report_with(&[("RAYON_RS_NUM_CPUS", " 4 ")]);
    assert!(text_of(&report).contains("is malformed"));
}

#[test]
fn the_variable_of_rayon_that_heists_own_pools_read_is_trouble_if_it_is_malformed() {
    let report = Machine::bare(2).report_with(&[("RAYON_NUM_THREADS", "four")]);
    assert!(report.has_trouble());
}

#[test]
fn rayons_number_of_workers_counts_where_heists_own_is_unset() {
    let machine = Machine::bare(2);
    for (variables, reason) in [
        (&[("RAYON_NUM_THREADS", "3")][..], "RAYON_NUM_THREADS asks"),
        (
            &[("RAYON_NUM_THREADS", "3"), ("HEIST_NUM_THREADS", "4")],
            "HEIST_NUM_THREADS asks",
        ),
        (
            &[("RAYON_NUM_THREADS", "3"), ("HEIST_NUM_THREADS", "0")],
            "as many as the standard library says",
        ),
        (
            &[("RAYON_NUM_THREADS", "0")],
            "as many as the standard library says",
        ),
    ] {
        let said = machine.report_with(variables).default_pool.reason;
        assert!(said.starts_with(reason), "{variables:?}: {said}");
    }
}

#[test]
fn what_clusters_read_is_known_and_said_in_a_line_each() {
    let text = text_of(&Machine::bare(2).report_with(&[
        ("HEIST_RAY_PYTHON", "/opt/ray/bin/python"),
        ("XDG_STATE_HOME", "state"),
    ]));
    for part in [
        "  HEIST_RAY_PYTHON = /opt/ray/bin/python: which Python speaks",
        "  HEIST_CLUSTER_LIBRARY = unset: ",
        "  HEIST_CLUSTER_PAYLOAD_MAX = unset: ",
        "  XDG_STATE_HOME = \"state\" is malformed and ignored by `heist cluster`\n",
    ] {
        assert!(text.contains(part), "{part}\nnot in\n{text}");
    }
    assert!(!text.contains("is unknown"), "{text}");
}

#[test]
fn a_variable_that_heist_sets_itself_is_said_to_be_internal() {
    let report = Machine::bare(2).report_with(&[
        ("HEIST_CLUSTER_STATE", "/f/cluster.json"),
        ("HEIST_CLUSTER_NODE", "n1"),
    ]);
    let names: Vec<&str> = report
        .environment
        .internal
        .iter()
        .map(|it| it.name)
        .collect();
    assert_eq!(names, ["HEIST_CLUSTER_NODE", "HEIST_CLUSTER_STATE"]);
    assert!(report.environment.unknown.is_empty());
    let text = text_of(&report);
    let says = "HEIST_CLUSTER_NODE = n1, which is not for you to set: a driver tells a worker";
    assert!(text.contains(says), "{text}");
}

#[test]
fn an_unknown_variable_is_pointed_out_with_the_nearest_known_name() {
    let report = Machine::bare(2).report_with(&[
        ("HEIST_THREADS", "4"),
        ("HEIST_BARIER", "fence"),
        ("RAYON_NUM_THREADS", "4"),
    ]);
    let found: Vec<(&str, &str)> = report
        .environment
        .unknown
        .iter()
        .map(|stranger| (&*stranger.name, stranger.nearest))
        .collect();
    assert_eq!(
        found,
        [
            ("HEIST_BARIER", "HEIST_BARRIER"),
            ("HEIST_THREADS", "HEIST_NUM_THREADS")
        ]
    );
    assert!(!report.has_trouble());
}
