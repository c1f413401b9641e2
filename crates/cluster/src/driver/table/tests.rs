//! Histories of jobs.
