//! The chains on rayon.
#![forbid(unsafe_code)]

use rayon as library;

include!("../chains.rs");
