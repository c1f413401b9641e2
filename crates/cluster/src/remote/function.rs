//! Remote functions, as values in the program that defines them.

use serde::{de::DeserializeOwned, Deserialize, Serialize};

use crate::protocol::needs::Needs;

/// A function that workers on other machines can run: one below
/// [`#[remote]`](macro@crate::remote).
///
/// The attribute turns the function's name into a value that can be called as before and that
/// [`Cluster::call`](crate::Cluster::call) and [`Chunks::map`](crate::Chunks::map) accept.
///
/// # Examples
///
/// ```
/// use heist_cluster::{remote, RemoteFunction};
///
/// #[remote(cpus = 2, retries = 5)]
/// fn area(width: u64, height: u64) -> u64 {
///     width * height
/// }
///
/// assert_eq!(area(3, 4), 12);
/// fn name<F: RemoteFunction>(_: F) -> &'static str {
///     F::NAME
/// }
/// assert!(name(area).ends_with("::area"));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a remote function",
    label = "put `#[heist_cluster::remote]` above this function"
)]
pub trait RemoteFunction: Copy + Send + Sync + 'static {
    /// Its argument: a tuple for several, `()` for none.
    type Args: Serialize + DeserializeOwned + Send + 'static;
    /// Its result.
    type Out: Serialize + DeserializeOwned + Send + 'static;
    /// Its path, by which workers know it.
    const NAME: &'static str;
    /// Its reservations and retries, as the attribute says.
    const OPTIONS: CallOptions;
    /// Calls it.
    fn run(args: Self::Args) -> Self::Out;
}

/// How a remote function is to be run, as its [attribute](macro@crate::remote) says.
///
/// # Examples
///
/// ```
/// use heist_cluster::{remote, CallOptions, Cluster, Local, RemoteFunction};
///
/// #[remote(cpus = 2)]
/// fn square(x: u64) -> u64 {
///     x * x
/// }
///
/// #[remote(memory = 4 << 30, resources(gpu = 1), backoff_ms = [100, 60_000], within_ms = 5)]
/// fn train(epochs: u32) -> u32 {
///     epochs
/// }
///
/// fn options<F: RemoteFunction>(_: F) -> CallOptions {
///     F::OPTIONS
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     heist_cluster::init();
///     assert_eq!(options(square), CallOptions { cpus: 2, ..CallOptions::DEFAULT });
///     let wanted = CallOptions {
///         backoff_ms: Some([100, 60_000]),
///         within_ms: Some(5),
///         memory_bytes: 4 << 30,
///         resources: &[("gpu", 1)],
///         ..CallOptions::DEFAULT
///     };
///     assert_eq!(options(train), wanted);
///     let cluster = Cluster::connect(Local::new().cpus(1))?;
///     let refused = cluster.call(train, 1).get().unwrap_err();
///     let why = "1 processors, 4096 MiB of memory, 1 of gpu were wanted on any node";
///     assert!(refused.to_string().starts_with(why), "{refused}");
///     // What the call says counts.
///     let calls = cluster.within(std::time::Duration::from_secs(60)).resource("gpu", 0);
///     assert_eq!(calls.call(train, 1).get()?, 1);
///     Ok(())
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallOptions {
    /// The processors that it needs, and the threads of the pool in which it runs.
    pub cpus: u32,
    /// The number of retries after lost attempts. With 0 it runs at most once.
    pub retries: u32,
    /// The first pause before a retry, and the longest, in milliseconds, as
    /// [`Calls::backoff`](crate::Calls::backoff) has them; without it there is none.
    pub backoff_ms: Option<[u64; 2]>,
    /// Its deadline, in milliseconds, as [`Calls::within`](crate::Calls::within) has it.
    pub within_ms: Option<u64>,
    /// The memory that it needs, in bytes; 0 if it does not say.
    pub memory_bytes: u64,
    /// The resources beside processors and memory that it needs, by name.
    pub resources: &'static [(&'static str, u32)],
}

impl CallOptions {
    /// One processor and three retries.
    pub const DEFAULT: Self = Self {
        cpus: 1,
        retries: 3,
        backoff_ms: None,
        within_ms: None,
        memory_bytes: 0,
        resources: &[],
    };
}

impl Default for CallOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// [`CallOptions`] that another process can be told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Defaults {
    pub(crate) cpus: u32,
    pub(crate) retries: u32,
    pub(crate) backoff_ms: Option<[u64; 2]>,
    pub(crate) within_ms: Option<u64>,
    pub(crate) needs: Needs,
}

impl From<CallOptions> for Defaults {
    fn from(options: CallOptions) -> Self {
        let named = options.resources.iter();
        let named = named.map(|(name, count)| ((*name).to_owned(), *count));
        Self {
            cpus: options.cpus,
            retries: options.retries,
            backoff_ms: options.backoff_ms,
            within_ms: options.within_ms,
            needs: Needs::new(options.memory_bytes, &named.collect()),
        }
    }
}
