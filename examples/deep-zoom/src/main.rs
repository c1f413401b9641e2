//! The program `deep-zoom`: a picture of a deep place of the Mandelbrot set, on a backend of
//! heist-cluster.
//!
//! The picture is the same on every backend, byte for byte. How long it took goes to stderr.

#![forbid(unsafe_code)]

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use clap::Parser;
use deep_zoom::orbit::{self, Point};
use deep_zoom::preset::{self, Preset};
use deep_zoom::view::View;
use deep_zoom::{render, Scene};
use heist_cluster::backend::BackendKind;
use heist_cluster::{Cluster, RemoteError};

/// Renders deep places of the Mandelbrot set on many machines
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Where it runs: local, ray or slurm
    #[arg(long, default_value = "local")]
    backend: BackendKind,
    /// Nodes of the backend local
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1024))]
    nodes: Option<u32>,
    /// Processors of each node of the backend local; a chunk takes two
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=4096))]
    cpus: Option<u32>,
    /// Pixels from left to right
    #[arg(long, default_value_t = 1280, value_parser = clap::value_parser!(u32).range(1..=32768))]
    width: u32,
    /// Pixels from top to bottom
    #[arg(long, default_value_t = 720, value_parser = clap::value_parser!(u32).range(1..=32768))]
    height: u32,
    /// Points for each pixel, along each side
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=8))]
    samples: u32,
    /// A known place
    #[arg(long, default_value = PRESET, value_parser = preset::find, help = preset_help())]
    preset: &'static Preset,
    /// The real part of the centre, as a decimal number of as many digits as it takes
    #[arg(
        long,
        requires = "im",
        conflicts_with = "preset",
        allow_hyphen_values = true
    )]
    re: Option<String>,
    /// The imaginary part of the centre
    #[arg(long, requires = "re", allow_hyphen_values = true)]
    im: Option<String>,
    /// The shorter side of the picture is 4 / zoom long, in place of the preset's
    #[arg(long, value_parser = zoom)]
    zoom: Option<f64>,
    /// A point that has not escaped after so many iterations is black
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    iterations: Option<u32>,
    /// How often the colours turn while the number of iterations doubles
    #[arg(long, value_parser = turns)]
    turns: Option<f64>,
    /// Where the picture goes, as PNG
    #[arg(long, default_value = "deep-zoom.png")]
    out: PathBuf,
}

/// The place that is shown if none is asked for.
const PRESET: &str = "mandala";

/// Beyond it, squares of distances would be too small for a float.
const ZOOM_MAX: f64 = 1e140;

fn preset_help() -> String {
    let names = preset::PRESETS.map(|preset| preset.name);
    format!("A known place: {}", names.join(", "))
}

fn zoom(text: &str) -> Result<f64, String> {
    in_range(text, 0.1, ZOOM_MAX)
}

fn turns(text: &str) -> Result<f64, String> {
    in_range(text, 0.0, 1000.0)
}

fn in_range(text: &str, least: f64, most: f64) -> Result<f64, String> {
    let number = text.parse().ok();
    let number = number.filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("a number from {least} to {most:e} is accepted"))
}

fn main() -> ExitCode {
    heist_cluster::init();
    match run(&Arguments::parse(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The error has nowhere to go if stderr is closed as well.
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments, out: &mut impl Write) -> anyhow::Result<()> {
    let began = Instant::now();
    let preset = arguments.preset;
    let (width, height) = (arguments.width, arguments.height);
    let zoom = arguments.zoom.unwrap_or(preset.zoom);
    let view = View {
        width,
        height,
        samples: arguments.samples,
        spacing: View::spacing_for(zoom, width, height, arguments.samples),
        iterations: arguments.iterations.unwrap_or(preset.iterations),
        turns: arguments.turns.unwrap_or(preset.turns),
    };
    let re = arguments.re.as_deref().unwrap_or(preset.re);
    let im = arguments.im.as_deref().unwrap_or(preset.im);
    let bits = orbit::bits(view.spacing);
    let centre = Point::parse(re, im, bits).map_err(anyhow::Error::msg)?;
    let orbit = orbit::reference(&centre, view.iterations);
    let points = orbit.len();
    report("orbit", began, &format!("{points} points of {bits} bits"));

    // Created first, so that a picture without a place costs no time.
    let path = arguments.out.display();
    let file = File::create(&arguments.out);
    let file = file.with_context(|| format!("could not create the picture {path}"))?;
    let backend = arguments.backend.clone();
    let cluster = Cluster::connect(backend.sized(arguments.nodes, arguments.cpus)?)?;
    let began = Instant::now();
    let scene = Scene {
        view: view.clone(),
        orbit: cluster
            .put(&orbit)
            .context("the orbit could not be shared")?,
    };
    let mut picture = vec![0; width as usize * height as usize * 3];
    let mut chunks = 0;
    cluster
        .chunks(0..view.tiles())
        .map_with(scene, render)
        .for_each(|first, tiles, pixels| {
            chunks += 1;
            view.place(first..first + tiles, &pixels, &mut picture);
            Ok::<(), RemoteError>(())
        })
        .context("the picture could not be rendered")?;
    report(
        "tiles",
        began,
        &format!("{} in {chunks} chunks", view.tiles()),
    );

    write(file, &view, &picture).with_context(|| format!("could not write the picture {path}"))?;
    let hash = blake3::hash(&picture);
    writeln!(
        out,
        "{width} x {height} at zoom {zoom:e}, BLAKE3 of the pixels {hash}"
    )?;
    out.flush()?;
    Ok(())
}

fn write(file: File, view: &View, picture: &[u8]) -> anyhow::Result<()> {
    let mut encoder = png::Encoder::new(BufWriter::new(file), view.width, view.height);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(picture)?;
    writer.finish()?;
    Ok(())
}

/// Says how long something took; for people only.
fn report(what: &str, began: Instant, of: &str) {
    let seconds = began.elapsed().as_secs_f64();
    // The time is for people; a closed stderr is no error.
    let _ = writeln!(io::stderr(), "{what}: {seconds:.2} s, {of}");
}
