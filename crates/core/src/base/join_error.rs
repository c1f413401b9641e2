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
    Panicked(PanicPayload),
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
            Self::Panicked(payload) => Ok(payload.into_inner()),
            Self::Cancelled => Err(self),
        }
    }
}

/// The payload of a job's panic: of any type that can be sent to the thread which joins the job.
///
/// Threads may share it, as errors are to be shared, though what is in it need not be [`Sync`]: a
/// shared reference shows it only as a type that is.
///
/// # Examples
///
/// ```
/// # use heist_core as heist;
/// use heist::JoinError;
///
/// let failed = heist::submit(|| -> u32 { panic!("no luck") }).try_join();
/// let Err(JoinError::Panicked(payload)) = failed else { unreachable!() };
/// assert_eq!(payload.downcast_ref(), Some(&"no luck"));
/// ```
pub struct PanicPayload(Box<dyn Any + Send>);

// SAFETY: a shared reference gives access to the content as a type that is `Sync`, and to nothing
// else.
unsafe impl Sync for PanicPayload {}

impl PanicPayload {
    /// The content, if it is of this type.
    ///
    /// # Examples
    ///
    /// See [`PanicPayload`].
    #[must_use]
    pub fn downcast_ref<T: Any + Sync>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }

    /// The content, for [`resume_unwind`](std::panic::resume_unwind).
    ///
    /// # Examples
    ///
    /// See [`JoinError::into_panic`], which does the same.
    #[must_use]
    pub fn into_inner(self) -> Box<dyn Any + Send> {
        self.0
    }

    /// The text of the panic, if it has one.
    fn text(&self) -> Option<&str> {
        let text = self.downcast_ref::<&str>().copied();
        text.or_else(|| self.downcast_ref().map(String::as_str))
    }
}

impl From<Box<dyn Any + Send>> for PanicPayload {
    fn from(payload: Box<dyn Any + Send>) -> Self {
        Self(payload)
    }
}

impl fmt::Debug for PanicPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.text().unwrap_or(".."), f)
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked(payload) => match payload.text() {
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
            Self::Panicked(payload) => f.debug_tuple("Panicked").field(payload).finish(),
            Self::Cancelled => f.write_str("Cancelled"),
        }
    }
}

impl Error for JoinError {}
