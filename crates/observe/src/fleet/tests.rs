use super::*;
use crate::Fact;

const HOSTILE: &str = "</script><img src=x onerror=\"alert('&')\"><!--";

/// A run in which every text is hostile.
fn hostile() -> Fleet {
    let text = || HOSTILE.to_owned();
    let stretch = Stretch {
        begin_ms: 0,
        end_ms: 1000,
    };
    Fleet {
        wall_ms: 1000,
        facts: vec![Fact {
            label: text(),
            value: text(),
        }],
        machines: vec![Machine {
            name: text(),
            note: text(),
            usage: vec![Usage {
                stretch,
                share: None,
                note: text(),
            }],
            absent: vec![stretch],
        }],
        jobs: vec![Job {
            name: text(),
            note: text(),
            attempts: vec![Attempt {
                machine: 0,
                epoch: 0,
                stretch,
                end: AttemptEnd::Lost,
                note: text(),
                checkpoints: vec![Checkpoint::default()],
            }],
            outcome: text(),
            is_failed: true,
        }],
        moves: vec![Move {
            outcome: Some(Err(text())),
            ..Move::default()
        }],
        decisions: vec![Decision {
            what: text(),
            reasons: vec![text()],
            ..Decision::default()
        }],
        undriven: vec![stretch],
        notes: vec![text()],
    }
}

#[test]
fn texts_from_outside_cannot_leave_their_place() {
    let page = html(HOSTILE, &hostile());
    assert!(!page.contains("<img"), "markup got through");
    assert!(!page.contains("<!--"), "a comment got through");
    let own_scripts = html("", &Fleet::default()).matches("</script").count();
    assert_eq!(page.matches("</script").count(), own_scripts);
}

#[test]
fn texts_from_outside_arrive_unchanged_in_the_data() {
    let page = html("", &hostile());
    let (_, after) = page.split_once("id=\"data\">").expect("a data element");
    let (data, _) = after.split_once("</script").expect("its end");
    let data: Value = serde_json::from_str(data).expect("JSON");
    assert_eq!(data["machines"][0]["name"], HOSTILE);
    assert_eq!(data["jobs"][0]["attempts"][0]["note"], HOSTILE);
    assert_eq!(data["moves"][0]["failure"], HOSTILE);
}

#[test]
fn the_page_refers_to_nothing_outside_itself() {
    let page = html("a title", &hostile());
    for reference in ["://", "@import", "<link", " href", "fetch("] {
        assert!(!page.contains(reference), "found {reference}");
    }
    // Patterns are in the page.
    assert_eq!(page.matches("url(").count(), page.matches("url(#").count());
}

#[test]
fn the_table_of_moves_has_what_was_expected_beside_what_came() {
    let machine = |name: &str| Machine {
        name: name.to_owned(),
        ..Machine::default()
    };
    let fleet = Fleet {
        machines: vec![machine("n1"), machine("n2")],
        jobs: vec![Job {
            name: "sum".to_owned(),
            ..Job::default()
        }],
        moves: vec![Move {
            job: 0,
            from: Some(0),
            to: 1,
            began_ms: 12_340,
            expected: Some(Expected {
                benefit_cpu_s: 20.0,
                cost_cpu_s: 1.5,
                standstill_ms: 1500,
            }),
            outcome: Some(Ok(Moved {
                pausing_ms: 7,
                standstill_ms: 41,
                bytes: 20_000,
            })),
        }],
        ..Fleet::default()
    };
    let row = "<tr><td>12.3 s</td><td>sum</td><td>n1 → n2</td><td>20.0</td><td>1.5</td>\
               <td>1500 ms</td><td>41 ms</td><td>7 ms</td><td>20 kB</td><td>moved</td></tr>";
    assert!(html("", &fleet).contains(row));
}
