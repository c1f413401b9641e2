//! The programs in the README of the repository and in the chapters of the book: each is compiled,
//! and run unless it needs a cluster.

#![forbid(unsafe_code)]

/// A module for each chapter with programs of its own. The two guides are chapters, too, and belong
/// to the documentation of `heist`.
macro_rules! chapters {
    ($($name:ident: $path:literal,)*) => {
        $(
            #[cfg(doctest)]
            #[doc = include_str!($path)]
            mod $name {}
        )*
    };
}

chapters! {
    readme: "../README.md",
    tutorial: "src/tutorial.md",
    from_rayon: "src/from-rayon.md",
    from_tokio: "src/from-tokio.md",
    from_tbb: "src/from-tbb.md",
    cluster: "src/cluster.md",
    ray_and_slurm: "src/ray-and-slurm.md",
    how: "src/how.md",
    schedule: "src/schedule.md",
}
