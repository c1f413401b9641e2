//! Remote functions, as the program that defines them has them.

use serde::{de::DeserializeOwned, Deserialize, Serialize};

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
/// use heist_cluster::{remote, CallOptions, RemoteFunction};
///
/// #[remote(cpus = 2)]
/// fn square(x: u64) -> u64 {
///     x * x
/// }
///
/// fn options<F: RemoteFunction>(_: F) -> CallOptions {
///     F::OPTIONS
/// }
/// assert_eq!(options(square), CallOptions { cpus: 2, ..CallOptions::DEFAULT });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallOptions {
    /// The processors that it needs, and the threads of the pool in which it runs.
    pub cpus: u32,
    /// The number of retries after lost attempts. With 0 it runs at most once.
    pub retries: u32,
}

impl CallOptions {
    /// One processor and three retries.
    pub const DEFAULT: Self = Self {
        cpus: 1,
        retries: 3,
    };
}

impl Default for CallOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}
