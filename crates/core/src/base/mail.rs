//! A job that only one worker may run, on its way there.

use crate::base::job_ref::JobRef;

/// An entry of a mailbox.
#[derive(Clone, Copy)]
pub(crate) struct Mail {
    pub(crate) job: JobRef,
    /// True if an initialiser may wait for it: then it runs on top of the frames of one.
    pub(crate) is_needed: bool,
}
