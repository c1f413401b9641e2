//! Drives the program `heist run` as a user does.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A call of the program with these arguments, in `folder`, with nothing of
/// heist in its environment.
fn heist(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heist-run"));
    command
        .args(args)
        .current_dir(folder)
        .env_remove("HEIST_NUM_THREADS");
    command
}

fn output(folder: &Path, args: &[&str]) -> Output {
    heist(folder, args).output().expect("the program starts")
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn write(folder: &Path, name: &str, text: &[u8]) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a new folder");
    std::fs::write(path, text).expect("a new file");
}

/// The document that was printed.
fn document(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("no JSON ({error}): {text}\n{}", stderr(output)))
}

/// The one comparison of the document.
fn comparison(output: &Output) -> Value {
    let document = document(output);
    let comparisons = document["comparisons"].as_array().expect("a list");
    assert_eq!(comparisons.len(), 1);
    comparisons[0].clone()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs all strategies on two workers and expects them to agree.
fn agreed(folder: &Path, args: &[&str]) -> Value {
    let mut all = vec!["run"];
    all.extend(args);
    all.extend([
        "--strategy",
        "all",
        "--repeat",
        "1",
        "--workers",
        "2",
        "--json",
    ]);
    let output = output(folder, &all);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(document(&output)["schema_version"], 2);
    let comparison = comparison(&output);
    let strategies = comparison["strategies"].as_array().expect("strategies");
    let names: Vec<_> = strategies
        .iter()
        .map(|strategy| &strategy["name"])
        .collect();
    assert_eq!(names, ["serial", "static", "central", "stealing"]);
    for strategy in strategies {
        assert_eq!(strategy["matches_serial"], true, "{strategy}");
    }
    comparison
}

#[test]
fn all_strategies_agree_on_every_generated_workload() {
    let folder = folder();
    for (workload, size) in [
        ("json", "60"),
        ("mandelbrot", "90"),
        ("mergesort", "60000"),
        ("quicksort", "60000"),
        ("nqueens", "8"),
        ("uts", "40"),
        ("matmul", "65"),
        ("fib", "18"),
        ("loop", "400"),
    ] {
        let comparison = agreed(folder.path(), &[workload, "--size", size]);
        assert_eq!(comparison["workload"], workload);
    }
}

#[test]
fn the_known_answers_come_out() {
    let folder = folder();
    let fib = agreed(folder.path(), &["fib", "--size", "20"]);
    assert_eq!(fib["result"]["value"], 6765);
    let queens = agreed(folder.path(), &["nqueens", "--size", "8"]);
    assert_eq!(queens["result"]["solutions"], 92);
    let sorted = agreed(folder.path(), &["mergesort", "--size", "12345"]);
    assert_eq!(sorted["result"]["numbers"], 12345);
    assert_eq!(sorted["result"]["sorted"], "yes");
    let quick = agreed(folder.path(), &["quicksort", "--size", "12345"]);
    assert_eq!(quick["result"]["checksum"], sorted["result"]["checksum"]);
}

#[test]
fn the_smallest_sizes_work() {
    let folder = folder();
    for (workload, size) in [
        ("json", "1"),
        ("mandelbrot", "2"),
        ("mergesort", "1"),
        ("quicksort", "1"),
        ("nqueens", "1"),
        ("uts", "1"),
        ("matmul", "1"),
        ("fib", "0"),
        ("loop", "1"),
    ] {
        agreed(folder.path(), &[workload, "--size", size]);
    }
    let empty = agreed(folder.path(), &["files", "--input", "."]);
    // The picture of mandelbrot lies here by now.
    assert_eq!(empty["result"]["files"], 1);
}

#[test]
fn the_seed_decides_what_is_generated() {
    let folder = folder();
    let hash = |seed| {
        let args = ["json", "--size", "20", "--seed", seed];
        agreed(folder.path(), &args)["result"]["hash"].clone()
    };
    assert_eq!(hash("1"), hash("1"));
    assert_ne!(hash("1"), hash("2"));
}

#[test]
fn files_are_hashed_and_their_words_counted() {
    let folder = folder();
    write(folder.path(), "b/one.txt", b"The cat saw the dog.\n");
    write(folder.path(), "a.txt", b"THE end\nno newline");
    let mut large = b"filler words, ".repeat(60_000);
    large.extend(b"the end\n");
    write(folder.path(), "large.bin", &large);
    write(folder.path(), "empty", b"");
    let result = agreed(folder.path(), &["files"])["result"].clone();
    assert_eq!(result["files"], 4);
    assert_eq!(result["bytes"], 21 + 18 + large.len());
    assert_eq!(result["lines"], 3);
    assert_eq!(result["words"], 5 + 4 + 120_002);
    assert_eq!(result["distinct_words"], 9);
    assert_eq!(result["top_word"], "filler");
    assert_eq!(result["top_word_count"], 60_000);
    let hash = [
        &b"THE end\nno newline"[..],
        b"The cat saw the dog.\n",
        b"",
        &large,
    ]
    .iter()
    .fold(blake3::Hasher::new(), |mut tree, text| {
        tree.update(blake3::hash(text).as_bytes());
        tree
    });
    assert_eq!(result["hash"], hash.finalize().to_string());
}

#[test]
fn three_workloads_in_one_table_are_what_runs_without_arguments() {
    let folder = folder();
    write(folder.path(), "hello.txt", b"hello world\n");
    let output = output(folder.path(), &["run", "--repeat", "1"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let screen = String::from_utf8_lossy(&output.stdout);
    for expected in [
        "serial",
        "static",
        "central",
        "stealing",
        "files  1 file of 12 B in .",
        "uts    an unbalanced tree",
        "loop   a loop of",
        "the same under every strategy",
        "Verdict: ",
    ] {
        assert!(screen.contains(expected), "no {expected} in\n{screen}");
    }
    assert_eq!(stderr(&output), "", "no progress bar without a terminal");
}

#[test]
fn the_three_workloads_are_one_document_one_page_and_one_trace_too() {
    let folder = folder();
    write(folder.path(), "hello.txt", b"hello world\n");
    let call = "run --repeat 1 --json --report page.html --trace trace.json";
    let args: Vec<_> = call.split(' ').collect();
    let output = output(folder.path(), &args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document = document(&output);
    let names: Vec<_> = document["comparisons"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|comparison| &comparison["workload"])
        .collect();
    assert_eq!(names, ["files", "uts", "loop"]);
    assert!(document["verdict"].is_string());
    let page = std::fs::read_to_string(folder.path().join("page.html")).expect("a page");
    let trace = std::fs::read_to_string(folder.path().join("trace.json")).expect("a trace");
    for name in ["files, serial", "uts, stealing", "loop, central"] {
        assert!(page.contains(name), "no {name} in the page");
        assert!(trace.contains(name), "no {name} in the trace");
    }
}

#[test]
fn nothing_is_wider_than_eighty_columns_where_no_terminal_says_more() {
    let folder = folder();
    write(folder.path(), "a.txt", b"some words\n");
    for args in [
        &["run", "--repeat", "1"][..],
        &["run", "files", "--repeat", "1"],
        &["run", "uts", "--size", "40", "--repeat", "1"],
        &[
            "run",
            "fib",
            "--size",
            "20",
            "--repeat",
            "1",
            "--workers",
            "3",
        ],
    ] {
        let output = output(folder.path(), args);
        let screen = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(&output);
        for line in screen.lines() {
            assert!(line.chars().count() <= 80, "{args:?}: {line}");
        }
    }
}

#[test]
fn names_that_would_command_the_terminal_are_spelt_out() {
    let folder = folder();
    let name = "a\u{1b}[31mb";
    write(folder.path(), &format!("{name}/x.txt"), b"some words\n");
    let output = output(
        folder.path(),
        &["run", "files", "--input", name, "--repeat", "1"],
    );
    let screen = String::from_utf8_lossy(&output.stdout);
    assert!(screen.contains("\\u{1b}[31m"), "{screen}");
    assert!(!screen.contains('\u{1b}'), "{screen}");
}

#[test]
fn an_empty_folder_is_a_wrong_call() {
    let folder = folder();
    let output = output(folder.path(), &["run", "files"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("nothing to read in"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn more_workers_than_cores_are_remarked_on() {
    let folder = folder();
    let args = ["run", "fib", "--size", "5", "--repeat", "1", "--workers"];
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let text = |workers: usize| {
        let workers = workers.to_string();
        let all = [&args[..], &[workers.as_str()]].concat();
        stderr(&output(folder.path(), &all))
    };
    assert_eq!(text(cores), "");
    let more = text(cores + 1);
    assert!(
        more.starts_with("note: ") && more.contains("take turns"),
        "{more}"
    );
}

#[test]
fn commands_of_the_whole_program_say_how_to_get_it() {
    let folder = folder();
    for call in ["doctor", "cluster top", "plan fleet.json"] {
        let words: Vec<&str> = call.split(' ').collect();
        let output = output(folder.path(), &words);
        assert_eq!(output.status.code(), Some(2));
        let stderr = stderr(&output);
        for expected in [
            "-p heist-cli -- ",
            "cargo install --locked --path cli",
            call,
        ] {
            assert!(stderr.contains(expected), "no {expected} in {stderr}");
        }
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_reported_and_skipped() {
    let folder = folder();
    write(folder.path(), "readable.txt", b"some words\n");
    // Reading it would wait for a writer that never comes.
    let fifo = folder.path().join("a-fifo");
    let made = Command::new("mkfifo")
        .arg(&fifo)
        .status()
        .expect("mkfifo starts");
    assert!(made.success());
    let output = output(folder.path(), &["run", "files", "--repeat", "1", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("a-fifo: no regular file"),
        "{}",
        stderr(&output)
    );
    assert!(stderr(&output).contains("1 part of the input was skipped"));
    let comparison = comparison(&output);
    assert_eq!(comparison["result"]["files"], 1);
    assert_eq!(comparison["skipped"].as_array().expect("a list").len(), 1);
}

#[cfg(unix)]
#[test]
fn of_many_skipped_parts_ten_are_listed_and_all_counted() {
    use std::os::unix::net::UnixListener;
    let folder = folder();
    for number in 0..13 {
        UnixListener::bind(folder.path().join(format!("s{number}"))).expect("a socket");
    }
    let output = output(folder.path(), &["run", "files", "--repeat", "1"]);
    assert_eq!(output.status.code(), Some(1));
    let stderr = stderr(&output);
    assert_eq!(stderr.matches("skipped ./s").count(), 10, "{stderr}");
    assert!(stderr.contains("... and 3 more"), "{stderr}");
    assert!(
        stderr.contains("13 parts of the input were skipped"),
        "{stderr}"
    );
}

#[cfg(unix)]
#[test]
fn symbolic_links_are_counted_but_not_followed() {
    use std::os::unix::fs::symlink;
    let folder = folder();
    write(folder.path(), "real.txt", b"one two three\n");
    symlink("nowhere", folder.path().join("dangling")).expect("a link");
    symlink("real.txt", folder.path().join("again")).expect("a link");
    symlink(".", folder.path().join("loop")).expect("a link");
    let result = agreed(folder.path(), &["files"])["result"].clone();
    assert_eq!(result["files"], 1);
    assert_eq!(result["symlinks_not_followed"], 3);
}

#[test]
fn folders_marked_as_caches_are_counted_but_entered_only_when_named() {
    let folder = folder();
    write(folder.path(), "real.txt", b"one two three\n");
    let cache = folder.path().join("target");
    std::fs::create_dir(&cache).expect("a folder");
    write(
        &cache,
        "CACHEDIR.TAG",
        b"Signature: 8a477f597d28d172789f06886806bc55\n",
    );
    write(&cache, "built", b"four\n");
    let result = agreed(folder.path(), &["files"])["result"].clone();
    assert_eq!(result["files"], 1);
    assert_eq!(result["cache_folders_not_entered"], 1);
    let named = agreed(folder.path(), &["files", "--input", "target"])["result"].clone();
    assert_eq!(named["files"], 2);
}

#[test]
fn a_malformed_json_line_is_reported_with_its_number() {
    let folder = folder();
    write(folder.path(), "lines", b"{\"a\": 1}\n{\"a\": }\n[2, 3]\n");
    let output = output(
        folder.path(),
        &["run", "json", "--input", "lines", "--repeat", "1", "--json"],
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("skipped line 2: malformed JSON"),
        "{}",
        stderr(&output)
    );
    let comparison = comparison(&output);
    assert_eq!(comparison["result"]["documents"], 2);
    assert_eq!(comparison["result"]["sum_of_numbers"], 6.0);
    assert_eq!(comparison["skipped"][0]["what"], "line 2");
}

#[test]
fn the_report_shows_every_strategy() {
    let folder = folder();
    write(folder.path(), "files/some text.txt", b"words, words\n");
    write(folder.path(), "files/<b>&.txt", b"more words\n");
    for (workload, args, label) in [
        ("files", ["--input", "files"], "some text.txt"),
        ("fib", ["--size", "20"], "fib("),
        ("loop", ["--size", "200"], "iteration 150"),
    ] {
        let mut all = vec!["run", workload, "--repeat", "1", "--report", "page.html"];
        all.extend(args);
        let output = output(folder.path(), &all);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let page = std::fs::read_to_string(folder.path().join("page.html")).expect("a page");
        for strategy in ["serial", "static", "central", "stealing"] {
            assert!(page.contains(&format!("<tr><th>{strategy}</th>")));
            assert!(page.contains(&format!("\"name\":\"{strategy}\"")));
        }
        assert!(
            page.contains(label),
            "no {label} in the report of {workload}"
        );
        assert!(!page.contains("<b>"));
    }
}

#[test]
fn mandelbrot_writes_the_picture_where_it_was_told() {
    let folder = folder();
    agreed(
        folder.path(),
        &["mandelbrot", "--size", "60", "--output", "here.png"],
    );
    let file = std::fs::File::open(folder.path().join("here.png")).expect("a picture");
    let reader = png::Decoder::new(std::io::BufReader::new(file))
        .read_info()
        .expect("a PNG");
    assert_eq!((reader.info().width, reader.info().height), (60, 40));
}

#[test]
fn one_strategy_is_compared_with_the_serial_one() {
    let folder = folder();
    let output = output(
        folder.path(),
        &[
            "run",
            "fib",
            "--size",
            "10",
            "--strategy",
            "central",
            "--json",
        ],
    );
    let comparison = comparison(&output);
    let strategies = comparison["strategies"].as_array().expect("strategies");
    assert_eq!(strategies.len(), 2);
    assert_eq!(strategies[0]["name"], "serial");
    assert_eq!(strategies[1]["name"], "central");
    assert_eq!(strategies[1]["steals"], Value::Null);
}

#[test]
fn the_environment_names_the_workers_unless_the_flag_does() {
    let folder = folder();
    let workers = |args: &[&str], value: &str| {
        let mut all = vec!["run", "fib", "--size", "5", "--repeat", "1", "--json"];
        all.extend(args);
        let output = heist(folder.path(), &all)
            .env("HEIST_NUM_THREADS", value)
            .output();
        document(&output.expect("the program starts"))["workers"].clone()
    };
    assert_eq!(workers(&[], "3"), 3);
    assert_eq!(workers(&["--workers", "5"], "3"), 5);
}

#[test]
fn a_malformed_environment_is_an_error_that_says_what_was_given_and_what_is_accepted() {
    let folder = folder();
    for wrong in ["two", "-1", "1.5", "65536", ""] {
        let output = heist(folder.path(), &["run", "fib", "--size", "5"])
            .env("HEIST_NUM_THREADS", wrong)
            .output()
            .expect("the program starts");
        assert_eq!(output.status.code(), Some(2));
        let stderr = stderr(&output);
        assert!(stderr.contains(&format!("'{wrong}'")), "{stderr}");
        assert!(stderr.contains("0 to 65535"), "{stderr}");
    }
}

#[test]
fn a_pool_that_heist_refuses_is_a_usage_error_in_heists_words_before_any_input_is_read() {
    let folder = folder();
    let args = ["run", "files", "--input", "nowhere", "--workers", "3"];
    let output = heist(folder.path(), &args)
        .env("HEIST_BARRIER", "loud")
        .output()
        .expect("the program starts");
    let stderr = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.starts_with("error: cannot start a pool of 3 workers: "),
        "{stderr}"
    );
    assert!(stderr.contains("auto, membarrier or fence"), "{stderr}");
}

#[test]
fn more_workers_than_the_system_has_threads_for_are_refused_with_the_limit() {
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count");
    let mappings = limit.ok().and_then(|text| text.trim().parse::<u64>().ok());
    if mappings.is_none_or(|mappings| mappings / 4 >= 65_535) {
        let reason = "test skipped: the system has room for 65,535 threads, or does not tell\n";
        let _ = std::io::stderr().write_all(reason.as_bytes());
        return;
    }
    let folder = folder();
    let output = output(folder.path(), &["run", "fib", "--workers", "65535"]);
    let stderr = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("65535 workers was asked for"), "{stderr}");
    assert!(stderr.contains("accepted are at most"), "{stderr}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = folder();
    let mut child = heist(folder.path(), &["run", "fib", "--size", "5", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let mut stderr = String::new();
    let mut pipe = child.stderr.take().expect("a pipe");
    pipe.read_to_string(&mut stderr).expect("readable");
    assert_eq!(stderr, "");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn more_workers_than_pieces_work_too() {
    let folder = folder();
    write(folder.path(), "one.txt", b"a word\n");
    for args in [
        &["files"][..],
        &["fib", "--size", "3"],
        &["matmul", "--size", "3"],
    ] {
        let mut all = vec!["run", "--workers", "20", "--repeat", "1"];
        all.extend(args);
        let output = output(folder.path(), &all);
        // mandelbrot aside, nothing is written; the one-line form of many workers is.
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(String::from_utf8_lossy(&output.stdout).contains("20 workers"));
    }
}
