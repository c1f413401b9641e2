//! What is put between a source and a consumer: one adaptor per file.

mod enumerate;
mod filter;
mod map;
mod rev;
mod zip;

pub use enumerate::Enumerate;
pub use filter::Filter;
pub use map::Map;
pub use rev::Rev;
pub use zip::Zip;

/// `Debug` for adaptors, which shows the iterators in them and leaves out closures.
macro_rules! debug_without_closures {
    ($name:ident<$($iter:ident),+; $($other:ident),*> { $($field:ident),+ }) => {
        impl<$($iter: std::fmt::Debug,)+ $($other),*> std::fmt::Debug for $name<$($iter,)+ $($other),*> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))
                    $(.field(stringify!($field), &self.$field))+
                    .finish_non_exhaustive()
            }
        }
    };
}
pub(crate) use debug_without_closures;
