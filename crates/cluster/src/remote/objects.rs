//! Shared data on a worker: read once, and kept while there is room.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use heist_sync::Mutex;
use serde::de::DeserializeOwned;

use crate::protocol;
use crate::protocol::object_id::ObjectId;

/// How many values a process keeps.
const KEPT_MAX: usize = 32;

type Value = Arc<dyn Any + Send + Sync>;

/// The shared data that this process can reach.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    /// Where the backend puts them, if it uses files.
    folder: OnceLock<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes that the backend brought with a call, until a value of them is kept.
    offered: HashMap<ObjectId, Arc<Vec<u8>>>,
    /// Values that were read, oldest first.
    kept: VecDeque<(ObjectId, Value)>,
}

impl Objects {
    /// Those of this process.
    pub(crate) fn here() -> &'static Self {
        static OBJECTS: OnceLock<Objects> = OnceLock::new();
        OBJECTS.get_or_init(Self::default)
    }

    pub(crate) fn set_folder(&self, folder: PathBuf) {
        // A process is made a worker once.
        let _ = self.folder.set(folder);
    }

    /// True if the bytes of this one are not wanted.
    pub(crate) fn has(&self, id: ObjectId) -> bool {
        let state = self.state.lock();
        state.offered.contains_key(&id) || state.kept.iter().any(|(kept, _)| *kept == id)
    }

    pub(crate) fn offer(&self, id: ObjectId, bytes: Vec<u8>) {
        self.state.lock().offered.insert(id, Arc::new(bytes));
    }

    /// The value of `id`.
    pub(crate) fn get<T>(&self, id: ObjectId) -> Result<Arc<T>, String>
    where
        T: DeserializeOwned + Send + Sync + 'static,
    {
        let offered = {
            let state = self.state.lock();
            if let Some((_, value)) = state.kept.iter().find(|(kept, _)| *kept == id) {
                let value = Arc::clone(value).downcast();
                return value.map_err(|_| format!("object {id} has been read as another type"));
            }
            // They stay for others that come before this one has read them.
            state.offered.get(&id).cloned()
        };
        let bytes = match (offered, self.folder.get()) {
            (Some(bytes), _) => bytes,
            (None, Some(folder)) => {
                let path = folder.join(id.to_string());
                let read = fs::read(&path).map_err(|error| {
                    format!(
                        "object {id} could not be read from {}: {error}",
                        path.display()
                    )
                })?;
                Arc::new(read)
            }
            (None, None) => {
                return Err(format!(
                    "object {id} is not here: a call can use the objects \
                     among its arguments, a job those in its first state"
                ))
            }
        };
        let value = protocol::decode(&bytes).map(Arc::new);
        let value = value.map_err(|error| format!("object {id} cannot be understood: {error}"))?;
        let mut state = self.state.lock();
        state.offered.remove(&id);
        state.kept.push_back((id, Arc::clone(&value) as Value));
        if state.kept.len() > KEPT_MAX {
            state.kept.pop_front();
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use heist_sync::atomic::{AtomicBool, Ordering};
    use serde::{Deserialize, Deserializer};

    use super::*;

    const ID: ObjectId = ObjectId {
        cluster: 1,
        number: 2,
    };

    fn objects() -> &'static Objects {
        static OBJECTS: OnceLock<Objects> = OnceLock::new();
        OBJECTS.get_or_init(Objects::default)
    }

    /// In the middle of reading the first one another is wanted, as another thread might.
    #[derive(Debug, PartialEq)]
    struct Nested(u8);

    impl<'de> Deserialize<'de> for Nested {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            static IS_NESTED: AtomicBool = AtomicBool::new(false);
            if !IS_NESTED.swap(true, Ordering::Relaxed) {
                let other = objects().get::<Self>(ID);
                assert_eq!(other.as_deref(), Ok(&Self(7)));
            }
            u8::deserialize(deserializer).map(Self)
        }
    }

    #[test]
    fn those_who_want_a_value_that_is_being_read_get_it_too() {
        objects().offer(ID, vec![7]);
        assert_eq!(objects().get::<Nested>(ID).as_deref(), Ok(&Nested(7)));
        assert!(objects().has(ID));
    }
}
