//! The part of a task that is known without the type of its future.

use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::task::{RawWakerVTable, Waker};

use heist_sync::cell::UnsafeCell;

use super::state::State;

/// The head of each task.
pub(super) struct Head<M: 'static> {
    pub(super) state: State,
    pub(super) vtable: &'static Vtable<M>,
    /// The waker of whoever awaits the task, if there is one by T2.
    pub(super) awaiter: UnsafeCell<MaybeUninit<Waker>>,
    pub(super) meta: M,
}

/// The functions of a task.
///
/// # Safety
///
/// 1. Each is called with a task of its type that is not freed.
pub(super) struct Vtable<M: 'static> {
    /// 2. The caller is the run, which has not begun, and gives up its reference.
    pub(super) run: unsafe fn(NonNull<Head<M>>) -> bool,
    /// 2. As for `run`.
    pub(super) cancel: unsafe fn(NonNull<Head<M>>),
    /// 2. As for `run`.
    pub(super) schedule: unsafe fn(NonNull<Head<M>>, bool),
    /// 2. The task is done, and the caller is the handle. 3. There is room for an `Option` of the
    ///    outcome at that place.
    pub(super) take: unsafe fn(NonNull<Head<M>>, NonNull<()>),
    /// 2. The caller is the last one.
    pub(super) free: unsafe fn(NonNull<Head<M>>),
    /// The functions of its wakers. All wakers of a task lead to this table: those with tables at
    /// several addresses, as constants have where several crates use them, do not count as the
    /// same, and a reactor wakes the one that it has when it is given another.
    pub(super) waker: RawWakerVTable,
}
