//! Grids of sweeps: their values, and errors with their positions.

use paceline_kernel::BitRate;
use paceline_scenario::sweep::{Axis, AxisValue, Grid};
use paceline_scenario::{Overrides, Resolved, grid, load};

const BASE: &str = r#"
[topology.star]
hosts = 4
[[workload]]
label = "burst"
incast = { fan-in = 2, receiver = 3, size = "100KB" }
[cc]
scheme = "hpcc"
"#;

/// Scenario in a temporary folder, which is removed with it.
struct Scenario(tempfile::TempDir);

impl Scenario {
    fn new(sweep: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("my.toml"), format!("{BASE}{sweep}")).unwrap();
        Self(folder)
    }
    fn path(&self) -> String {
        self.0.path().join("my.toml").display().to_string()
    }
    fn grid(&self, over: &[&str]) -> Result<Grid, String> {
        let named = |error: &dyn ToString| error.to_string().replace(&self.path(), "my.toml");
        grid(&self.path(), &overrides(over, &[])).map_err(|error| named(&error))
    }
    fn at(&self, over: &[&str], point: &[usize]) -> Result<Resolved, String> {
        let named = |error: &dyn ToString| error.to_string().replace(&self.path(), "my.toml");
        load(&self.path(), &overrides(over, point)).map_err(|error| named(&error))
    }
}

fn overrides(over: &[&str], point: &[usize]) -> Overrides {
    Overrides {
        over: over.iter().map(ToString::to_string).collect(),
        point: point.to_vec(),
        ..Overrides::default()
    }
}

fn texts(values: &[&str]) -> Vec<AxisValue> {
    values
        .iter()
        .map(|text| AxisValue::Text(text.to_string()))
        .collect()
}

fn axis(key: &str, values: Vec<AxisValue>) -> Axis {
    Axis::of_key(key, values)
}

#[test]
fn a_table_in_the_order_of_the_file() {
    let scenario = Scenario::new(
        r#"[sweep]
"workload.burst.incast.fan-in" = [1, 3]
cc.scheme = ["hpcc", "dcqcn"]
"network.error-rate" = { from = 0.1, to = 0.5, steps = 5 }
network.int-multi = { from = 1, to = 9, steps = 3 }
repeats = 3
"#,
    );
    let expected = Grid {
        axes: vec![
            axis(
                "workload.burst.incast.fan-in",
                vec![AxisValue::Int(1), AxisValue::Int(3)],
            ),
            axis("cc.scheme", texts(&["hpcc", "dcqcn"])),
            axis(
                "network.error-rate",
                [0.1, 0.2, 0.3, 0.4, 0.5].map(AxisValue::Real).into(),
            ),
            axis("network.int-multi", [1, 5, 9].map(AxisValue::Int).into()),
        ],
        repeats: Some(3),
    };
    assert_eq!(scenario.grid(&[]).unwrap(), expected);
    assert_eq!(expected.points(), 2 * 2 * 5 * 3);
}

#[test]
fn options_replace_axes_and_add_some() {
    let scenario = Scenario::new("[sweep]\ncc.scheme = [\"hpcc\", \"dcqcn\"]\nrepeats = 2\n");
    let over = [
        "topology.star.rate=[\"10Gbps\", \"25Gbps\"]",
        "cc.scheme=timely, dctcp",
        "check=true",
    ];
    let expected = Grid {
        axes: vec![
            axis("cc.scheme", texts(&["timely", "dctcp"])),
            axis("topology.star.rate", texts(&["10Gbps", "25Gbps"])),
            axis("check", vec![AxisValue::Bool(true)]),
        ],
        repeats: Some(2),
    };
    assert_eq!(scenario.grid(&over).unwrap(), expected);
    // Commas within quotes and brackets do not separate.
    let over = ["network.headroom={ fixed = \"1KB\" },{ per-link = { factor = 2, extra = \"1KB\" } }"];
    assert_eq!(scenario.grid(&over).unwrap().axes[1].values.len(), 2);
}

#[test]
fn a_point_is_the_scenario_with_these_values() {
    let scenario = Scenario::new(
        "[sweep]\n\"workload.0.incast.size\" = [\"100KB\", \"200KB\"]\ncc.scheme = [\"hpcc\", \"dcqcn\"]\n",
    );
    let over = ["topology.star.rate=10Gbps,25Gbps"];
    let point = scenario.at(&over, &[1, 1, 0]).unwrap();
    assert_eq!(point.scheme, "dcqcn");
    assert!(point.run.flows.iter().all(|flow| flow.size.get() == 200_000));
    assert!(
        point
            .run
            .links
            .iter()
            .all(|link| link.rate == BitRate::from_gbps(10))
    );
    // Without a point the sweep changes nothing.
    let base = scenario.at(&over, &[]).unwrap();
    assert_eq!(
        (base.scheme.as_str(), base.run.flows[0].size.get()),
        ("hpcc", 100_000)
    );
    let same = |text: &str| {
        text.lines()
            .filter(|line| !line.starts_with("name"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_eq!(
        same(&base.toml),
        same(&Scenario::new("").at(&[], &[]).unwrap().toml)
    );
}

#[test]
fn mistakes_in_the_form() {
    for (sweep, over, expected) in [
        (
            "[sweep]\ncc.scheme = \"hpcc\"\n",
            &[][..],
            "my.toml:10:13: expected a list of values, found `\"hpcc\"`",
        ),
        (
            "[sweep]\ncc.scheme = []\n",
            &[],
            "my.toml:10:4: `cc.scheme` has no values to sweep over",
        ),
        (
            "",
            &["cc.scheme="],
            "--over:1:1: `cc.scheme` has no values to sweep over",
        ),
        (
            "",
            &["cc.scheme=hpcc,,dcqcn"],
            "--over:1:16: `cc.scheme=hpcc,,dcqcn` has an empty value",
        ),
        ("", &["cc.scheme"], "--over:1:1: `cc.scheme` has no `=`"),
        ("", &["cc..scheme=1,2"], "--over:1:1: `cc..scheme` is not a path"),
        (
            "",
            &["network.error-rate=0.1,0.2,0.10"],
            "--over:1:28: `network.error-rate` has the value `0.1` twice",
        ),
        (
            "[sweep]\nduration = [\"1ms\", \"1ms\"]\n",
            &[],
            "my.toml:10:20: `duration` has the value `1ms` twice",
        ),
        (
            "",
            &["check=true", "check=false"],
            "--over:1:1: `check` is swept over twice",
        ),
        (
            "[sweep]\ncheck = [true]\n\"check\" = [false]\n",
            &[],
            "my.toml:11:1: duplicate key",
        ),
        (
            "[sweep]\ncc.scheme = [\"hpcc\"]\n\"cc.scheme\" = [\"none\"]\n",
            &[],
            "my.toml:11:1: `cc.scheme` is swept over twice",
        ),
        ("", &["seed=1,2,3"], "--over:1:1: `seed` cannot be swept over"),
        (
            "",
            &["sweep.repeats=1,2"],
            "--over:1:1: a sweep cannot be swept over",
        ),
        (
            "[sweep]\nrepeats = 0\n",
            &[],
            "my.toml:10:11: expected a whole number above zero, found `0`",
        ),
        (
            "[sweep]\nx = { from = 1, steps = 3 }\n",
            &[],
            "my.toml:10:5: a range needs `to`",
        ),
        (
            "[sweep]\nx = { from = 1, to = 2, steps = 1 }\n",
            &[],
            "my.toml:10:33: expected 2 to 10000 steps, found `1`",
        ),
        (
            "[sweep]\nx = { from = 1, too = 2, steps = 3 }\n",
            &[],
            "my.toml:10:17: unknown key `too`",
        ),
        (
            "[sweep]\nx = { from = \"1Gbps\", to = 2, steps = 3 }\n",
            &[],
            "my.toml:10:28: the ends of a range have one unit: found `Gbps` and none",
        ),
    ] {
        let scenario = Scenario::new(sweep);
        let error = scenario.grid(over).unwrap_err();
        assert!(error.starts_with(expected), "{sweep}{over:?}: {error}");
        // The error also appears when the sweep is not requested.
        if over.is_empty() {
            let error = scenario.at(&[], &[]).unwrap_err();
            assert!(error.starts_with(expected), "{sweep}: {error}");
        }
    }
}

#[test]
fn mistakes_in_a_value_or_a_key_are_shown_where_they_stand() {
    for (sweep, over, point, expected) in [
        (
            "[sweep]\ncc.hpcc.etaa = [0.9]\n",
            &[][..],
            &[0][..],
            "my.toml:10:9: unknown key `etaa` (did you mean `eta`?",
        ),
        (
            "[sweep]\n\"cc.hpcc.etaa\" = [0.9]\n",
            &[],
            &[0],
            "my.toml:10:10: unknown key `etaa`",
        ),
        ("", &["cc.hpcc.etaa=0.9"], &[0], "--over:1:9: unknown key `etaa`"),
        (
            "",
            &["cc.scheme=hpcc,dcqnc"],
            &[1],
            "--over:1:16: unknown scheme `dcqnc`",
        ),
        (
            "[sweep]\ncc.scheme = [\"hpcc\", \"dcqnc\"]\n",
            &[],
            &[1],
            "my.toml:10:22: unknown scheme `dcqnc`",
        ),
        (
            "",
            &["topology.star.rate=10Gbps,fast"],
            &[1],
            "--over:1:27: expected a number followed by a unit",
        ),
        (
            "",
            &["workload.7.priority=1,2"],
            &[0],
            "--over:1:10: `workload` has no element `7`",
        ),
    ] {
        let scenario = Scenario::new(sweep);
        assert!(scenario.grid(over).is_ok(), "{sweep}{over:?}");
        let error = scenario.at(over, point).unwrap_err();
        assert!(error.starts_with(expected), "{sweep}{over:?}: {error}");
    }
}

#[test]
fn an_option_and_an_axis_for_the_same_key() {
    let scenario = Scenario::new("[sweep]\ncc.scheme = [\"hpcc\", \"dcqcn\"]\n");
    let with = Overrides {
        scheme: Some("timely".into()),
        ..Overrides::default()
    };
    let error = grid(&scenario.path(), &with).unwrap_err().to_string();
    assert!(
        error.contains("`cc.scheme` is set by --scheme, and swept over"),
        "{error}"
    );
    assert!(error.contains("--over cc.scheme=VALUE"), "{error}");
}

const CASES: &str = r#"
[[sweep.case]]
label = "shallow"
network.ecn.kmin = "5KB"
"network.ecn.kmax" = "50KB"
[[sweep.case]]
"network.ecn.kmin" = "100KB"
network.ecn = { kmax = "400KB", pmax = 0.2 }
[[sweep.case]]
label = "as it is"
[sweep]
cc.scheme = ["hpcc", "dcqcn"]
"#;

#[test]
fn a_named_case_sets_several_keys() {
    // TOML wants a table before the tables inside it, or after them with another header.
    let scenario = Scenario::new(&CASES.replace("[sweep]\ncc.scheme", "[sweep.cc]\nscheme"));
    let grid = scenario.grid(&[]).unwrap();
    let [case, scheme] = &grid.axes[..] else {
        panic!("{grid:?}")
    };
    assert_eq!((case.key.as_str(), scheme.key.as_str()), ("case", "cc.scheme"));
    assert_eq!(case.values, texts(&["shallow", "100KB/400KB/0.2", "as it is"]));
    assert_eq!(
        case.keys(),
        ["network.ecn.kmin", "network.ecn.kmax", "network.ecn.pmax"]
    );
    assert_eq!(grid.points(), 6);
    let ecn = |over: &[&str], point: &[usize]| {
        let toml = scenario.at(over, point).unwrap().toml;
        let value: toml::Table = toml::from_str(&toml).unwrap();
        // Thresholds are those of 25 Gbit/s, and links have four times as much.
        value["network"]["ecn"]["curves"][0]["kmin"].to_string()
    };
    assert_eq!(ecn(&[], &[0, 1]), "\"20KB\"");
    assert_eq!(ecn(&[], &[1, 1]), "\"400KB\"");
    // Options choose cases by their labels, or replace them.
    let over = ["case=as it is,shallow"];
    assert_eq!(
        scenario.grid(&over).unwrap().axes[0].values,
        texts(&["as it is", "shallow"])
    );
    assert_eq!(ecn(&over, &[1, 0]), "\"20KB\"");
    let over = ["case={label = 3, \"network.ecn.kmin\" = \"7KB\"}, {network.ecn.kmin = \"9KB\"}"];
    let values = scenario.grid(&over).unwrap().axes[0].values.clone();
    assert_eq!(values, [AxisValue::Int(3), AxisValue::Text("9KB".into())]);
    assert_eq!(ecn(&over, &[1, 0]), "\"36KB\"");
}

#[test]
fn keys_in_step_are_one_axis() {
    let scenario = Scenario::new(
        "[sweep]\n\"network.ecn.kmin, network.ecn.kmax\" = [[\"5KB\", \"50KB\"], [\"100KB\", \"400KB\"]]\n",
    );
    let of_table = scenario.grid(&[]).unwrap();
    let axis = &of_table.axes[0];
    assert_eq!(axis.key, "network.ecn.kmin,network.ecn.kmax");
    assert_eq!(axis.name(), "kmin, kmax");
    assert_eq!(axis.values, texts(&["5KB/50KB", "100KB/400KB"]));
    let over = ["network.ecn.kmin,network.ecn.kmax=[5KB,50KB], [100KB, 400KB]"];
    assert_eq!(Scenario::new("").grid(&over).unwrap(), of_table);
    assert_eq!(scenario.grid(&over).unwrap(), of_table);
    let resolved = Scenario::new("").at(&over, &[1]).unwrap();
    assert!(resolved.toml.contains("kmax = \"1.6MB\""), "{}", resolved.toml);
}

#[test]
fn wrong_cases_are_refused_with_their_position() {
    let grid = |sweep: &str, over: &[&str]| Scenario::new(sweep).grid(over).unwrap_err();
    for (sweep, over, expected) in [
        ("[[sweep.case]]\n", &[][..], "a case without a label sets nothing"),
        ("[sweep]\ncase = [1, 2]\n", &[], "a case is a value, not a table"),
        (
            "[[sweep.case]]\nlabel = \"a\"\nseed = 1\n",
            &[],
            "`seed` cannot be swept over",
        ),
        (
            "[[sweep.case]]\nlabel = \"a\"\ncheck = true\n[[sweep.case]]\nlabel = \"a\"\n",
            &[],
            "`case` has the value `a` twice",
        ),
        (
            "[[sweep.case]]\nlabel = \"a\"\n\"cc.scheme\" = \"hpcc\"\n",
            &["cc.scheme=dctcp,none"],
            "--over:1:1: `cc.scheme` is swept over twice",
        ),
        ("", &["case=deep"], "--over:1:6: the scenario has no named cases"),
        (
            "[[sweep.case]]\nlabel = \"deep\"\ncheck = true\n",
            &["case=dep"],
            "--over:1:6: unknown case `dep`: did you mean `deep`?",
        ),
        (
            "",
            &["case={label = }"],
            "--over:1:6: `{label = }` is no table of TOML",
        ),
        (
            "",
            &["check,network.mtu=[true,1KB],[false]"],
            "--over:1:30: expected a list of 2 values, one for each key, found `[false]`",
        ),
        (
            "[sweep]\n\"check, network.mtu\" = [true]\n",
            &[],
            "my.toml:10:25: expected a list of 2 values, one for each key, found `true`",
        ),
    ] {
        let error = grid(sweep, over);
        assert!(error.contains(expected), "{sweep} {over:?}: {error}");
    }
    // A key of a case that does not exist is an error of its point, at its own position.
    let scenario = Scenario::new("[[sweep.case]]\nlabel = \"a\"\nnetwork.mtuu = \"1KB\"\n");
    let error = scenario.at(&[], &[0]).unwrap_err();
    assert!(error.starts_with("my.toml:11:9: unknown key `mtuu`"), "{error}");
}
