//! The program on worker processes of this machine, and its job.

use std::process::{Command, Output};

use heist_cluster::{Cluster, JobOptions, Local};
use pi_and_primes::SumPrimes;

heist_cluster::test_worker!();

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pi-and-primes"))
        .args(arguments)
        .output()
        .expect("the program starts")
}

fn printed(arguments: &[&str]) -> String {
    let small = [
        "--primes-below",
        "3000000",
        "--sum-below",
        "2000000",
        "--digits",
        "700",
    ];
    let output = run(&[&small, arguments].concat());
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn the_result_is_the_same_on_one_node_and_on_three() {
    let one = printed(&["--backend", "local", "--nodes", "1", "--cpus", "2"]);
    let three = printed(&["--backend", "local", "--nodes", "3", "--cpus", "3"]);
    assert_eq!(one, three);
    assert!(one.contains("primes below 3000000: 216816\n"), "{one}");
    assert!(
        one.contains("sum of the 148933 primes below 2000000: 142913828922\n"),
        "{one}"
    );
    assert!(
        one.contains("pi to 700 hexadecimal digits: 3.243f6a8885a308d3..."),
        "{one}"
    );
}

#[test]
fn wrong_arguments_are_answered_with_what_is_accepted() {
    for (arguments, accepted) in [
        (["--backend", "lokal"], "local, ray, slurm are accepted"),
        (["--nodes", "0"], "1..=1024"),
        (["--cpus", "1"], "2..=4096"),
        (["--digits", "1000000000"], "268435456"),
        (["--primes-below", "many"], "invalid digit"),
    ] {
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(complaint.contains(accepted), "{complaint}");
    }
}

#[test]
fn the_job_has_the_sum() {
    let backend = Local::new().nodes(2).cpus(1).under_test_harness();
    let cluster = Cluster::connect(backend).expect("two worker processes");
    let options = JobOptions::new("below two million");
    let job = cluster.submit(SumPrimes::below(2_000_000), options);
    let primes = job.expect("it is submitted").get().expect("it ends");
    assert_eq!((primes.count, primes.sum), (148_933, 142_913_828_922));
    let too_far = cluster.submit(SumPrimes::below(u64::MAX), JobOptions::new("too far"));
    let error = too_far
        .expect("it is submitted")
        .get()
        .expect_err("it is too far");
    assert!(error.to_string().contains("is the largest end"), "{error}");
}
