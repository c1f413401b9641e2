//! The file of `HEIST_PROFILE`, however the program ends. Each test is a child process.
#![cfg(all(unix, not(any(heist_loom, heist_shuttle))))]

mod own_folder;

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use own_folder::Folder;

fn child(test: &str, profile: &Path) -> Output {
    Command::new(env::current_exe().expect("the test"))
        .args(["--ignored", "--exact", "--nocapture", test])
        .env("HEIST_PROFILE", profile)
        .env_remove("HEIST_NUM_THREADS")
        // A sanitizer would count as leaked what the threads hold that are there at the end.
        .env("ASAN_OPTIONS", "detect_leaks=0")
        .env("LSAN_OPTIONS", "detect_leaks=0")
        .output()
        .expect("the child runs")
}

/// The profile of this child, and what it said on standard error.
fn profile_of(test: &str) -> (String, String, Output) {
    let folder = Folder::new(test.rsplit(':').next().unwrap_or(test));
    let output = child(test, &folder.0.join("out"));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(folder.names(), ["out.json"], "nothing else is left: {text}");
    let file = folder.0.join("out.json");
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600, "it is the user's");
    (fs::read_to_string(file).unwrap(), text, output)
}

/// The number behind the first such key.
fn number(json: &str, key: &str) -> u64 {
    let key = format!("\"{key}\": ");
    let at = json.find(&key).unwrap_or_else(|| panic!("{key} in {json}"));
    let digits = json[at + key.len()..].split(|c: char| !c.is_ascii_digit());
    digits.into_iter().next().unwrap().parse().unwrap()
}

/// The numbers behind all such keys.
fn numbers(json: &str, key: &str) -> Vec<u64> {
    let ats = json.match_indices(key);
    ats.map(|(at, _)| number(&json[at - 1..], key)).collect()
}

/// The figures of the whole and of its sites agree, but for rounding.
fn check_sums(json: &str) {
    let (head, sites) = json.split_once("\"sites\"").expect("sites");
    let (head, grain) = head.split_once("\"grain\"").expect("grain");
    let (sites, _) = sites.split_once("\"other_sites\"").expect("their end");
    let (work, span) = (number(head, "work_ns"), number(head, "span_ns"));
    let about = |sum: u64, count: usize| sum.abs_diff(work) <= count as u64;
    let lengths = numbers(grain, "work_ns");
    assert!(about(lengths.iter().sum(), lengths.len()), "{json}");
    let (mut works, mut spans) = (Vec::new(), Vec::new());
    for site in sites.split("\"name\"").skip(1) {
        works.push(number(site, "work_ns"));
        spans.push(number(site, "span_ns"));
        assert!(spans.last() <= works.last(), "{json}");
        let (site, grain) = site.split_once("\"grain\"").expect("its grain");
        assert!(
            number(site, "longest_ns") <= number(site, "work_ns"),
            "{json}"
        );
        let lengths = numbers(grain, "work_ns");
        let sum: u64 = lengths.iter().sum();
        assert!(
            sum.abs_diff(works[works.len() - 1]) <= lengths.len() as u64,
            "{json}"
        );
    }
    assert!(about(works.iter().sum(), works.len()), "{json}");
    assert!(
        spans.iter().sum::<u64>() <= span + spans.len() as u64,
        "{json}"
    );
    assert!(
        span <= work && span <= number(head, "burdened_span_ns"),
        "{json}"
    );
}

/// The children joined 8 leaves.
fn check(json: &str, text: &str) {
    assert!(json.starts_with("{\n  \"heist_profile\": 1,"), "{json}");
    assert!(number(json, "forks") >= 7, "{json}");
    let (work, span) = (number(json, "work_ns"), number(json, "span_ns"));
    assert!(0 < span && span <= work, "{json}");
    assert!(
        number(json, "wall_ns") >= number(json, "outside_ns"),
        "{json}"
    );
    assert!(
        json.contains("in_a_child::leaves"),
        "the site has its name: {json}"
    );
    assert!(
        text.contains("heist: work ") && text.contains("parallelism"),
        "{text}"
    );
    assert!(text.contains("out.json"), "{text}");
}

#[test]
fn a_program_that_returns_from_main_leaves_its_profile() {
    let (json, text, output) = profile_of("in_a_child::returns");
    assert!(output.status.success(), "{text}");
    check(&json, &text);
}

#[test]
fn a_program_that_exits_on_a_worker_leaves_its_profile() {
    let (json, text, output) = profile_of("in_a_child::exits_on_a_worker");
    assert_eq!(output.status.code(), Some(7), "{text}");
    check(&json, &text);
}

#[test]
fn a_program_that_panics_leaves_its_profile() {
    let (json, text, output) = profile_of("in_a_child::panics");
    assert_eq!(output.status.code(), Some(101), "{text}");
    check(&json, &text);
}

#[test]
fn a_program_leaves_its_dag_alone_or_beside_its_profile() {
    let folder = Folder::new("dag");
    let run = |set: &dyn Fn(&mut Command) -> &mut Command| {
        let mut child = Command::new(env::current_exe().expect("the test"));
        child
            .args(["--ignored", "--exact", "--nocapture", "in_a_child::returns"])
            .env_remove("HEIST_NUM_THREADS")
            .env("ASAN_OPTIONS", "detect_leaks=0")
            .env("LSAN_OPTIONS", "detect_leaks=0");
        let output = set(&mut child).output().expect("the child runs");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), text)
    };
    let name = folder.0.join("run");
    let (well, text) = run(&|child| child.env("HEIST_DAG", &name));
    assert!(well && text.contains("the DAG is in"), "{text}");
    assert!(!text.contains("parallelism"), "{text}");
    assert_eq!(folder.names(), ["run.dag.json"], "{text}");
    let json = fs::read_to_string(folder.0.join("run.dag.json")).unwrap();
    assert!(json.starts_with("{\n  \"heist_dag\": 1,"), "{json}");
    assert!(json.contains("in_a_child::leaves"), "{json}");
    let (_, nodes) = json.split_once("\"nodes\": [").expect("nodes");
    assert!(nodes.lines().count() > 8, "{json}");

    let (well, text) = run(&|child| child.env("HEIST_DAG", &name).env("HEIST_PROFILE", &name));
    assert!(well && text.contains("parallelism"), "{text}");
    let mut names = folder.names();
    names.sort_unstable();
    assert_eq!(names, ["run.dag.json", "run.json"], "{text}");

    let same = folder.0.join("run.dag");
    let (well, text) = run(&|child| child.env("HEIST_DAG", &name).env("HEIST_PROFILE", &same));
    assert!(!well && text.contains("names the same file"), "{text}");
    let (well, text) = run(&|child| child.env("HEIST_DAG", ""));
    assert!(!well && text.contains("HEIST_DAG"), "{text}");
}

#[test]
fn a_profile_that_cannot_be_put_in_its_place_leaves_nothing() {
    let folder = Folder::new("in_the_way");
    let run = |test| {
        let output = child(test, &folder.0.join("out"));
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(folder.names(), ["out.json"], "{text}");
        (output.status.success(), text)
    };
    let (well, text) = run("in_a_child::puts_a_folder_in_the_way");
    assert!(
        well && text.contains("could not write the profile"),
        "{text}"
    );
    // The next one is told at its start.
    let (well, text) = run("in_a_child::returns");
    assert!(!well && text.contains("out.json is a folder"), "{text}");
}

#[test]
fn the_figures_agree_where_strands_are_shorter_than_their_measurement() {
    for child in ["in_a_child::joins_nothing", "in_a_child::visits_often"] {
        let (json, text, output) = profile_of(child);
        assert!(output.status.success(), "{text}");
        check_sums(&json);
        let mut parts: Vec<_> = text.split(" % of the span").collect();
        parts.pop();
        for share in parts.iter().filter_map(|part| part.rsplit(' ').next()) {
            assert!(
                share.parse::<u64>().is_ok_and(|share| share <= 100),
                "{text}"
            );
        }
    }
}

#[test]
fn work_counts_that_was_under_way_when_the_program_ended() {
    for (child, spins) in [
        ("in_a_child::exits_in_a_strand", 1),
        ("in_a_child::exits_beside_strands", 2),
    ] {
        let (json, text, output) = profile_of(child);
        assert_eq!(output.status.code(), Some(7), "{text}");
        check_sums(&json);
        assert!(number(&json, "work_ns") >= spins * 10_000_000, "{json}");
        assert_eq!(
            number(&json, "unjoined_work_ns") >= 10_000_000,
            spins > 1,
            "{json}"
        );
    }
}

#[test]
fn the_dag_has_the_work_that_was_under_way_when_the_program_ended() {
    for (test, spins) in [
        ("in_a_child::exits_in_a_strand", 1),
        ("in_a_child::exits_beside_a_long_strand", 1),
        ("in_a_child::exits_beside_strands", 2),
    ] {
        let folder = Folder::new(test.rsplit(':').next().unwrap_or(test));
        let output = Command::new(env::current_exe().expect("the test"))
            .args(["--ignored", "--exact", "--nocapture", test])
            .env("HEIST_DAG", folder.0.join("out"))
            .env_remove("HEIST_NUM_THREADS")
            .env("ASAN_OPTIONS", "detect_leaks=0")
            .env("LSAN_OPTIONS", "detect_leaks=0")
            .output()
            .expect("the child runs");
        assert_eq!(output.status.code(), Some(7));
        let json = fs::read_to_string(folder.0.join("out.dag.json")).unwrap();
        let (_, nodes) = json.split_once("\"nodes\": [").expect("nodes");
        let (nodes, _) = nodes.split_once("\"edges\"").expect("their end");
        let works = nodes.lines().filter_map(|line| line.split(", ").nth(1));
        let work: u64 = works.filter_map(|work| work.parse::<u64>().ok()).sum();
        assert!(work >= spins * 10_000_000, "{json}");
    }
}

#[test]
fn the_span_is_that_of_the_other_threads_too_when_the_program_ends() {
    for child in [
        "in_a_child::exits_beside_a_deep_path",
        "in_a_child::exits_beside_a_path_that_waits",
        "in_a_child::exits_beside_the_first_half_of_a_join",
        "in_a_child::exits_beside_a_long_strand",
    ] {
        let (json, text, output) = profile_of(child);
        assert_eq!(output.status.code(), Some(7), "{text}");
        check_sums(&json);
        let span = number(&json, "span_ns");
        assert!(span >= 15_000_000, "{child}: {json}");
        assert!(number(&json, "burdened_span_ns") >= span, "{json}");
        let (_, sites) = json.split_once("\"sites\"").expect("sites");
        let on_path: u64 = numbers(sites, "span_ns").iter().sum();
        assert!(on_path >= 15_000_000, "the path has its sites: {json}");
    }
}

/// The thread sanitizer ends a forked child that starts threads.
#[test]
#[cfg(not(heist_tsan))]
fn a_forked_child_that_exits_leaves_the_profile_to_its_parent() {
    let (json, text, output) = profile_of("in_a_child::forks");
    assert!(output.status.success(), "{text}");
    check(&json, &text);
    assert_eq!(text.matches("heist: work ").count(), 1, "{text}");
}

#[test]
fn a_profile_says_if_it_is_in_the_place_of_another_one() {
    let folder = Folder::new("replaced");
    let [first, second] = [(), ()].map(|()| {
        let output = child("in_a_child::returns", &folder.0.join("out"));
        assert!(output.status.success());
        fs::read_to_string(folder.0.join("out.json")).expect("it is there")
    });
    assert!(first.contains("\"has_replaced\": false"), "{first}");
    assert!(second.contains("\"has_replaced\": true"), "{second}");
}

#[test]
fn a_profile_that_cannot_be_written_is_an_error_that_says_so() {
    let folder = Folder::new("refused");
    let missing = folder.0.join("missing").join("out");
    for (value, why) in [(Path::new(""), "it is empty"), (&missing, "No such file")] {
        let output = child("in_a_child::returns", value);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{text}");
        for part in ["HEIST_PROFILE", &format!("{value:?}"), why, "accepted is"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
    assert!(folder.names().is_empty());
}

mod in_a_child {
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use heist_core::join;

    fn leaves(depth: u32) -> u64 {
        if depth == 0 {
            return std::hint::black_box((0..10_000_u64).map(std::hint::black_box).sum());
        }
        let (left, right) = join(|| leaves(depth - 1), || leaves(depth - 1));
        left + right
    }

    fn pool() -> heist_core::ThreadPool {
        let pool = heist_core::ThreadPoolBuilder::new().num_threads(2).build();
        pool.unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    #[ignore = "run in a child"]
    fn returns() {
        pool().install(|| leaves(3));
    }

    #[test]
    #[ignore = "run in a child"]
    fn puts_a_folder_in_the_way() {
        returns();
        let name = std::env::var("HEIST_PROFILE").expect("the parent sets it");
        std::fs::create_dir(format!("{name}.json")).expect("a folder");
    }

    #[test]
    #[ignore = "run in a child"]
    fn exits_on_a_worker() {
        pool().install(|| {
            leaves(3);
            std::process::exit(7)
        });
    }

    #[test]
    #[ignore = "run in a child"]
    fn panics() {
        pool().install(|| {
            leaves(3);
            panic!("as it should")
        });
    }

    fn fib(n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        let (one, other) = join(|| fib(n - 1), || fib(n - 2));
        one + other
    }

    #[test]
    #[ignore = "run in a child"]
    fn joins_nothing() {
        pool().install(|| fib(20));
    }

    #[test]
    #[ignore = "run in a child"]
    fn visits_often() {
        let pool = pool();
        for _ in 0..20_000 {
            pool.participate(|| join(|| (), || ()));
        }
    }

    /// Spins for a while; a strand's time is that of the clock.
    fn spin() {
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(20) {
            std::hint::spin_loop();
        }
    }

    #[test]
    #[ignore = "run in a child"]
    fn exits_in_a_strand() {
        pool().install(|| {
            spin();
            std::process::exit(7)
        });
    }

    #[test]
    #[ignore = "run in a child"]
    fn exits_beside_strands() {
        let pool = pool();
        let (told, tells) = mpsc::channel();
        for _ in 0..2 {
            let told = told.clone();
            pool.spawn(move || {
                spin();
                told.send(()).expect("somebody waits");
                loop {
                    std::hint::spin_loop();
                }
            });
        }
        for _ in 0..2 {
            tells.recv().expect("both are under way");
        }
        std::process::exit(7)
    }

    /// 20 strands of 1 ms, one after the other.
    fn chain() {
        for _ in 0..20 {
            join(
                || {
                    let began = Instant::now();
                    while began.elapsed() < Duration::from_millis(1) {
                        std::hint::spin_loop();
                    }
                },
                || (),
            );
        }
    }

    /// Exits when `op`, on the only worker, has said that it is in the midst of something.
    fn exits_beside(op: impl FnOnce(&'static (dyn Fn() + Sync)) + Send + 'static) {
        let pool = heist_core::ThreadPoolBuilder::new().num_threads(1).build();
        let pool = pool.unwrap_or_else(|error| panic!("{error}"));
        let (told, tells) = mpsc::channel();
        let tell = Box::leak(Box::new(move || told.send(()).expect("somebody waits")));
        pool.spawn(move || op(tell));
        tells.recv().expect("it is under way");
        std::process::exit(7)
    }

    fn forever() {
        loop {
            std::hint::spin_loop();
        }
    }

    #[test]
    #[ignore = "run in a child"]
    fn exits_beside_a_deep_path() {
        exits_beside(|tell| {
            chain();
            tell();
            forever();
        });
    }

    #[test]
    #[ignore = "run in a child"]
    fn exits_beside_a_path_that_waits() {
        exits_beside(|tell| {
            let before = heist_core::submit(move || {
                tell();
                forever();
            });
            chain();
            // The worker runs the job, whose own path is short.
            before.join();
        });
    }

    #[test]
    #[ignore = "run in a child"]
    fn exits_beside_the_first_half_of_a_join() {
        exits_beside(|tell| {
            join(chain, || {
                tell();
                forever();
            });
        });
    }

    #[test]
    #[ignore = "run in a child"]
    fn exits_beside_a_long_strand() {
        exits_beside(|tell| {
            spin();
            tell();
            forever();
        });
    }

    /// Threads that begin or end may hold the locks of the meters while it forks.
    #[test]
    #[ignore = "run in a child"]
    #[cfg(not(heist_tsan))]
    fn forks() {
        for _ in 0..20 {
            let before = pool();
            before.install(|| leaves(3));
            // SAFETY: the child uses nothing of the other threads: a pool of its own, and the exit.
            let child = unsafe { libc::fork() };
            if child == 0 {
                pool().install(|| leaves(3));
                std::process::exit(0);
            }
            let mut status = 0;
            // SAFETY: it writes the status.
            unsafe { libc::waitpid(child, &raw mut status, 0) };
            assert_eq!(status, 0);
        }
    }
}
