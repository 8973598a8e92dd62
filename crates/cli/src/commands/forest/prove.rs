//! `paceline forest prove`: verification of claims about a forest.

use std::path::PathBuf;

use clap::Args;
use paceline_congestion::learned::forest::{Claim, Forest, Trend};
use paceline_forest::prove::{self, Counterexample, Finding, Point, Verdict};
use serde_json::{Value, json};

use crate::failure::{Done, Ended, Failure};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  paceline forest prove forest.json --falling latency          more latency never raises the output
  paceline forest prove forest.json --claim '-0.7..0.7'        the output stays within bounds
  paceline forest prove forest.json --claim 'latency=..0.25, loss=0, log2(rate)=-1 => 0.001..'
                                                        no stall: with empty queues and the lowest
                                                        rate, the output is positive

Claims and trends in the forest's own file are verified too. A feature name without its [..] means
all features of that name. A refuted claim is shown with a counterexample.

Exit status: 0 all claims hold, 1 a claim is refuted or undecided within the budget, 2 input or
arguments are wrong.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ProveArgs {
    /// Forest file or built-in forest
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Claim `FEATURE=RANGE, .. => RANGE`, or a range of the output alone
    #[arg(long, value_name = "CLAIM", allow_hyphen_values = true)]
    claim: Vec<String>,
    /// Claim that the output never rises with this feature
    #[arg(long, value_name = "FEATURE")]
    falling: Vec<String>,
    /// Claim that the output never falls with this feature
    #[arg(long, value_name = "FEATURE")]
    rising: Vec<String>,
    /// Maximum number of ranges to examine per claim
    #[arg(long, value_name = "RANGES", default_value_t = 20_000)]
    budget: u64,
    /// Print only JSON, on standard output
    #[arg(long)]
    json: bool,
}

/// Verifies all claims and prints the findings.
pub(super) fn prove(args: &ProveArgs) -> Ended {
    let forest = super::read(&args.model)?;
    let mut claims: Vec<Claim> = forest.parts().claims.clone();
    for text in &args.claim {
        claims.push(prove::parse(text).map_err(Failure::arguments)?);
    }
    let mut findings = prove::prove(&forest, &claims, args.budget).map_err(Failure::arguments)?;
    for (names, trend) in [(&args.falling, Trend::Falling), (&args.rising, Trend::Rising)] {
        for name in names {
            for feature in prove::named(&forest, name).map_err(Failure::arguments)? {
                findings.push(prove::prove_trend(&forest, feature, trend, args.budget));
            }
        }
    }
    if findings.is_empty() {
        let message = format!(
            "{} says nothing of itself: say what to prove with --claim, --falling or --rising",
            args.model.display()
        );
        return Err(Failure::Arguments(message));
    }
    match args.json {
        true => output::print_json(&findings.iter().map(|f| record(&forest, f)).collect::<Vec<_>>())?,
        false => output::print(&table(&forest, &findings))?,
    }
    let holds = findings
        .iter()
        .filter(|finding| finding.verdict == Verdict::Holds);
    // Open claims fail the command, too: a script must not take them for proved.
    match findings.len() - holds.count() {
        0 => Ok(Done::All),
        some => Err(Failure::run(format!(
            "{some} of {} claims are not proved",
            findings.len()
        ))),
    }
}

fn table(forest: &Forest, findings: &[Finding]) -> String {
    let rows = findings.iter().map(|finding| {
        let ranges = finding.ranges.to_string();
        [&finding.what, finding.verdict.name(), &finding.by, &ranges].map(str::to_string)
    });
    let head = ["claim", "verdict", "by", "ranges"].map(str::to_string);
    let rows: Vec<[String; 4]> = std::iter::once(head).chain(rows).collect();
    let width = |k: usize| rows.iter().map(|row| row[k].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2].map(width);
    let mut text = String::new();
    for (k, row) in rows.iter().enumerate() {
        let [what, verdict, by, ranges] = row;
        let [a, b, c] = widths;
        let line = format!("{what:<a$}  {verdict:<b$}  {by:<c$}  {ranges}");
        text.push_str(line.trim_end());
        text.push('\n');
        if let Some(finding) = k.checked_sub(1).and_then(|k| findings.get(k)) {
            text.push_str(&shown(forest, &finding.verdict));
        }
    }
    text
}

/// Describes a counterexample.
fn shown(forest: &Forest, verdict: &Verdict) -> String {
    let parts = forest.parts();
    let asked = |k: usize| {
        let splits = parts.trees.iter().flat_map(|tree| &tree.splits);
        splits.into_iter().any(|split| split.feature == k)
    };
    // Features that no tree tests do not matter.
    let at = |point: &Point| {
        let named = parts.features.iter().zip(&point.features).enumerate();
        let named = named.filter(|(k, _)| asked(*k));
        let each = named.map(|(_, (feature, x))| format!("{} = {x}", feature.name));
        each.collect::<Vec<_>>().join(", ")
    };
    let output = &parts.output;
    match verdict {
        Verdict::Refuted(Counterexample::At(point)) => {
            format!("  {output} = {} at {}\n", point.output, at(point))
        }
        Verdict::Refuted(Counterexample::From {
            feature,
            before,
            after,
        }) => format!(
            "  {output} goes from {} to {} when {} goes from {} to {}, at {}\n",
            before.output,
            after.output,
            parts.features[*feature].name,
            before.features[*feature],
            after.features[*feature],
            at(before)
        ),
        Verdict::Holds | Verdict::Open => String::new(),
    }
}

fn record(forest: &Forest, finding: &Finding) -> Value {
    let point = |point: &Point| {
        let names = forest.parts().features.iter().map(|feature| feature.name.clone());
        let features: serde_json::Map<_, _> = names.zip(point.features.iter().map(|x| json!(x))).collect();
        json!({ "features": features, "output": point.output })
    };
    let counterexample = match &finding.verdict {
        Verdict::Refuted(Counterexample::At(at)) => json!([point(at)]),
        Verdict::Refuted(Counterexample::From { before, after, .. }) => json!([point(before), point(after)]),
        Verdict::Holds | Verdict::Open => json!([]),
    };
    json!({
        "claim": finding.what, "verdict": finding.verdict.name(), "by": finding.by, "ranges": finding.ranges,
        "counterexample": counterexample,
    })
}
