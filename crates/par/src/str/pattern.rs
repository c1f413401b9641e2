//! Patterns that a character may match: another one, one of several, or a closure.

/// Tells whether a character matches: implemented for `char`, `&[char]`, `[char; N]`, `&[char;
/// N]` and closures, and for nothing else. See [`par_split`](super::ParallelString::par_split).
pub trait Pattern: Sized + Sync + Send + sealed::Sealed {
    #[doc(hidden)]
    fn find_in(&self, text: &str) -> Option<usize>;
    #[doc(hidden)]
    fn rfind_in(&self, text: &str) -> Option<usize>;
    #[doc(hidden)]
    fn split<'ch>(&self, text: &'ch str) -> impl Iterator<Item = &'ch str>;
    #[doc(hidden)]
    fn split_inclusive<'ch>(&self, text: &'ch str) -> impl Iterator<Item = &'ch str>;
    #[doc(hidden)]
    fn split_terminator<'ch>(&self, text: &'ch str) -> impl Iterator<Item = &'ch str>;
    #[doc(hidden)]
    fn matches<'ch>(&self, text: &'ch str) -> impl Iterator<Item = &'ch str>;
    #[doc(hidden)]
    fn match_indices<'ch>(&self, text: &'ch str) -> impl Iterator<Item = (usize, &'ch str)>;
}

mod sealed {
    /// Cannot be named, and so not implemented, elsewhere.
    #[expect(unnameable_types, reason = "for that it is there")]
    pub trait Sealed {}
}

/// All by the methods of `str`, which know the pattern `$pattern`.
macro_rules! pattern {
    ([$($generics:tt)*] $type:ty, |$this:ident| $pattern:expr) => {
        impl<$($generics)*> sealed::Sealed for $type {}

        impl<$($generics)*> Pattern for $type {
            #[inline]
            fn find_in(&self, text: &str) -> Option<usize> {
                let $this = self;
                text.find($pattern)
            }

            #[inline]
            fn rfind_in(&self, text: &str) -> Option<usize> {
                let $this = self;
                text.rfind($pattern)
            }

            #[inline]
            fn split<'ch>(&self, text: &'ch str) -> impl Iterator<Item = &'ch str> {
                let $this = self;
                text.split($pattern)
            }

            #[inline]
            fn split_inclusive<'ch>(&self, text: &'ch str) -> impl Iterator<Item = &'ch str> {
                let $this = self;
                text.split_inclusive($pattern)
            }

            #[inline]
            fn split_terminator<'ch>(&self, text: &'ch str) -> impl Iterator<Item = &'ch str> {
                let $this = self;
                text.split_terminator($pattern)
            }

            #[inline]
            fn matches<'ch>(&self, text: &'ch str) -> impl Iterator<Item = &'ch str> {
                let $this = self;
                text.matches($pattern)
            }

            #[inline]
            fn match_indices<'ch>(
                &self,
                text: &'ch str,
            ) -> impl Iterator<Item = (usize, &'ch str)> {
                let $this = self;
                text.match_indices($pattern)
            }
        }
    };
}

pattern!([] char, |this| *this);
pattern!([] & [char], |this| *this);
pattern!([const N: usize] [char; N], |this| *this);
pattern!([const N: usize] &[char; N], |this| *this);
pattern!([F: Fn(char) -> bool + Sync + Send] F, |this| this);
