//! Drives `heist schedule` as a user does: on a program that hangs under some schedules, and on
//! shells that end as such programs do.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

mod built;
mod signals;

/// Records a schedule without deviations, as a program on heist does when its first pool starts.
const RECORDS: &str =
    "printf 'heist schedule 1\\nrecorded\\n' > \"$HEIST_SCHEDULE_FILE\"; seed=${HEIST_SCHEDULE#*:};";

fn heist(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heist"));
    command
        .arg("schedule")
        .args(args)
        .current_dir(folder)
        .env("TMPDIR", folder.join("tmp"))
        .env_remove("HEIST_NUM_THREADS");
    command.output().expect("the program starts")
}

/// A folder for the call, and in it one for temporary files.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(folder.path().join("tmp")).expect("a folder");
    folder
}

/// One of the commands on a shell that runs a script.
fn on_shell(folder: &Path, flags: &[&str], script: &str) -> Output {
    let script = format!("{RECORDS} {script}");
    heist(folder, &[flags, &["--", "sh", "-c", &script]].concat())
}

/// The exit code and what was said, when nothing is left of the temporary files.
fn ended(folder: &Path, output: &Output) -> (i32, String) {
    let left = fs::read_dir(folder.join("tmp"))
        .expect("the folder")
        .count();
    assert_eq!(left, 0, "temporary files are left");
    let said = [&output.stdout[..], &output.stderr].concat();
    let code = output.status.code().expect("it ended by itself");
    (code, String::from_utf8_lossy(&said).into_owned())
}

fn deviations(file: &Path) -> usize {
    let text = fs::read_to_string(file).expect("a schedule");
    let is_deviation = |line: &&str| line.starts_with(|sign: char| sign.is_ascii_digit());
    text.lines().filter(is_deviation).count()
}

#[test]
fn a_run_has_none_of_the_variables_that_exclude_a_schedule() {
    let folder = folder();
    let taken = ["HEIST_PROFILE", "HEIST_DAG", "HEIST_STALL", "HEIST_LIVE"];
    let script = taken.map(|name| format!("[ -z \"${name}\" ] || exit 7;"));
    let script = format!("{RECORDS} {}", script.concat());
    let mut command = Command::new(env!("CARGO_BIN_EXE_heist"));
    let search = ["schedule", "search", "-n", "1", "--", "sh", "-c", &script];
    command
        .args(search)
        .current_dir(folder.path())
        .env("TMPDIR", folder.path().join("tmp"));
    let output = command.envs(taken.map(|name| (name, "1"))).output();
    let (code, said) = ended(folder.path(), &output.expect("the program starts"));
    assert_eq!(code, 0, "{said}");
}

#[test]
fn a_deadlock_is_found_repeated_and_shrunk() {
    let (folder, program) = (folder(), built::example("lock"));
    let (folder, program) = (folder.path(), program.to_str().expect("a name"));
    let (code, said) = ended(
        folder,
        &heist(folder, &["search", "-n", "200", "--", program]),
    );
    assert_eq!(code, 1, "{said}");
    for part in [
        "ended with exit code 86, a deadlock: is blocked in futex in `lock::main`.",
        "deadlock: nothing can run any more",
        "hint: a lock",
        "Its schedule is in found.schedule: ",
    ] {
        assert!(said.contains(part), "no `{part}` in {said}");
    }
    let replay = ["replay", "found.schedule", "--times", "5", "--", program];
    let (code, said) = ended(folder, &heist(folder, &replay));
    assert_eq!(code, 0, "{said}");
    let told = format!("In 5 of 5 runs {program} ended with exit code 86, a deadlock: ");
    assert!(
        said.contains(&told) && !said.contains("different"),
        "{said}"
    );

    let shrink = ["shrink", "found.schedule", "--save", "short", "--", program];
    let (code, said) = ended(folder, &heist(folder, &shrink));
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("3 of 3 runs by it ended likewise"), "{said}");
    let [long, short] = ["found.schedule", "short"].map(|name| deviations(&folder.join(name)));
    assert!(0 < short && short < long, "{long} became {short}");
    let (code, said) = ended(folder, &heist(folder, &["replay", "short", "--", program]));
    assert!(code == 0 && said.contains("a deadlock"), "{code}: {said}");
}

#[test]
fn priorities_find_a_deadlock_too() {
    let (folder, program) = (folder(), built::example("lock"));
    let (folder, program) = (folder.path(), program.to_str().expect("a name"));
    let search = ["search", "-n", "200", "--depth", "32", "--", program];
    let (code, said) = ended(folder, &heist(folder, &search));
    assert_eq!(code, 1, "{said}");
    assert!(
        said.contains("ended with exit code 86, a deadlock: "),
        "{said}"
    );
    let (code, said) = ended(
        folder,
        &heist(folder, &["replay", "found.schedule", "--", program]),
    );
    assert!(code == 0 && said.contains("a deadlock"), "{code}: {said}");
}

#[test]
fn the_first_seed_that_fails_ends_the_search_however_it_fails() {
    for (fails, says) in [
        ("exit 3", "ended with exit code 3."),
        ("kill -9 $$", "was killed by signal 9 (SIGKILL)."),
        ("exec sleep 1000", "went on for 1 s, and was killed."),
        // The whole group is killed.
        ("sleep 1000; true", "went on for 1 s, and was killed."),
    ] {
        let folder = folder();
        let script =
            format!("echo $seed >> seeds; [ $seed = 12 ] && {{ echo words >&2; {fails}; }}; true");
        let flags = ["search", "--seed", "10", "--limit", "1", "--save", "file"];
        let (code, said) = ended(folder.path(), &on_shell(folder.path(), &flags, &script));
        assert_eq!(code, 1, "{said}");
        let told = format!("Seed 12: sh {says}\n  words\nIts schedule is in file: 0 deviations");
        assert!(said.contains(&told), "{said}");
        let seeds = fs::read_to_string(folder.path().join("seeds")).expect("the seeds");
        assert_eq!(seeds, "default\n10\n11\n12\n");
    }
}

#[test]
fn without_a_seed_that_fails_nothing_is_saved() {
    let folder = folder();
    let flags = ["search", "-n", "3"];
    let script = "echo $HEIST_NUM_THREADS >> workers";
    let (code, said) = ended(folder.path(), &on_shell(folder.path(), &flags, script));
    assert_eq!(
        (code, said.as_str()),
        (
            0,
            "No failure by the default schedule, nor in 3 seeds, from 0 to 2.\n"
        )
    );
    assert!(!folder.path().join("found.schedule").exists());
    let workers = fs::read_to_string(folder.path().join("workers")).expect("a file");
    assert_eq!(workers, "3\n3\n3\n3\n");
}

/// So many seeds find the deadlock several times where all jobs may run there.
#[test]
fn where_waits_run_their_own_jobs_only_no_seed_finds_a_deadlock() {
    let (folder, program) = (folder(), built::example("lock"));
    let program = program.to_str().expect("a name");
    let seeds = if cfg!(debug_assertions) {
        "100"
    } else {
        "10000"
    };
    let search = ["search", "-n", seeds, "--", program, "strict"];
    let (code, said) = ended(folder.path(), &heist(folder.path(), &search));
    assert_eq!(code, 0, "{said}");
}

#[test]
fn a_program_without_a_pool_is_told_so() {
    let folder = folder();
    let (code, said) = ended(
        folder.path(),
        &heist(folder.path(), &["search", "--", "true"]),
    );
    assert_eq!(code, 1);
    let told = "true ended with exit code 0, and recorded no schedule";
    assert!(said.contains(told), "{said}");
}

/// It would be refused by the program's pool, and the program would be said to have none.
#[test]
fn a_schedule_that_a_pool_would_refuse_is_refused_before_anything_runs() {
    for lines in ["17 1\n3 1\n", "1 0\n", "blocked 3\n"] {
        let folder = folder();
        fs::write(
            folder.path().join("file"),
            format!("heist schedule 1\n{lines}"),
        )
        .expect("a file");
        for command in ["replay", "shrink"] {
            let output = on_shell(folder.path(), &[command, "file"], "touch ran");
            let (code, said) = ended(folder.path(), &output);
            assert_eq!(code, 2, "{said}");
            assert!(said.contains("file: line "), "{said}");
        }
        assert!(!folder.path().join("ran").exists());
    }
}

#[test]
fn the_last_seed_is_the_end_of_the_search() {
    let folder = folder();
    let flags = ["search", "-n", "5", "--seed", "18446744073709551614"];
    let (code, said) = ended(folder.path(), &on_shell(folder.path(), &flags, "true"));
    let told = "No failure by the default schedule, nor in 2 seeds, from 18446744073709551614 to 18446744073709551615.\n";
    assert_eq!((code, said.as_str()), (0, told));
}

/// The call that is printed does the same elsewhere, and does nothing to a terminal.
#[test]
fn the_call_that_repeats_a_run_has_its_workers_and_limit() {
    let folder = folder();
    let script = format!("{RECORDS} exit 3");
    let mut command = Command::new(env!("CARGO_BIN_EXE_heist"));
    command.args(["schedule", "search", "--limit", "7", "--save", "a\x1b[31m"]);
    command.args(["--", "sh", "-c", &script]);
    command
        .current_dir(folder.path())
        .env("TMPDIR", folder.path().join("tmp"))
        .env("HEIST_NUM_THREADS", "5");
    let (code, said) = ended(folder.path(), &command.output().expect("it starts"));
    assert_eq!(code, 1, "{said}");
    let call = r"replay $'a\x1b[31m' --workers 5 --limit 7 -- sh -c ";
    assert!(said.contains(call) && !said.contains('\x1b'), "{said}");
}

#[test]
fn a_schedule_is_saved_although_nobody_reads_that() {
    let folder = folder();
    let script = format!("{RECORDS} exit 3");
    let mut command = Command::new(env!("CARGO_BIN_EXE_heist"));
    command.args(["schedule", "search", "--", "sh", "-c", &script]);
    command
        .current_dir(folder.path())
        .env("TMPDIR", folder.path().join("tmp"))
        .stdout(fs::File::create("/dev/full").expect("Linux has it"));
    let (code, said) = ended(folder.path(), &command.output().expect("it starts"));
    assert_eq!(code, 1, "{said}");
    assert!(folder.path().join("found.schedule").exists(), "{said}");
}

#[test]
fn a_schedule_of_another_program_is_noticed() {
    let folder = folder();
    let text = "heist schedule 1\n5 1\n9 2\n";
    fs::write(folder.path().join("file"), text).expect("a schedule");
    let flags = ["replay", "file"];
    let (code, said) = ended(folder.path(), &on_shell(folder.path(), &flags, "true"));
    assert_eq!(code, 0, "{said}");
    let told = "Of the 2 deviations, 2 could not be taken";
    assert!(said.contains(told), "{said}");
}

#[test]
fn runs_of_one_schedule_that_end_differently_are_counted() {
    let folder = folder();
    fs::write(folder.path().join("file"), "heist schedule 1\n").expect("a schedule");
    let script = "echo run >> runs; [ $(wc -l < runs) != 2 ]";
    let flags = ["replay", "file", "--times", "3"];
    let (code, said) = ended(folder.path(), &on_shell(folder.path(), &flags, script));
    assert_eq!(code, 1, "{said}");
    for part in [
        "In 2 of 3 runs sh ended with exit code 0.",
        "In 1 of 3 runs sh ended with exit code 1.",
    ] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn a_schedule_under_which_nothing_fails_is_not_shrunk() {
    let folder = folder();
    fs::write(folder.path().join("file"), "heist schedule 1\n5 1\n").expect("a schedule");
    let (code, said) = ended(
        folder.path(),
        &on_shell(folder.path(), &["shrink", "file"], "true"),
    );
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("there is nothing to shrink"), "{said}");
    assert!(!folder.path().join("file.shrunk").exists());
}

/// With fewer deviations than three the shell reports another deadlock, which ends it as well.
#[test]
fn a_schedule_is_not_shrunk_to_that_of_another_deadlock() {
    let folder = folder();
    let long = "heist schedule 1\n1 1\n2 1\n3 1\n4 1\n5 1\n6 1\n";
    fs::write(folder.path().join("file"), long).expect("a schedule");
    let script = "cp \"${HEIST_SCHEDULE#replay:}\" \"$HEIST_SCHEDULE_FILE\"; \
                  [ $(grep -c '^[0-9]' \"$HEIST_SCHEDULE_FILE\") -gt 2 ] && at=late || at=early; \
                  { echo 'heist: x: deadlock: nothing can run any more, at point 7'; \
                  echo \"  worker 0  is blocked in futex 0x$$; below that it runs \\`a::$at\\` for 0.0 s\"; \
                  } >&2; exit 86";
    let output = on_shell(folder.path(), &["shrink", "file"], script);
    let (code, said) = ended(folder.path(), &output);
    assert_eq!(code, 0, "{said}");
    let told = "sh still ended with exit code 86, a deadlock: is blocked in futex in `a::late`";
    assert!(said.contains(told), "{said}");
    assert_eq!(deviations(&folder.path().join("file.shrunk")), 3, "{said}");
}

/// A supervisor, or a user of `kill`, speaks to this process alone.
#[test]
fn a_signal_to_end_ends_the_program_too() {
    if signals::skipped_as_they_are_ignored() {
        return;
    }
    for (to_itself, codes) in [
        ("kill -TERM $PPID", &[143][..]),
        ("kill -INT $PPID", &[130]),
        // It does not obey the first. Both may come at once.
        (
            "trap '' TERM INT; kill -TERM $PPID; kill -INT $PPID",
            &[143, 130],
        ),
    ] {
        let folder = folder();
        let script = format!("echo $$ > program; {to_itself}; exec sleep 1000");
        let output = on_shell(folder.path(), &["search"], &script);
        let (ended, said) = ended(folder.path(), &output);
        assert!(codes.contains(&ended), "{to_itself}: {ended}, {said}");
        let program = fs::read_to_string(folder.path().join("program")).expect("its number");
        let is_there = Command::new("kill").args(["-0", program.trim()]).output();
        let is_there = is_there.expect("kill starts").status.success();
        assert!(!is_there, "{to_itself}: the program goes on");
    }
}
