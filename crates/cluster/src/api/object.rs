//! Shared data: put into the cluster once, read where it is needed.

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::{de::DeserializeOwned, Deserialize, Deserializer, Serialize, Serializer};

use crate::backend::Backend;
use crate::error::RemoteError;
use crate::protocol;
use crate::protocol::object_id::ObjectId;
use crate::remote::objects::Objects;

/// Data that calls share, made by [`Cluster::put`](crate::Cluster::put).
///
/// Passed to a remote function, in or as an argument, it travels as a name only; each worker
/// process reads the data once. The data is dropped with the last clone of the value that `put`
/// returned.
///
/// # Examples
///
/// ```
/// use heist_cluster::{remote, Cluster, Local, Remote};
///
/// #[remote]
/// fn lookup(table: Remote<Vec<u64>>, at: usize) -> u64 {
///     table.get().expect("the table came with the call")[at]
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     heist_cluster::init();
///     let cluster = Cluster::connect(Local::new())?;
///     let table = cluster.put(&vec![2_u64, 3, 5, 7])?;
///     assert_eq!(cluster.call(lookup, (table.clone(), 3)).get()?, 7);
///     println!("object {}", table.id());
///     Ok(())
/// }
/// ```
pub struct Remote<T> {
    id: ObjectId,
    /// Only in the process that put it.
    home: Option<Arc<Home>>,
    value: PhantomData<fn() -> T>,
}

/// Keeps the data while a handle is left.
struct Home {
    id: ObjectId,
    backend: Arc<dyn Backend>,
}

impl Drop for Home {
    fn drop(&mut self) {
        self.backend.forget(self.id);
    }
}

impl<T> Remote<T> {
    pub(crate) fn new(id: ObjectId, backend: Arc<dyn Backend>) -> Self {
        let home = Some(Arc::new(Home { id, backend }));
        let value = PhantomData;
        Self { id, home, value }
    }

    /// Its name.
    #[must_use]
    pub fn id(&self) -> ObjectId {
        self.id
    }
}

impl<T: DeserializeOwned + Send + Sync + 'static> Remote<T> {
    /// The data. A worker process reads it at the first use and keeps it.
    ///
    /// # Errors
    ///
    /// Fails if it was dropped, has another type, or cannot be read.
    ///
    /// # Examples
    ///
    /// ```
    /// use heist_cluster::{Cluster, Local};
    ///
    /// fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     heist_cluster::init();
    ///     let cluster = Cluster::connect(Local::new())?;
    ///     let primes = cluster.put(&vec![2_u64, 3, 5, 7])?;
    ///     assert_eq!(primes.get()?.last(), Some(&7));
    ///     Ok(())
    /// }
    /// ```
    pub fn get(&self) -> Result<Arc<T>, RemoteError> {
        match &self.home {
            None => Objects::here().get(self.id).map_err(RemoteError::malformed),
            Some(home) => {
                let bytes = home.backend.fetch(self.id)?;
                let value = protocol::decode(&bytes).map(Arc::new);
                value.map_err(|error| {
                    RemoteError::malformed(format!(
                        "object {} cannot be understood: {error}",
                        self.id
                    ))
                })
            }
        }
    }
}

impl<T> Clone for Remote<T> {
    fn clone(&self) -> Self {
        Self {
            id: self.id,
            home: self.home.clone(),
            value: PhantomData,
        }
    }
}

impl<T> fmt::Debug for Remote<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Remote").field(&self.id.to_string()).finish()
    }
}

heist_sync::thread_local! {
    /// The objects in the arguments that this thread is encoding.
    static WRITTEN: RefCell<Option<Vec<ObjectId>>> = const { RefCell::new(None) }
}

/// Encodes `value`, and lists the objects that it refers to.
pub(crate) fn encode_with_objects(
    value: &impl Serialize,
) -> Result<(Vec<u8>, Vec<ObjectId>), String> {
    WRITTEN.with(|written| *written.borrow_mut() = Some(Vec::new()));
    let bytes = protocol::encode(value);
    let objects = WRITTEN.with(|written| written.borrow_mut().take());
    let mut objects = objects.unwrap_or_default();
    objects.sort_unstable();
    objects.dedup();
    bytes.map(|bytes| (bytes, objects))
}

impl<T> Serialize for Remote<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        WRITTEN.with(|written| {
            if let Some(written) = written.borrow_mut().as_mut() {
                written.push(self.id);
            }
        });
        self.id.serialize(serializer)
    }
}

impl<'de, T> Deserialize<'de> for Remote<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = ObjectId::deserialize(deserializer)?;
        Ok(Self {
            id,
            home: None,
            value: PhantomData,
        })
    }
}
