//! Styles and scripts of pages.

use serde::Serialize;

// Statics: a constant would be embedded once for each part of the program that names it.

/// Style sheet of all pages.
pub static STYLE: &str = include_str!("../assets/report.css");

pub(super) static STYLES: [&str; 2] = [STYLE, include_str!("../assets/topology.css")];

pub(super) static COMMON: &str = include_str!("../assets/common.js");

pub(super) static EXPORT: &str = include_str!("../assets/export.js");

pub(super) static CHART_SCRIPTS: [&str; 4] = [
    COMMON,
    include_str!("../assets/track.js"),
    EXPORT,
    include_str!("../assets/report.js"),
];

pub(super) static SCRIPTS: [&str; 8] = [
    CHART_SCRIPTS[0],
    CHART_SCRIPTS[1],
    CHART_SCRIPTS[2],
    CHART_SCRIPTS[3],
    include_str!("../assets/topology/model.js"),
    include_str!("../assets/topology/picture.js"),
    include_str!("../assets/topology/detail.js"),
    include_str!("../assets/topology/controls.js"),
];

pub(super) static UPLOT_SCRIPT: &str = include_str!("../assets/uPlot.iife.min.js");

pub(super) static UPLOT_LICENCE: &str = include_str!("../assets/uPlot.LICENSE");

pub(super) static UPLOT_STYLE: &str = include_str!("../assets/uPlot.min.css");

/// Styles and scripts that every page embeds.
#[derive(Serialize)]
pub struct Look {
    style: String,
    uplot: String,
    script: String,
}

impl Look {
    pub(super) fn of(styles: &[&str], scripts: &[&str]) -> Self {
        Self {
            style: format!("{UPLOT_STYLE}\n{}", styles.join("\n")),
            uplot: format!("/*\n{UPLOT_LICENCE}*/\n{UPLOT_SCRIPT}"),
            script: scripts.join("\n"),
        }
    }

    /// Returns the look of pages with charts and tables only.
    pub fn charts() -> Self {
        Self::of(&[STYLE], &CHART_SCRIPTS)
    }
}

/// Serializes to JSON that cannot end the script element around it.
pub fn script_json(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).unwrap_or_else(|_| "[]".to_string());
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}
