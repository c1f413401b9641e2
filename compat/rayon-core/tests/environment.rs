//! How many workers a pool gets, as the environment says: rayon's variables and heist's. Each case
//! runs in a process of its own.

use std::io::{stdout, Write as _};
use std::process::Command;
use std::thread::available_parallelism;

use rayon_core::ThreadPoolBuilder;

const VARIABLES: [&str; 5] = [
    "HEIST_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "RAYON_RS_NUM_CPUS",
    "HEIST_BANNER",
    "HEIST_GLOBAL",
];

/// Runs the test below with these variables and no others of ours, and returns what it printed: the
/// workers of the global pool and of another that was not told.
fn workers(variables: &[(&str, &str)]) -> Result<[usize; 2], String> {
    let program = std::env::current_exe().expect("the path of this test");
    let mut command = Command::new(program);
    command.args(["in_a_child", "--exact", "--ignored", "--nocapture"]);
    for name in VARIABLES {
        command.env_remove(name);
    }
    let output = command
        .envs(variables.iter().copied())
        .output()
        .expect("the test runs again");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        return Err(said + &String::from_utf8_lossy(&output.stderr));
    }
    let number = |name: &str| {
        let mut lines = said.lines();
        let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.and_then(|number| number.parse().ok())
            .unwrap_or_else(|| panic!("`{name}` is missing in:\n{said}"))
    };
    Ok([number("global"), number("other")])
}

#[test]
#[ignore = "needs an environment of its own; run by the other tests"]
fn in_a_child() {
    // Not through the builder: the first use makes the global pool.
    assert_eq!(rayon_core::join(|| 1, || 2), (1, 2));
    let other = ThreadPoolBuilder::new().num_threads(0).build().unwrap();
    assert_eq!(
        other.install(rayon_core::current_num_threads),
        other.current_num_threads()
    );
    let told = ThreadPoolBuilder::new().num_threads(7).build().unwrap();
    assert_eq!(told.current_num_threads(), 7, "the builder comes first");
    let global = rayon_core::current_num_threads();
    let other = other.current_num_threads();
    writeln!(stdout(), "\nglobal: {global}\nother: {other}").unwrap();
}

#[test]
fn rayons_variables_count_for_every_pool_that_was_not_told() {
    let default = available_parallelism().unwrap().get();
    for (variables, expected) in [
        (&[][..], default),
        (&[("RAYON_NUM_THREADS", "3")], 3),
        (
            &[("RAYON_NUM_THREADS", "0"), ("RAYON_RS_NUM_CPUS", "5")],
            default,
        ),
        (&[("RAYON_RS_NUM_CPUS", "5")], 5),
        (&[("RAYON_NUM_THREADS", "3"), ("RAYON_RS_NUM_CPUS", "5")], 3),
        (
            &[("RAYON_NUM_THREADS", "three"), ("RAYON_RS_NUM_CPUS", "5")],
            5,
        ),
        (
            &[("RAYON_NUM_THREADS", "three"), ("RAYON_RS_NUM_CPUS", "")],
            default,
        ),
    ] {
        assert_eq!(workers(variables), Ok([expected; 2]), "{variables:?}");
    }
}

#[test]
fn heists_variable_comes_before_rayons_and_a_malformed_one_is_an_error() {
    let both = [("RAYON_NUM_THREADS", "3"), ("HEIST_NUM_THREADS", "4")];
    assert_eq!(workers(&both), Ok([4; 2]));
    let error = workers(&[("HEIST_NUM_THREADS", "four")]).unwrap_err();
    assert!(
        error.contains("HEIST_NUM_THREADS is set to \"four\""),
        "{error}"
    );
}
