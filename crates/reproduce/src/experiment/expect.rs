//! Selection of the criterion for each cell.

use paceline_kernel::sorted::SortedMap;
use paceline_scenario::Problem;
use paceline_scenario::diagnostics::{Location, Source};
use toml::Value;

use super::names::{Bound, Names, number, unknown};
use super::schema::{Common, Expect, File, Many, NamedOr};
use super::source::one_line;
use crate::criterion::{Criterion, Evidence, Quotation, Source as Word, Tolerance};

/// Position of a cell.
pub(super) struct At<'a> {
    pub(super) bound: &'a Bound,
    pub(super) row: &'a str,
    pub(super) column: &'a str,
    pub(super) x: Option<f64>,
    pub(super) published: bool,
}

/// Conditions for a criterion to apply.
type Conditions = SortedMap<String, Many<Value>>;

/// Criteria and quotations by name.
#[derive(Default)]
pub(super) struct Criteria {
    named: SortedMap<String, Named>,
    quotes: SortedMap<String, Quotation>,
}

struct Named {
    criterion: Criterion,
    conditions: Conditions,
    quote: Option<String>,
}

impl Criteria {
    /// Reads the criteria of the experiment, then the shared ones.
    pub(super) fn of(file: &File, common: &Common, source: &Source) -> Result<Self, Problem> {
        let mut quotes = common.quotes.clone();
        quotes.extend(file.quotes.clone());
        let mut all = Self {
            named: SortedMap::new(),
            quotes,
        };
        for (name, expect) in &common.expect {
            all.add(name, expect, &source.end())?;
        }
        for (name, expect) in &file.expect {
            let (expect, location) = (expect.get_ref(), source.at(expect.span()));
            all.add(name, expect, &location)?;
            // A shared criterion may quote words that some of the experiments lack, so it is checked only when used.
            let criterion = all.named[name].criterion.clone();
            all.quoted(criterion, quote(expect), &location)?;
        }
        Ok(all)
    }

    fn add(&mut self, name: &str, expect: &Expect, location: &Location) -> Result<(), Problem> {
        let named = Named {
            criterion: of(expect, location)?,
            conditions: expect.at.clone(),
            quote: quote(expect).map(str::to_string),
        };
        self.named.insert(name.to_string(), named);
        Ok(())
    }

    fn find(&self, name: &str, location: &Location) -> Result<&Named, Problem> {
        let known: Vec<&str> = self.named.keys().map(String::as_str).collect();
        let unknown = || unknown("criterion", name, &known).at(location);
        self.named.get(name).ok_or_else(unknown)
    }

    /// Returns the criterion of a cell: the first one that applies to it.
    pub(super) fn criterion(
        &self,
        all: &[NamedOr<Expect>],
        names: &Names,
        at: &At<'_>,
        location: &Location,
    ) -> Result<Option<Criterion>, Problem> {
        for one in all {
            let (name, quoted) = match one {
                NamedOr::Named(name) => (name, None),
                NamedOr::Own(expect) if !is_for(&expect.at, names, at, location)? => continue,
                NamedOr::Own(expect) => match &expect.named {
                    Some(name) if is_bare(expect) => (name, quote(expect)),
                    Some(_) => {
                        let text =
                            "next to `as` there may be `where` and `quote` alone: the criterion has the rest";
                        return Err(Problem::new(text).at(location));
                    }
                    None => {
                        return self
                            .quoted(of(expect, location)?, quote(expect), location)
                            .map(Some);
                    }
                },
            };
            let named = self.find(name, location)?;
            if is_for(&named.conditions, names, at, location)? {
                let quote = quoted.or(named.quote.as_deref());
                return self.quoted(named.criterion.clone(), quote, location).map(Some);
            }
        }
        Ok(None)
    }

    /// Adds the quotation to a criterion.
    fn quoted(
        &self,
        criterion: Criterion,
        quote: Option<&str>,
        location: &Location,
    ) -> Result<Criterion, Problem> {
        let Some(name) = quote else {
            return Ok(criterion);
        };
        if criterion.kind == Evidence::Shown || criterion.source != Word::Paper {
            let text =
                "a `quote` is of what the paper says: expected `says = \"paper\"` and something to judge";
            return Err(Problem::new(text).at(location));
        }
        let known: Vec<&str> = self.quotes.keys().map(String::as_str).collect();
        let found = self.quotes.get(name);
        let found = found.ok_or_else(|| unknown("quotation", name, &known).at(location))?;
        Ok(Criterion {
            quote: Some(Quotation {
                at: one_line(&found.at),
                text: one_line(&found.text),
                means: one_line(&found.means),
            }),
            ..criterion
        })
    }
}

fn quote(expect: &Expect) -> Option<&str> {
    expect.quote.as_ref().map(|name| name.get_ref().as_str())
}

/// Returns true if a criterion consists only of a name.
fn is_bare(expect: &Expect) -> bool {
    let bounds = expect.at_most.is_none() && expect.at_least.is_none() && expect.between.is_none();
    let close = !expect.exact && expect.within.is_none() && expect.near.is_none();
    let words = expect.says.is_none() && expect.because.is_empty();
    bounds && close && words && !expect.shown && !expect.property
}

/// Returns true if all conditions in `where` hold.
fn is_for(conditions: &Conditions, names: &Names, at: &At<'_>, location: &Location) -> Result<bool, Problem> {
    // No early return: a misspelt axis or case is an error even after a condition that does not hold.
    let mut all = true;
    for (key, values) in conditions {
        let texts = || values.0.iter().map(|value| value.as_str().unwrap_or_default());
        all &= match key.as_str() {
            "published" => values.0.iter().any(|value| value.as_bool() == Some(at.published)),
            "row" => texts().any(|text| text == at.row),
            "column" => texts().any(|text| text == at.column),
            "x" => {
                let ends: Option<Vec<f64>> = values.0.iter().map(number).collect();
                let Some(&[from, to]) = ends.as_deref() else {
                    return Err(Problem::new("`x` has two ends: x = [0, 10000]").at(location));
                };
                at.x.is_some_and(|x| (from..=to).contains(&x))
            }
            _ => {
                let axis = names.axis(key, location)?;
                let Some(&case) = at.bound.get(&axis) else {
                    return Err(Problem::new(format!("no cell here is of a case of `{key}`")).at(location));
                };
                let cases: Result<Vec<usize>, Problem> =
                    texts().map(|text| names.case(axis, text, location)).collect();
                cases?.contains(&case)
            }
        };
    }
    Ok(all)
}

fn of(one: &Expect, location: &Location) -> Result<Criterion, Problem> {
    let within = match &one.within {
        None => None,
        Some(text) => {
            let share = text
                .get_ref()
                .trim()
                .strip_suffix('%')
                .and_then(|share| share.trim().parse::<f64>().ok());
            // A share of 0 would ask for equal bits; `exact` compares the printed digits.
            let share = share.filter(|share| *share > 0.0);
            let wrong = || Problem::new("expected a share such as `5%`").at(location);
            Some(Tolerance::Within(share.ok_or_else(wrong)? / 100.0))
        }
    };
    let ways = [
        one.exact.then_some(Tolerance::Exact),
        within,
        one.near.map(Tolerance::Near),
        one.at_most.map(Tolerance::AtMost),
        one.at_least.map(Tolerance::AtLeast),
        one.between.map(|[least, most]| Tolerance::Between(least, most)),
        one.shown.then_some(Tolerance::Shown),
    ];
    let mut said = ways.into_iter().flatten();
    let (Some(tolerance), None) = (said.next(), said.next()) else {
        let text = "say one of `exact`, `within`, `near`, `at-most`, `at-least`, `between` and `shown`";
        return Err(Problem::new(text).at(location));
    };
    let says = match &one.says {
        None => None,
        Some(name) => match name.get_ref().as_str() {
            "paper" => Some(Word::Paper),
            "authors-simulator" => Some(Word::AuthorsSimulator),
            "us" => Some(Word::Us),
            other => {
                return Err(unknown("source", other, &["paper", "authors-simulator", "us"]).at(location));
            }
        },
    };
    let kind = match tolerance {
        Tolerance::Shown => Evidence::Shown,
        _ if tolerance.is_bound() || one.property || says == Some(Word::Us) => Evidence::Property,
        _ if says == Some(Word::AuthorsSimulator) => Evidence::AuthorsSimulator,
        _ => Evidence::Published,
    };
    // Without `says`, a bound, or closeness to an unpublished value, is our own requirement.
    let by_default = match kind {
        Evidence::Property => Word::Us,
        _ => Word::Paper,
    };
    let because = match kind {
        Evidence::Shown => String::new(),
        _ => one_line(&one.because),
    };
    Ok(Criterion {
        kind,
        source: says.unwrap_or(by_default),
        tolerance,
        because,
        quote: None,
    })
}
