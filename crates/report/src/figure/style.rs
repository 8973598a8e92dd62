//! Style of a figure: size, font, colours, legend.

use super::scene::Size;

/// Width of a column in common two-column papers, in mm.
pub const COLUMN_MM: f64 = 85.0;
/// Width of both columns, in mm.
pub const PAGE_MM: f64 = 178.0;

/// Style of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Style {
    /// Size of the sheet.
    pub size: Size,
    /// Font size in points.
    pub font: f64,
    /// Palette of the curves.
    pub palette: Palette,
    /// Position of the legend.
    pub legend: Legend,
    /// Title line at the top, if any.
    pub title: Option<String>,
}

impl Default for Style {
    fn default() -> Self {
        Preset::Column.style()
    }
}

/// Combination of size and font.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Column of a two-column paper.
    Column,
    /// Both columns of a two-column paper.
    Page,
    /// Full slide, with larger letters.
    Slide,
}

impl Preset {
    /// All presets, the default first.
    pub const ALL: [Self; 3] = [Self::Column, Self::Page, Self::Slide];

    /// Returns the name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Column => "column",
            Self::Page => "page",
            Self::Slide => "slide",
        }
    }

    /// Returns the style for this preset.
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

/// Position of the legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Legend {
    /// Rows above the panel.
    Top,
    /// Column next to the panel.
    Right,
    /// No legend at all.
    Off,
}

impl Legend {
    /// All positions, the default first.
    pub const ALL: [Self; 3] = [Self::Top, Self::Right, Self::Off];

    /// Returns the name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Top => "top",
            Self::Right => "right",
            Self::Off => "off",
        }
    }
}

/// Colours of curves, distinguishable within each palette with any colour vision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Palette {
    /// Colours of Okabe and Ito, as on the pages: a scheme keeps its colour.
    Colour,
    /// Colours from dark to light, which differ in grey too.
    Ordered,
    /// Greys, with a dash pattern for each curve.
    Grey,
}

/// Colour and dash pattern of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LineStyle {
    pub(super) color: &'static str,
    /// Number of the dash pattern.
    pub(super) dash: usize,
}

impl Palette {
    /// All palettes, the default first.
    pub const ALL: [Self; 3] = [Self::Colour, Self::Ordered, Self::Grey];

    /// Returns the name on the command line.
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

    /// Returns the colour and the dash pattern of curve number `index`, given those on the pages.
    pub(super) fn of(self, index: usize, color: usize, dash: usize) -> LineStyle {
        let colors = self.colors();
        let (color, dash) = match self {
            Self::Colour => (color, dash),
            Self::Ordered => (index, index / colors.len()),
            // Two curves with one grey differ in their dashes.
            Self::Grey => (index, index + index / colors.len()),
        };
        LineStyle {
            color: colors[color % colors.len()],
            dash,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lightness from 0 to 100, by the luminance of sRGB.
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
                .map(|index| palette.of(index, index % 8, index / 8))
                .collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), 12, "{palette:?}");
        }
    }
}
