//! Why a submitted job has no value.

use std::any::Any;
use std::error::Error;
use std::fmt;

/// Why a job has no value: see [`JoinHandle::try_join`](crate::JoinHandle::try_join).
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// let failed = heist::submit(|| -> u32 { panic!("no luck") }).try_join();
/// let error = failed.unwrap_err();
/// assert_eq!(error.to_string(), "a job panicked: no luck");
/// ```
#[non_exhaustive]
pub enum JoinError {
    /// The job panicked, with this payload.
    Panicked(Box<dyn Any + Send>),
    /// The job was cancelled: before it began, or with the call that had begun it.
    Cancelled,
}

impl JoinError {
    /// The payload of the job's panic, for [`resume_unwind`](std::panic::resume_unwind).
    ///
    /// # Errors
    ///
    /// Gives the error back if the job has not panicked.
    ///
    /// # Examples
    ///
    /// ```
    /// # use heist_core as heist;
    /// let failed = heist::submit(|| -> u32 { panic!("no luck") }).try_join();
    /// let payload = failed.unwrap_err().into_panic()?;
    /// assert_eq!(payload.downcast_ref(), Some(&"no luck"));
    /// # Ok::<(), heist::JoinError>(())
    /// ```
    pub fn into_panic(self) -> Result<Box<dyn Any + Send>, Self> {
        match self {
            Self::Panicked(payload) => Ok(payload),
            Self::Cancelled => Err(self),
        }
    }
}

/// The text of a panic, if that is one.
fn text_of(payload: &(dyn Any + Send)) -> Option<&str> {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref().map(String::as_str))
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked(payload) => match text_of(payload.as_ref()) {
                Some(text) => write!(f, "a job panicked: {text}"),
                None => f.write_str("a job panicked"),
            },
            Self::Cancelled => f.write_str("a job was cancelled before it began"),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked(payload) => {
                let text = text_of(payload.as_ref()).unwrap_or("..");
                f.debug_tuple("Panicked").field(&text).finish()
            }
            Self::Cancelled => f.write_str("Cancelled"),
        }
    }
}

impl Error for JoinError {}
