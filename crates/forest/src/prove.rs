//! Proofs about forests.
//!
//! Features of a range make an interval of what each tree may add; where all trees together stay below a bound, so does
//! the forest. Where they may not, the range is parted at a threshold and both halves are looked at, until nothing is
//! left to prove, or until the range is a single cell, on which the forest is a constant: a counterexample.
//!
//! A trend is proved threshold by threshold: crossing one moves only the trees that ask for it, and what it moves them
//! by is a small forest of the other features.

mod claim;
mod search;

use paceline_congestion::learned::forest::{Claim, Forest, Split, Trend};

pub use claim::{domain, named, parse};
use search::{Found, Plain, Ranges, search};

/// What came of a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It holds everywhere.
    Holds,
    /// It does not hold here.
    Refuted(Counterexample),
    /// Neither was found before the work ran out.
    Open,
}

impl Verdict {
    /// In a word.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Refuted(_) => "refuted",
            Self::Open => "open",
        }
    }
}

/// Where a claim does not hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Counterexample {
    /// At a point.
    At(Point),
    /// From the first to the second only that feature grows.
    From {
        /// Its number.
        feature: usize,
        /// Before.
        before: Point,
        /// After.
        after: Point,
    },
}

/// Features, and what comes of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// In the forest's order.
    pub features: Vec<f32>,
    /// The output.
    pub output: f64,
}

/// A claim and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The claim, in a few words.
    pub what: String,
    /// What came of it.
    pub verdict: Verdict,
    /// By what.
    pub by: String,
    /// Ranges that were looked at.
    pub ranges: u64,
}

/// Proves or refutes each claim: those of the trends that features have, then the others.
///
/// # Errors
/// A claim names a feature that the forest does not read.
pub fn prove(forest: &Forest, claims: &[Claim], budget: u64) -> Result<Vec<Finding>, String> {
    let features = forest.parts().features.iter().enumerate();
    let trends = features.filter_map(|(k, feature)| Some((k, feature.trend?)));
    let mut findings: Vec<Finding> = trends
        .map(|(k, trend)| prove_trend(forest, k, trend, budget))
        .collect();
    for claim in claims {
        findings.push(prove_claim(forest, claim, budget)?);
    }
    Ok(findings)
}

/// That the output follows a feature.
pub fn prove_trend(forest: &Forest, feature: usize, trend: Trend, budget: u64) -> Finding {
    let parts = forest.parts();
    let full: Ranges = parts
        .features
        .iter()
        .map(|feature| feature.scale.range())
        .collect();
    let thresholds = parts.borders(feature);
    let name = &parts.features[feature].name;
    let mut finding = Finding {
        what: format!("{} is {trend} in {name}", parts.output),
        verdict: Verdict::Holds,
        by: format!("{} thresholds", thresholds.len()),
        ranges: 0,
    };
    for threshold in thresholds {
        let moved: Vec<Plain> = parts
            .trees
            .iter()
            .filter_map(|tree| {
                Plain::across(
                    tree,
                    Split {
                        feature,
                        above: threshold,
                    },
                    -trend.sign(),
                )
            })
            .collect();
        let (found, ranges) = search(&moved, 0, full.clone(), 0, budget);
        finding.ranges += ranges;
        match found {
            Found::Nowhere => {}
            Found::At(mut positions) => {
                positions[feature] = threshold;
                let before = point(forest, &positions);
                positions[feature] = threshold + 1;
                let after = point(forest, &positions);
                // Where the sum is cut it may stay the same; the sum itself has no such trend.
                if before.output == after.output {
                    finding.verdict = Verdict::Open;
                    finding.by = format!("at {name} = {}: hidden by the limits", before.features[feature]);
                    continue;
                }
                finding.by = format!("at {name} = {}", before.features[feature]);
                finding.verdict = Verdict::Refuted(Counterexample::From {
                    feature,
                    before,
                    after,
                });
                return finding;
            }
            Found::Unknown => {
                finding.verdict = Verdict::Open;
                finding.by = format!("more than {budget} ranges at one threshold");
            }
        }
    }
    finding
}

/// That the output is where a claim says.
///
/// # Errors
/// It names a feature that the forest does not read.
pub fn prove_claim(forest: &Forest, claim: &Claim, budget: u64) -> Result<Finding, String> {
    let parts = forest.parts();
    let ranges = domain(forest, claim)?;
    let [low, high] = claim.output.map(|bound| bound / forest.unit());
    let [low, high] = [low.ceil() as i64, high.floor() as i64];
    let mut finding = Finding {
        what: claim.what.clone(),
        verdict: Verdict::Holds,
        by: String::new(),
        ranges: 0,
    };
    let limits = parts.limits.unwrap_or([i64::MIN, i64::MAX]);
    // The sum is at least `low` where minus the sum is at most `-low`.
    let sides = [
        (1, high, limits[1] <= high),
        (-1, low.saturating_neg(), limits[0] >= low),
    ];
    let mut by = Vec::new();
    for (sign, allowed, cut) in sides {
        if allowed == i64::MAX {
            continue;
        }
        if cut {
            by.push("limits");
            continue;
        }
        by.push("intervals");
        // A limit on the wrong side of a bound breaks it everywhere.
        let everywhere = match sign {
            1 => limits[0] > allowed,
            _ => limits[1] < -allowed,
        };
        let allowed = if everywhere { i64::MIN } else { allowed };
        let trees: Vec<Plain> = parts.trees.iter().map(|tree| Plain::of(tree, sign)).collect();
        let (found, looked) = search(&trees, sign * parts.start, ranges.clone(), allowed, budget);
        finding.ranges += looked;
        match found {
            Found::Nowhere => {}
            Found::At(positions) => {
                finding.verdict = Verdict::Refuted(Counterexample::At(point(forest, &positions)));
                break;
            }
            Found::Unknown => finding.verdict = Verdict::Open,
        }
    }
    by.dedup();
    finding.by = by.join(" and ");
    Ok(finding)
}

fn point(forest: &Forest, positions: &[i32]) -> Point {
    let features = forest.parts().features.iter().zip(positions);
    Point {
        features: features
            .map(|(feature, position)| feature.scale.number(*position))
            .collect(),
        output: forest.value(forest.sum_at(positions)),
    }
}

#[cfg(test)]
mod tests;
