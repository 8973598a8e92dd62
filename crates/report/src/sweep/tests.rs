//! Tests with synthetic sweeps.

use paceline_scenario::sweep::{Axis, AxisValue};

use super::grid::Grid;
use super::*;
use paceline_kernel::sorted::SortedMap;
use paceline_lab::InputWarnings;
use paceline_lab::results::Summary;
use paceline_lab::sample;
use paceline_lab::sweep::{Keep, Plan, Point, Row, Status};

fn summary() -> Summary {
    let (input, outcome) = sample::incast();
    let mut summary = sample::finished(&input, outcome).summary;
    summary.flows.completed = summary.flows.total;
    summary
}

fn text(values: &[&str]) -> Vec<AxisValue> {
    values
        .iter()
        .map(|&value| AxisValue::Text(value.into()))
        .collect()
}

fn axis(key: &str, values: Vec<AxisValue>) -> Axis {
    Axis::of_key(key, values)
}

/// Returns a sweep over these axes; the p99 slowdown of a run is `p99(values, seed)`.
fn sweep(axes: Vec<Axis>, seeds: Vec<u64>, p99: impl Fn(&[usize], u64) -> f64) -> SweepData {
    let mut combinations: Vec<Vec<usize>> = vec![Vec::new()];
    for axis in &axes {
        let longer = |values: &Vec<usize>| -> Vec<Vec<usize>> {
            (0..axis.values.len())
                .map(|value| [values.as_slice(), &[value]].concat())
                .collect()
        };
        combinations = combinations.iter().flat_map(longer).collect();
    }
    let mut rows = SortedMap::new();
    let mut points = Vec::new();
    let base = summary();
    for (number, values) in combinations.into_iter().enumerate() {
        let mut runs = Vec::new();
        for &seed in &seeds {
            let id = format!("{number:04x}-{seed}");
            let mut summary = base.clone();
            summary.fct_slowdown.p99 = Some(p99(&values, seed));
            summary.digest = format!("{values:?} {:?}", summary.fct_slowdown.p99);
            rows.insert(
                id.clone(),
                Row {
                    id: id.clone(),
                    version: "0.1.0".into(),
                    seed,
                    status: Status::Completed,
                    message: None,
                    keep: Keep::Summary,
                    summary: Some(summary),
                    draws_nothing: false,
                },
            );
            runs.push(id);
        }
        points.push(Point {
            values,
            scheme: "hpcc".into(),
            runs,
        });
    }
    let plan = Plan {
        version: "0.1.0".into(),
        scenario: "tiny".into(),
        description: "A <b>tiny</b> one".into(),
        arguments: vec!["tiny.toml".into(), "--over".into(), "x y='1'".into()],
        axes,
        seeds,
        points,
        input_warnings: InputWarnings::default(),
        seconds: Vec::new(),
        memory: 0,
        stored: paceline_lab::sweep::Stored::default(),
    };
    SweepData { plan, rows }
}

fn schemes_and_loads() -> SweepData {
    let axes = vec![
        axis("cc.scheme", text(&["dcqcn", "hpcc"])),
        axis(
            "workload.web.poisson.load",
            vec![AxisValue::Real(0.3), AxisValue::Real(0.5)],
        ),
    ];
    sweep(axes, vec![1, 2, 3], |values, seed| {
        10.0 + values[1] as f64 - 4.0 * values[0] as f64 + seed as f64
    })
}

#[test]
fn means_and_intervals_are_those_of_the_seeds() {
    let grid = Grid::of(&schemes_and_loads());
    assert_eq!(
        (grid.axes[0].scheme, grid.axes[0].styles.clone()),
        (true, vec![(1, 0), (0, 0)])
    );
    assert_eq!(grid.axes[1].numbers, Some(vec![0.3, 0.5]));
    assert_eq!(
        grid.points
            .iter()
            .map(|point| point.v.clone())
            .collect::<Vec<_>>(),
        [vec![0, 0], vec![0, 1], vec![1, 0], vec![1, 1]]
    );
    // Seeds give 11, 12, 13: standard deviation 1, t = 4.303 with two degrees of freedom.
    assert_eq!(grid.measures[0].name, "FCT slowdown, p99");
    let found = &grid.points[0].m[0];
    assert_eq!(found[0], 12.0);
    assert!(
        (found[1] - 9.516).abs() < 1e-3 && (found[2] - 14.484).abs() < 1e-3,
        "{found:?}"
    );
}

/// Runs that are the same with every seed have a value without an interval.
#[test]
fn seeds_that_change_nothing_have_no_interval() {
    let mut data = schemes_and_loads();
    let first = data.plan.points[0].runs.clone();
    for id in &first {
        let row = data.rows.get_mut(id).unwrap();
        row.summary.as_mut().unwrap().digest = "the same".into();
        row.summary.as_mut().unwrap().fct_slowdown.p99 = Some(11.0);
    }
    let grid = Grid::of(&data);
    assert_eq!(
        (grid.points[0].m[0].as_slice(), grid.points[1].m[0].len()),
        (&[11.0][..], 3)
    );
    let got = story::warnings(&data, &grid);
    assert!(
        got.iter()
            .any(|text| text.starts_with("At 1 of 4 points the 3 seeds are one run, without an interval")),
        "{got:?}"
    );
}

#[test]
fn measures_that_say_nothing_are_left_out() {
    let grid = Grid::of(&schemes_and_loads());
    let names: Vec<&str> = grid
        .measures
        .iter()
        .map(|measure| measure.name.as_str())
        .collect();
    assert!(!names.contains(&"Packets lost") && !names.contains(&"Flows completed"));
    assert!(names.contains(&"PFC pauses"), "{names:?}");
    assert!(grid.points.iter().all(|point| point.m.len() == names.len()));
}

#[test]
fn the_story_counts_settings() {
    let data = schemes_and_loads();
    let story = |data: &SweepData| story::story(data, &Grid::of(data));
    assert_eq!(
        story(&data),
        "4 points of a grid, each with the same 3 seeds: 12 runs. \
         The 99th percentile of slowdowns is smallest with hpcc in 2 of 2 settings."
    );
    let loads = sweep(
        vec![axis("net.delay", text(&["1us", "5us", "20us"]))],
        vec![7],
        |values, _| 2.0 + values[0] as f64,
    );
    assert_eq!(
        story(&loads),
        "3 points of a grid, one run each. The 99th percentile of slowdowns is smallest at delay 1us \
         (2.00) and largest at delay 20us (4.00)."
    );
    assert_eq!(Grid::of(&loads).axes[0].numbers, Some(vec![1.0, 5.0, 20.0]));
    assert_eq!(Grid::of(&loads).axes[0].unit, "us");
}

#[test]
fn failed_and_missing_runs_are_told() {
    let mut data = schemes_and_loads();
    let row = data.rows.get_mut("0001-2").unwrap();
    row.status = Status::Failed;
    row.summary = None;
    row.message = Some("the run <panicked>".into());
    data.rows.remove("0003-1");
    let summary = data.rows.get_mut("0000-1").unwrap().summary.as_mut().unwrap();
    summary.flows.completed -= 1;
    let grid = Grid::of(&data);
    assert_eq!(
        (grid.points[1].n, grid.points[1].failed, grid.points[3].n),
        (3, 1, 2)
    );
    // Two seeds, with 12 and 14, are left of the second point.
    assert_eq!(grid.points[1].m[0][0], 13.0);
    let failed = story::failed(&data);
    assert_eq!(
        (
            failed.count,
            failed.shown[0].point.as_str(),
            failed.shown[0].seed.as_str()
        ),
        (1, "cc.scheme = dcqcn, workload.web.poisson.load = 0.5", "2")
    );
    // In neither setting do both schemes have a comparable value.
    assert!(story::story(&data, &grid).starts_with(
        "4 points of a grid, each with the same 3 seeds: 12 runs. 11 of 12 runs are finished. \
         The 99th percentile of slowdowns is smallest at"
    ));
    let page = render_sweep(&data).unwrap();
    assert!(page.contains("the run &lt;panicked&gt;") && !page.contains("<b>tiny"));
    assert!(page.contains(r"paceline sweep tiny.toml --over &#x27;x y=&#x27;\&#x27;&#x27;1"));
}

#[test]
fn seeds_are_the_grid_where_nothing_else_varies() {
    let one = vec![axis("cc.scheme", text(&["hpcc"]))];
    let grid = Grid::of(&sweep(one, vec![3, 5, 8], |_, seed| seed as f64));
    assert_eq!(
        (grid.axes.len(), grid.axes[0].values.clone()),
        (1, vec!["3".to_string(), "5".to_string(), "8".to_string()])
    );
    assert_eq!(grid.points[2].m[0], [8.0]);
    let lone = sweep(Vec::new(), vec![1], |_, _| 1.0);
    assert!(Grid::of(&lone).axes.is_empty());
    assert!(render_sweep(&lone).unwrap().contains("One run of hpcc."));
}

#[test]
fn a_page_of_thousands_of_runs_is_small() {
    let axes = vec![
        axis("cc.scheme", text(&["dcqcn", "hpcc", "timely", "dctcp"])),
        axis("a.load", (1..=25).map(AxisValue::Int).collect()),
        axis("b.size", (1..=20).map(AxisValue::Int).collect()),
    ];
    let data = sweep(axes, vec![1, 2, 3], |values, seed| {
        1.234567 + values.iter().sum::<usize>() as f64 / 7.0 + seed as f64 / 13.0
    });
    assert_eq!(data.rows.len(), 6000);
    let page = render_sweep(&data).unwrap();
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    for attribute in ["src=", "href=\"http", "@import", "url("] {
        assert!(!page.contains(attribute), "{attribute}");
    }
}
