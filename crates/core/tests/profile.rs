//! The file of `HEIST_PROFILE`, however the program ends. Each test is a child process.
#![cfg(all(unix, not(any(heist_loom, heist_shuttle))))]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of this test's own, gone at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let folder = env::temp_dir().join(format!("heist-profile-{}-{test}", std::process::id()));
        fs::create_dir(&folder).expect("a folder");
        Self(folder)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("it is there");
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

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
