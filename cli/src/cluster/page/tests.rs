use heist_observe::fleet::Attempt;

use super::*;

/// The page's data after these lines.
fn fleet(lines: &str) -> Fleet {
    let mut state = RunState::with_history();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        state.take(&serde_json::from_str(line).expect("an event"));
    }
    finish(state)
}

const BEGIN: &str = r#"
    {"at_ms":1000,"event":"connected","backend":"local","pid":7}
    {"at_ms":1000,"event":"node","node":"n10","is_alive":true,"cpus":1.0}
    {"at_ms":1000,"event":"node","node":"n2","is_alive":true,"cpus":2.0}
    {"at_ms":1000,"event":"submitted","job":"a","kind":"K","priority":3,"mobility":"movable","cpus":1.0,"resumed_after_ms":null}
    {"at_ms":1100,"event":"running","job":"a","epoch":0,"node":"n10"}
    {"at_ms":1500,"event":"checkpoint","job":"a","epoch":0,"progress":0.1,"bytes":20}
"#;

fn stretches(fleet: &Fleet) -> Vec<(&str, u64, u64, AttemptEnd)> {
    let attempts = fleet.jobs.iter().flat_map(|job| &job.attempts);
    let stretch = |attempt: &Attempt| {
        let machine = fleet.machines[attempt.machine].name.as_str();
        (
            machine,
            attempt.stretch.begin_ms,
            attempt.stretch.end_ms,
            attempt.end,
        )
    };
    let known = fleet.machines.iter().map(|machine| machine.name.as_str());
    attempts
        .map(stretch)
        .inspect(|(machine, ..)| assert!(known.clone().any(|name| name == *machine)))
        .collect()
}

#[test]
fn an_attempt_that_moves_ends_at_its_safe_point() {
    let fleet = fleet(&format!(
        r#"{BEGIN}
        {{"at_ms":2000,"event":"move_began","job":"a","from":"n10","to":"n2","expected":null}}
        {{"at_ms":2090,"event":"running","job":"a","epoch":1,"node":"n2"}}
        {{"at_ms":2090,"event":"move_ended","job":"a","from":"n10","to":"n2","pausing_ms":30,"standstill_ms":60,"bytes":20}}
        {{"at_ms":3000,"event":"finished","job":"a","error":null,"attempts":2,"moves":1}}
        {{"at_ms":3000,"event":"ended"}}"#
    ));
    let names: Vec<_> = fleet
        .machines
        .iter()
        .map(|machine| machine.name.as_str())
        .collect();
    assert_eq!(names, ["n2", "n10"], "in the order of their numbers");
    assert_eq!(
        stretches(&fleet),
        [
            ("n10", 100, 1030, AttemptEnd::Moved),
            ("n2", 1090, 2000, AttemptEnd::Done)
        ]
    );
    assert_eq!(fleet.jobs[0].attempts[0].checkpoints.len(), 1);
    let moved = &fleet.moves[0];
    assert_eq!((moved.from, moved.to, moved.began_ms), (Some(1), 0, 1000));
    assert!(moved.outcome.as_ref().is_some_and(Result::is_ok));
    assert_eq!(fleet.undriven, []);
}

#[test]
fn a_lost_driver_takes_its_attempts_along_until_another_one_goes_on() {
    let fleet = fleet(&format!(
        r#"{BEGIN}
        {{"at_ms":9000,"event":"connected","backend":"local","pid":8}}
        {{"at_ms":9000,"event":"submitted","job":"a","kind":"K","priority":3,"mobility":"movable","cpus":1.0,"resumed_after_ms":7500}}
        {{"at_ms":9100,"event":"running","job":"a","epoch":1001,"node":"n2"}}
        {{"at_ms":9500,"event":"lost","job":"a","epoch":1001,"why":"its worker died","progress":0.1}}"#
    ));
    assert_eq!(
        stretches(&fleet),
        [
            ("n10", 100, 500, AttemptEnd::Lost),
            ("n2", 8100, 8500, AttemptEnd::Lost)
        ]
    );
    let undriven = Stretch {
        begin_ms: 500,
        end_ms: 8000,
    };
    assert_eq!(fleet.undriven, [undriven]);
    assert!(fleet
        .notes
        .iter()
        .any(|note| note.contains("The run is not over")));
}

#[test]
fn a_long_run_has_fewer_measurements_on_the_page_and_the_same_sum() {
    let mut lines = BEGIN.to_owned();
    for second in 2..7000u64 {
        let share = f64::from(u8::from(second % 2 == 0));
        lines.push_str(&format!(
            r#"{{"at_ms":{},"event":"usage","nodes":[{{"node":"n2","cpus":2.0,"utilisation":{share},"unknown":null}}],"jobs":[],"calls":{{"open":0,"done":0,"lost":0}}}}
            "#,
            second * 1000
        ));
    }
    let fleet = fleet(&lines);
    let usage = &fleet.machines[0].usage;
    assert!(usage.len() <= USAGE_MAX, "{}", usage.len());
    let busy: f64 = usage
        .iter()
        .map(|usage| {
            let length = usage.stretch.end_ms - usage.stretch.begin_ms;
            usage.share.expect("it is known") * length as f64
        })
        .sum();
    assert_eq!(busy.round(), 3_498_000.0);
    assert!(usage
        .windows(2)
        .all(|pair| pair[0].stretch.end_ms == pair[1].stretch.begin_ms));
}
