//! Perturbation against iteration in full precision, and against plain floats.

use deep_zoom::orbit::{self, Point};
use deep_zoom::perturbation::{follow, Escape, ESCAPED_SQUARED};
use deep_zoom::preset::PRESETS;
use deep_zoom::view::View;

/// When and where the orbit of a point is far away, if it is within so many iterations.
fn escape(orbit: impl Iterator<Item = [f64; 2]>, iterations: u32) -> Option<(u32, [f64; 2])> {
    let is_far = |[re, im]: [f64; 2]| re * re + im * im > ESCAPED_SQUARED;
    (1..=iterations).zip(orbit).find(|(_, z)| is_far(*z))
}

/// Points all over a picture that shows a square, and their distance.
fn points(zoom: f64, across: u32) -> (Vec<[f64; 2]>, f64) {
    let spacing = View::spacing_for(zoom, across, across, 1);
    let view = View {
        width: across,
        height: across,
        samples: 1,
        spacing,
        iterations: 1,
        turns: 1.0,
    };
    let pixels = (0..across).flat_map(|row| (0..across).map(move |column| (column, row)));
    let points = pixels.flat_map(|(column, row)| view.points(column, row));
    (points.collect(), spacing)
}

#[test]
fn deep_points_escape_as_in_full_precision() {
    for preset in PRESETS {
        let (points, spacing) = points(preset.zoom, 4);
        // More bits than the program takes, so that they can be too few.
        let bits = orbit::bits(spacing) + 64;
        let exact = Point::parse(preset.re, preset.im, bits).expect("two numbers");
        let centre = Point::parse(preset.re, preset.im, bits - 64).expect("two numbers");
        let expected: Vec<_> = points
            .iter()
            .map(|point| escape(orbit::iterate(&exact.offset(*point)), preset.iterations))
            .collect();
        assert!(expected.iter().any(Option::is_some), "{}", preset.name);
        // From a reference away from the centre some points part sooner or later.
        for corner in [[0.0, 0.0], points[0], points[7]] {
            let orbit = orbit::reference(&centre.offset(corner), preset.iterations);
            for (point, expected) in points.iter().zip(&expected) {
                let offset = [point[0] - corner[0], point[1] - corner[1]];
                let found = follow(&orbit, offset, spacing, preset.iterations);
                let error = points_apart(found, *expected);
                assert!(
                    error < 1e-9,
                    "{preset:?}, {point:?} from {corner:?}: {error}"
                );
            }
        }
    }
}

/// How far from each other points of a picture are that would escape so, in their distances.
fn points_apart(found: Option<Escape>, expected: Option<(u32, [f64; 2])>) -> f64 {
    match (found, expected) {
        (Some(found), Some((iterations, z))) if found.iterations == iterations => {
            let [re, im] = found.slope;
            (found.z[0] - z[0]).hypot(found.z[1] - z[1]) / re.hypot(im)
        }
        (None, None) => 0.0,
        _ => f64::INFINITY,
    }
}

#[test]
fn shallow_points_escape_as_plain_floats_say() {
    let (points, spacing) = points(1.5, 60);
    // The first orbit never ends, the second does after some steps.
    for (re, im) in [(-0.75, 0.0), (0.5, 0.5)] {
        let centre = Point::parse(&format!("{re}"), &format!("{im}"), 64).expect("two numbers");
        let orbit = orbit::reference(&centre, 500);
        let mut differ = 0;
        for point in &points {
            let c = [re + point[0], im + point[1]];
            let mut z = [0.0; 2];
            let plain = std::iter::repeat_with(|| {
                z = [z[0] * z[0] - z[1] * z[1] + c[0], 2.0 * z[0] * z[1] + c[1]];
                z
            });
            let expected = escape(plain, 500).map(|(after, _)| after);
            let followed = follow(&orbit, *point, spacing, 500).map(|escape| escape.iterations);
            differ += u32::from(followed != expected);
        }
        // Where an orbit is long, both have lost all digits by its end.
        assert!(differ <= 3, "{differ} of {} points differ", points.len());
    }
}

#[test]
fn the_slope_says_how_far_neighbours_part() {
    let centre = Point::parse("-0.75", "0.1", 64).expect("a point");
    let orbit = orbit::reference(&centre, 500);
    let spacing = 1e-9;
    let at = |offset| follow(&orbit, offset, spacing, 500).expect("it escapes");
    let (here, beside) = (at([0.0, 0.0]), at([spacing, 0.0]));
    for part in [0, 1] {
        let parted = beside.z[part] - here.z[part];
        assert!(
            (parted - here.slope[part]).abs() < 1e-3 * parted.abs(),
            "{parted}, {here:?}"
        );
    }
}
