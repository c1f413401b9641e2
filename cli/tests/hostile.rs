//! Command lines with which the program can do nothing: each is refused with the value that was
//! given and with what would be accepted, before any work is done.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

mod signals;

fn heist(folder: &Path, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_heist"))
        .args(line.split(' '))
        .current_dir(folder)
        .env("XDG_STATE_HOME", folder)
        .env_remove("HEIST_NUM_THREADS")
        .output()
        .expect("the program starts")
}

/// Lines, and all that the refusal says.
const REFUSED: [(&str, &[&str]); 69] = [
    ("run nothing", &["'nothing'", "files, json"]),
    (
        "schedule search -n 0 -- true",
        &["'0' for '--seeds", "from 1 to"],
    ),
    (
        "schedule search --save no/such/file -- true",
        &["cannot write no/such/file", "there is no folder no/such"],
    ),
    (
        "schedule search -- no/such/program",
        &["cannot start `no/such/program`"],
    ),
    (
        "schedule replay missing -- true",
        &["cannot use missing", "accepted is a schedule"],
    ),
    (
        "cluster run /dev/zero",
        &["/dev/zero", "more than 67108864 bytes"],
    ),
    ("run fib --workers 0", &["'0' for '--workers", "from 1 to"]),
    ("run fib --workers=-1", &["'-1'", "from 1 to"]),
    ("run fib --workers 1e3", &["'1e3'", "from 1 to"]),
    (
        "run --workers 65536",
        &["from 1 to 65535 (default: the number of usable cores"],
    ),
    ("run --strategy best", &["'best'", "stealing"]),
    (
        "run fib --size many",
        &["'many' for '--size", "whole number from 0"],
    ),
    (
        "run fib --size=-3",
        &["'-3' for '--size", "whole number from 0"],
    ),
    (
        "run fib --size 9999",
        &["'9999' for --size", "accepted are 0 to 60, default 40"],
    ),
    (
        "run matmul --size 0",
        &["'0' for --size", "accepted are 1 to"],
    ),
    (
        "run files --size 3",
        &["--size means nothing", "accepts --input"],
    ),
    (
        "run uts --seed 0x10",
        &["'0x10' for '--seed", "whole number from 0"],
    ),
    (
        "run uts --output x",
        &["--output means nothing", "accepts --size and --seed"],
    ),
    (
        "run fib --repeat 0",
        &["'0' for '--repeat", "from 1 to 1000"],
    ),
    (
        "run fib --repeat many",
        &["'many' for '--repeat", "from 1 to 1000"],
    ),
    (
        "run fib --input .",
        &["--input means nothing", "accepts --size"],
    ),
    (
        "run json --input . --size 3",
        &["--size", "cannot be combined with --input"],
    ),
    (
        "run files --input missing",
        &["cannot read missing", "accepts a folder with files"],
    ),
    (
        "run json --input missing",
        &[
            "documents in missing",
            "accepts a file with a JSON document",
        ],
    ),
    ("run json --input .", &["cannot", "Is a directory"]),
    (
        "run json --input empty.json",
        &["no document in empty.json", "accepts a file with a JSON"],
    ),
    (
        "run files --input empty.json",
        &["nothing to read in empty.json", "accepts a folder"],
    ),
    (
        "run --input empty.json",
        &["nothing to read in empty.json", "accepts a folder"],
    ),
    (
        "run fib --report no/such/page.html",
        &["no/such/page.html", "there is no folder no/such"],
    ),
    ("run fib --report .", &["cannot write .", "it is a folder"]),
    (
        "run mandelbrot --output .",
        &["cannot write .", "it is a folder"],
    ),
    ("profile", &["COMMAND"]),
    (
        "profile --runs 0 -- true",
        &["'0' for '--runs", "from 1 to 1000"],
    ),
    (
        "profile --workers 1,0 -- true",
        &["'0' for '--workers", "from 1 to 65535"],
    ),
    (
        "profile --html no/such/page.html -- true",
        &["no/such/page.html", "there is no folder no/such"],
    ),
    (
        "profile --out no/such/name -- true",
        &["there is no folder no/such"],
    ),
    (
        "profile --stdin missing -- true",
        &["cannot read --stdin missing"],
    ),
    (
        "profile -- ./no-such-program",
        &["cannot start `./no-such-program`", "No such file"],
    ),
    (
        "profile --stdin . -- true",
        &["cannot read --stdin .: it is a folder", "accepted is"],
    ),
    ("top 0", &["'0' for '[PID]'", "whole number from 1"]),
    ("top first", &["'first' for '[PID]'", "whole number from 1"]),
    ("report", &["FILE.json"]),
    (
        "report empty.json",
        &["empty.json", "it is empty", "accepted is a file as"],
    ),
    (
        "report cut.json",
        &["cannot use the timeline cut.json", "it is cut off"],
    ),
    (
        "report one.json two.json one.json",
        &["one.json is named twice"],
    ),
    (
        "doctor --sysroot .",
        &["it describes no processor", "accepted is a folder"],
    ),
    (
        "report missing.json",
        &["cannot read missing.json", "accepted is a file as"],
    ),
    ("report .", &["cannot read .", "Is a directory", "accepted"]),
    ("plan", &["SNAPSHOT"]),
    (
        "plan missing.json",
        &["the snapshot missing.json", "accepted is a JSON document"],
    ),
    ("plan .", &["cannot read the snapshot .", "Is a directory"]),
    ("plan latin1.csv", &["latin1.csv", "UTF-8"]),
    ("plan empty.json", &["empty.json is empty", "accepted is"]),
    (
        "plan empty.json --hot 101",
        &["'101' for '--hot", "per cent from 0 to 100"],
    ),
    (
        "plan empty.json --hot NaN",
        &["'NaN' for '--hot", "per cent from 0 to 100"],
    ),
    (
        "plan empty.json --spread half",
        &["'half' for '--spread", "per cent"],
    ),
    (
        "plan empty.json --horizon 1e300",
        &["'1e300' for '--horizon", "seconds from 0"],
    ),
    (
        "plan empty.json --bandwidth 0",
        &["'0' for '--bandwidth", "MiB a second"],
    ),
    (
        "plan empty.json --emergency 50",
        &["emergency = 0.5", "0.8, or more", "--emergency"],
    ),
    (
        "plan --watch .",
        &["not the folder of a run", "events.jsonl"],
    ),
    ("cluster run", &["JOBFILE"]),
    (
        "cluster run missing.toml",
        &["the job file missing.toml", "accepted is a TOML file"],
    ),
    (
        "cluster run latin1.csv",
        &["cannot read the job file latin1.csv", "UTF-8"],
    ),
    ("cluster run empty.json", &["empty.json:1", "program"]),
    (
        "cluster run jobs.toml --backend lokal",
        &["'lokal' for '--backend", "local, ray, slurm"],
    ),
    (
        "cluster run jobs.toml --nodes 0",
        &["'0' for '--nodes", "from 1 to 1024"],
    ),
    (
        "cluster run jobs.toml --cpus two",
        &["'two' for '--cpus", "from 1 to 4096"],
    ),
    (
        "cluster run jobs.toml --backend ray --nodes 2",
        &["--nodes", "local", "ray"],
    ),
    (
        "cluster run --resume .",
        &["not the folder of a run", "run.json"],
    ),
];

/// The same, where the folder has no runs.
const MORE: [(&str, &[&str]); 7] = [
    (
        "cluster run jobs.toml",
        &["no-such-program", "No such file"],
    ),
    (
        "cluster run jobs.toml --report no/such/page.html",
        &["there is no folder no/such"],
    ),
    ("cluster top", &["there is no run in", "name the folder"]),
    (
        "cluster top missing",
        &["missing is not the folder of a run"],
    ),
    (
        "cluster report . --output page.html",
        &["not the folder of a run"],
    ),
    ("doctor --manifest missing", &["missing"]),
    (
        "doctor --manifest jobs.toml",
        &["jobs.toml is another", "accepts a Cargo.toml"],
    ),
];

#[test]
fn a_call_that_cannot_work_is_refused_with_what_would_be_accepted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    fs::write(path.join("empty.json"), "").expect("a file");
    fs::write(path.join("cut.json"), "{\"heist_timeline\": 1, \"wa").expect("a file");
    fs::write(path.join("latin1.csv"), b"kind,id\nnode,M\xfcller\n").expect("a file");
    let jobs = "program = \"no-such-program\"\n[[call]]\nfunction = \"f\"\n";
    fs::write(path.join("jobs.toml"), jobs).expect("a file");
    for (line, says) in REFUSED.iter().chain(&MORE) {
        let output = heist(path, line);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "heist {line}: {error}");
        assert!(output.stdout.is_empty(), "heist {line} printed more");
        for part in *says {
            assert!(error.contains(part), "heist {line}: no `{part}` in {error}");
        }
    }
    let left = fs::read_dir(path).expect("the folder").count();
    assert_eq!(left, 4, "a refused call leaves nothing behind");
}

#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_written_is_an_error() {
    for line in [
        "--help",
        "help run",
        "run -h",
        "--version",
        "doctor --settings",
    ] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full");
        let mut program = Command::new(env!("CARGO_BIN_EXE_heist"));
        let program = program
            .args(line.split(' '))
            .stdout(full.expect("it is there"));
        let output = program.output().expect("the program starts");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "heist {line}: {error}");
        assert!(error.contains("No space left"), "heist {line}: {error}");
    }
}

/// The end that writes keeps the program in its read. Once that end is closed, a program that had
/// survived the signal would find an empty file.
#[cfg(unix)]
#[test]
fn a_signal_ends_the_wait_for_a_file_that_is_a_fifo() {
    use std::os::unix::process::ExitStatusExt as _;

    let folder = tempfile::tempdir().expect("a folder");
    let fifo = folder.path().join("fifo");
    let made = Command::new("mkfifo").arg(&fifo).status();
    assert!(made.expect("mkfifo starts").success());
    let refused = heist(folder.path(), "profile --stdin fifo -- cat");
    let error = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{error}");
    assert!(error.contains("it is a FIFO"), "{error}");
    if signals::skipped_as_they_are_ignored() {
        return;
    }
    for line in [
        "cluster run fifo",
        "plan fifo",
        "report fifo",
        "run json --input fifo",
    ] {
        for (name, number) in [("-TERM", 15), ("-INT", 2)] {
            let mut program = Command::new(env!("CARGO_BIN_EXE_heist"));
            let program = program.args(line.split(' ')).current_dir(folder.path());
            let program = program.stdout(std::process::Stdio::piped());
            let program = program.stderr(std::process::Stdio::piped());
            let child = program.spawn().expect("the program starts");
            // Waits until the program has opened the other end.
            let writer = fs::OpenOptions::new().write(true).open(&fifo);
            let writer = writer.expect("a FIFO to write");
            let id = child.id().to_string();
            let told = Command::new("kill").args([name, &id]).status();
            assert!(told.expect("kill starts").success());
            drop(writer);
            let ended = child.wait_with_output().expect("the program ends");
            let error = String::from_utf8_lossy(&ended.stderr);
            assert_eq!(ended.status.signal(), Some(number), "heist {line}: {error}");
        }
    }
}
