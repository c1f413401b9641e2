//! Drives the program `heist cluster` as a user does, with the example program `sums`.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use place::{Driver, Place};

mod example;
mod place;
mod signals;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)))
}

/// True if an event is of this kind and about this job.
fn is(event: &Value, kind: &str, job: &str) -> bool {
    event["event"] == kind && event["job"] == job
}

fn assert_plain(bytes: &[u8]) {
    let text = text(bytes);
    assert!(!text.is_empty());
    let strange = text.chars().find(|sign| sign.is_control() && *sign != '\n');
    assert_eq!(strange, None, "{text}");
}

/// Hundredths of a second in which a test has surely done what it does in the middle of a job.
const LONG: u32 = 1500;

/// A job that sleeps for this many hundredths of a second.
fn job(id: &str, hundredths: u32) -> String {
    format!(
        "[[job]]\nid = {id:?}\nkind = \"sums::Sum\"\n\
         state = {{ next = 0, end = {}, sum = 0, step = 10, wait_ms = 10 }}\n\
         checkpoint_every_s = 0.1\n",
        hundredths * 10
    )
}

/// The sum of the numbers below `end`.
fn sum(end: u64) -> u64 {
    end * (end - 1) / 2
}

#[test]
fn the_example_in_the_help_runs_and_can_be_looked_at_afterwards() {
    let help = Place::new("").output(&["run", "--help"]);
    let help = text(&help.stdout);
    let example = include_str!("../src/cluster/example.toml");
    assert!(help.contains(example.trim_end()), "{help}");
    let (_, jobs) = example.split_once("[backend.local]").expect("a backend");
    let place = Place::new(&format!("[backend.local]{jobs}"));
    let output = place.output(&["run", "jobs.toml", "--report", "page.html"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    for line in ["sum-1  1999999000000", "sum-3  1999999000000"] {
        assert!(table.contains(line), "{table}");
    }
    assert_eq!(table.matches("sums::square(12)  144\n").count(), 4);
    assert_plain(&output.stdout);
    assert_plain(&output.stderr);
    assert!(text(&output.stderr).contains("job sum-2 is done after 1 attempt and 0 moves"));
    let once = place.output(&["top", "--once"]);
    assert_plain(&once.stdout);
    let picture = text(&once.stdout);
    for part in [", over\n", "\n  n2  ", "jobs  0 open, 3 over"] {
        assert!(picture.contains(part), "{picture}");
    }
    // The run is over, so it ends by itself.
    let followed = place.output(&["top"]);
    assert_plain(&followed.stdout);
    assert!(text(&followed.stdout).ends_with("the driver has left\n"));
    let page = fs::read_to_string(place.path().join("page.html")).expect("a page");
    assert!(page.contains("<td>sum-1</td>"));
    let again = place.output(&["report", "-o", "again.html"]);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
    let again = fs::read_to_string(place.path().join("again.html")).expect("a page");
    assert_eq!(again, page);
}

#[test]
fn the_program_lists_what_it_has_if_a_name_is_not_there() {
    let place = Place::new(&job("a", 1).replace("sums::Sum", "sums::Some"));
    let output = place.output(&["run", "jobs.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let error = text(&output.stderr);
    assert!(error.starts_with("error: jobs.toml:3: "), "{error}");
    assert!(
        error.contains("has no type of jobs `sums::Some`; it has sums::Sum"),
        "{error}"
    );
    let place = Place::new("[[call]]\nfunction = \"cube\"\n");
    let error = text(&place.output(&["run", "jobs.toml"]).stderr);
    assert!(
        error.contains("jobs.toml:3: ") && error.contains("it has sums::square, sums::wait"),
        "{error}"
    );
    assert!(!place.path().join("state").exists(), "nothing was begun");
}

#[test]
fn a_job_file_says_which_resources_work_needs_and_how_it_is_run_again() {
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let wishes = |gpus: u32| {
        format!(
            "memory_mib = 8\nresources = {{ gpu = {gpus} }}\nretries = 2\n\
             backoff_s = [0.01, 1]\nwithin_s = 60\ntrace = {trace:?}\n"
        )
    };
    let call = |gpus| {
        format!(
            "[[call]]\nfunction = \"sums::square\"\nargs = 5\non = \"n1\"\n{}",
            wishes(gpus)
        )
    };
    let local = "[backend.local]\nnodes = 2\ncpus = 1\nmemory_mib = 8\nresources = { gpu = 1 }\n";
    let jobs = format!(
        "{}{}{}{}",
        job("fits", 1),
        wishes(1),
        job("large", 1),
        wishes(2)
    );
    let place = Place::new(&format!("{local}{jobs}{}{}", call(1), call(2)));
    let output = place.output(&["run", "jobs.toml", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let document = document(&output);
    assert_eq!(document["jobs"][0]["result"], sum(10), "{document}");
    assert_eq!(document["calls"][0]["result"]["Ok"], 25, "{document}");
    let why = "8 MiB of memory, 2 of gpu were wanted on any node";
    for refused in [&document["jobs"][1], &document["calls"][1]] {
        let error = refused["error"].as_str().unwrap_or_default();
        assert!(error.contains(why), "{document}");
    }
}

#[test]
fn a_value_that_the_program_cannot_take_is_refused_before_anything_runs() {
    let place = Place::new("[[call]]\nfunction = \"sums::square\"\nargs = \"three\"\n");
    let output = place.output(&["run", "jobs.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let error = text(&output.stderr);
    assert!(
        error.contains("jobs.toml:3: ") && error.contains("invalid type: string"),
        "{error}"
    );
    assert!(!place.path().join("state").exists(), "nothing was begun");
}

#[test]
fn a_job_without_a_result_makes_the_exit_code_1_and_the_others_have_theirs() {
    let bad = job("bad", 1).replace("step = 10", "step = 0");
    let place = Place::new(&format!("{}{bad}", job("good", 1)));
    let output = place.output(&["run", "jobs.toml", "--json", "--run-folder", "run"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let document = document(&output);
    assert_eq!(document["schema_version"], 1);
    assert_eq!(document["backend"], "local");
    assert_eq!(document["jobs"][0]["result"], sum(10));
    assert_eq!(
        document["jobs"][1]["error"],
        "the job gave up: steps of no numbers never end"
    );
    let again = place.output(&["run", "jobs.toml", "--run-folder", "run"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(
        text(&again.stderr).contains("--resume"),
        "{}",
        text(&again.stderr)
    );
}

#[test]
fn a_run_whose_driver_was_killed_goes_on_with_what_is_not_over() {
    let call = "[[call]]\nfunction = \"sums::square\"\nargs = 5\n";
    let place = Place::new(&format!("{}{}{call}", job("short", 1), job("long", LONG)));
    let mut driver = place.driver();
    place.wait_for(|events| {
        let has = |kind, job| events.iter().any(|event| is(event, kind, job));
        has("finished", "short")
            && has("checkpoint", "long")
            && place.path().join("run/calls.jsonl").exists()
    });
    let refused = place.output(&["run", "--resume", "run"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("in use by another driver"));
    driver.0.kill().expect("the driver runs");
    driver.0.wait().expect("it is dead");
    let output = place.output(&["run", "--resume", "run", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let news = text(&output.stderr);
    assert!(
        news.contains("1 of 2 jobs and 1 of 1 calls are over"),
        "{news}"
    );
    for line in [
        "job long (sums::Sum) goes on: its driver was lost, its checkpoint is",
        "job long runs on n1, attempt 1\n",
        "job long is done after 1 attempt and 0 moves\n",
    ] {
        assert!(news.contains(line), "{news}");
    }
    let document = document(&output);
    let (short, long, call) = (
        &document["jobs"][0],
        &document["jobs"][1],
        &document["calls"][0],
    );
    assert_eq!(short["result"], sum(10));
    assert_eq!(short["is_stored"], true);
    assert_eq!(long["result"], sum(10 * u64::from(LONG)));
    assert_eq!(long["is_stored"], false);
    assert_eq!(call["result"]["Ok"], 25);
    assert_eq!(call["is_stored"], true);
}

/// Inside of `cargo lab cluster with slurm -- cargo test ..`.
#[test]
fn on_slurm_a_resumed_run_goes_on_with_the_jobs_of_the_lost_driver() {
    if std::env::var_os("SLURM_CONF").is_none() {
        let _ = std::io::stderr().write_all(b"test skipped: SLURM_CONF is not set\n");
        return;
    }
    let place = Place::new(&job("long", 1000));
    let mut driver = place.driver_on("slurm");
    place.wait_for(|events| events.iter().any(|event| is(event, "checkpoint", "long")));
    driver.0.kill().expect("the driver runs");
    driver.0.wait().expect("it is dead");
    let refused = place.output(&["run", "--resume", "run", "--backend", "local"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
    let output = place.output(&["run", "--resume", "run", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(document(&output)["jobs"][0]["result"], sum(10_000));
    // For a while Slurm knows jobs that are over.
    let known = Command::new("squeue")
        .args(["--noheader", "--states=all", "--format=%A|%o"])
        .output();
    let known = text(&known.expect("squeue starts").stdout);
    let folder = place.path().join("run").display().to_string();
    let ours: Vec<_> = known
        .lines()
        .filter(|line| line.contains(&folder))
        .collect();
    assert_eq!(ours.len(), 1, "{known}");
    let left = place.path().join("run/slurm");
    assert!(!left.exists(), "the nodes share no more");
}

#[test]
fn an_interrupted_run_ends_in_order_and_can_be_gone_on_with() {
    if signals::skipped_as_they_are_ignored() {
        return;
    }
    interrupt(&["-INT"]);
    // A terminal that is closed, and then its shell.
    interrupt(&["-HUP", "-HUP"]);
}

fn interrupt(signals: &[&str]) {
    let call = "[[call]]\nfunction = \"sums::wait\"\nargs = 600000\n";
    let place = Place::new(&format!("{}{call}", job("long", 60_000)));
    let mut driver = place.driver();
    place.wait_for(|events| events.iter().any(|event| is(event, "checkpoint", "long")));
    signals.iter().for_each(|signal| driver.hears(signal));
    let code = driver.0.wait().expect("it ends").code();
    assert_eq!(code, Some(130));
    let events = place.events();
    assert_eq!(events.last().expect("events")["event"], "ended");
    let mut again = place.heist(&["run", "--resume", "run"]);
    let again = again.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let _again = Driver(again.expect("the program starts"));
    place.wait_for(|events| {
        events
            .iter()
            .any(|event| is(event, "submitted", "long") && event["resumed_after_ms"].is_u64())
    });
}

#[test]
fn the_page_of_a_run_that_goes_on_is_written_anew_and_always_whole() {
    if signals::skipped_as_they_are_ignored() {
        return;
    }
    let place = Place::new(&job("long", 60_000));
    let line = "run jobs.toml --run-folder run --report page.html";
    let mut command = place.heist(&line.split(' ').collect::<Vec<_>>());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut driver = Driver(command.spawn().expect("the program starts"));
    let path = place.path().join("page.html");
    let page = || match fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        page => page.expect("a page"),
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    let wait_for = |is_so: &dyn Fn(&str) -> bool| loop {
        let page = page();
        assert!(page.is_empty() || page.ends_with("</html>\n"), "{page}");
        if is_so(&page) {
            return page;
        }
        assert!(Instant::now() < deadline, "{page}");
        std::thread::sleep(Duration::from_millis(5));
    };
    let first = wait_for(&|page| page.contains("<td>long</td>"));
    assert!(first.contains("The run is not over"), "{first}");
    wait_for(&|page| page != first);
    driver.hears("-INT");
    assert_eq!(driver.0.wait().expect("it ends").code(), Some(130));
    assert!(!page().contains("The run is not over"), "{}", page());
    let files = fs::read_dir(place.path()).expect("a folder");
    let names = files.map(|file| file.expect("a file").file_name());
    let left = names.filter(|name| name.to_string_lossy().ends_with(".new"));
    assert_eq!(left.count(), 0);
}

#[test]
fn names_from_a_job_file_do_nothing_to_terminals_and_pages() {
    let id = "\u{1b}[31m</script><img src=x>\n";
    let place =
        Place::new(&job("ID", 1).replace("\"ID\"", "\"\\u001b[31m</script><img src=x>\\n\""));
    let output = place.output(&[
        "run",
        "jobs.toml",
        "--run-folder",
        "run",
        "--report",
        "page.html",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_plain(&output.stdout);
    assert_plain(&output.stderr);
    assert_plain(&place.output(&["top", "run", "--once"]).stdout);
    assert_plain(&place.output(&["top", "run"]).stdout);
    assert!(place.events().iter().any(|event| is(event, "finished", id)));
    let page = fs::read_to_string(place.path().join("page.html")).expect("a page");
    assert!(!page.contains("<img"), "markup got through");
}

/// The folder was there, for all to read.
#[test]
fn the_files_of_a_run_are_private_whatever_their_folder_is() {
    use std::os::unix::fs::PermissionsExt as _;
    let call = "[[call]]\nfunction = \"sums::square\"\nargs = 5\n";
    let place = Place::new(&format!("{}{call}", job("short", 1)));
    fs::create_dir(place.path().join("run")).expect("a folder");
    let output = place.output(&["run", "jobs.toml", "--run-folder", "run"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for entry in fs::read_dir(place.path().join("run")).expect("a folder") {
        let path = entry.expect("an entry").path();
        let mode = fs::metadata(&path)
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o077, 0, "{} has {mode:o}", path.display());
    }
}

#[test]
fn errors_about_a_job_file_do_nothing_to_terminals() {
    let place = Place::new("\"\\u001b[31m\" = 1\n");
    let output = place.output(&["run", "jobs.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert_plain(&output.stderr);
    let error = text(&output.stderr);
    assert!(error.contains("\\u{1b}[31m"), "{error}");
}

#[test]
fn a_torn_line_of_results_is_mended_and_its_call_made_again() {
    use std::os::unix::fs::PermissionsExt as _;
    let call = "[[call]]\nfunction = \"sums::square\"\nargs = 5\nrepeat = 2\n";
    let place = Place::new(call);
    let output = place.output(&["run", "jobs.toml", "--run-folder", "run"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let folder = fs::metadata(place.path().join("run")).expect("a folder");
    assert_eq!(folder.permissions().mode() & 0o777, 0o700, "it is private");
    let path = place.path().join("run/calls.jsonl");
    let lines = fs::read_to_string(&path).expect("results");
    fs::write(&path, &lines[..lines.len() - 5]).expect("the last line is torn");
    for from_store in [false, true] {
        let output = place.output(&["run", "--resume", "run", "--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let document = document(&output);
        let calls = document["calls"].as_array().expect("a list");
        assert!(calls.iter().all(|call| call["result"]["Ok"] == 25));
        let stored = calls.iter().filter(|call| call["is_stored"] == true);
        assert_eq!(stored.count(), 1 + usize::from(from_store));
    }
}

/// Runs the job named `long`, and takes this folder away when it has its first checkpoint.
fn bereft(place: &Place, folder: &str) -> Output {
    let mut command = place.heist(&["run", "jobs.toml", "--run-folder", "run", "--json"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = command.spawn().expect("the program starts");
    place.wait_for(|events| events.iter().any(|event| is(event, "checkpoint", "long")));
    place.take_away(folder);
    run.wait_with_output().expect("it ends")
}

#[test]
fn a_result_that_cannot_be_stored_is_shown_and_no_success() {
    let place = Place::new(&job("long", LONG));
    let output = bereft(&place, "run/store");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert_eq!(
        document(&output)["jobs"][0]["result"],
        sum(10 * u64::from(LONG))
    );
    let news = text(&output.stderr);
    assert!(
        news.contains("not in the folder of the run: the result of job long"),
        "{news}"
    );
}

/// A folder that is deleted while the run writes to it.
#[test]
fn a_run_whose_folder_is_deleted_shows_its_results_and_fails() {
    let wait_ms = 10 * LONG;
    let call = format!("[[call]]\nfunction = \"sums::wait\"\nargs = {wait_ms}\n");
    let place = Place::new(&format!("{}{call}", job("long", LONG)));
    let output = bereft(&place, "run");
    let news = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{news}");
    assert_eq!(
        document(&output)["jobs"][0]["result"],
        sum(10 * u64::from(LONG))
    );
    for what in ["the result of job long", "a result of sums::wait"] {
        let line = format!("not in the folder of the run: {what}");
        assert!(news.contains(&line), "{news}");
    }
}

/// The disk is full for the driver when it may write no more bytes to files.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_costs_no_result_and_the_run_can_be_resumed() {
    let place = Place::new(&job("long", LONG));
    let mut command = Command::new("sh");
    command
        .args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_heist"))
        .args([
            "cluster",
            "run",
            "jobs.toml",
            "--run-folder",
            "run",
            "--json",
        ])
        .current_dir(place.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let run = command.spawn().expect("the program starts");
    place.wait_for(|events| events.iter().any(|event| is(event, "checkpoint", "long")));
    let full = Command::new("prlimit")
        .args(["--fsize=0:", "--pid", &run.id().to_string()])
        .status();
    assert!(full.expect("prlimit starts").success());
    let output = run.wait_with_output().expect("it ends");
    let news = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{news}");
    assert_eq!(
        document(&output)["jobs"][0]["result"],
        sum(10 * u64::from(LONG))
    );
    let line = "not in the folder of the run: the result of job long";
    assert!(news.contains(line), "{news}");
    let output = place.output(&["run", "--resume", "run", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(
        document(&output)["jobs"][0]["result"],
        sum(10 * u64::from(LONG))
    );
}

/// The clock of the machine is set back while a run goes on, and far forward.
#[test]
fn runs_can_be_looked_at_and_resumed_whatever_the_clock_did() {
    let place = Place::new(&job("long", 60_000));
    let mut driver = place.driver();
    place.wait_for(|events| events.iter().any(|event| is(event, "checkpoint", "long")));
    driver.0.kill().expect("the driver runs");
    driver.0.wait().expect("it is dead");
    let events = place.events();
    for jump_ms in [-3_600_000_i64, 400 * 86_400_000] {
        let jumped = events.iter().enumerate().map(|(at, event)| {
            let mut event = event.clone();
            if at % 3 == 1 {
                let at_ms = event["at_ms"].as_i64().expect("a time") + jump_ms;
                event["at_ms"] = at_ms.into();
            }
            format!("{event}\n")
        });
        let path = place.path().join("run/events.jsonl");
        fs::write(path, jumped.collect::<String>()).expect("written");
        for args in [
            &["top", "run", "--once"][..],
            &["report", "run", "-o", "page.html"],
        ] {
            let output = place.output(args);
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        }
    }
    let mut again = place.heist(&["run", "--resume", "run"]);
    let again = again.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let _again = Driver(again.expect("the program starts"));
    place.wait_for(|events| {
        events
            .iter()
            .any(|event| event["resumed_after_ms"].is_u64())
    });
}
