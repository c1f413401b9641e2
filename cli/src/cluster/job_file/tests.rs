use super::*;

/// The error of a file with two lines above `rest`.
fn error(rest: &str) -> String {
    let text = format!("# A job file.\nprogram = \"sums\"\n{rest}");
    let parsed = JobFile::parse(&text, "jobs.toml", Path::new(""));
    parsed.map(drop).expect_err("an error").to_string()
}

const JOB: &str = "[[job]]\nid = \"a\"\nkind = \"K\"\nstate = {}\n";

#[test]
fn the_example_in_the_help_is_a_job_file() {
    let text = include_str!("../example.toml");
    let file = JobFile::parse(text, "example.toml", Path::new("/there")).expect("a job file");
    assert_eq!(file.program, Path::new("/there/sums"));
    let ids: Vec<_> = file
        .jobs
        .iter()
        .map(|job| job.options.id.as_str())
        .collect();
    assert_eq!(ids, ["sum-1", "sum-2", "sum-3"]);
    let wanted = JobOptions::new("sum-1")
        .cpus(0.5)
        .priority(Priority(3))
        .on("n1")
        .checkpoint_every(Duration::from_secs(2));
    assert_eq!(file.jobs[0].options, wanted);
    assert_eq!(file.jobs[0].state["end"], 2_000_000);
    assert_eq!(file.calls[0].args, 12);
    assert_eq!(file.calls[0].repeat, 4);
    let config = file.rebalance.expect("settings");
    assert_eq!((config.hot_level, config.low_water), (0.8, 0.7));
}

#[test]
fn unknown_keys_are_refused_with_those_that_there_are() {
    let cases = [
        (
            "engin = 3\n",
            "jobs.toml:3: unknown field `engin`, expected one of `program`",
        ),
        (
            "[backend.remote]\n",
            "jobs.toml:3: unknown field `remote`, expected one of `local`, `ray`, `slurm`",
        ),
        (
            "[backend.local]\nnode = 3\n",
            "jobs.toml:4: unknown field `node`, expected one of `nodes`, `cpus`",
        ),
        (
            "[[job]]\nid = \"a\"\nkid = \"K\"\n",
            "jobs.toml:5: unknown field `kid`, expected one of `id`, `kind`, `state`",
        ),
        (
            "[[call]]\nfunction = \"f\"\n\ntimes = 3\n",
            "jobs.toml:6: unknown field `times`, expected one of `function`, `args`, `repeat`",
        ),
        (
            "[rebalance]\nenabled = true\nhot = 0.8\n",
            "jobs.toml:5: unknown field `hot`, expected one of `smoothing`",
        ),
    ];
    for (text, wanted) in cases {
        let error = error(text);
        assert!(error.starts_with(wanted), "{error}");
    }
    let error_of_setting = error("[rebalance]\nhot = 1\n");
    assert!(
        error_of_setting.contains("or `enabled`"),
        "{error_of_setting}"
    );
}

#[test]
fn of_the_accepted_names_that_is_named_which_is_like_an_unknown_one() {
    let cases = [
        ("[backend.slrum]\n", "; is `slurm` meant?"),
        ("[backend.ray]\ncdlib = \"x\"\n", "; is `cdylib` meant?"),
        ("[[job]]\nid = \"a\"\nkid = \"K\"\n", "; is `kind` meant?"),
        (
            "[[call]]\nfunction = \"f\"\nreapeat = 3\n",
            "; is `repeat` meant?",
        ),
        ("[rebalance]\nhot_lvl = 1\n", "; is `hot_level` meant?"),
        ("[backend.local]\nxyz = 3\n", "`lost_after_s`"),
        (
            "[[call]]\nfunction = \"f\"\nmemory_mb = 3\n",
            "; is `memory_mib` meant?",
        ),
        ("[[job]]\nid = \"a\"\nretry = 3\n", "; is `retries` meant?"),
        (
            "[[call]]\nfunction = \"f\"\nbackof_s = 3\n",
            "; is `backoff_s` meant?",
        ),
    ];
    for (text, end) in cases {
        let error = error(text);
        assert!(error.ends_with(end), "{error}");
    }
}

/// Those of the help.
#[test]
fn every_key_that_is_documented_is_accepted() {
    let text = "program = 'sums'\n\
        [backend.local]\nnodes = 2\ncpus = 2\nmemory_mib = 9\nresources = { gpu = 2 }\n\
        lost_after_s = 9\n\
        [backend.ray]\naddress = 'h:1'\npython = 'p'\ncdylib = 'l'\n\
        [backend.slurm]\npartition = 'p'\nfolder = 'f'\narguments = ['-x']\ncpus = 2\n\
        environment = ['A']\nlost_after_s = 9.5\nlinger_s = 0\n\
        [rebalance]\nenabled = true\nsmoothing = 0.5\nstale_after_ns = 3000000000\n\
        [[job]]\nid = 'a'\nkind = 'K'\nstate = {}\ncount = 2\ncpus = 0.5\nthreads = 2\n\
        priority = 1\non = 'n1'\nmobility = 'movable'\ncheckpoint_every_s = 1.5\n\
        memory_mib = 4\nresources = { gpu = 1 }\nretries = 3\nbackoff_s = [0.5, 60]\nwithin_s = 9\n\
        trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'\n\
        [[job]]\nid = 'b'\nkind = 'K'\nstate = {}\npin = 'n1'\n\
        [[call]]\nfunction = 'f'\nargs = 1\nrepeat = 2\non = 'n1'\ncpus = 2\n\
        memory_mib = 4\nresources = { gpu = 1 }\nretries = 3\nbackoff_s = [0.5, 60]\nwithin_s = 9\n\
        trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'\n\
        [[call]]\nfunction = 'f'\npin = 'n1'\n";
    let parsed = JobFile::parse(text, "jobs.toml", Path::new(""));
    let file = parsed.expect("a job file");
    assert_eq!(file.jobs.len(), 3);
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let wanted = JobOptions::new("a-1")
        .cpus(0.5)
        .threads(2)
        .priority(Priority(1))
        .on("n1")
        .checkpoint_every(Duration::from_millis(1500))
        .memory(4 << 20)
        .resource("gpu", 1)
        .losses_max(3)
        .backoff(Duration::from_millis(500), Duration::from_secs(60))
        .within(Duration::from_secs(9))
        .trace(trace.parse().expect("a trace"));
    assert_eq!(file.jobs[0].options, wanted);
    let wishes = &file.calls[0].wishes;
    assert_eq!(wishes.node, Some(("n1".to_owned(), false)));
    assert_eq!((wishes.cpus, wishes.memory), (Some(2), Some(4 << 20)));
    assert_eq!(wishes.resources, [("gpu".to_owned(), 1)]);
    assert_eq!(
        (wishes.retries, wishes.trace),
        (Some(3), trace.parse().ok())
    );
    let pauses = (Duration::from_millis(500), Duration::from_secs(60));
    let within = Duration::from_secs(9);
    assert_eq!(
        (wishes.backoff, wishes.within),
        (Some(pauses), Some(within))
    );
    assert_eq!(file.calls[1].wishes.node, Some(("n1".to_owned(), true)));
}

#[test]
fn values_of_the_wrong_type_are_refused_with_what_would_be_right() {
    let cases = [
        (
            "[backend.local]\nnodes = 0\n".to_owned(),
            "jobs.toml:4: invalid value: integer `0`, expected a nonzero u32",
        ),
        (
            format!("{JOB}cpus = \"one\"\n"),
            "jobs.toml:7: invalid type: string \"one\", expected f64",
        ),
        (
            format!("{JOB}count = -1\n"),
            "jobs.toml:7: invalid value: integer `-1`, expected a nonzero u32",
        ),
        (
            format!("{JOB}priority = 300\n"),
            "jobs.toml:7: invalid value: integer `300`, expected u8",
        ),
        (
            format!("{JOB}mobility = \"mobile\"\n"),
            "jobs.toml:7: unknown variant `mobile`, expected one of `movable`, `pinned`",
        ),
        (
            "[rebalance]\nenabled = \"yes\"\n".to_owned(),
            "jobs.toml:4: invalid type: string \"yes\", expected a boolean",
        ),
        (
            "[rebalance]\nhot_level = \"high\"\n".to_owned(),
            "jobs.toml:4: invalid type: string \"high\", expected f64",
        ),
        (
            "[[job]]\nid = \"a\"\nkind = \"K\"\n".to_owned(),
            "jobs.toml:3: missing field `state`",
        ),
        (
            "[[call]]\nargs = 1\n".to_owned(),
            "jobs.toml:3: missing field `function`",
        ),
    ];
    for (text, wanted) in cases {
        let error = error(&text);
        assert!(error.starts_with(wanted), "{error}");
    }
}

// Long: a table of cases.
#[test]
fn contradictions_are_refused_with_a_way_out() {
    let cases = [
        (
            String::new(),
            "jobs.toml: nothing is to run; a [[job]] or a [[call]] is expected",
        ),
        (
            format!("{JOB}{JOB}"),
            "jobs.toml:8: there are two jobs a, the other one in line 4",
        ),
        (
            format!("{JOB}on = \"n1\"\npin = \"n2\"\n"),
            "jobs.toml:8: pin says where a job begins and that it stays",
        ),
        (
            format!("{JOB}mobility = \"pinned\"\n"),
            "jobs.toml:7: a pinned job says where; pin = \"NODE\"",
        ),
        (
            format!("{JOB}cpus = nan\n"),
            "jobs.toml:4: cpus = NaN; 0 or more are possible",
        ),
        (
            format!("{JOB}checkpoint_every_s = 0\n"),
            "jobs.toml:7: checkpoint_every_s = 0; a thousandth",
        ),
        (
            format!("{JOB}within_s = -1\n"),
            "jobs.toml:7: within_s = -1; a thousandth",
        ),
        (
            format!("{JOB}backoff_s = [2, 1]\n"),
            "jobs.toml:7: backoff_s = [2.0, 1.0]; the first and the longest pause",
        ),
        (
            format!("{JOB}backoff_s = [-1, 1]\n"),
            "jobs.toml:7: backoff_s = [-1.0, 1.0]; the first",
        ),
        (
            format!("{JOB}resources = {{ \"gpu,2\" = 1 }}\n"),
            "jobs.toml:7: there can be no resource \"gpu,2\"; a name is",
        ),
        (
            format!("{JOB}memory_mib = 20000000000000\n"),
            "jobs.toml:7: memory_mib = 20000000000000; 17592186044415 is the most",
        ),
        (format!("{JOB}trace = \"00-1-2-3\"\n"), "jobs.toml:7: "),
        (
            "[backend.local]\nlost_after_s = -1\n".to_owned(),
            "jobs.toml:4: -1 s: ",
        ),
        (
            "[backend.local]\nmemory_mib = 0\n".to_owned(),
            "jobs.toml:4: 0 MiB; 1 to ",
        ),
        (
            "[[call]]\nfunction = \"f\"\non = \"n1\"\npin = \"n2\"\n".to_owned(),
            "jobs.toml:6: pin is the only node of a call",
        ),
        (
            "[[call]]\nfunction = \"f\"\nwithin_s = nan\n".to_owned(),
            "jobs.toml:5: within_s = NaN; a thousandth",
        ),
        (
            "[backend.local]\nnodes = 4097\n".to_owned(),
            "jobs.toml:4: 4097 nodes of local; 1 to 4096 are possible",
        ),
        (
            "[[call]]\nfunction = \"f\"\nargs = [1, inf]\n".to_owned(),
            "jobs.toml:5: inf is no number of JSON",
        ),
        (
            "[[call]]\nfunction = \"f\"\nargs = 2026-11-21\n".to_owned(),
            "jobs.toml:5: 2026-11-21 is a date",
        ),
        (
            format!("{JOB}[rebalance]\nhot_level = 1.5\n"),
            "jobs.toml:7: no planner can be made with hot_level = 1.5",
        ),
    ];
    for (text, wanted) in cases {
        let error = error(&text);
        assert!(error.starts_with(wanted), "{error}");
    }
}

#[test]
fn a_rebalancer_that_is_not_enabled_is_as_if_it_were_not_there() {
    for (table, is_wanted) in [
        ("", false),
        ("[rebalance]\n", true),
        (
            "[rebalance]\nhot_level = 0.9\nenabled = true\npayback = 3\n",
            true,
        ),
        ("[rebalance]\nhot_level = 0.9\nenabled = false\n", false),
    ] {
        let text = format!("program = \"sums\"\n{JOB}{table}");
        let file = JobFile::parse(&text, "jobs.toml", Path::new("")).expect("a job file");
        assert_eq!(file.rebalance.is_some(), is_wanted, "{table}");
    }
}
