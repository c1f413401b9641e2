//! How calls are placed, limited and begun.

use std::sync::Arc;
use std::time::Duration;

use super::call::{Call, Deadline, OnResult, What};
use super::object::{self, Remote};
use super::remote_future::RemoteFuture;
use super::session::Shared;
use crate::backend::{Node, Placement};
use crate::error::{Full, RemoteError};
use crate::planner::NodeId;
use crate::protocol::backoff::Backoff;
use crate::protocol::needs::Needs;
use crate::protocol::object_id::ObjectId;
use crate::protocol::trace::Trace;
use crate::remote::function::{Defaults, RemoteFunction};
use crate::Priority;

/// Settings for calls: where they run, with which resources, for how long. One value serves any
/// number of calls.
///
/// # Examples
///
/// ```
/// use heist_cluster::{remote, CallContext, Cluster, Local, Remote};
///
/// #[remote]
/// fn place(numbers: Remote<Vec<u64>>) -> (String, usize) {
///     let length = numbers.get().expect("the numbers came with the call").len();
///     (CallContext::current().node().to_owned(), length)
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     heist_cluster::init();
///     let cluster = Cluster::connect(Local::new().nodes(2).cpus(2))?;
///     let numbers = cluster.put(&vec![2_u64, 3, 5])?;
///     // On `n2` and nowhere else, both of its processors, and not again if it is lost.
///     let calls = cluster.pin("n2").cpus(2).retries(0);
///     assert_eq!(calls.call(place, numbers.clone()).get()?, ("n2".to_owned(), 3));
///     // On `n1` if it has room; near the data if the backend knows what that is.
///     let (_, length) = cluster.on("n1").near(&numbers).call(place, numbers.clone()).get()?;
///     assert_eq!(length, 3);
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug)]
#[must_use = "it only says how calls are to run"]
pub struct Calls<'a> {
    pub(super) shared: &'a Arc<Shared>,
    placement: Placement,
    memory: Option<u64>,
    cpus: Option<u32>,
    retries: Option<u32>,
    within: Option<Duration>,
    trace: Option<Trace>,
    backoff: Option<Backoff>,
}

impl<'a> Calls<'a> {
    /// Anywhere, with the reservations of the function's attribute.
    pub(super) fn anywhere(shared: &'a Arc<Shared>) -> Self {
        Self {
            shared,
            placement: Placement::default(),
            memory: None,
            cpus: None,
            retries: None,
            within: None,
            trace: None,
            backoff: None,
        }
    }
}

impl Calls<'_> {
    /// Runs on `node` if it exists and has room, else elsewhere.
    pub fn on(mut self, node: impl Into<NodeId>) -> Self {
        self.placement.node = Some(node.into());
        self.placement.is_pinned = false;
        self
    }

    /// Runs on `node` only. If that machine is lost, so is the call.
    pub fn pin(mut self, node: impl Into<NodeId>) -> Self {
        self.placement.node = Some(node.into());
        self.placement.is_pinned = true;
        self
    }

    /// Runs where `data` already is, if there is room.
    pub fn near<T>(mut self, data: &Remote<T>) -> Self {
        self.placement.near.push(data.id());
        self
    }

    /// Reserves this many processors instead of those of the function's attribute.
    pub fn cpus(mut self, cpus: u32) -> Self {
        self.cpus = Some(cpus.max(1));
        self
    }

    /// Reserves this much memory for each call, instead of that of the function's attribute.
    /// `Local` counts it if [`Local::memory`](crate::Local::memory) is set, Slurm if it allocates
    /// memory, `Ray` as its resource `memory`. Only the backend can hold a function to it, and Ray
    /// does not.
    ///
    /// [`resource`](Self::resource) has an example.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Reserves `count` of a named resource, such as `gpu`, for each call: one of
    /// [`Local::resource`](crate::Local::resource) on `Local`, a `Gres` on Slurm, on `Ray` one of
    /// `ray start --resources`; `gpu` is Ray's `GPU`. heist does not choose which of them the
    /// function uses, and sets no `CUDA_VISIBLE_DEVICES`.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_cluster::{remote, Cluster, Local};
    ///
    /// #[remote]
    /// fn train(epochs: u32) -> u32 {
    ///     epochs
    /// }
    ///
    /// fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     heist_cluster::init();
    ///     let local = Local::new().cpus(8).resource("gpu", 2).memory(16 << 30);
    ///     let cluster = Cluster::connect(local)?;
    ///     // Two at a time.
    ///     let calls = cluster.anywhere().resource("gpu", 1).memory(4 << 30);
    ///     let trained: Vec<_> = (0..4).map(|epochs| calls.call(train, epochs)).collect();
    ///     for (epochs, call) in (0..).zip(trained) {
    ///         assert_eq!(call.get()?, epochs);
    ///     }
    ///     // Nobody has as many.
    ///     let refused = cluster.anywhere().resource("gpu", 3).call(train, 1).get();
    ///     assert_eq!(
    ///         refused.unwrap_err().to_string(),
    ///         "1 processors, 3 of gpu were wanted on any node; \
    ///          there are n1 (8, 16384 MiB of memory, 2 of gpu)"
    ///     );
    ///     Ok(())
    /// }
    /// ```
    pub fn resource(mut self, name: impl Into<String>, count: u32) -> Self {
        self.placement.needs.named.insert(name.into(), count);
        self
    }

    /// Lets calls begin before others that wait, or after them: high ones first, low ones last. No
    /// class starves: after ten calls that were more urgent, one that was passed over begins. So
    /// does one that wants much of a node: after a while those that would be in its way wait. Calls
    /// that run are not interrupted. Jobs wait as normal ones.
    ///
    /// This orders the calls of one [`Cluster`](crate::Cluster) that wait in this program for room.
    /// Between programs, Ray and Slurm decide.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_cluster::{remote, Cluster, Local, Priority};
    ///
    /// #[remote]
    /// fn render(frame: u32) -> u32 {
    ///     frame
    /// }
    ///
    /// fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     heist_cluster::init();
    ///     let cluster = Cluster::connect(Local::new().nodes(1).cpus(1))?;
    ///     let background = cluster.anywhere().priority(Priority::Low);
    ///     let frames: Vec<_> = (0..100).map(|frame| background.call(render, frame)).collect();
    ///     // Somebody waits for this one: it begins as soon as a processor is free.
    ///     let preview = cluster.anywhere().priority(Priority::High).call(render, 7);
    ///     assert_eq!(preview.get()?, 7);
    ///     for (number, frame) in (0..).zip(frames) {
    ///         assert_eq!(frame.get()?, number);
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn priority(mut self, priority: Priority) -> Self {
        self.placement.priority = priority;
        self
    }

    /// Retries lost attempts this often instead of as the function's attribute says. With 0 the
    /// function runs at most once.
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = Some(retries);
        self
    }

    /// Pauses before each retry: `first`, then twice as long each time, up to `longest` and at most
    /// an hour. Up to half of each pause is cut at random, so that calls lost together do not
    /// return together. Without this, retries start at once.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use heist_cluster::{remote, Cluster, Local};
    ///
    /// #[remote]
    /// fn square(x: u64) -> u64 {
    ///     x * x
    /// }
    ///
    /// fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     heist_cluster::init();
    ///     let cluster = Cluster::connect(Local::new())?;
    ///     let (first, longest) = (Duration::from_millis(100), Duration::from_secs(10));
    ///     let patient = cluster.anywhere().retries(20).backoff(first, longest);
    ///     assert_eq!(patient.call(square, 7).get()?, 49);
    ///     Ok(())
    /// }
    /// ```
    pub fn backoff(mut self, first: Duration, longest: Duration) -> Self {
        self.backoff = Some(Backoff::new(first, longest));
        self
    }

    /// Cancels calls that take longer, counted from the call, with [`RemoteError::TimedOut`]. A
    /// function that ignores the cancellation is killed five seconds later, as by
    /// [`RemoteFuture::kill`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use heist_cluster::{remote, Cluster, Local, RemoteError};
    ///
    /// #[remote]
    /// fn wait_for_ever() {
    ///     loop {
    ///         std::thread::park();
    ///     }
    /// }
    ///
    /// fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     heist_cluster::init();
    ///     let cluster = Cluster::connect(Local::new())?;
    ///     let within = Duration::from_millis(10);
    ///     let result = cluster.within(within).call(wait_for_ever, ()).get();
    ///     assert_eq!(result, Err(RemoteError::TimedOut { within }));
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Cost
    ///
    /// An entry in an ordered list, and one thread for all deadlines.
    pub fn within(mut self, time: Duration) -> Self {
        self.within = Some(time);
        self
    }

    /// Passes this place in a trace to the function.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_cluster::{remote, CallContext, Cluster, Local, Trace};
    ///
    /// #[remote]
    /// fn header() -> Option<String> {
    ///     Some(CallContext::current().trace()?.to_string())
    /// }
    ///
    /// fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     heist_cluster::init();
    ///     let cluster = Cluster::connect(Local::new())?;
    ///     let trace: Trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".parse()?;
    ///     let calls = cluster.anywhere().trace(trace);
    ///     assert_eq!(calls.call(header, ()).get()?, Some(trace.to_string()));
    ///     assert_eq!(cluster.call(header, ()).get()?, None);
    ///     Ok(())
    /// }
    /// ```
    pub fn trace(mut self, trace: Trace) -> Self {
        self.trace = Some(trace);
        self
    }

    /// Calls a remote function; see [`Cluster::call`](crate::Cluster::call).
    pub fn call<F: RemoteFunction>(&self, _: F, args: F::Args) -> RemoteFuture<F::Out> {
        RemoteFuture::new(self.begin::<F>(&args, None))
    }

    /// [`call`](Self::call) without blocking.
    ///
    /// # Errors
    ///
    /// Returns the arguments if open calls hold more bytes than
    /// [`Options::calls_bytes_max`](crate::Options::calls_bytes_max).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::collections::VecDeque;
    /// use heist_cluster::{remote, Cluster, Local, Options};
    ///
    /// #[remote]
    /// fn length(text: String) -> usize {
    ///     text.len()
    /// }
    ///
    /// fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     heist_cluster::init();
    ///     let options = Options::new().calls_bytes_max(10_000);
    ///     let cluster = Cluster::connect_with(Local::new(), options)?;
    ///     let (mut open, mut sum) = (VecDeque::new(), 0);
    ///     let mut texts: Vec<_> = (0..100).map(|times| "x".repeat(times)).collect();
    ///     while let Some(text) = texts.pop() {
    ///         match cluster.anywhere().try_call(length, text) {
    ///             Ok(call) => open.push_back(call),
    ///             // A result makes room.
    ///             Err(full) => {
    ///                 texts.push(full.args);
    ///                 sum += open.pop_front().expect("some are open").get()?;
    ///             }
    ///         }
    ///     }
    ///     for call in open {
    ///         sum += call.get()?;
    ///     }
    ///     assert_eq!(sum, 99 * 100 / 2);
    ///     Ok(())
    /// }
    /// ```
    pub fn try_call<F: RemoteFunction>(
        &self,
        _: F,
        args: F::Args,
    ) -> Result<RemoteFuture<F::Out>, Full<F::Args>> {
        let shared = self.shared;
        let call = match self.what::<F>(&args) {
            Err(error) => Call::failed(shared, F::NAME, error),
            Ok(what) => match shared.permits.try_take(what.args.len()) {
                Ok(permit) => Call::begin(shared, what, permit, None),
                Err(used_bytes) => {
                    let bytes_max = shared.permits.bytes_max;
                    return Err(Full {
                        args,
                        used_bytes,
                        bytes_max,
                    });
                }
            },
        };
        Ok(RemoteFuture::new(call))
    }

    /// Begins a call whose result is polled.
    pub(crate) fn begin<F: RemoteFunction>(
        &self,
        args: &F::Args,
        on_result: Option<OnResult>,
    ) -> Arc<Call> {
        let shared = self.shared;
        match self.what::<F>(args) {
            Ok(what) => Call::begin_in_turn(shared, what, on_result),
            Err(error) => {
                let call = Call::failed(shared, F::NAME, error);
                on_result.into_iter().for_each(|on_result| on_result());
                call
            }
        }
    }

    /// How many calls of the function can run at a time, at least one.
    pub(super) fn places<F: RemoteFunction>(&self) -> Result<usize, RemoteError> {
        let cpus = f64::from(self.cpus.unwrap_or(F::OPTIONS.cpus).max(1));
        let only = self.placement.node.as_ref();
        let only = only.filter(|_| self.placement.is_pinned);
        let nodes = self.shared.backend.nodes()?;
        let meant = |node: &&Node| node.is_alive && only.is_none_or(|only| *only == node.id);
        let needs = self.needs(&Defaults::from(F::OPTIONS).needs);
        let of = |node: &Node| {
            (node.cpus / cpus)
                .floor()
                .min(needs.times(&node.needs()) as f64)
        };
        let places = nodes.iter().filter(meant).map(of);
        Ok((places.sum::<f64>() as usize).max(1))
    }

    /// The call of a function of this program, or the reason against it.
    fn what<F: RemoteFunction>(&self, args: &F::Args) -> Result<What, RemoteError> {
        let written = object::encode_with_objects(args)
            .map_err(|error| format!("the arguments of `{}` cannot be written: {error}", F::NAME));
        written
            .and_then(|args| self.what_of(F::NAME, &F::OPTIONS.into(), args))
            .map_err(RemoteError::malformed)
    }

    /// The call of a function, with its arguments and the shared data in them, or the reason
    /// against it.
    pub(super) fn what_of(
        &self,
        name: &str,
        defaults: &Defaults,
        (args, objects): (Vec<u8>, Vec<ObjectId>),
    ) -> Result<What, String> {
        let within = defaults.within_ms.map(Duration::from_millis);
        let deadline = self.within.or(within).and_then(Deadline::after);
        let placement = Placement {
            needs: self.needs(&defaults.needs),
            ..self.placement.clone()
        };
        let node = placement.node.as_ref();
        if let Some(fault) = node.and_then(NodeId::fault).or(placement.needs.fault()) {
            return Err(fault);
        }
        let what = format!("the arguments of `{name}`");
        self.shared.limits.admit(&what, &args)?;
        Ok(What {
            function: name.to_owned(),
            args,
            objects,
            cpus: self.cpus.unwrap_or(defaults.cpus).max(1),
            retries: self.retries.unwrap_or(defaults.retries),
            placement,
            deadline,
            trace: self.trace,
            backoff: self.backoff.or(defaults.backoff_ms.map(Backoff::from_ms)),
        })
    }

    /// The resources beside processors: those that are set here, and for the rest the function's.
    fn needs(&self, defaults: &Needs) -> Needs {
        let mut needs = defaults.clone();
        needs.memory_bytes = self.memory.unwrap_or(needs.memory_bytes);
        needs.named.extend(self.placement.needs.named.clone());
        needs.named.retain(|_, count| *count > 0);
        needs
    }
}
