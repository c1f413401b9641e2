//! Drives `heist top` as a user does, on programs with a live view.
//!
//! The programs are tests of this file that run in a process of their own, and do what they are
//! told by bytes on their standard input. A test that waits for something asks `heist top` about
//! it, again and again.
#![cfg(target_os = "linux")]

use std::env;
use std::fs::{self, DirBuilder, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::{chown, symlink, DirBuilderExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use tempfile::TempDir;

mod pty;

/// A test that does not see by then what it waits for has failed.
const DEADLINE: Duration = Duration::from_secs(120);

/// A place for files of live views, apart from those of other programs.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().expect("a folder"));
        fs::create_dir(place.temporary()).expect("a folder");
        place
    }

    fn temporary(&self) -> PathBuf {
        self.0.path().join("tmp")
    }

    /// The folder of the files.
    fn files(&self) -> PathBuf {
        self.0.path().join("heist")
    }

    fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .env("XDG_RUNTIME_DIR", self.0.path())
            .env("TMPDIR", self.temporary());
        for variable in [
            "HEIST_NUM_THREADS",
            "HEIST_PROFILE",
            "HEIST_STALL",
            "HEIST_LIVE",
        ] {
            command.env_remove(variable);
        }
        command
    }

    fn top(&self, args: &[&str]) -> Output {
        let mut command = self.command(env!("CARGO_BIN_EXE_heist"));
        command.arg("top").args(args).output().expect("it runs")
    }

    /// Starts the program, which says when its pools are there.
    fn start(&self, program: &str, variables: &[(&str, &str)]) -> Program<'_> {
        let mut child = self
            .command(env::current_exe().expect("this test"))
            .args([program, "--exact", "--ignored", "--nocapture"])
            .env("HEIST_LIVE", "1")
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the test runs again");
        let mut said = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut lines = Vec::new();
        while lines.last().is_none_or(|line| line != READY) {
            let mut line = String::new();
            let read = said.read_line(&mut line).expect("it says text");
            assert!(read > 0, "it has ended: {lines:#?}");
            lines.push(line);
        }
        Program {
            place: self,
            child,
            lines,
        }
    }

    fn file_of(&self, pid: u32) -> Option<PathBuf> {
        let entries = fs::read_dir(self.files()).expect("it is there").flatten();
        let mut paths = entries.map(|entry| entry.path());
        paths.find(|path| {
            path.file_stem()
                .is_some_and(|stem| stem == pid.to_string().as_str())
        })
    }
}

const READY: &str = "ready\n";

/// A program that runs.
struct Program<'a> {
    place: &'a Place,
    child: Child,
    /// The lines that it has said before it was ready.
    lines: Vec<String>,
}

impl Program<'_> {
    fn pid(&self) -> String {
        self.child.id().to_string()
    }

    /// The document of this program, when it is so.
    fn document_when(&self, is_so: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let document = json(&self.place.top(&[&self.pid(), "--json"]));
            if is_so(&document) {
                return document;
            }
            assert!(began.elapsed() < DEADLINE, "it never was so: {document:#}");
        }
    }

    fn tell(&mut self) {
        let stdin = self.child.stdin.as_mut().expect("it is piped");
        stdin.write_all(b"!").expect("it reads");
    }

    fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it has ended");
    }

    /// Lets it end in order.
    fn end(&mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().expect("it has ended").success());
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> Value {
    let (out, err) = (stdout(output), stderr(output));
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("no JSON ({error}): {out}\n{err}"))
}

/// The numbers and the workers of the pools.
fn pools(document: &Value) -> Vec<(u64, u64)> {
    let pools = document["pools"].as_array().expect("a list").iter();
    let number = |pool: &Value, field| pool[field].as_u64().expect("a number");
    pools
        .map(|pool| (number(pool, "number"), number(pool, "len")))
        .collect()
}

/// A window is closed, and nohup or a multiplexer keeps the signal that says so from it.
#[test]
fn a_view_without_a_terminal_ends() {
    let place = Place::new();
    let mut program = place.start("in_a_child::pools", &[]);
    for is_told in [true, false] {
        let (mut ours, other_end) = pty::terminal();
        let end = || other_end.try_clone().expect("a second handle");
        let ignores = if is_told { ":" } else { "trap '' HUP" };
        let script = format!("{ignores}; exec \"$0\" top {}", program.pid());
        let mut view = place.command("setsid");
        view.args(["--ctty", "sh", "-c", &script, env!("CARGO_BIN_EXE_heist")]);
        let view = view.stdin(end()).stdout(end()).stderr(end()).spawn();
        let mut view = view.expect("setsid starts");
        drop(other_end);
        let mut shown = Vec::new();
        while !String::from_utf8_lossy(&shown).contains("process ") {
            let mut buffer = [0; 4096];
            let read = ours.read(&mut buffer).expect("it is drawn");
            shown.extend(&buffer[..read]);
        }
        drop(ours);
        let began = Instant::now();
        while view.try_wait().expect("it is ours").is_none() {
            if began.elapsed() > DEADLINE {
                view.kill().expect("it runs");
                panic!("it goes on: {is_told}");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    program.end();
}

#[test]
fn pools_are_seen_while_they_are_there_and_the_file_goes_with_the_program() {
    let place = Place::new();
    let mut program = place.start("in_a_child::pools", &[]);
    let is_at_work = |pool: &Value| {
        let workers = pool["workers"].as_array().expect("a list");
        workers.iter().any(|worker| worker["state"] == "working")
            && pool["last"]["working_ns"].as_u64() > Some(0)
    };
    let document = program.document_when(|document| {
        pools(document) == [(0, 2), (1, 3)] && is_at_work(&document["pools"][0])
    });
    assert_eq!(document["heist_live"], 1);
    assert_eq!(document["is_alive"], true);
    assert_eq!(
        document["pools"][1]["workers"].as_array().map(Vec::len),
        Some(3)
    );
    // The second one is dropped, and a third is built.
    program.tell();
    program.document_when(|document| pools(document) == [(0, 2), (2, 4)]);
    let only = place.top(&[]);
    assert_eq!(only.status.code(), Some(0), "{}", stderr(&only));
    let text = stdout(&only);
    assert!(
        text.contains(&format!("process {}, heist ", program.pid())),
        "{text}"
    );
    assert!(
        text.contains("pool 2: 4 workers") && !text.contains("pool 1:"),
        "{text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    program.end();
    let gone = place.top(&[&program.pid()]);
    assert_eq!(gone.status.code(), Some(2));
    let why = stderr(&gone);
    assert!(
        why.contains(&program.pid()) && why.contains("HEIST_LIVE=1"),
        "{why}"
    );
    assert_eq!(fs::read_dir(place.files()).expect("it is there").count(), 0);
    assert_eq!(place.top(&[]).status.code(), Some(2));
}

#[test]
fn a_killed_program_is_shown_as_it_was_and_its_file_goes_with_the_next_start() {
    let place = Place::new();
    let mut program = place.start("in_a_child::pools", &[]);
    program.document_when(|document| pools(document) == [(0, 2), (1, 3)]);
    program.kill();
    let (pid, number) = (program.pid(), program.child.id());
    let text = stdout(&place.top(&[&pid]));
    assert!(text.contains("DEAD: it was like this"), "{text}");
    assert!(text.contains("pool 1: 3 workers"), "{text}");
    assert_eq!(json(&place.top(&[&pid, "--json"]))["is_alive"], false);
    // It is kept for a minute.
    let mut next = place.start("in_a_child::pools", &[]);
    let file = place.file_of(number).expect("it is kept");
    let text = stdout(&place.top(&[]));
    let shown = format!("process {}, heist ", next.pid());
    assert!(text.contains(&shown), "the only one that is alive: {text}");
    next.end();
    let text = stdout(&place.top(&[]));
    assert!(text.contains(&format!("{pid}  dead ")), "{text}");
    let file = File::options().write(true).open(file).expect("it is ours");
    let past = SystemTime::now() - Duration::from_secs(90);
    file.set_modified(past).expect("it is ours");
    let _third = place.start("in_a_child::pools", &[]);
    assert_eq!(place.file_of(number), None);
}

#[test]
fn of_several_programs_there_is_a_list() {
    let place = Place::new();
    let programs = [(); 2].map(|()| place.start("in_a_child::pools", &[]));
    let list = place.top(&[]);
    assert_eq!(list.status.code(), Some(0));
    for program in &programs {
        let line = format!("{}  alive", program.pid());
        assert!(stdout(&list).contains(&line), "{}", stdout(&list));
    }
    let which = place.top(&["--json"]);
    assert_eq!(which.status.code(), Some(2));
    assert!(
        stderr(&which).contains(&programs[1].pid()),
        "{}",
        stderr(&which)
    );
}

#[test]
fn a_program_without_the_variable_has_no_live_view() {
    let place = Place::new();
    let program = place.start("in_a_child::pools", &[("HEIST_LIVE", "0")]);
    assert_eq!(place.top(&[&program.pid()]).status.code(), Some(2));
    assert!(!place.files().exists());
}

#[test]
fn the_meter_and_the_watchdog_tell_causes_sites_and_the_stall() {
    let place = Place::new();
    let profile = place.0.path().join("profile");
    let profile = profile.to_str().expect("it is text");
    let variables = [("HEIST_PROFILE", profile), ("HEIST_STALL", "0.2")];
    let program = place.start("in_a_child::stalled", &variables);
    let document = program.document_when(|document| {
        let pools = document["pools"].as_array().expect("a list");
        pools.iter().any(|pool| pool["stall"].is_string())
    });
    let stall = document["pools"][0]["stall"]
        .as_str()
        .expect("the pool stands still");
    assert!(
        stall.contains("in pool 0") && stall.contains("in_a_child::update"),
        "{stall}"
    );
    let metered = &document["metered"];
    assert!(metered["work_ns"].as_u64() > Some(0), "{metered}");
    let sites = metered["sites"].as_array().expect("a list");
    assert!(
        sites
            .iter()
            .any(|site| site["name"] == "top::in_a_child::sum"),
        "{metered:#}"
    );
    let text = stdout(&place.top(&[&program.pid()]));
    assert!(
        text.contains("by cause") && text.contains("! heist: nothing has moved"),
        "{text}"
    );
}

#[test]
fn files_that_somebody_has_spoilt_are_named_with_the_reason() {
    let place = Place::new();
    let mut program = place.start("in_a_child::pools", &[]);
    let file = place.file_of(program.child.id()).expect("it has one");
    program.kill();
    let whole = fs::read(&file).expect("it is ours");
    let put = |name: &str, bytes: &[u8]| {
        let path = place.files().join(name);
        fs::write(&path, bytes).expect("the folder is ours");
        path
    };
    let changed = |from: &str, to: &str| {
        let text = String::from_utf8(whole.clone()).expect("text, and zeros");
        text.replace(from, to).into_bytes()
    };
    let (_, half) = heist_event::halves::half(2, &"text".repeat(100)).expect("it is short");
    put("2000001.1", &half[..half.len() - 1]);
    put("2000002.1", &[]);
    put("2000003.1", &changed("heist-live 1 ", "heist-live 2 "));
    put("2000004.1", &changed("\"pools\"", "\"loops\""));
    put("2000005.1", &vec![b'x'; 5 << 20]);
    symlink(&file, place.files().join("2000006.1")).expect("a link");
    let others = put("2000007.1", &whole);
    let can_give = chown(&others, Some(12_345), None).is_ok();
    fs::create_dir(place.files().join("2000008.1")).expect("a folder");
    let output = place.top(&[&program.pid()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("DEAD"));
    let said = stderr(&output);
    let mut expected = vec![
        ("2000001.1", "neither of its halves is whole"),
        ("2000002.1", "does not begin with"),
        ("2000003.1", "version 2"),
        ("2000004.1", "neither of its halves is whole"),
        ("2000005.1", "has more than"),
        ("2000006.1", "symbolic link"),
        ("2000008.1", "no plain file"),
    ];
    if can_give {
        expected.push(("2000007.1", "belongs to user 12345"));
    }
    for (name, why) in expected {
        let mut lines = said.lines();
        let line = lines.find(|line| line.contains(name)).unwrap_or_default();
        assert!(line.contains(why), "{name}: {line}\n{said}");
    }
}

#[test]
fn a_folder_that_others_can_enter_is_not_used_and_the_program_runs_on() {
    let place = Place::new();
    DirBuilder::new()
        .mode(0o755)
        .create(place.files())
        .expect("a folder");
    let program = place.start("in_a_child::pools", &[]);
    let said = program.lines.concat();
    assert!(
        said.contains("no live view (HEIST_LIVE)") && said.contains("755"),
        "{said}"
    );
    assert_eq!(fs::read_dir(place.files()).expect("it is there").count(), 0);
    let output = place.top(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("755"), "{}", stderr(&output));
}

mod in_a_child {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{mpsc, Mutex};

    use heist::{join, ThreadPool, ThreadPoolBuilder};

    use super::*;

    fn pool(workers: usize) -> ThreadPool {
        let pool = ThreadPoolBuilder::new().num_threads(workers).build();
        pool.expect("a pool")
    }

    /// Says so in one piece, past the harness.
    fn ready() {
        std::io::stderr()
            .write_all(READY.as_bytes())
            .expect("the parent reads");
    }

    /// True if there was a byte, and false at the end.
    fn is_told() -> bool {
        std::io::stdin().read(&mut [0]).expect("the parent writes") > 0
    }

    #[test]
    #[ignore = "a child of other tests"]
    fn pools() {
        let first = pool(2);
        let mut other = pool(3);
        let (sender, receiver) = mpsc::channel::<()>();
        first.spawn(move || {
            while receiver.try_recv() == Err(mpsc::TryRecvError::Empty) {
                std::hint::spin_loop();
            }
        });
        ready();
        while is_told() {
            drop(other);
            other = pool(4);
        }
        drop(sender);
    }

    fn sum(n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        let (a, b) = join(|| sum(n - 1), || sum(n - 2));
        a + b
    }

    fn update(lock: &Mutex<u64>) {
        let _held = lock.lock().unwrap();
        let has_begun = AtomicBool::new(false);
        let wait = || {
            while !has_begun.load(Ordering::Acquire) {
                std::hint::spin_loop();
            }
        };
        join(wait, || {
            has_begun.store(true, Ordering::Release);
            *lock.lock().unwrap() += 1;
        });
    }

    #[test]
    #[ignore = "a child of other tests"]
    fn stalled() {
        let pool = pool(2);
        pool.install(|| sum(15));
        ready();
        pool.install(|| update(&Mutex::new(0)));
    }
}
