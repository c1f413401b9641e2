//! The sources of a remote function or job, as numbers that change when they do.
//!
//! Read are the package below an attribute, the packages that it names by a path (and those
//! that they name), and what `Cargo.lock` says of all others that it needs. The compiler is
//! told of each file, so that cargo builds the package again when one of them changes; two
//! builds of the same sources have the same numbers, in whatever folder, profile or order.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use proc_macro2::TokenStream;
use quote::quote;

mod lock;
mod packages;

/// The part of a registration that is about sources: the number of the `item` below the
/// attribute, and those of the packages.
pub(crate) fn parts(item: &TokenStream) -> TokenStream {
    let sources = sources();
    let parts = sources
        .parts
        .iter()
        .map(|(what, hash)| quote!(::heist_cluster::__private::Part { what: #what, hash: #hash }));
    let item = hash(&item.to_string());
    quote!(#item, &[#(#parts),*])
}

/// Has the compiler note the files, so that cargo does. Once in a run of the compiler is enough.
pub(crate) fn tracked() -> TokenStream {
    static IS_TRACKED: OnceLock<()> = OnceLock::new();
    if IS_TRACKED.set(()).is_err() {
        return TokenStream::new();
    }
    let files = sources().files.iter().filter_map(|file| file.to_str());
    quote!(#(const _: &[u8] = ::core::include_bytes!(#files);)*)
}

/// All that was read for the package that is compiled.
#[derive(Debug, Default)]
struct Sources {
    /// Numbers, and before each of them its subject.
    parts: Vec<(String, u64)>,
    /// All that was read.
    files: Vec<PathBuf>,
}

/// Read once for each run of the compiler.
fn sources() -> &'static Sources {
    static SOURCES: OnceLock<Sources> = OnceLock::new();
    SOURCES.get_or_init(|| {
        let variable = |name| std::env::var(name).unwrap_or_default();
        // Without cargo there is none.
        match std::env::var_os("CARGO_MANIFEST_DIR") {
            Some(folder) => read(
                Path::new(&folder),
                &variable("CARGO_PKG_NAME"),
                &variable("CARGO_PKG_VERSION"),
            ),
            None => Sources::default(),
        }
    })
}

/// Those of the package `name` of this version in `folder`.
fn read(folder: &Path, name: &str, version: &str) -> Sources {
    let mut sources = Sources::default();
    let mut packages = packages::of(folder);
    for package in &mut packages {
        let mut hasher = DefaultHasher::new();
        package.files.sort();
        for file in &package.files {
            file.strip_prefix(&package.folder).ok().hash(&mut hasher);
            // The compiler cannot read either what cannot be read here.
            fs::read(file).ok().hash(&mut hasher);
        }
        let what = format!("the sources of the package {}", package.name);
        sources.parts.push((what, hasher.finish()));
        sources.files.append(&mut package.files);
    }
    let lock = folder.ancestors().map(|folder| folder.join("Cargo.lock"));
    if let Some(lock) = lock.into_iter().find(|lock| lock.is_file()) {
        let text = fs::read_to_string(&lock).unwrap_or_default();
        let needed = lock::needed(&text, name, version);
        let what = format!("the versions in Cargo.lock that {name} needs");
        sources.parts.push((what, hash(&needed)));
        sources.files.push(lock);
    }
    sources
}

fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
#[path = "source/tests.rs"]
mod tests;
