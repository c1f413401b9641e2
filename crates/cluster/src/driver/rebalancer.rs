//! The planner, on a thread of its own: it may think for seconds, and no job waits for it.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use heist_sync::thread;

use crate::planner::{Decision, JobId, JobSample, NodeSample, Planner};

/// A planner, at rest or deciding on its thread.
pub(super) struct Rebalancer {
    planner: Option<Planner>,
    /// The moves that ended while it was deciding: when, and whether the job has moved.
    over: Vec<(Duration, JobId, bool)>,
    thread: Sender<Question>,
}

struct Question {
    planner: Planner,
    now: Duration,
    nodes: Vec<NodeSample>,
    jobs: Vec<JobSample>,
}

/// A decision, with the planner that made it.
pub(super) struct Answer {
    planner: Planner,
    decision: Decision,
}

impl Rebalancer {
    /// Starts the thread, which gives each answer to `tell`; `None` means that the planner
    /// panicked, and the thread has ended.
    pub(super) fn start(
        planner: Planner,
        tell: impl Fn(Option<Box<Answer>>) + Send + 'static,
    ) -> io::Result<Self> {
        Self::start_with(planner, tell, Planner::decide)
    }

    fn start_with(
        planner: Planner,
        tell: impl Fn(Option<Box<Answer>>) + Send + 'static,
        decide: impl Fn(&mut Planner, Duration, &[NodeSample], &[JobSample]) -> Decision
            + Send
            + 'static,
    ) -> io::Result<Self> {
        let (thread, questions) = mpsc::channel();
        let answering = move || {
            for Question {
                mut planner,
                now,
                nodes,
                jobs,
            } in questions
            {
                // A planner that has panicked is used no more.
                let decide = AssertUnwindSafe(|| decide(&mut planner, now, &nodes, &jobs));
                let decision = panic::catch_unwind(decide);
                tell(
                    decision
                        .ok()
                        .map(|decision| Box::new(Answer { planner, decision })),
                );
            }
        };
        thread::Builder::new()
            .name("heist-cluster-plan".to_owned())
            .spawn(answering)?;
        Ok(Self {
            planner: Some(planner),
            over: Vec::new(),
            thread,
        })
    }

    /// Lets the planner decide on a sample, unless it is still deciding.
    pub(super) fn ask(&mut self, now: Duration, nodes: Vec<NodeSample>, jobs: Vec<JobSample>) {
        if let Some(planner) = self.planner.take() {
            let question = Question {
                planner,
                now,
                nodes,
                jobs,
            };
            // The thread ends no sooner than this, except by a panic of `tell`.
            let _ = self.thread.send(question);
        }
    }

    /// Takes the planner back, which learns of the moves that ended meanwhile, and its decision.
    pub(super) fn take(&mut self, answer: Answer) -> (&mut Planner, Decision) {
        let planner = self.planner.insert(answer.planner);
        for (when, job, has_moved) in self.over.drain(..) {
            tell_over(planner, when, &job, has_moved);
        }
        (planner, answer.decision)
    }

    /// Tells the planner that a move of its own is over.
    pub(super) fn move_over(&mut self, now: Duration, job: JobId, has_moved: bool) {
        match &mut self.planner {
            Some(planner) => tell_over(planner, now, &job, has_moved),
            None => self.over.push((now, job, has_moved)),
        }
    }
}

fn tell_over(planner: &mut Planner, now: Duration, job: &JobId, has_moved: bool) {
    let told = match has_moved {
        true => planner.move_ended(now, job),
        false => planner.move_failed(now, job),
    };
    debug_assert!(told.is_ok(), "{told:?}");
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::Receiver;

    use super::*;
    use crate::planner::{Config, Move, NodeId, Outcome, Resources};

    const PATIENCE: Duration = Duration::from_secs(60);

    type Answers = Receiver<Option<Box<Answer>>>;

    /// A rebalancer whose planner decides like this, and its answers.
    fn rebalancer(decide: impl Fn() -> Decision + Send + 'static) -> (Rebalancer, Answers) {
        let (sender, answers) = mpsc::channel();
        let planner = Planner::new(Config::default()).expect("a planner");
        // The test may have seen enough.
        let tell = move |answer| drop(sender.send(answer));
        let decide = move |_: &mut Planner, _, _: &[NodeSample], _: &[JobSample]| decide();
        let rebalancer = Rebalancer::start_with(planner, tell, decide);
        (rebalancer.expect("a thread"), answers)
    }

    fn nothing() -> Decision {
        Decision {
            outcome: Outcome::Stay,
            reasons: Vec::new(),
        }
    }

    fn a_move() -> Move {
        Move {
            job: JobId::from("job"),
            from: NodeId::from("n1"),
            to: NodeId::from("n2"),
            reserved: Resources::default(),
            from_level: 1.0,
            from_level_after: 0.5,
            to_level: 0.0,
            to_level_after: 0.5,
            benefit_cpu_s: 2.0,
            cost_cpu_s: 1.0,
            downtime_ns: 1,
        }
    }

    #[test]
    fn nobody_waits_for_a_decision_and_it_misses_no_end_of_a_move() {
        let (go, wait) = mpsc::channel();
        let (mut rebalancer, answers) = rebalancer(move || {
            wait.recv_timeout(PATIENCE).expect("the test lets it go on");
            nothing()
        });
        let planner = rebalancer.planner.as_mut().expect("it is here");
        planner
            .move_started(Duration::ZERO, &a_move())
            .expect("the first");
        rebalancer.ask(Duration::ZERO, Vec::new(), Vec::new());
        rebalancer.ask(Duration::ZERO, Vec::new(), Vec::new());
        rebalancer.move_over(Duration::ZERO, a_move().job, true);
        assert!(answers.try_recv().is_err());
        for _ in 0..2 {
            go.send(()).expect("it waits");
            let answer = answers.recv_timeout(PATIENCE).expect("an answer");
            assert!(answers.try_recv().is_err(), "it was asked once");
            let (planner, decision) = rebalancer.take(*answer.expect("a decision"));
            assert_eq!(decision, nothing());
            planner
                .move_started(Duration::ZERO, &a_move())
                .expect("the move before is over");
            rebalancer.move_over(Duration::ZERO, a_move().job, false);
            rebalancer.ask(Duration::ZERO, Vec::new(), Vec::new());
        }
    }

    #[test]
    fn a_planner_that_panics_is_told_of_and_asked_no_more() {
        let (mut rebalancer, answers) = rebalancer(|| panic!("a fault of the planner"));
        for _ in 0..2 {
            rebalancer.ask(Duration::ZERO, Vec::new(), Vec::new());
        }
        let answer = answers.recv_timeout(PATIENCE).expect("an answer");
        assert!(answer.is_none());
        rebalancer.move_over(Duration::ZERO, a_move().job, true);
        rebalancer.ask(Duration::ZERO, Vec::new(), Vec::new());
        assert!(answers.try_recv().is_err());
    }
}
