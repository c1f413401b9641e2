//! The chains on heist.
#![forbid(unsafe_code)]

use heist as library;

include!("../chains.rs");
