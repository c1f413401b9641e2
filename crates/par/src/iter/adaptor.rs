//! Adaptors, which stand between a source and a consumer: one per file.

mod blocks;
mod both_ends;
mod cancel;
mod chain;
mod chunks;
mod each;
mod enumerate;
mod filter;
mod filter_map;
mod flat_map;
mod flat_map_iter;
mod fold;
mod interleave;
mod intersperse;
mod map;
mod map_with;
mod panic_fuse;
mod positions;
mod quota;
mod rev;
mod seed;
mod shared;
mod skip_take;
mod step_by;
mod take_any;
mod take_any_while;
mod weight;
mod while_some;
mod with_policy;
mod zip;

pub use blocks::{ExponentialBlocks, UniformBlocks};
pub use cancel::{Completion, WithCancellation};
pub use chain::Chain;
pub use chunks::{Chunks, FoldChunks, FoldChunksWith};
pub use each::{Cloned, Copied, Inspect, Update};
pub use enumerate::Enumerate;
pub use filter::Filter;
pub use filter_map::FilterMap;
pub use flat_map::Expand;
pub(super) use flat_map::Itself;
pub use flat_map::{FlatMap, Flatten};
pub use flat_map_iter::{FlatMapIter, FlattenIter};
pub use fold::{Fold, FoldWith, TryFold, TryFoldWith};
pub use interleave::{Interleave, InterleaveShortest};
pub use intersperse::Intersperse;
pub use map::Map;
pub use map_with::{MapInit, MapWith};
pub use panic_fuse::PanicFuse;
pub use positions::Positions;
pub use rev::Rev;
pub use skip_take::{Skip, Take};
pub use step_by::StepBy;
pub use take_any::{SkipAny, TakeAny};
pub use take_any_while::{SkipAnyWhile, TakeAnyWhile};
pub use weight::WithWeight;
pub use while_some::WhileSome;
pub use with_policy::{MaxLen, MinLen, WithPolicy};
pub use zip::{Zip, ZipEq};

/// `Debug` for adaptors, which shows the iterators in them and leaves out closures.
macro_rules! debug_without_closures {
    (
        $name:ident<$($iter:ident),+; $($other:ident),*> { $($field:ident),+ }
        $(where $($bounds:tt)+)?
    ) => {
        impl<$($iter: std::fmt::Debug,)+ $($other),*> std::fmt::Debug for $name<$($iter,)+ $($other),*>
        $(where $($bounds)+)?
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))
                    $(.field(stringify!($field), &self.$field))+
                    .finish_non_exhaustive()
            }
        }
    };
}
pub(crate) use debug_without_closures;
