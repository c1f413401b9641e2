//! What a slot can hold: exactly one machine word.

use std::ptr::NonNull;
use std::sync::Arc;

/// An item that is one non-null pointer.
///
/// # Safety
///
/// 1. `from_word(into_word(item))` is `item`: the pair moves the item through
///    the word, and the word owns it in between.
/// 2. `into_word` and `from_word` do not panic.
///
/// # Examples
///
/// ```
/// use heist_deque::Word;
///
/// let word = Box::new(5).into_word();
/// // SAFETY: the word comes from `into_word` of the same type, and is used once.
/// let five = unsafe { Box::<i32>::from_word(word) };
/// assert_eq!(*five, 5);
/// ```
pub unsafe trait Word: Send + Sized {
    /// The item as a word, which owns it from now on.
    fn into_word(self) -> NonNull<()>;

    /// The item that `word` owns.
    ///
    /// # Safety
    ///
    /// 1. `word` comes from [`into_word`](Self::into_word) of this type.
    /// 2. Each word is turned back at most once.
    unsafe fn from_word(word: NonNull<()>) -> Self;
}

// SAFETY: 1. into_raw and from_raw are inverse and pass the ownership on.
// 2. Neither panics.
unsafe impl<T: Send> Word for Box<T> {
    fn into_word(self) -> NonNull<()> {
        NonNull::from(Box::leak(self)).cast()
    }

    unsafe fn from_word(word: NonNull<()>) -> Self {
        // SAFETY: by 1. the pointer comes from a `Box<T>`, by 2. it is the only one.
        unsafe { Box::from_raw(word.cast().as_ptr()) }
    }
}

// SAFETY: 1. into_raw and from_raw are inverse and pass the count on.
// 2. Neither panics.
unsafe impl<T: Send + Sync> Word for Arc<T> {
    fn into_word(self) -> NonNull<()> {
        // SAFETY: `Arc::into_raw` points into an allocation and is not null.
        unsafe { NonNull::new_unchecked(Arc::into_raw(self).cast_mut().cast()) }
    }

    unsafe fn from_word(word: NonNull<()>) -> Self {
        // SAFETY: by 1. the pointer comes from an `Arc<T>`, by 2. its count is still ours.
        unsafe { Arc::from_raw(word.cast().as_ptr()) }
    }
}

// SAFETY: 1. a shared reference is its pointer. 2. Nothing here panics.
unsafe impl<T: Sync> Word for &'static T {
    fn into_word(self) -> NonNull<()> {
        NonNull::from(self).cast()
    }

    unsafe fn from_word(word: NonNull<()>) -> Self {
        // SAFETY: by 1. the pointer was a `&'static T`.
        unsafe { word.cast().as_ref() }
    }
}
