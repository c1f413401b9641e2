//! Histories of jobs: single ones, and all that a small world can have.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::*;
use crate::driver::messages::Checkpoint;
use crate::driver::record::{LOADING_MAX, PAUSING_MAX};
use crate::error::BackendError;
use crate::protocol::cpus::Cpus;
use crate::protocol::JobOutcome;
use crate::remote::job_options::JobOptions;

const JOB: u64 = 7;
const SECOND: Duration = Duration::from_secs(1);

fn submission() -> Submission {
    Submission {
        job: JOB,
        kind: "count".to_owned(),
        options: JobOptions::new("job").checkpoint_every(SECOND),
        cpus: Cpus::from(1),
        checkpoint: Checkpoint {
            epoch: 0,
            progress: 0.0,
            state: Arc::new(vec![0]),
        },
        objects: Vec::new(),
        epoch: 0,
        resumed_after_ms: None,
    }
}

fn event(epoch: u32, event: JobEvent) -> Input {
    Input::Event {
        job: JOB,
        epoch,
        event,
    }
}

fn running(epoch: u32, node: &str) -> Input {
    let node = NodeId::from(node);
    event(epoch, JobEvent::Running { node })
}

fn ended(epoch: u32, outcome: JobOutcome, payload: &[u8]) -> Input {
    let payload = payload.to_vec();
    event(epoch, JobEvent::Ended { outcome, payload })
}

fn paused(epoch: u32, state: u8) -> Input {
    ended(epoch, JobOutcome::Paused { progress: 0.5 }, &[state])
}

fn lost(epoch: u32) -> Input {
    event(epoch, JobEvent::Lost(BackendError::node_died("gone")))
}

/// A word for each action; what is said to people aside.
fn words(actions: &[Action]) -> Vec<String> {
    let word = |action: &Action| match action {
        Action::Start(start) => {
            let node = start
                .placement
                .node
                .as_ref()
                .map_or("anywhere", NodeId::as_str);
            Some(format!(
                "start {} with {:?} on {node}",
                start.epoch, start.state
            ))
        }
        Action::Pause { epoch, .. } => Some(format!("pause {epoch}")),
        Action::Snapshot { epoch, .. } => Some(format!("snapshot {epoch}")),
        Action::Stop { epoch, .. } => Some(format!("stop {epoch}")),
        Action::Kill { .. } => Some("kill".to_owned()),
        Action::Keep { checkpoint, .. } => Some(format!("keep {:?}", checkpoint.state)),
        Action::Finish { result, .. } => Some(match result {
            Ok(result) => format!("finish {result:?}"),
            Err(error) => format!("finish without: {error}"),
        }),
        Action::MoveOver { has_moved, .. } => Some(format!("move over: {has_moved}")),
        Action::Say(_) => None,
    };
    actions.iter().filter_map(word).collect()
}

/// A machine with the job submitted, and what has happened since.
struct History {
    machine: Machine,
    now: Duration,
}

impl History {
    fn new() -> Self {
        let mut history = Self {
            machine: Machine::default(),
            now: Duration::ZERO,
        };
        assert_eq!(
            history.tell(Input::Submit(Box::new(submission()))),
            ["start 0 with [0] on anywhere"]
        );
        history
    }

    fn tell(&mut self, input: Input) -> Vec<String> {
        words(&self.machine.step(self.now, input).0)
    }

    fn wait(&mut self, time: Duration) -> Vec<String> {
        self.now += time;
        self.tell(Input::Tick)
    }

    fn move_to(&mut self, node: &str) -> Vec<String> {
        let (job, to, expected) = (JOB, NodeId::from(node), None);
        self.tell(Input::Move { job, to, expected })
    }
}

#[test]
fn a_move_goes_on_from_the_paused_state_with_a_new_epoch() {
    let mut history = History::new();
    assert!(history.tell(running(0, "a")).is_empty());
    assert_eq!(history.move_to("b"), ["pause 0"]);
    assert_eq!(
        history.tell(paused(0, 5)),
        ["start 1 with [5] on b", "keep [5]"]
    );
    assert_eq!(history.tell(running(1, "b")), ["move over: true"]);
    assert_eq!(
        history.tell(ended(1, JobOutcome::Finished, &[9])),
        ["finish [9]"]
    );
}

#[test]
fn a_state_that_cannot_be_sent_stays_where_it_runs() {
    let mut history = History::new();
    history.tell(running(0, "a"));
    assert_eq!(history.move_to("b"), ["pause 0"]);
    let unsent = || event(0, JobEvent::Unsent("too large".to_owned()));
    assert_eq!(history.tell(unsent()), ["move over: false"]);
    assert_eq!(history.wait(SECOND), ["snapshot 0"], "it may have shrunk");
    assert!(history.tell(unsent()).is_empty());
    assert_eq!(history.wait(SECOND), ["snapshot 0"]);
    assert_eq!(history.move_to("b"), ["pause 0"]);
    assert_eq!(
        history.tell(ended(0, JobOutcome::Finished, &[9])),
        ["move over: false", "finish [9]"]
    );
}

#[test]
fn a_target_that_does_not_load_sends_the_job_back_and_then_anywhere() {
    let mut history = History::new();
    history.tell(running(0, "a"));
    history.move_to("b");
    history.tell(paused(0, 5));
    assert_eq!(
        history.wait(LOADING_MAX),
        ["stop 1", "start 2 with [5] on a"]
    );
    let late = history.tell(running(1, "b"));
    assert_eq!(late, ["stop 1"], "the target wakes up too late");
    assert_eq!(
        history.wait(LOADING_MAX),
        ["stop 2", "move over: false", "start 3 with [5] on anywhere"]
    );
    assert!(history.tell(running(3, "c")).is_empty(), "that was no move");
}

#[test]
fn what_an_old_attempt_says_changes_nothing() {
    let mut history = History::new();
    history.tell(running(0, "a"));
    assert_eq!(
        history.tell(lost(0)),
        ["stop 0", "start 1 with [0] on anywhere"]
    );
    for late in [
        lost(0),
        paused(0, 8),
        ended(0, JobOutcome::Finished, &[8]),
        ended(0, JobOutcome::Failed("late".to_owned()), &[]),
        event(
            0,
            JobEvent::Snapshot {
                progress: 0.9,
                state: vec![8],
            },
        ),
    ] {
        assert!(history.tell(late).is_empty());
    }
    assert_eq!(
        history.tell(lost(1)),
        ["stop 1", "start 2 with [0] on anywhere"]
    );
}

#[test]
fn an_attempt_that_is_lost_goes_on_from_the_last_checkpoint() {
    let mut history = History::new();
    history.tell(running(0, "a"));
    assert_eq!(history.wait(SECOND), ["snapshot 0"]);
    assert!(history.wait(SECOND).is_empty(), "one is under way");
    let state = JobEvent::Snapshot {
        progress: 0.4,
        state: vec![4],
    };
    assert_eq!(history.tell(event(0, state)), ["keep [4]"]);
    assert_eq!(history.wait(SECOND), ["snapshot 0"]);
    assert_eq!(
        history.tell(lost(0)),
        ["stop 0", "start 1 with [4] on anywhere"]
    );
}

#[test]
fn a_job_that_is_lost_too_often_is_given_up() {
    let mut history = History::new();
    for epoch in 0..8 {
        let next = format!("start {} with [0] on anywhere", epoch + 1);
        assert_eq!(history.tell(lost(epoch)), [format!("stop {epoch}"), next]);
    }
    let end = history.tell(lost(8));
    assert_eq!(
        end,
        ["stop 8", "finish without: lost 9 times, at last: gone"]
    );
}

#[test]
fn a_job_with_a_back_off_rests_before_each_attempt_that_follows_a_lost_one() {
    let mut submission = submission();
    submission.options = JobOptions::new("job")
        .backoff(4 * SECOND, 8 * SECOND)
        .losses_max(3);
    let mut machine = Machine::default();
    machine.step(Duration::ZERO, Input::Submit(Box::new(submission)));
    let now = Duration::ZERO;
    let mut history = History { machine, now };
    for (epoch, longest) in [(0, 4), (1, 8), (2, 8)] {
        assert_eq!(history.tell(lost(epoch)), [format!("stop {epoch}")]);
        assert!(history.wait(longest / 2 * SECOND - SECOND).is_empty());
        assert!(history.tell(lost(epoch)).is_empty(), "it is told twice");
        assert_eq!(history.move_to("b"), ["move over: false"]);
        let next = format!("start {} with [0] on anywhere", epoch + 1);
        assert_eq!(history.wait((longest / 2 + 1) * SECOND), [next]);
        assert!(history.wait(SECOND).is_empty(), "it begins once");
    }
    let end = "finish without: lost 4 times, at last: gone";
    assert_eq!(history.tell(lost(3)), ["stop 3", end], "no rest at the end");
}

#[test]
fn a_job_that_rests_can_be_cancelled() {
    let mut submission = submission();
    submission.options = JobOptions::new("job").backoff(SECOND, SECOND);
    let mut machine = Machine::default();
    machine.step(Duration::ZERO, Input::Submit(Box::new(submission)));
    let now = Duration::ZERO;
    let mut history = History { machine, now };
    assert_eq!(history.tell(lost(0)), ["stop 0"]);
    let end = history.tell(Input::Cancel { job: JOB });
    assert_eq!(end, ["stop 1", "finish without: it was cancelled"]);
    assert!(history.wait(SECOND).is_empty());
}

#[test]
fn a_move_of_what_does_not_run_fails_at_once() {
    let mut history = History::new();
    assert_eq!(history.move_to("b"), ["move over: false"]);
    history.tell(running(0, "a"));
    assert_eq!(history.move_to("a"), ["move over: false"]);
    history.move_to("b");
    assert_eq!(
        history.move_to("c"),
        ["move over: false"],
        "it is on its way"
    );
    assert_eq!(
        history.tell(ended(0, JobOutcome::Finished, &[9])),
        ["move over: false", "finish [9]"]
    );
    assert_eq!(history.move_to("b"), ["move over: false"], "it is over");
}

#[test]
fn a_pause_that_is_not_heard_is_asked_for_again() {
    let mut history = History::new();
    history.tell(running(0, "a"));
    history.move_to("b");
    assert!(history.wait(SECOND).is_empty());
    assert_eq!(history.wait(PAUSING_MAX), ["pause 0"]);
}

#[test]
fn a_pinned_job_goes_on_where_it_is_pinned() {
    let mut machine = Machine::default();
    let mut submission = submission();
    submission.options = JobOptions::new("job").pin("a");
    machine.step(Duration::ZERO, Input::Submit(Box::new(submission)));
    let (restarted, _) = machine.step(Duration::ZERO, lost(0));
    assert_eq!(words(&restarted), ["stop 0", "start 1 with [0] on a"]);
}

#[test]
fn a_cancelled_job_is_stopped_and_over() {
    let mut history = History::new();
    history.tell(running(0, "a"));
    let end = history.tell(Input::Cancel { job: JOB });
    assert_eq!(end, ["stop 0", "finish without: it was cancelled"]);
    assert!(history
        .tell(ended(0, JobOutcome::Finished, &[9]))
        .is_empty());
}

#[test]
fn a_job_is_stopped_at_its_deadline_and_killed_later() {
    let mut submission = submission();
    submission.options = JobOptions::new("job").within(2 * SECOND);
    let (mut machine, now) = (Machine::default(), 10 * SECOND);
    machine.step(now, Input::Submit(Box::new(submission)));
    let mut history = History { machine, now };
    history.tell(running(0, "a"));
    assert!(history.wait(SECOND).is_empty());
    let late = "finish without: it was not over within 2s, its deadline, and was cancelled";
    assert_eq!(history.wait(SECOND), ["stop 0", late]);
    assert!(history.wait(4 * SECOND).is_empty());
    assert_eq!(history.wait(SECOND), ["kill"]);
    assert!(history.wait(60 * SECOND).is_empty());
}

#[test]
fn a_job_that_was_cancelled_can_be_killed() {
    let mut history = History::new();
    history.tell(Input::Cancel { job: JOB });
    assert_eq!(history.tell(Input::Kill { job: JOB }), ["kill"]);
}

#[test]
fn only_jobs_that_changed_are_shown_and_only_open_ones_are_looked_at() {
    let mut machine = Machine::default();
    for job in 0..100 {
        let submission = Submission {
            job,
            ..submission()
        };
        let (_, changed) = machine.step(Duration::ZERO, Input::Submit(Box::new(submission)));
        assert_eq!(changed.len(), 1);
        let (_, changed) = machine.step(Duration::ZERO, Input::Cancel { job });
        assert!(changed.len() == 1 && changed[0].is_over);
    }
    let (_, changed) = machine.step(Duration::ZERO, Input::Tick);
    assert_eq!((changed.len(), machine.open().count()), (0, 0));
}

/// A small world: attempts that count from 0 to [`LAST`], whose backend delivers what they say
/// in any order and as late as it likes, loses any of them, and lets those it has lost go on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    attempts: Vec<Attempt>,
    /// Messages that were sent and not yet delivered.
    said: BTreeSet<Said>,
    /// Accidents that the backend may still cause.
    accidents: u8,
    moves: u8,
    snapshots: u8,
    waits: u8,
    /// How many steps were done, by all attempts.
    steps: u8,
}

/// How many attempts are lost at most.
const ACCIDENTS: u8 = 1;
/// How often time passes at most.
const WAITS: u8 = 2;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Attempt {
    epoch: u32,
    count: u8,
    /// False once it has ended by itself.
    is_alive: bool,
    is_pausing: bool,
    is_lost: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Said {
    Running(u32),
    Snapshot(u32, u8),
    Paused(u32, u8),
    Finished(u32, u8),
    Lost(u32),
}

/// How far an attempt counts.
const LAST: u8 = 2;

/// A step that can come next.
#[derive(Clone, Debug)]
enum Turn {
    Count(usize),
    Deliver(Said),
    Lose(usize),
    Move,
    /// Time passes: checkpoints are due, patience ends.
    Wait,
}

impl World {
    fn turns(&self) -> Vec<Turn> {
        let mut turns: Vec<_> = self.said.iter().cloned().map(Turn::Deliver).collect();
        for (at, attempt) in self.attempts.iter().enumerate() {
            if attempt.is_alive {
                turns.push(Turn::Count(at));
                if self.accidents > 0 && !attempt.is_lost {
                    turns.push(Turn::Lose(at));
                }
            }
        }
        if self.moves > 0 {
            turns.push(Turn::Move);
        }
        if self.waits > 0 {
            turns.push(Turn::Wait);
        }
        turns
    }

    /// An attempt does its next step: it pauses, counts or ends.
    fn count(&mut self, at: usize) {
        let attempt = &mut self.attempts[at];
        let (epoch, count) = (attempt.epoch, attempt.count);
        if attempt.is_pausing {
            attempt.is_alive = false;
            self.said.insert(Said::Paused(epoch, count));
        } else if count == LAST {
            attempt.is_alive = false;
            self.said.insert(Said::Finished(epoch, count));
        } else {
            attempt.count += 1;
            self.steps += 1;
        }
    }

    /// The backend does what the machine wants.
    fn act(&mut self, action: &Action, finished: &mut Option<u8>) {
        match action {
            Action::Start(start) => {
                self.said.insert(Said::Running(start.epoch));
                assert!(
                    self.attempts
                        .iter()
                        .all(|attempt| attempt.epoch < start.epoch),
                    "epochs rise"
                );
                self.attempts.push(Attempt {
                    epoch: start.epoch,
                    count: start.state[0],
                    is_alive: true,
                    is_pausing: false,
                    is_lost: false,
                });
            }
            Action::Pause { epoch, .. } => {
                for attempt in self
                    .attempts
                    .iter_mut()
                    .filter(|attempt| attempt.epoch == *epoch)
                {
                    attempt.is_pausing = true;
                }
            }
            Action::Snapshot { epoch, .. } => {
                let asked = self.attempts.iter().find(|attempt| attempt.epoch == *epoch);
                if let Some(attempt) =
                    asked.filter(|attempt| attempt.is_alive && self.snapshots > 0)
                {
                    self.snapshots -= 1;
                    self.said.insert(Said::Snapshot(*epoch, attempt.count));
                }
            }
            Action::Finish { result, .. } => {
                assert_eq!(*finished, None, "a result is accepted once");
                let result = result.as_ref().expect("nothing here ends without a result");
                *finished = Some(result[0]);
            }
            // A backend may not reach what it has lost: the attempt goes on, and speaks.
            Action::Stop { .. }
            | Action::Kill { .. }
            | Action::Keep { .. }
            | Action::MoveOver { .. }
            | Action::Say(_) => {}
        }
    }
}

/// Plays the turns from the beginning; checks what must be true at each.
fn play(turns: &[Turn]) -> (World, Machine, Option<u8>) {
    let mut machine = Machine::default();
    let mut world = World {
        attempts: Vec::new(),
        said: BTreeSet::new(),
        accidents: ACCIDENTS,
        moves: 1,
        snapshots: 1,
        waits: WAITS,
        steps: 0,
    };
    let mut finished = None;
    let mut now = Duration::ZERO;
    for action in machine.step(now, Input::Submit(Box::new(submission()))).0 {
        world.act(&action, &mut finished);
    }
    for turn in turns {
        let input = match turn {
            Turn::Count(at) => {
                world.count(*at);
                continue;
            }
            Turn::Lose(at) => {
                world.accidents -= 1;
                world.attempts[*at].is_lost = true;
                world.said.insert(Said::Lost(world.attempts[*at].epoch));
                continue;
            }
            Turn::Move => {
                world.moves -= 1;
                let (job, to, expected) = (JOB, NodeId::from("b"), None);
                Input::Move { job, to, expected }
            }
            Turn::Wait => {
                world.waits -= 1;
                now += LOADING_MAX;
                Input::Tick
            }
            Turn::Deliver(said) => {
                world.said.remove(said);
                match said {
                    Said::Running(epoch) => running(*epoch, "a"),
                    Said::Snapshot(epoch, count) => {
                        let (progress, state) = (0.0, vec![*count]);
                        event(*epoch, JobEvent::Snapshot { progress, state })
                    }
                    Said::Paused(epoch, count) => paused(*epoch, *count),
                    Said::Finished(epoch, count) => ended(*epoch, JobOutcome::Finished, &[*count]),
                    Said::Lost(epoch) => lost(*epoch),
                }
            }
        };
        for action in machine.step(now, input).0 {
            world.act(&action, &mut finished);
        }
    }
    (world, machine, finished)
}

/// All that can happen, depth first; histories that come to the same are gone on with once.
#[test]
fn in_every_history_one_right_result_is_accepted_and_a_clean_move_repeats_nothing() {
    let mut seen = HashSet::new();
    let mut open = vec![Vec::new()];
    let (mut histories, mut results) = (0_u32, 0_u32);
    while let Some(turns) = open.pop() {
        let (world, machine, finished) = play(&turns);
        if let Some(result) = finished {
            assert_eq!(result, LAST, "{turns:?}");
            results += 1;
        }
        // The machine's memory, time included, with the world's, is all that the future needs.
        if !seen.insert((world.clone(), format!("{machine:?}"))) {
            continue;
        }
        histories += 1;
        let next = world.turns();
        // When nothing more can happen, the job must be over: no state is lost, nobody waits
        // for ever. An attempt that the backend lost does not count as something to come.
        if next.is_empty() {
            assert_eq!(finished, Some(LAST), "{turns:#?} lead to {world:#?}");
            let is_clean = world.accidents == ACCIDENTS && world.waits == WAITS;
            assert!(!is_clean || world.steps == LAST, "{turns:#?} repeat work");
            continue;
        }
        for turn in next {
            let mut turns = turns.clone();
            turns.push(turn);
            open.push(turns);
        }
    }
    assert!(
        histories > 10_000 && results > 1000,
        "{histories} histories, {results} results"
    );
}
