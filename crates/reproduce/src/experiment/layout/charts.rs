//! Layout of claims and charts.

use paceline_scenario::Problem;
use paceline_scenario::diagnostics::Location;

use super::super::expect::At;
use super::super::names::{Bound, Scope};
use super::super::schema::{self, Claim};
use super::super::value::Expr;
use super::lines::decimals;
use super::{Layout, OURS, PanelPlan};
use crate::criterion::Cell;
use crate::panel::{Column, Curve, Drawing, Panel, Row};

impl Layout<'_> {
    /// Lays out claims with one title, in a table for each combination of the cases that they apply to.
    pub(super) fn claims(&self, claims: &[Claim]) -> Result<Vec<PanelPlan>, Problem> {
        let of_each = |of: &Bound| {
            let (mut rows, mut cells, mut expressions) = (Vec::new(), Vec::new(), Vec::new());
            for claim in claims {
                let grid = self.grid(&claim.runs)?;
                let what = self.names.fill(&claim.what, of);
                let location = self.source.at(claim.expr.span());
                expressions.push(vec![self.expression(
                    claim.expr.get_ref(),
                    &location,
                    Scope { grid, bound: of },
                )?]);
                let at = At {
                    bound: of,
                    row: &what,
                    column: OURS,
                    x: None,
                    published: claim.published.is_some(),
                };
                let criterion = claim.expect.as_ref().map(|expect| self.expected(expect, &at));
                cells.push(vec![Cell {
                    paper: claim.published,
                    ours: None,
                    criterion: criterion.transpose()?.flatten().unwrap_or_default(),
                }]);
                rows.push(Row {
                    label: self.names.fill(claim.label.as_deref().unwrap_or_default(), of),
                    metric: what,
                    unit: claim.unit.clone(),
                    decimals: claim
                        .digits
                        .map_or(Ok(3), |digits| decimals(digits as f64, &location))?,
                    x: None,
                });
            }
            let published = claims[0].published_as.as_deref().unwrap_or("paper");
            let column = Column {
                name: OURS.to_string(),
                scheme: self.scheme(self.grid(&claims[0].runs)?, of),
                published: published.to_string(),
            };
            let title = claims[0].title.as_deref().unwrap_or(self.claims_title);
            Ok(PanelPlan {
                panel: Panel {
                    title: self.title(title, of),
                    columns: vec![column],
                    rows,
                    cells,
                    told_by_title: true,
                    ..Panel::default()
                },
                cells: expressions,
                curves: Vec::new(),
            })
        };
        let grid = self.grid(&claims[0].runs)?;
        self.each(&claims[0].each, grid)?.iter().map(of_each).collect()
    }

    pub(super) fn chart(&self, chart: &schema::Chart) -> Result<Vec<PanelPlan>, Problem> {
        let grid = self.grid(&chart.runs)?;
        let of_each = |of: &Bound| {
            let (drawing, curves) = self.drawing(
                [&chart.x, &chart.y],
                chart.stepped,
                &chart.curves,
                Scope { grid, bound: of },
            )?;
            Ok(PanelPlan {
                panel: Panel {
                    title: self.title(&chart.title, of),
                    drawing: Some(drawing),
                    ..Panel::default()
                },
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
        scope: Scope<'_>,
    ) -> Result<(Drawing, Vec<Option<Expr>>), Problem> {
        let grid = scope.grid;
        let mut drawn = Vec::new();
        let mut expressions = Vec::new();
        for curve in curves {
            for mut bound in self.each(&curve.each, grid)? {
                bound.extend(scope.bound);
                bound.extend(self.bound(&curve.at)?);
                let points = match &curve.published {
                    Some(path) => self.points(path.get_ref(), &self.source.at(path.span()))?,
                    None => Vec::new(),
                };
                drawn.push(Curve {
                    name: self.names.fill(&curve.name, &bound),
                    scheme: (curve.scheme.clone()).unwrap_or_else(|| self.scheme(grid, &bound)),
                    published: curve.dashed || curve.published.is_some(),
                    points,
                });
                let expression = curve.value.as_ref().map(|text| {
                    let location = self.source.at(text.span());
                    self.expression(text.get_ref(), &location, scope.of(&bound))
                });
                expressions.push(expression.transpose()?);
            }
        }
        let drawing = Drawing {
            x: x.clone(),
            y: y.clone(),
            curves: drawn,
            stepped,
        };
        Ok((drawing, expressions))
    }

    /// Reads the x and y values of a published curve.
    pub(super) fn points(&self, path: &str, location: &Location) -> Result<Vec<(f64, f64)>, Problem> {
        let file = self.file(path, location)?;
        let point = |line: &str| {
            let (x, y) = line.split_once(',')?;
            Some((x.trim().parse().ok()?, y.trim().parse().ok()?))
        };
        let lines = file.text().lines().skip(1).filter(|line| !line.trim().is_empty());
        let points: Option<Vec<(f64, f64)>> = lines.map(point).collect();
        points.ok_or_else(|| {
            let text = format!("`{path}` has a line that is not a place and a value");
            Problem::new(text).at(location)
        })
    }
}
