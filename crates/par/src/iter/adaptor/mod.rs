//! What is put between a source and a consumer: one adaptor per file.

mod blocks;
mod both_ends;
mod cancel;
mod chunks;
mod enumerate;
mod filter;
mod interleave;
mod intersperse;
mod map;
mod positions;
mod rev;
mod skip_take;
mod step_by;
mod weight;
mod with_policy;
mod zip;

pub use blocks::{ExponentialBlocks, UniformBlocks};
pub use cancel::WithCancellation;
pub use chunks::{Chunks, FoldChunks, FoldChunksWith};
pub use enumerate::Enumerate;
pub use filter::Filter;
pub use interleave::{Interleave, InterleaveShortest};
pub use intersperse::Intersperse;
pub use map::Map;
pub use positions::Positions;
pub use rev::Rev;
pub use skip_take::{Skip, Take};
pub use step_by::StepBy;
pub use weight::WithWeight;
pub use with_policy::{MaxLen, MinLen, WithPolicy};
pub use zip::{Zip, ZipEq};

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
use debug_without_closures;
