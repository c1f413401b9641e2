//! Ends a run in which no round ends any more, and says what everybody was doing.

use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::books::{self, Sums};
use crate::usage;
use crate::world::World;

/// The present round, and when it began.
pub(crate) struct Watchdog {
    state: Mutex<State>,
}

struct State {
    /// How to repeat the round.
    round: String,
    /// For how long it has been running.
    lasts: Duration,
    /// The present operation of each outside thread.
    actors: Vec<&'static str>,
    /// For how long the process was stopped.
    stopped: Duration,
}

/// How long a round may take. Most take a tenth of a second.
const ROUND_MAX: Duration = Duration::from_secs(60);

const PAUSE: Duration = Duration::from_millis(200);

/// If so much passes between two looks the process was stopped, and that is no fault of a round.
const PAUSE_MAX: Duration = Duration::from_secs(5);

impl Watchdog {
    /// Starts the thread that watches.
    pub(crate) fn start(world: &Arc<World>) -> Arc<Self> {
        let dog = Arc::new(Self {
            state: Mutex::new(State {
                round: String::new(),
                lasts: Duration::ZERO,
                actors: Vec::new(),
                stopped: Duration::ZERO,
            }),
        });
        let (dog_too, world) = (Arc::clone(&dog), Arc::downgrade(world));
        let watch = move || {
            let mut last = Instant::now();
            loop {
                std::thread::sleep(PAUSE);
                dog_too.look(last.elapsed(), &world);
                last = Instant::now();
            }
        };
        let thread = std::thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(watch);
        drop(thread.expect("a thread for the watchdog"));
        dog
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A round, or what comes between two, begins.
    pub(crate) fn begin(&self, round: &str, actors: usize) {
        let mut state = self.state();
        state.round = round.to_owned();
        state.lasts = Duration::ZERO;
        state.actors = vec!["nothing yet"; actors];
    }

    /// For how long the process was stopped, as far as that is known by now.
    pub(crate) fn stopped(&self) -> Duration {
        self.state().stopped
    }

    /// An outside thread turns to something else.
    pub(crate) fn actor_does(&self, actor: usize, what: &'static str) {
        self.state().actors[actor] = what;
    }

    /// Looks, so long after the last time.
    fn look(&self, passed: Duration, world: &Weak<World>) {
        let mut state = self.state();
        if passed > PAUSE_MAX {
            state.stopped += passed;
            return;
        }
        state.lasts += passed;
        if state.lasts < ROUND_MAX {
            return;
        }
        let mut out = std::io::stderr().lock();
        let seconds = ROUND_MAX.as_secs();
        let _ = writeln!(out, "\nHUNG: {} has not ended for {seconds} s", state.round);
        let _ = writeln!(out, "{}", Sums::read());
        for complaint in books::complaints() {
            let _ = writeln!(out, "complaint: {complaint}");
        }
        for (actor, what) in state.actors.iter().enumerate() {
            let _ = writeln!(out, "outside thread {actor}: {what}");
        }
        for line in world.upgrade().iter().flat_map(|world| world.describe()) {
            let _ = writeln!(out, "{line}");
        }
        let _ = write!(out, "{}", usage::threads().unwrap_or_default());
        // The other threads would never let the program end.
        std::process::exit(1);
    }
}
