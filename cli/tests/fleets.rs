//! Drives `heist sim fleet` as a user does: scenarios, traces, and files that are none.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn fleet(args: &[&str]) -> Command {
    let mut heist = Command::new(env!("CARGO_BIN_EXE_heist"));
    heist.args(["sim", "fleet"]).args(args);
    heist
}

fn run(args: &[&str]) -> Output {
    fleet(args).output().expect("the program starts")
}

fn stdout(args: &[&str]) -> String {
    let output = run(args);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{err}");
    String::from_utf8(output.stdout).expect("text")
}

/// The one fleet of a document.
fn document(args: &[&str]) -> Value {
    let text = stdout(&[args, &["--json"]].concat());
    let mut document: Value = serde_json::from_str(&text).expect("a document");
    assert_eq!(document["model"], true);
    document["fleets"][0].take()
}

fn refused(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    assert!(output.stdout.is_empty(), "{args:?}");
    let text = String::from_utf8(output.stderr).expect("text");
    assert!(!text.contains('\x1b'), "{text:?}");
    text
}

fn rule<'d>(fleet: &'d Value, name: &str) -> &'d Value {
    let rules = fleet["rules"].as_array().expect("a list");
    let found = rules.iter().find(|rule| rule["rule"] == name);
    found.expect("the rule has run")
}

/// A trace in a file of its own.
struct File {
    _folder: tempfile::TempDir,
    path: String,
}

impl File {
    fn new(text: impl AsRef<[u8]>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("trace");
        std::fs::write(&path, text).expect("it can be written");
        let path = path.to_str().expect("text").to_owned();
        Self {
            _folder: folder,
            path,
        }
    }

    fn of(&self, format: &str) -> String {
        format!("{format}:{}", self.path)
    }
}

/// How many rows were left out, or changed, for a reason that has this in it.
fn rows(fleet: &Value, what: &str, reason: &str) -> u64 {
    let reasons = fleet["trace"][what].as_object().expect("an object");
    let found = reasons.iter().filter(|(name, _)| name.contains(reason));
    found.filter_map(|(_, skip)| skip["rows"].as_u64()).sum()
}

#[test]
fn every_scenario_has_a_table_of_all_rules() {
    let text = stdout(&["all", "--seeds", "1"]);
    for scenario in [
        "hotspot",
        "misestimate",
        "herd",
        "unmovable",
        "pair",
        "thrash",
    ] {
        assert!(text.contains(&format!("{scenario}: ")), "{text}");
    }
    assert_eq!(text.matches("(model)").count(), 11, "{text}");
    for name in ["ours", "d4", "push", "pull", "random", "none", "bound"] {
        let begins = |line: &&str| line.starts_with(&format!("{name} "));
        assert_eq!(text.lines().filter(begins).count(), 11, "{name}: {text}");
    }
    let wide = text.lines().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None);
}

#[test]
fn the_taught_rule_moves_a_misestimated_job_at_each_decision_and_ours_hardly_ever() {
    let thrash = document(&["thrash", "--seeds", "1"]);
    assert_eq!(rule(&thrash, "d4")["moves"], 100);
    assert!(
        rule(&thrash, "ours")["moves"].as_u64() <= Some(2),
        "{thrash}"
    );
}

#[test]
fn the_same_seed_gives_the_same_document() {
    let args = ["synthetic", "--nodes", "8", "--jobs", "300", "--seed", "5"];
    let once = document(&args);
    assert_eq!(once, document(&args));
    assert_eq!(once["jobs"], 300);
    let other = ["synthetic", "--nodes", "8", "--jobs", "300", "--seed", "6"];
    assert_ne!(once["rules"], document(&other)["rules"]);
    let notes = once["notes"].to_string();
    assert!(
        notes.contains("seed 5") && notes.contains("sigma"),
        "{notes}"
    );
}

#[test]
fn the_text_below_the_help_fits_a_terminal() {
    let text = stdout(&["--help"]);
    // The flags are as wide as the terminal is.
    let (_, text) = text.split_once("The columns").expect("it is there");
    let wide: Vec<&str> = text
        .lines()
        .filter(|line| line.chars().count() > 80)
        .collect();
    assert!(wide.is_empty(), "{wide:#?}");
}

const GOOGLE: &str = r#"{"time":"0","type":"3","collection_id":"1","instance_index":"0","machine_id":"7","priority":"200","resource_request":{"cpus":0.01,"memory":0.02}}
{"time":"1000000","type":"0","collection_id":"2","instance_index":"0","priority":"103"}
{"time":"2000000","type":"3","collection_id":"2","instance_index":"0","machine_id":"-1","priority":"103","resource_request":{"cpus":0.05,"memory":0.02}}
{"time":"3000000","type":"SCHEDULE","collection_id":"3","machine_id":"8","resource_request":{"cpus":0.05}}
{"time":"4000000","type":"3","collection_id":"4","instance_index":"1","machine_id":"8"}
{"time":"5000000","type":3,"collection_id":5,"instance_index":0,"machine_id":8,"collection_type":"1","resource_request":{"cpus":0.5,"memory":0.5}}
{"time":"100000000","type":"6","collection_id":"2","instance_index":"0"}
{"time":"110000000","type":"5","collection_id":"1","instance_index":"0"}
{"time":"120000000","type":"6","collection_id":"77","instance_index":"0"}
{"time":"9223372036854775807","type":"7","collection_id":"3"}
{"time":"130000000","type":"99","collection_id":"1","instance_index":"0"}
{"time":"-5","type":"3","collection_id":"1","instance_index":"0"}
{"time":"140000000","type":"3","collection_id":"\u001b[31m9","resource_request":{"cpus":0.05}}
{"time":"150000000","type":"3","collection_id":"10","resource_request":{"cpus":1e300}}
{"time":"1600"#;

const GOOGLE_MACHINES: &str = r#"{"time":"0","machine_id":"7","type":"1","switch_id":"a","capacity":{"cpus":0.5,"memory":0.5}}
{"time":"0","machine_id":"8","type":"1","switch_id":"b","capacity":{"cpus":1,"memory":1}}
{"time":"50000000","machine_id":"7","type":"2"}
{"time":"60000000","machine_id":"7","type":"1"}
{"time":"0","machine_id":"9","type":"1","capacity":{"cpus":-1,"memory":1}}
"#;

#[test]
fn a_trace_of_google_is_read_and_what_cannot_be_used_is_counted() {
    let (jobs, machines) = (File::new(GOOGLE), File::new(GOOGLE_MACHINES));
    let args = ["--trace", &jobs.of("google"), "--machines", &machines.path];
    let fleet = document(&args);
    assert_eq!(
        (&fleet["jobs"], &fleet["nodes"]),
        (&3.into(), &2.into()),
        "{fleet}"
    );
    let left_out = [
        "resource_request.cpus is missing",
        "it is an alloc",
        "no start is known",
        "type is not",
        "time is not a whole number",
        "collection_id is not",
        "resource_request.cpus is not",
        "no JSON document",
        "capacity.cpus is not",
    ];
    for reason in left_out {
        assert_eq!(rows(&fleet, "skipped", reason), 1, "{reason}: {fleet}");
    }
    for reason in ["machine_id is -1", "time is 0", "memory is none"] {
        assert_eq!(rows(&fleet, "changed", reason), 1, "{reason}: {fleet}");
    }
    // The end that is after the trace.
    assert_eq!(rule(&fleet, "none")["censored"], 1);
    // Machine 7 dies with a job on it.
    assert!(rule(&fleet, "none")["p99"].as_f64() > Some(1.0), "{fleet}");
    assert!(!stdout(&args).contains('\x1b'));
}

#[test]
fn a_trace_of_google_may_be_csv_with_heads() {
    let text = "time,type,collection_id,instance_index,machine_id,priority,\
                resource_request.cpus,resource_request.memory\n\
                5000000,3,1,0,7,200,0.5,0.25\n\
                65000000,6,1,0,7,200,,\n";
    let fleet = document(&["--trace", &File::new(text).of("google"), "--error", "0"]);
    assert_eq!(fleet["jobs"], 1);
    // Half of 64 CPUs for a minute.
    let work = fleet["bound"]["work_cpu_s"].as_f64().expect("a number");
    assert!((work / 0.7 - 32.0 * 60.0).abs() < 1.0, "{work}");
}

#[test]
fn the_mark_before_utf_8_belongs_to_no_head_and_empty_lines_are_numbered() {
    let text = "\u{feff}time,type,collection_id,resource_request.cpus\r\n\r\n\r\n\
                5000000,3,1,0.5\r\n65000000,6,1,\r\n\r\n70000000,x,1,\r\n";
    let fleet = document(&["--trace", &File::new(text).of("google"), "--error", "0"]);
    let work = fleet["bound"]["work_cpu_s"].as_f64().expect("a number");
    assert!(
        (work / 0.7 - 32.0 * 60.0).abs() < 1.0,
        "a minute, not none: {work}"
    );
    let skipped = fleet["trace"]["skipped"].to_string();
    assert!(skipped.contains("line 7: 'x'"), "{skipped}");
    let wide: Vec<u8> = "1,2".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let wide = File::new([&[0xff, 0xfe], &wide[..]].concat());
    let text = refused(&["--trace", &wide.of("azure")]);
    assert!(
        text.contains("UTF-16; accepted is text in UTF-8: iconv"),
        "{text}"
    );
}

#[test]
fn events_of_google_that_do_not_fit_are_counted_and_no_machine_is_lost() {
    let job = |time: u32, kind: u32, id: u32| {
        format!(
            "{{\"time\":\"{time}000000\",\"type\":{kind},\"collection_id\":{id},\
             \"resource_request\":{{\"cpus\":0.1,\"memory\":0.1}}}}\n"
        )
    };
    let jobs = [
        (10, 3, 1), // It ends before it begins,
        (5, 6, 1),
        (10, 3, 2), // begins twice,
        (12, 3, 2),
        (14, 6, 2),
        (3, 6, 3), // or ends first.
        (2, 3, 3),
        (90, 3, 4),
        (99, 6, 4),
    ];
    let jobs = File::new(jobs.map(|(time, kind, id)| job(time, kind, id)).concat());
    let machine = |time: u32, kind: u32, id: u32| {
        format!(
            "{{\"time\":\"{time}000000\",\"type\":{kind},\"machine_id\":{id},\
             \"capacity\":{{\"cpus\":0.5,\"memory\":0.5}}}}\n"
        )
    };
    let machines = [1, 2].map(|id| {
        // Removed twice and added twice, it is there again; removed, it was there from the start.
        let events = [(0, 1), (20, 2), (21, 2), (22, 1), (23, 1), (24, 3)];
        events.map(|(time, kind)| machine(time, kind, id)).concat()
    });
    let machines = File::new(machines.concat() + &machine(7, 2, 3));
    let args = ["--trace", &jobs.of("google"), "--machines", &machines.path];
    let fleet = document(&[&args[..], &["--rule", "none"]].concat());
    assert_eq!(fleet["jobs"], 5, "{fleet}");
    assert_eq!(rule(&fleet, "none")["unfinished"], 0, "{fleet}");
    for (what, reason, count) in [
        ("changed", "it ends an instance before its start", 1),
        ("changed", "it starts an instance that runs", 1),
        ("changed", "it changes a machine", 2),
        ("skipped", "of which no start is known", 2),
        ("skipped", "it removes a machine that is gone", 2),
        ("skipped", "it adds a machine that is there", 2),
    ] {
        assert_eq!(rows(&fleet, what, reason), count, "{reason}: {fleet}");
    }
}

#[test]
fn options_that_would_change_nothing_are_refused() {
    for (args, accepted) in [
        (&[][..], "--trace FORMAT:FILE"),
        (&["hotspot", "--jobs", "3"], "name the scenario synthetic"),
        (&["hotspot", "--load", "90"], "name the scenario synthetic"),
        (&["hotspot", "--error", "1"], "name the scenario synthetic"),
        (&["thrash", "--nodes", "5"], "leave --nodes out"),
        (&["hotspot", "--limit", "3"], "--trace FORMAT:FILE"),
        (&["hotspot", "--period", "0"], "at least 0.001 s"),
    ] {
        let text = refused(args);
        assert!(text.contains(accepted), "{args:?}: {text}");
    }
}

#[test]
fn a_trace_of_alibaba_has_its_dag_in_the_names() {
    let text = "M1,2,j_1,1,Terminated,100,200,100.0,0.5\n\
                R2_1,1,j_1,1,Terminated,200,260,50,0.4\n\
                J3_9_2,1,j_1,1,Running,260,0,50,101\n\
                task_Nzg3,1,j_2,1,Failed,0,50,100,-1\n\
                M1,x,j_3,1,Terminated,1,2,3,4\n\
                M1,1,j_4,1,Terminated,50,20,100,1\n\
                M1,1,j_5,1,Terminated,-3,20,100,1\n\
                M1,1,j_6,1,Terminated,300,400,\n\
                M1_2,1,j_8,1,Terminated,5,9,1e999,1\n\
                M1,1,j\x1b[2J7,1,Terminated,300,NaN,1,1\n";
    let machines = "m_1,0,1,x,96,88,USING\nm_1,9,1,x,96,88,USING\nm_2,0,2,x,64,101,USING\n\
                    m_3,0,2,x,,50,USING\n";
    let (jobs, machines) = (File::new(text), File::new(machines));
    let args = ["--trace", &jobs.of("alibaba"), "--machines", &machines.path];
    let fleet = document(&args);
    assert_eq!(
        (&fleet["jobs"], &fleet["tasks"]),
        (&5.into(), &4.into()),
        "{fleet}"
    );
    assert_eq!(fleet["nodes"], 2);
    assert!(
        fleet["notes"]
            .to_string()
            .contains("1 on tasks that were not read"),
        "{fleet}"
    );
    for (reason, count) in [
        ("instance_num is not", 1),
        ("end_time is not start_time or later", 1),
        ("start_time is not", 1),
        ("plan_cpu is missing", 1),
        ("plan_cpu is not", 1),
        ("end_time is not a time", 1),
        ("cpu_num is missing", 1),
    ] {
        assert_eq!(rows(&fleet, "skipped", reason), count, "{reason}: {fleet}");
    }
    assert_eq!(rows(&fleet, "changed", "plan_mem is none"), 2, "{fleet}");
    assert_eq!(rule(&fleet, "none")["censored"], 1, "the one that runs");
}

#[test]
fn the_limit_ends_the_reading_and_the_window_takes_a_part() {
    let text = "M1,2,j_1,1,Terminated,100,200,100.0,0.5\n\
                R2_1,1,j_1,1,Terminated,200,260,50,0.4\n\
                J3_9_2,1,j_1,1,Running,260,0,50,101\n\
                task_Nzg3,1,j_2,1,Failed,0,50,100,-1\n\
                M1_2,1,j_8,1,Terminated,290,300,1,1\n";
    let jobs = File::new(text);
    let few = document(&["--trace", &jobs.of("alibaba"), "--limit", "1"]);
    assert_eq!(
        (&few["jobs"], &few["trace"]["is_cut"]),
        (&1.into(), &true.into())
    );
    let window = [
        "--trace",
        &jobs.of("alibaba"),
        "--from",
        "150s",
        "--for",
        "1m",
    ];
    let part = document(&window);
    assert_eq!(part["jobs"], 3, "{part}");
    assert_eq!(rows(&part, "skipped", "ends before"), 1);
    assert_eq!(
        rule(&part, "none")["censored"],
        1,
        "it lasts for longer than the minute"
    );
}

#[test]
fn a_trace_of_azure_has_buckets_and_tells_the_use() {
    let text = "id1,s,d,0,2591700,99.1,10.5,50,Interactive,4,32\n\
                id2,s,d,600,7200,99,50,90,Delay-insensitive,>24,>64\n\
                id3,s,d,600,300,99,50,90,Unknown,2,4\n\
                id4,s,d,900,,1,101,2,Unknown,2,4\n\
                id5,s\n";
    let fleet = document(&["--trace", &File::new(text).of("azure"), "--for", "4h"]);
    assert_eq!(fleet["jobs"], 3, "{fleet}");
    assert_eq!(
        rows(&fleet, "changed", "above 24: it counts as 32"),
        1,
        "{fleet}"
    );
    assert_eq!(rows(&fleet, "changed", "avgcpu is none"), 1, "{fleet}");
    assert_eq!(rows(&fleet, "skipped", "vmdeleted is not"), 1, "{fleet}");
    assert_eq!(
        rows(&fleet, "skipped", "vmcreated is missing"),
        1,
        "{fleet}"
    );
    assert_eq!(rule(&fleet, "none")["censored"], 2, "{fleet}");
}

#[test]
fn a_trace_of_packing_is_two_tables() {
    let vms = "vmId,tenantId,vmTypeId,priority,starttime,endtime\n1,1,5,0,-2.5,1.5\n\
               2,1,5,1,0.5,\n3,1,9,1,0.5,0.6\n4,1,5,1,0.5,0.4\n5,1,5,1,0.25,NULL\n";
    let types = "id,vmTypeId,machineId,core,memory,hdd,ssd,nic\n1,5,3,0.5,0.5,,0.1,0\n\
                 2,5,1,0.25,0.125,,,0\n3,6,1,2,0.125,,,0\n";
    let (vms, types) = (File::new(vms), File::new(types));
    let alone = refused(&["--trace", &vms.of("packing")]);
    assert!(
        alone.contains("vmType") && alone.contains("--machines"),
        "{alone}"
    );
    let of = vms.of("packing");
    let fleet = document(&["--trace", &of, "--machines", &types.path, "--for", "2d"]);
    assert_eq!(fleet["jobs"], 3, "{fleet}");
    assert_eq!(
        rows(&fleet, "changed", "starttime is before 0"),
        1,
        "{fleet}"
    );
    assert_eq!(rows(&fleet, "skipped", "vmTypeId is not"), 1, "{fleet}");
    assert_eq!(rows(&fleet, "skipped", "core is not a share"), 1, "{fleet}");
    assert_eq!(rule(&fleet, "none")["censored"], 2, "{fleet}");
}

#[test]
fn a_trace_comes_from_stdin_too() {
    let mut heist = fleet(&["--trace", "azure:-", "--rule", "none"]);
    heist.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = heist.spawn().expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    let row = b"id2,s,d,600,7200,99,50,90,Unknown,8,16\n";
    input.write_all(row).expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 rows were read"));
}

#[test]
fn files_that_are_no_trace_are_refused_with_file_line_and_what_would_be_accepted() {
    let text = refused(&["--trace", "azure:/nowhere/vmtable.csv"]);
    assert!(text.contains("/nowhere/vmtable.csv"), "{text}");
    let endless = File::new(vec![b'1'; 100 << 20]);
    let text = refused(&["--trace", &endless.of("alibaba")]);
    assert!(
        text.contains("1048576 bytes in line 1") && text.contains("accepted"),
        "{text}"
    );
    let text = refused(&["--trace", &File::new([0x1f, 0x8b, 8, 0]).of("google")]);
    assert!(text.contains("zcat"), "{text}");
    let text = refused(&["--trace", &File::new("").of("azure")]);
    assert!(
        text.contains("no job that can be simulated among its 0 rows"),
        "{text}"
    );
    let wrong = File::new("a\x1b]0;title\x07,b,c,never,5,6,7,8,9,10,11\n");
    let text = refused(&["--trace", &wrong.of("azure")]);
    assert!(
        text.contains("vmcreated") && text.contains("line 1: 'never'"),
        "{text}"
    );
    let folder = Path::new(&wrong.path).parent().expect("a folder");
    let text = refused(&["--trace", &format!("azure:{}", folder.display())]);
    assert!(text.contains("folder"), "{text}");
    for args in [
        &["--trace", "borg:x"][..],
        &["--trace", "azure:"],
        &["--trace", "azure"],
    ] {
        assert!(
            refused(args).contains("FORMAT is one of google, alibaba"),
            "{args:?}"
        );
    }
}

#[test]
fn a_hostile_trace_costs_neither_time_nor_memory_nor_the_terminal() {
    let mut text = String::new();
    for row in 0..2000 {
        let _ = writeln!(
            text,
            "\x1b[{row}m,s,d,{row},{},1,1,1,Unknown,>{row},>{row}",
            row + 1
        );
    }
    text.push_str("x,s,d,0,34560000,1,100,1,Unknown,100000,100000\n");
    text.push_str("y,s,d,34560000,34560000,1,1,1,Unknown,1,1\n");
    let file = File::new(text);
    let shown = stdout(&["--trace", &file.of("azure"), "--rule", "ours,none"]);
    assert!(!shown.contains('\x1b'), "names are not shown");
    assert!(shown.contains("other reasons"), "{shown}");
    assert!(
        shown.contains("want more memory than any node has"),
        "{shown}"
    );
}
