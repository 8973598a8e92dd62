//! Random experiments over a random scenario: cases, tables, claims and charts of values that its runs have.

use std::fmt::Write as _;

use super::Draft;
use crate::mutate::Mutator;

/// Values that every run has.
const NUMBERS: [&str; 6] = [
    "fct_slowdown.mean",
    "fct_slowdown.p99",
    "fct_us.p99",
    "goodput_gbps.aggregate",
    "queue_bytes.max",
    "events",
];

/// Returns an expression of this depth over the cases `names`.
fn expression(chance: &mut Mutator, names: &[String], depth: usize) -> String {
    if depth == 0 || chance.once_in(4) {
        let number = *chance.one(&NUMBERS);
        return match chance.below(6) {
            0 => format!("mean({number}[*])"),
            1 => chance
                .one(&["1", "2.5", "1e308", "0.0000001", "(1 - 1)"])
                .to_string(),
            2 => format!("max(per_seed({number}['{}']))", chance.one(names)),
            3 if chance.once_in(20) => format!("{number}['nobody']"),
            _ => format!("{number}['{}']", chance.one(names)),
        };
    }
    let a = expression(chance, names, depth - 1);
    let b = expression(chance, names, depth - 1);
    match chance.below(9) {
        0 => format!("abs({a} - {b})"),
        1 => format!("sqrt({a})"),
        2 => format!("log({a} / {b})"),
        3 => format!("if({a} > {b}, {a}, {b})"),
        4 => format!("given({a}, {b} >= 0)"),
        5 => format!("({a}) * ({b})"),
        6 => format!("-({a}) + {b}"),
        7 => format!("ceil({a})"),
        _ => format!("({a}) / ({b})"),
    }
}

/// Returns a requirement on a value.
fn expect(chance: &mut Mutator) -> &'static str {
    chance.one::<&str>(&[
        "{ at-least = 1.0, because = \"it has to\" }",
        "{ at-most = 0.5, says = \"paper\", because = \"it has to\" }",
        "{ between = [0, 2], says = \"us\", because = \"it has to\" }",
        "{ between = [2, 0], because = \"nothing is\" }",
        "{ shown = true }",
        "{ at-least = inf, because = \"nothing is\" }",
    ])
}

impl Draft {
    pub(super) fn experiment(&mut self, chance: &mut Mutator) {
        self.write(chance);
        // Runs of an experiment have to be short.
        let scenario = std::mem::take(&mut self.text);
        self.files.push(("mine.toml".into(), scenario.into()));
        self.line("title = \"random\"\nsource = { cite = \"Somebody\", short = \"S\", where = \"nowhere\" }\nabout = \"random\"");
        if chance.once_in(6) {
            self.line("claims-title = \"Claims\"");
        }
        let scheme = self.scheme(chance);
        self.line(format!("[runs]\nscenario = \"mine.toml\"\nscheme = \"{scheme}\""));
        self.perhaps(
            chance,
            &[
                "seeds = 2",
                "seeds = [7]",
                "seeds = [3, 3]",
                "partial = true",
                "folders = true",
            ],
        );
        self.perhaps(
            chance,
            &[
                "set = { \"network.buffer\" = \"4MB\" }",
                "set = { duration = \"20us\" }",
                "measures = \"by-size\"",
            ],
        );
        let cases = 1 + chance.below(3);
        let names: Vec<String> = (0..cases).map(|case| format!("c{case}")).collect();
        for (case, name) in names.iter().enumerate() {
            let twice = case > 0 && chance.once_in(60);
            self.line(format!(
                "[[case]]\nname = \"{}\"",
                if twice { "c0" } else { name }
            ));
            self.line(format!("set = {{ seed = {} }}", 10 + case));
            self.perhaps(chance, &["with = { target = 5.0 }", "key = \"k\"", "key = \"\""]);
        }
        self.line("[[table]]\ncolumns = \"case\"\nrows = [");
        for _ in 0..1 + chance.below(3) {
            let number = *chance.one(&NUMBERS);
            let row = match chance.below(3) {
                0 if number != "events" => format!("\"{number}\""),
                1 => format!(
                    "{{ value = \"{number}\", what = \"w\", expect = {} }}",
                    expect(chance)
                ),
                _ => format!(
                    "{{ value = \"{}\", what = \"w\", unit = \"u\", digits = {} }}",
                    expression(chance, &names, 2),
                    chance.one(&[0, 1, 2, 3, 3, 3, 3, 9])
                ),
            };
            self.line(format!("  {row},"));
        }
        self.line("]");
        if chance.once_in(3) {
            let printed: Vec<&str> = names
                .iter()
                .map(|_| *chance.one(&["1.5", "0", "", "1e400", "-3"]))
                .collect();
            let mut file = format!("row,{}\n", names.join(","));
            let _ = writeln!(file, "{},{}", chance.one(&["w", "events"]), printed.join(","));
            self.line("published = \"published.csv\"");
            self.files.push(("published.csv".into(), file.into()));
        }
        for claim in 0..chance.below(3) {
            let expr = expression(chance, &names, 3);
            self.line(format!(
                "[[claim]]\nwhat = \"claim {claim}\"\nexpr = \"{expr}\"\nexpect = {}",
                expect(chance)
            ));
            self.perhaps(
                chance,
                &["published = 1.5", "digits = 3\nunit = \"s\"", "published = inf"],
            );
        }
    }
}
