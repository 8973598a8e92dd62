//! One colour per scheme, the same on every page.

use paceline_congestion::registry::variant;

/// Number of colours in the page's palette; their values, for light and dark, are in `report.css`. They are those of
/// Okabe and Ito, which colour-blind readers can distinguish.
pub(super) const COLORS: usize = 8;

/// Colours that schemes have on every page, unless another scheme has the colour.
const PREFERRED: [(&str, usize); 27] = [
    ("none", 7),
    ("dcqcn", 1),
    ("hpcc", 0),
    ("dctcp", 2),
    ("timely", 3),
    ("hpcc-pint", 4),
    ("swift", 5),
    ("bolt", 6),
    ("qcn", 3),
    ("pcn", 4),
    ("acc", 5),
    ("ibcc", 6),
    ("rrcc", 2),
    ("lstm-pid", 6),
    ("pidnn", 4),
    ("decc", 0),
    ("adpg", 5),
    ("aurora", 3),
    ("spine", 2),
    ("policy", 4),
    ("dcqcn-win", 5),
    ("nscc", 0),
    ("rccc", 1),
    ("nscc-rccc", 2),
    ("lswift", 3),
    ("mswift", 6),
    ("mnscc", 4),
];

/// Returns (colour, dash pattern) of each scheme, distinct as long as there are enough combinations.
pub fn assign(schemes: &[&str]) -> Vec<(usize, usize)> {
    let mut used = vec![false; schemes.len().div_ceil(COLORS).max(1) * COLORS];
    let mut styles = vec![None; schemes.len()];
    let wish = |name: &str| {
        PREFERRED
            .iter()
            .find(|(known, _)| *known == name)
            .map(|&(_, color)| color)
    };
    // A variant gets the colour of its scheme only if the scheme itself is not shown.
    for with_settings in [true, false] {
        for (style, name) in styles.iter_mut().zip(schemes) {
            let known = if with_settings { name } else { variant::base(name) };
            let color = wish(known).filter(|&color| !used[color] && style.is_none());
            if let Some(color) = color {
                used[color] = true;
                *style = Some(color);
            }
        }
    }
    let mut free = (0..used.len()).filter(|&index| !used[index]);
    styles
        .into_iter()
        .map(|style| style.or_else(|| free.next()).unwrap_or(0))
        .map(|index| (index % COLORS, index / COLORS))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_keep_their_colours_and_differ() {
        assert_eq!(assign(&["hpcc", "dcqcn"]), [(0, 0), (1, 0)]);
        assert_eq!(assign(&["dcqcn", "hpcc"]), [(1, 0), (0, 0)]);
        assert_eq!(assign(&["hpcc:eta=0.9", "dcqcn"]), [(0, 0), (1, 0)]);
        assert_eq!(assign(&["hpcc:eta=0.9", "hpcc"])[1], (0, 0));
        let many = assign(&["mine", "hpcc", "hpcc", "dcqcn", "a", "b", "c", "d", "e", "f"]);
        let mut different = many.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), many.len());
    }
}
