//! The attributes of `heist-cluster`.

#![forbid(unsafe_code)]
