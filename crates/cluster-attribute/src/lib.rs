//! The attributes of `heist-cluster`: `#[remote]` for functions and `#[job]` for jobs. They
//! are documented there.

#![forbid(unsafe_code)]

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;

mod job;
mod remote;
mod source;

/// Makes a function one that workers on other machines can run.
///
/// `#[remote]`, or with options: `#[remote(cpus = 2, retries = 5)]`.
#[proc_macro_attribute]
pub fn remote(options: TokenStream, function: TokenStream) -> TokenStream {
    or_error(remote::expand(options.into(), function.into()))
}

/// Registers a type of job; stands above `impl Job for ..`.
#[proc_macro_attribute]
pub fn job(options: TokenStream, implementation: TokenStream) -> TokenStream {
    or_error(job::expand(options.into(), implementation.into()))
}

fn or_error(expanded: syn::Result<Tokens>) -> TokenStream {
    let tokens = expanded.unwrap_or_else(|error| error.to_compile_error());
    tokens.into()
}
