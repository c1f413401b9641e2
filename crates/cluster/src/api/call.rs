//! Remote calls on the driver's side: attempts, until one has a result.

use std::fmt;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use heist_sync::atomic::Ordering;
use heist_sync::{Condvar, Mutex};

use super::permits::Permit;
use super::session::Shared;
use super::timers::{Timed, Timer};
use crate::backend::{CallSpec, Placement};
use crate::error::BackendError;
use crate::error::RemoteError;
use crate::log::LogOrigin;
use crate::protocol::backoff::Backoff;
use crate::protocol::fingerprint::Build;
use crate::protocol::object_id::ObjectId;
use crate::protocol::trace::Trace;
use crate::protocol::{Answer, Ask, Frame, Outcome, Request};

/// A function to call, with arguments and reservations.
#[derive(Debug, Default)]
pub(crate) struct What {
    pub(crate) function: String,
    pub(crate) args: Vec<u8>,
    pub(crate) objects: Vec<ObjectId>,
    pub(crate) cpus: u32,
    pub(crate) retries: u32,
    pub(crate) placement: Placement,
    pub(crate) deadline: Option<Deadline>,
    pub(crate) trace: Option<Trace>,
    pub(super) backoff: Option<Backoff>,
}

/// When a call is given up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    pub(crate) at: Instant,
    /// The limit, counted from the call.
    pub(crate) within: Duration,
}

impl Deadline {
    /// The moment after `limit`; none if no clock reaches it.
    pub(crate) fn after(within: Duration) -> Option<Self> {
        let at = Instant::now().checked_add(within)?;
        Some(Self { at, within })
    }

    pub(crate) fn passed(self) -> RemoteError {
        let within = self.within;
        RemoteError::TimedOut { within }
    }
}

/// The time between a call's deadline, which cancels the function, and the kill.
const GRACE: Duration = Duration::from_secs(5);

/// A call that ended this many workers is not run again.
const OWN_DOINGS_MAX: u32 = 2;

/// Called on some thread once there is a result.
pub(crate) type OnResult = Box<dyn FnOnce() + Send>;

/// Bytes of a result, and how long the function ran.
pub(crate) type Returned = (Vec<u8>, Duration);

/// One call with all its attempts.
#[derive(Debug)]
pub(crate) struct Call {
    shared: Arc<Shared>,
    function: String,
    number: u64,
    origin: Arc<LogOrigin>,
    cpus: u32,
    retries: u32,
    placement: Placement,
    objects: Vec<ObjectId>,
    deadline: Option<Deadline>,
    trace: Option<Trace>,
    backoff: Option<Backoff>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Kept for retries until there is a result.
    args: Option<Vec<u8>>,
    /// How many attempts were begun.
    attempts: u32,
    /// How many of them ended their workers.
    own_doings: u32,
    /// The number of the present attempt's request.
    request: u64,
    result: Option<Result<Returned, RemoteError>>,
    /// True once there is a result, even after it was taken.
    is_over: bool,
    /// The request was cancelled and may still run.
    is_cancelled: bool,
    /// Until its deadline, and then until it is killed.
    timer: Option<Timer>,
    /// Until it is run again.
    pause: Option<Timer>,
    waker: Option<Waker>,
    on_result: Option<OnResult>,
}

impl State {
    /// The result, until it is taken.
    fn take_result(&mut self) -> Option<Result<Returned, RemoteError>> {
        match self.result.take() {
            None if self.is_over => Some(Err(RemoteError::given_already("the call"))),
            result => result,
        }
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("attempts", &self.attempts)
            .finish_non_exhaustive()
    }
}

impl Call {
    fn new(shared: &Arc<Shared>, what: What, on_result: Option<OnResult>) -> Self {
        let number = shared.next_request();
        let origin = Arc::new(LogOrigin::Call {
            function: what.function.clone(),
            call: number,
            trace: what.trace,
        });
        Self {
            shared: Arc::clone(shared),
            function: what.function,
            number,
            origin,
            cpus: what.cpus,
            retries: what.retries,
            placement: what.placement,
            objects: what.objects,
            deadline: what.deadline,
            trace: what.trace,
            backoff: what.backoff,
            state: Mutex::new(State {
                args: Some(what.args),
                attempts: 0,
                own_doings: 0,
                request: 0,
                result: None,
                is_over: false,
                is_cancelled: false,
                timer: None,
                pause: None,
                waker: None,
                on_result,
            }),
            changed: Condvar::default(),
        }
    }

    /// Begins a call whose arguments are covered by `permit`. `on_result` is called on some thread
    /// once there is a result.
    pub(crate) fn begin(
        shared: &Arc<Shared>,
        what: What,
        permit: Permit,
        on_result: Option<OnResult>,
    ) -> Arc<Self> {
        let call = Arc::new(Self::new(shared, what, on_result));
        // For people.
        call.shared.counters.begun.fetch_add(1, Ordering::Relaxed);
        match call
            .deadline
            .map_or(Ok(()), |deadline| call.wake_at(deadline.at))
        {
            Ok(()) => call.attempt(permit),
            Err(error) => call.finish(None, Err(error)),
        }
        call
    }

    /// [`begin`](Self::begin), after waiting for memory for the arguments.
    pub(crate) fn begin_in_turn(
        shared: &Arc<Shared>,
        what: What,
        on_result: Option<OnResult>,
    ) -> Arc<Self> {
        if let Err(error) = shared.owner.check() {
            // Permits come back in the parent only.
            let call = Self::failed(shared, &what.function, error.into());
            on_result.into_iter().for_each(|on_result| on_result());
            return call;
        }
        let at = what.deadline.map(|deadline| deadline.at);
        if let Some(permit) = shared.permits.take(what.args.len(), at) {
            return Self::begin(shared, what, permit, on_result);
        }
        let passed = what
            .deadline
            .map_or(RemoteError::Cancelled, Deadline::passed);
        let call = Self::failed(shared, &what.function, passed);
        on_result.into_iter().for_each(|on_result| on_result());
        call
    }

    /// Has [`is_due`](Timed::is_due) called at that time, unless the call is over before.
    fn wake_at(self: &Arc<Self>, at: Instant) -> Result<(), RemoteError> {
        let mut state = self.state.lock();
        let timer = self
            .shared
            .timers
            .add(at, Arc::clone(self) as _)
            .map_err(|error| {
                let why = format!("could not start the thread that waits for deadlines: {error}");
                RemoteError::from(BackendError::setup(why))
            })?;
        state.timer = Some(timer);
        Ok(())
    }

    /// A call that cannot begin.
    pub(crate) fn failed(shared: &Arc<Shared>, function: &str, error: RemoteError) -> Arc<Self> {
        let what = What {
            function: function.to_owned(),
            ..What::default()
        };
        let call = Self::new(shared, what, None);
        let mut state = call.state.lock();
        state.result = Some(Err(error));
        state.is_over = true;
        drop(state);
        Arc::new(call)
    }

    fn attempt(self: &Arc<Self>, permit: Permit) {
        let id = self.shared.next_request();
        let args = {
            let mut state = self.state.lock();
            if state.is_over {
                return;
            }
            state.attempts += 1;
            state.request = id;
            // The last attempt needs no copy.
            match state.attempts > self.retries {
                true => state.args.take(),
                false => state.args.clone(),
            }
        };
        let ask = Ask::Call {
            function: self.function.clone(),
            cpus: self.cpus,
            trace: self.trace,
        };
        let fingerprint = self.shared.fingerprint;
        let request = Request::frame(id, fingerprint, ask, args.unwrap_or_default());
        let spec = CallSpec {
            id,
            request,
            cpus: self.cpus,
            placement: self.placement.clone(),
            objects: self.objects.clone(),
            origin: Arc::clone(&self.origin),
        };
        let call = Arc::clone(self);
        self.shared
            .backend
            .call(spec, Box::new(move |answer| call.take(id, permit, answer)));
        // It may have been cancelled before the backend had it.
        let state = self.state.lock();
        let is_unwanted = state.request == id && state.is_cancelled;
        drop(state);
        if is_unwanted {
            self.shared.backend.cancel(id, false);
        }
    }

    /// Receives the outcome of the attempt `id`, whose arguments have no other user left.
    fn take(self: &Arc<Self>, id: u64, permit: Permit, answer: Result<Frame, BackendError>) {
        let result = match answer {
            Ok(frame) => understand(frame, &self.shared.build),
            Err(error) if error.is_cancelled() => Err(RemoteError::Cancelled),
            Err(error) => {
                let mut state = self.state.lock();
                let attempts = state.attempts;
                let is_current = state.request == id && !state.is_over;
                state.own_doings += u32::from(error.is_own_doing());
                let may_retry = attempts <= self.retries && state.own_doings < OWN_DOINGS_MAX;
                drop(state);
                if error.is_passing() {
                    self.shared.counters.lost.fetch_add(1, Ordering::Relaxed);
                }
                if is_current && error.is_passing() && may_retry {
                    return self.attempt_again(attempts, permit);
                }
                Err(RemoteError::Backend { error, attempts })
            }
        };
        drop(permit);
        self.finish(Some(id), result);
    }

    /// Runs it again, now or after a pause.
    fn attempt_again(self: &Arc<Self>, attempts: u32, permit: Permit) {
        let Some(backoff) = self.backoff else {
            return self.attempt(permit);
        };
        // No pause is as long as what a clock can show.
        let at = Instant::now() + backoff.pause(attempts, self.shared.id ^ self.number);
        let call = Arc::clone(self);
        let again = Arc::new(Again(call, Mutex::new(Some(permit))));
        let mut state = self.state.lock();
        if !state.is_over {
            // If it cannot wait, it is given up as it is dropped.
            state.pause = self.shared.timers.add(at, Arc::clone(&again) as _).ok();
        }
        // The last copy may be dropped here, which needs the lock.
        drop(state);
        drop(again);
    }

    /// Sets the result, unless there is one or the attempt is not the present one.
    fn finish(&self, id: Option<u64>, result: Result<Returned, RemoteError>) {
        let mut state = self.state.lock();
        let is_answered = id == Some(state.request);
        if is_answered {
            state.is_cancelled = false;
        }
        // A request that was cancelled may still have to be killed.
        if is_answered || !state.is_over {
            if let Some(timer) = state.timer.take() {
                self.shared.timers.remove(timer);
            }
        }
        if state.is_over || id.is_some_and(|id| state.request != id) {
            return;
        }
        self.shared.counters.done.fetch_add(1, Ordering::Relaxed);
        state.result = Some(result);
        state.is_over = true;
        state.args = None;
        let waker = state.waker.take();
        let on_result = state.on_result.take();
        let pause = state.pause.take();
        drop(state);
        if let Some(pause) = pause {
            // Gives its permit back.
            self.shared.timers.remove(pause);
        }
        self.changed.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
        if let Some(on_result) = on_result {
            on_result();
        }
    }

    pub(crate) fn cancel(&self, is_hard: bool) {
        self.give_up(RemoteError::Cancelled, is_hard);
    }

    fn give_up(&self, why: RemoteError, is_hard: bool) {
        let request = {
            let mut state = self.state.lock();
            let may_run = !state.is_over || (is_hard && state.is_cancelled);
            state.is_cancelled |= may_run;
            may_run.then_some(state.request)
        };
        if let Some(request) = request {
            self.finish(None, Err(why));
            self.shared.backend.cancel(request, is_hard);
        }
    }

    /// Waits for the result, for `patience` at most, and takes it.
    pub(super) fn wait(&self, patience: Duration) -> Option<Result<Returned, RemoteError>> {
        let began = Instant::now();
        let mut state = self.state.lock();
        loop {
            if let Some(result) = self.result(&mut state) {
                return Some(result);
            }
            let left = patience.saturating_sub(began.elapsed());
            if left.is_zero() {
                return None;
            }
            state = self.changed.wait_timeout(state, left);
        }
    }

    /// Takes the result, when there is one.
    pub(crate) fn poll(&self) -> Option<Result<Returned, RemoteError>> {
        self.result(&mut self.state.lock())
    }

    /// As [`poll`](Self::poll); if there is none yet, wakes this waker when there is one.
    pub(super) fn poll_with(&self, waker: &Waker) -> Option<Result<Returned, RemoteError>> {
        let mut state = self.state.lock();
        let result = self.result(&mut state);
        if result.is_none() {
            state.waker = Some(waker.clone());
        }
        result
    }

    /// The name of its function.
    pub(super) fn function(&self) -> &str {
        &self.function
    }

    /// Its number, unique in its cluster.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// True once there is a result.
    pub(super) fn is_over(&self) -> bool {
        self.state.lock().is_over
    }

    /// The result, until it is taken. There will be none in a forked child.
    fn result(&self, state: &mut State) -> Option<Result<Returned, RemoteError>> {
        let elsewhere = || Some(Err(self.shared.owner.check().err()?.into()));
        state.take_result().or_else(elsewhere)
    }
}

impl Timed for Call {
    /// At the deadline it is cancelled, and then killed if it goes on.
    fn is_due(self: Arc<Self>) {
        let (is_over, deadline) = (self.state.lock().is_over, self.deadline);
        match deadline.filter(|_| !is_over) {
            None => self.cancel(true),
            Some(deadline) => {
                self.give_up(deadline.passed(), false);
                // Without another thread it is not killed; there is one, which runs this.
                let _ = Instant::now().checked_add(GRACE).map(|at| self.wake_at(at));
            }
        }
    }
}

/// A call that is to be run again, and its permit until then.
struct Again(Arc<Call>, Mutex<Option<Permit>>);

impl Timed for Again {
    fn is_due(self: Arc<Self>) {
        let permit = self.1.lock().take();
        permit.into_iter().for_each(|permit| self.0.attempt(permit));
    }
}

impl Drop for Again {
    fn drop(&mut self) {
        // The cluster has ended before.
        if self.1.lock().take().is_some() {
            self.0.finish(None, Err(RemoteError::Cancelled));
        }
    }
}

fn understand(frame: Frame, build: &Build) -> Result<Returned, RemoteError> {
    let answer = frame.understand::<Answer>();
    let answer = answer.map_err(|error| {
        RemoteError::malformed(format!("the worker's answer cannot be understood: {error}"))
    })?;
    match answer.outcome {
        Outcome::Returned { run_ns } => Ok((frame.payload, Duration::from_nanos(run_ns))),
        Outcome::Panicked(message) => Err(RemoteError::Panicked(message)),
        Outcome::Cancelled => Err(RemoteError::Cancelled),
        Outcome::Refused(refusal) => {
            let refusal = refusal.explained(build, &frame.payload);
            Err(RemoteError::Refused(refusal))
        }
        other => Err(RemoteError::malformed(format!(
            "the worker answered a call with {other:?}"
        ))),
    }
}
