//! How a figure looks: size, letters, colours, legend.

use super::scene::Size;

/// Widths of a column and of a page of the usual two-column papers, in mm.
pub const COLUMN_MM: f64 = 85.0;
/// The same of a page.
pub const PAGE_MM: f64 = 178.0;

/// How a figure looks.
#[derive(Clone, Debug, PartialEq)]
pub struct Style {
    /// The sheet.
    pub size: Size,
    /// Height of letters in points.
    pub font: f64,
    /// Colours of curves.
    pub palette: Palette,
    /// Where the names of curves are.
    pub legend: Legend,
    /// A line above everything.
    pub title: Option<String>,
}

impl Default for Style {
    fn default() -> Self {
        Preset::Column.style()
    }
}

/// Sizes that go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// A column of a two-column paper.
    Column,
    /// Both columns.
    Page,
    /// A slide.
    Slide,
}

impl Preset {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Column, Self::Page, Self::Slide];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Column => "column",
            Self::Page => "page",
            Self::Slide => "slide",
        }
    }

    /// The look.
    pub const fn style(self) -> Style {
        let (width_mm, height_mm, font) = match self {
            Self::Column => (COLUMN_MM, 0.62 * COLUMN_MM, 7.5),
            Self::Page => (PAGE_MM, 0.62 * COLUMN_MM, 7.5),
            Self::Slide => (254.0, 143.0, 16.0),
        };
        Style {
            size: Size { width_mm, height_mm },
            font,
            palette: Palette::Colour,
            legend: Legend::Top,
            title: None,
        }
    }
}

/// Where the names of curves are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Legend {
    /// In rows above the panel.
    Top,
    /// In a column next to it.
    Right,
    /// Nowhere.
    Off,
}

impl Legend {
    /// All places.
    pub const ALL: [Self; 3] = [Self::Top, Self::Right, Self::Off];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Top => "top",
            Self::Right => "right",
            Self::Off => "off",
        }
    }
}

/// Colours of curves. Readers with any colour vision can tell those of each palette apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Palette {
    /// Those of Okabe and Ito, as on the pages: a scheme keeps its colour.
    Colour,
    /// From dark to light, so that they differ in grey, too.
    Ordered,
    /// Greys, with a dash pattern for each curve.
    Grey,
}

impl Palette {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Colour, Self::Ordered, Self::Grey];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Colour => "colour",
            Self::Ordered => "ordered",
            Self::Grey => "grey",
        }
    }

    pub(super) const fn colors(self) -> &'static [&'static str] {
        match self {
            Self::Colour => &[
                "#0072b2", "#d55e00", "#009e73", "#b0568e", "#3aa0dd", "#c98a00", "#7a6bd1", "#6b7178",
            ],
            // Lightness 15 to 77 in even steps along viridis.
            Self::Ordered => &["#440154", "#414487", "#2a788e", "#22a884", "#7ad151"],
            Self::Grey => &["#000000", "#5a5a5a", "#8a8a8a", "#b4b4b4"],
        }
    }

    /// The colour and the dash pattern of a curve: the `place`-th, which has these on the pages.
    pub(super) fn of(self, place: usize, (color, dash): (usize, usize)) -> (&'static str, usize) {
        let colors = self.colors();
        match self {
            Self::Colour => (colors[color % colors.len()], dash),
            Self::Ordered => (colors[place % colors.len()], place / colors.len()),
            // Two curves of one grey differ in their dashes.
            Self::Grey => (colors[place % colors.len()], place + place / colors.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lightness from 0 to 100, by the luminance of sRGB.
    fn lightness(color: &str) -> f64 {
        let part = |i: usize| f64::from(u8::from_str_radix(&color[i..i + 2], 16).unwrap()) / 255.0;
        let linear = |c: f64| match c <= 0.04045 {
            true => c / 12.92,
            false => ((c + 0.055) / 1.055).powf(2.4),
        };
        let y = 0.2126 * linear(part(1)) + 0.7152 * linear(part(3)) + 0.0722 * linear(part(5));
        116.0 * y.cbrt() - 16.0
    }

    #[test]
    fn palettes_for_grey_differ_in_lightness() {
        for palette in [Palette::Ordered, Palette::Grey] {
            let all: Vec<f64> = palette.colors().iter().map(|color| lightness(color)).collect();
            for pair in all.windows(2) {
                assert!(pair[1] - pair[0] > 12.0, "{palette:?}: {all:?}");
            }
        }
    }

    #[test]
    fn twelve_curves_differ() {
        for palette in Palette::ALL {
            let mut all: Vec<_> = (0..12)
                .map(|place| palette.of(place, (place % 8, place / 8)))
                .collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), 12, "{palette:?}");
        }
    }
}
