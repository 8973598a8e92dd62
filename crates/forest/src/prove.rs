//! Proofs of claims about forests.
//!
//! Ranges of the features give an interval of each tree's contribution. If the sum of the intervals is below
//! a bound, so is the forest. Otherwise the range is split at a threshold and both halves are examined, until
//! everything is proved, or until a range is a single cell on which the forest is constant: a counterexample.
//!
//! A trend is proved threshold by threshold: crossing one changes only the trees that contain it, and their
//! change is a small forest of the other features.

mod claim;
mod search;

use paceline_congestion::learned::forest::{Claim, Forest, Split, Trend};

pub use claim::{domain, named, parse};
use search::{Found, Plain, Ranges, search};

/// Result of a proof.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The claim is true everywhere.
    Holds,
    /// The claim is false at this counterexample.
    Refuted(Counterexample),
    /// The budget was exhausted without a result.
    Open,
}

impl Verdict {
    /// Returns the result as a word.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Refuted(_) => "refuted",
            Self::Open => "open",
        }
    }
}

/// Counterexample to a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Counterexample {
    /// Point at which a bound is violated.
    At(Point),
    /// Two points that differ only in one feature, which grows from the first to the second.
    From {
        /// Index of the feature.
        feature: usize,
        /// Point with the lower feature.
        before: Point,
        /// Point with the higher feature.
        after: Point,
    },
}

/// Features with the forest's output.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Features in the forest's order.
    pub features: Vec<f32>,
    /// Output of the forest.
    pub output: f64,
}

/// Claim with the result of its proof.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Short text of the claim.
    pub what: String,
    /// Result of the proof.
    pub verdict: Verdict,
    /// Method of the proof in words.
    pub by: String,
    /// Number of examined ranges.
    pub ranges: u64,
}

/// Proves or refutes the trends of all features and then each claim.
///
/// # Errors
/// A claim names an unknown feature.
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

/// Proves or refutes that the output is monotone in a feature.
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
                    // A change against the trend is a positive sum.
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
                // Limits may hide the difference in the output although the sum violates the trend.
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

/// Proves or refutes that the output is within a claim's bounds.
///
/// # Errors
/// The claim names an unknown feature.
pub fn prove_claim(forest: &Forest, claim: &Claim, budget: u64) -> Result<Finding, String> {
    let parts = forest.parts();
    let ranges = domain(forest, claim)?;
    let [low, high] = claim.output.map(|bound| bound / forest.unit());
    // Sums are integers, so bounds are rounded inwards.
    let [low, high] = [low.ceil() as i64, high.floor() as i64];
    let mut finding = Finding {
        what: claim.what.clone(),
        verdict: Verdict::Holds,
        by: String::new(),
        ranges: 0,
    };
    let limits = parts.limits.unwrap_or([i64::MIN, i64::MAX]);
    // A lower bound of the sum is an upper bound of the negative sum.
    let sides = [
        (1, high, limits[1] <= high),
        (-1, low.saturating_neg(), limits[0] >= low),
    ];
    let mut by = Vec::new();
    for (sign, allowed, cut) in sides {
        if allowed == i64::MAX {
            continue;
        }
        // The limits alone guarantee this bound.
        if cut {
            by.push("limits");
            continue;
        }
        by.push("intervals");
        // A limit outside the bound violates the claim everywhere.
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
