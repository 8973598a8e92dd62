//! Claims and charts.

use paceline_scenario::Problem;
use paceline_scenario::diagnostics::Place;

use super::super::expect::At;
use super::super::keep;
use super::super::names::Bound;
use super::super::schema::{self, Claim};
use super::super::value::Expr;
use super::{Layout, OURS, Plan};
use crate::criterion::{Cell, Criterion};
use crate::panel::{Column, Curve, Drawing, Panel, Row};

impl Layout<'_> {
    /// Claims of one title, one table for each combination of the cases that they are for.
    pub(super) fn claims(&self, claims: &[Claim]) -> Result<Vec<Plan>, Problem> {
        let of_each = |of: &Bound| {
            let mut rows = Vec::new();
            let mut cells = Vec::new();
            let mut expressions = Vec::new();
            for claim in claims {
                let grid = self.grid(&claim.runs)?;
                let what = self.names.fill(&claim.what, of);
                let place = self.source.at(claim.expr.span());
                expressions.push(vec![self.expression(claim.expr.get_ref(), &place, (grid, of))?]);
                let criterion = match &claim.expect {
                    Some(expect) => {
                        let at = At {
                            bound: of,
                            row: &what,
                            column: OURS,
                            x: None,
                            published: claim.published.is_some(),
                        };
                        self.expected(expect, &at)?
                    }
                    None => None,
                };
                cells.push(vec![Cell {
                    paper: claim.published,
                    ours: None,
                    criterion: criterion.unwrap_or(Criterion::SHOWN),
                }]);
                rows.push(Row {
                    label: claim
                        .label
                        .as_ref()
                        .map_or_else(String::new, |label| self.names.fill(label, of)),
                    ..Row::quantity(keep(what), keep(claim.unit.as_str()), claim.digits.unwrap_or(3))
                });
            }
            let column = Column {
                name: OURS,
                scheme: self.scheme(self.grid(&claims[0].runs)?, of),
                published: keep(claims[0].published_as.as_deref().unwrap_or("paper")),
            };
            let title = claims[0].title.as_deref().unwrap_or(self.claims_title);
            let panel = Panel {
                cells,
                told_by_title: true,
                ..Panel::of(self.title(title, of), "", vec![column], Vec::new(), |_, _| {
                    unreachable!("no rows")
                })
            };
            Ok(Plan {
                panel: Panel { rows, ..panel },
                cells: expressions,
                curves: Vec::new(),
            })
        };
        let grid = self.grid(&claims[0].runs)?;
        self.each(&claims[0].each, grid)?.iter().map(of_each).collect()
    }

    pub(super) fn chart(&self, chart: &schema::Chart) -> Result<Vec<Plan>, Problem> {
        let grid = self.grid(&chart.runs)?;
        let of_each = |of: &Bound| {
            let (drawing, curves) =
                self.drawing([&chart.x, &chart.y], chart.stepped, &chart.curves, (grid, of))?;
            Ok(Plan {
                panel: Panel::drawn(self.title(&chart.title, of), drawing),
                cells: Vec::new(),
                curves,
            })
        };
        self.each(&chart.each, grid)?.iter().map(of_each).collect()
    }

    pub(super) fn drawing(
        &self,
        [x, y]: [&[String; 2]; 2],
        stepped: bool,
        curves: &[schema::Curve],
        (grid, of): (usize, &Bound),
    ) -> Result<(Drawing, Vec<Option<Expr>>), Problem> {
        let mut drawn = Vec::new();
        let mut expressions = Vec::new();
        for curve in curves {
            for mut bound in self.each(&curve.each, grid)? {
                bound.extend(of);
                bound.extend(self.bound(&curve.at)?);
                let points = match &curve.published {
                    Some(path) => self.points(path.get_ref(), &self.source.at(path.span()))?,
                    None => Vec::new(),
                };
                drawn.push(Curve {
                    name: self.names.fill(&curve.name, &bound),
                    scheme: match &curve.scheme {
                        Some(scheme) => keep(scheme.as_str()),
                        None => self.scheme(grid, &bound),
                    },
                    published: curve.dashed || curve.published.is_some(),
                    points,
                });
                let expression = curve.value.as_ref().map(|text| {
                    let place = self.source.at(text.span());
                    self.expression(text.get_ref(), &place, (grid, &bound))
                });
                expressions.push(expression.transpose()?);
            }
        }
        let pair = |[label, unit]: &[String; 2]| (keep(label.as_str()), keep(unit.as_str()));
        let drawing = Drawing {
            x: pair(x),
            y: pair(y),
            curves: drawn,
            stepped,
        };
        Ok((drawing, expressions))
    }

    /// Places and values of a curve that was published.
    pub(super) fn points(&self, path: &str, place: &Place) -> Result<Vec<(f64, f64)>, Problem> {
        let file = self.file(path, place)?;
        let point = |line: &str| {
            let (x, y) = line.split_once(',')?;
            Some((x.trim().parse().ok()?, y.trim().parse().ok()?))
        };
        let lines = file.text().lines().skip(1).filter(|line| !line.trim().is_empty());
        let points: Option<Vec<(f64, f64)>> = lines.map(point).collect();
        points.ok_or_else(|| {
            let text = format!("`{path}` has a line that is not a place and a value");
            Problem::new(text).at(place)
        })
    }
}
