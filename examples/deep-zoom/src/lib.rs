//! The remote part of `deep-zoom`: tiles of a picture of the Mandelbrot set.
//!
//! One orbit is computed with hundreds of bits and shared; each pixel follows it with the
//! difference to it, for which 64 bits are enough ([`perturbation`]).

#![forbid(unsafe_code)]

use std::ops::Range;

use heist::prelude::*;
use heist_cluster::{remote, Remote};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

mod colour;
pub mod orbit;
pub mod perturbation;
pub mod preset;
pub mod view;

use view::View;

heist_cluster::export!();

/// The data that all tiles of a picture share.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scene {
    /// The picture.
    pub view: View,
    /// The orbit of its centre; see [`orbit::reference`].
    pub orbit: Remote<Vec<[f64; 2]>>,
}

/// The pixels of some tiles, on two processors: tile by tile and row by row, three bytes each.
///
/// # Panics
///
/// If the orbit is not there.
#[remote(cpus = 2)]
pub fn render(scene: Scene, tiles: Range<u64>) -> ByteBuf {
    let orbit = scene.orbit.get().expect("the orbit came with the call");
    let rows: Vec<_> = tiles
        .flat_map(|tile| scene.view.tile(tile).rows())
        .collect();
    let rows: Vec<Vec<u8>> = rows
        .par_iter()
        .map(|(columns, row)| {
            let colours = columns
                .clone()
                .map(|column| colour::of_pixel(&scene.view, &orbit, column, *row));
            colours.flatten().collect()
        })
        .collect();
    ByteBuf::from(rows.concat())
}
