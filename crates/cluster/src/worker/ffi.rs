//! A worker inside another program, which has loaded us as a library: how
//! [`export!`](macro@crate::export) hands its calls on.
//!
//! The program calls `heist_cluster_answer` with a request's frame and gets the answer's
//! frame, which it gives back to `heist_cluster_free`. Before that it may hand over shared
//! data with `heist_cluster_offer`.
#![allow(
    unsafe_code,
    reason = "bytes come and go as pointers here, and nowhere else"
)]

use std::slice;

use super::answer::{respond, worker};
use crate::protocol::object_id::ObjectId;
use crate::protocol::refusal::Refusal;
use crate::protocol::{Frame, FrameReader, Limits, Outcome};
use crate::remote::context;
use crate::remote::objects::Objects;

/// Answers the request in `len` bytes at `request`, and waits until it is done. The answer
/// lies at `*answer` until it is given to [`free`].
///
/// # Safety
///
/// 1. `request` points to `len` bytes that nobody changes during the call.
/// 2. `answer` and `answer_len` may be written.
#[doc(hidden)]
pub unsafe fn answer(request: *const u8, len: usize, answer: *mut *mut u8, answer_len: *mut usize) {
    // SAFETY: 1 above.
    let request = unsafe { bytes(request, len) };
    let frame = match FrameReader::new(request, Limits::default()).read() {
        Ok(frame) => worker().answer(frame),
        Err(error) => {
            let what = "a message".to_owned();
            let error = error.to_string();
            let refusal = Outcome::Refused(Refusal::Malformed { what, error });
            respond(0, (refusal, Vec::new()))
        }
    };
    hand_out(&frame, answer, answer_len);
}

fn hand_out(frame: &Frame, answer: *mut *mut u8, answer_len: *mut usize) {
    let bytes = frame.to_bytes().into_boxed_slice();
    // SAFETY: 2 of `answer`, the only caller.
    unsafe { answer_len.write(bytes.len()) };
    // SAFETY: as above.
    unsafe { answer.write(Box::into_raw(bytes).cast()) };
}

/// Takes back an answer.
///
/// # Safety
///
/// `answer` and `len` are what [`answer`] gave, and are given once.
#[doc(hidden)]
pub unsafe fn free(answer: *mut u8, len: usize) {
    let bytes = std::ptr::slice_from_raw_parts_mut(answer, len);
    // SAFETY: by the contract it is the box that `hand_out` took apart, and nobody else has
    // it.
    drop(unsafe { Box::from_raw(bytes) });
}

/// Hands over the shared data of the object whose id is the `id_len` bytes of text at `id`.
/// They are copied if they have not come before. Returns false if the text is no id.
///
/// # Safety
///
/// `id` and `data` point to `id_len` and `len` bytes that nobody changes during the call.
#[doc(hidden)]
pub unsafe fn offer(id: *const u8, id_len: usize, data: *const u8, len: usize) -> bool {
    // SAFETY: by the contract.
    let id = unsafe { bytes(id, id_len) };
    let id = std::str::from_utf8(id)
        .ok()
        .and_then(|id| id.parse::<ObjectId>().ok());
    let Some(id) = id else {
        return false;
    };
    if !Objects::here().has(id) {
        // SAFETY: by the contract.
        let data = unsafe { bytes(data, len) };
        Objects::here().offer(id, data.to_vec());
    }
    true
}

/// Says on which machine this process is.
///
/// # Safety
///
/// `name` points to `len` bytes that nobody changes during the call.
#[doc(hidden)]
pub unsafe fn name(name: *const u8, len: usize) {
    // SAFETY: by the contract.
    let name = unsafe { bytes(name, len) };
    // A process stays where it is.
    context::set_node(String::from_utf8_lossy(name).into_owned());
}

/// # Safety
///
/// `start` points to `len` bytes that live and do not change while the result is used; it
/// may be null if there are none.
unsafe fn bytes<'a>(start: *const u8, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: by the contract, and `len` is not 0.
    unsafe { slice::from_raw_parts(start, len) }
}

/// Emits what a program that loads this library calls. Stands once in the library (a
/// `cdylib`) that has the remote functions and jobs.
///
/// # Examples
///
/// ```
/// heist_cluster::export!();
/// ```
#[macro_export]
macro_rules! export {
    () => {
        #[doc(hidden)]
        mod heist_cluster_exports {
            /// # Safety
            ///
            /// See `heist_cluster::ffi::answer`.
            #[no_mangle]
            pub unsafe extern "C" fn heist_cluster_answer(
                request: *const u8,
                len: usize,
                answer: *mut *mut u8,
                answer_len: *mut usize,
            ) {
                // SAFETY: the caller promises the same.
                unsafe { $crate::__private::ffi::answer(request, len, answer, answer_len) }
            }

            /// # Safety
            ///
            /// See `heist_cluster::ffi::free`.
            #[no_mangle]
            pub unsafe extern "C" fn heist_cluster_free(answer: *mut u8, len: usize) {
                // SAFETY: the caller promises the same.
                unsafe { $crate::__private::ffi::free(answer, len) }
            }

            /// # Safety
            ///
            /// See `heist_cluster::ffi::offer`.
            #[no_mangle]
            pub unsafe extern "C" fn heist_cluster_offer(
                id: *const u8,
                id_len: usize,
                data: *const u8,
                len: usize,
            ) -> bool {
                // SAFETY: the caller promises the same.
                unsafe { $crate::__private::ffi::offer(id, id_len, data, len) }
            }

            /// # Safety
            ///
            /// See `heist_cluster::ffi::name`.
            #[no_mangle]
            pub unsafe extern "C" fn heist_cluster_name(name: *const u8, len: usize) {
                // SAFETY: the caller promises the same.
                unsafe { $crate::__private::ffi::name(name, len) }
            }
        }

        $crate::__private::submit! {
            $crate::__private::Library { name: ::core::env!("CARGO_CRATE_NAME") }
        }
    };
}
