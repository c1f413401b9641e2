//! Places that are worth a look.

/// A place, and how it is shown.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// By which it is known.
    pub name: &'static str,
    /// The real part of the centre.
    pub re: &'static str,
    /// The imaginary part of the centre.
    pub im: &'static str,
    /// The shorter side of the picture is 4 / `zoom` long.
    pub zoom: f64,
    /// After how many iterations a point counts as one of the set.
    pub iterations: u32,
    /// How often the colours turn while the number of iterations doubles.
    pub turns: f64,
}

/// All of them, the least deep first.
pub const PRESETS: [Preset; 4] = [
    Preset {
        name: "whole",
        re: "-0.7",
        im: "0",
        zoom: 1.5,
        iterations: 2000,
        turns: 0.4,
    },
    Preset {
        name: "seahorse",
        re: "-0.743643887037158704752191506114774",
        im: "0.131825904205311970493132056385139",
        zoom: 1e10,
        iterations: 20_000,
        turns: 2.0,
    },
    // The centres of these two are in small copies of the whole set, found by Newton's method.
    Preset {
        name: "mandala",
        re: "0.2916931016508757473430365281445984144953123347271149827287",
        im: "0.0135897283001348221617633046517986563521239739677352938167",
        zoom: 1e20,
        iterations: 10_000,
        turns: 3.0,
    },
    Preset {
        name: "sunflower",
        re: "-0.7472769579001284135456547750319658148842865418197300611380",
        im: "0.1082512804514717899342512459735386283878080450442937377702",
        zoom: 1e34,
        iterations: 25_000,
        turns: 3.0,
    },
];

/// The preset of this name.
///
/// # Errors
///
/// Says which there are.
pub fn find(name: &str) -> Result<&'static Preset, String> {
    let found = PRESETS.iter().find(|preset| preset.name == name);
    found.ok_or_else(|| {
        let names = PRESETS.map(|preset| preset.name);
        format!(
            "there is no preset {name:?}; {} are accepted",
            names.join(", ")
        )
    })
}
