//! `paceline list`: built-in items.

use clap::{Args, ValueEnum};
use paceline_explain::list::{self as built_in, Item};
use paceline_reproduce::{Choice, Done as Runs, Reproduction};
use serde_json::{Value, json};

use crate::failure::{Done, Ended};
use crate::{output, text};

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// What to list
    #[arg(value_enum)]
    what: Listed,
    /// Print a JSON list
    #[arg(long)]
    json: bool,
}

/// What `list` knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Listed {
    /// Congestion control schemes and their variants
    Schemes,
    /// Built-in scenarios
    Scenarios,
    /// Topology generators
    Topologies,
    /// Workload generators and flow-size distributions
    Workloads,
    /// Published tables and figures, for `paceline reproduce`
    Reproductions,
    /// Built-in trained models
    Models,
    /// Numbers and curves of runs, for sweeps, plots and experiments
    Measures,
}

/// Prints the list of reproductions.
pub(super) fn list_reproductions(json: bool) -> Ended {
    list(&ListArgs {
        what: Listed::Reproductions,
        json,
    })
}

/// Prints one line per item, or a JSON list.
pub(super) fn list(args: &ListArgs) -> Ended {
    let (items, hint) = match args.what {
        Listed::Schemes => (
            built_in::schemes(),
            "paceline explain NAME: parameters, equations, sources",
        ),
        Listed::Scenarios => (
            built_in::scenarios(),
            "`paceline run NAME` runs one, `paceline explain NAME` prints its file. Times are for one core with\n\
             8 million packet-hops per second; `paceline bench` measures yours.",
        ),
        Listed::Topologies => (
            built_in::topologies(),
            "paceline explain NAME: parameters; in a scenario: [topology.NAME]",
        ),
        Listed::Workloads => (
            built_in::workloads(),
            "paceline explain NAME: parameters; in a scenario: a key of [[workload]]",
        ),
        Listed::Reproductions => (
            reproductions(),
            "`paceline reproduce ID..` (or `all`) reruns them and compares the results",
        ),
        Listed::Measures => (
            built_in::measures(),
            "paceline explain SET: what it reads; in a scenario: [record] measures = [\"SET\"]; in an experiment: their names",
        ),
        Listed::Models => (
            built_in::models(),
            "paceline explain NAME: the card of one; in a scenario: cc.lstm-pid.model = NAME",
        ),
    };
    if args.json {
        let list: Vec<Value> = items.iter().map(Item::json).collect();
        output::print_json(&list)?;
        return Ok(Done::All);
    }
    let width = output::stdout_width();
    let table = match args.what {
        Listed::Scenarios => scenario_table(&items, width),
        _ => {
            let row = |item: &Item| vec![item.name.clone(), item.about.clone()];
            text::columns(&items.iter().map(row).collect::<Vec<_>>(), width)
        }
    };
    output::print(&format!("{table}\n{hint}\n"))?;
    Ok(Done::All)
}

/// Returns a table of scenarios, with a title line for each group.
fn scenario_table(items: &[Item], width: usize) -> String {
    let of = |item: &Item, key: &str| {
        let found = item.more.iter().find(|(known, _)| *known == key);
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    };
    let names = items.iter().map(|item| item.name.len()).max().unwrap_or(0);
    let row = |name: &str, hosts: &str, flows: &str, time: &str| {
        format!("{name:names$}  {hosts:>5}  {flows:>6}  {time:>5}  ")
    };
    let mut table = row("", "hosts", "flows", "time").trim_end().to_string() + "\n";
    let mut title = String::new();
    for item in items {
        let group = of(item, "group").as_str().unwrap_or_default().to_string();
        if group != title {
            table.push_str(&format!("\n{group}\n"));
            title = group;
        }
        let [hosts, flows] = ["hosts", "flows"].map(|key| of(item, key).to_string());
        let time = time_of(of(item, "packet_hops").as_u64().unwrap_or_default());
        let mut start = row(&item.name, &hosts, &flows, &time);
        let indent = start.len();
        // In a narrower column almost every word would be a line; rather the terminal wraps.
        for line in text::wrap(&item.about, width.saturating_sub(indent).max(30)) {
            table.push_str(&format!("{start}{line}\n"));
            start = " ".repeat(indent);
        }
    }
    table
}

/// Formats the approximate run time for a number of packet hops.
fn time_of(packet_hops: u64) -> String {
    let seconds = packet_hops as f64 / 8e6;
    match seconds {
        ..0.95 => "< 1 s".to_string(),
        0.95..9.5 => format!("{seconds:.0} s"),
        _ => format!("{:.0} s", (seconds / 10.0).round() * 10.0),
    }
}

fn reproductions() -> Vec<Item> {
    let item = |one: &Reproduction| {
        let mut item = Item::new(&one.id, format!("{} ({})", one.title, one.source.short));
        item.more.extend(details(one));
        item
    };
    let all = paceline_reproduce::shipped();
    all.map(|(id, one)| one.map_or_else(|why| Item::new(id, why.first()), item))
        .collect()
}

/// Returns the details of a reproduction for `list --json`, including published values.
fn details(one: &Reproduction) -> [(&'static str, Value); 6] {
    let records = one.records(&Runs::default()).into_iter();
    let cases: Vec<Value> = records
        .filter(|record| !record.paper.is_null() || record.tolerance != "shown only")
        .map(|record| {
            json!({
                "case": record.case,
                "metric": record.metric,
                "unit": record.unit,
                "paper": record.paper,
                "tolerance": record.tolerance,
                "kind": record.kind.name(),
                "source": record.source,
            })
        })
        .collect();
    let choice =
        |choice: &Choice| json!({ "what": choice.what, "tried": choice.tried, "changed": choice.changed });
    let choices: Vec<Value> = one.choices.iter().map(choice).collect();
    [
        ("title", json!(one.title)),
        ("source", json!(one.source.to_string())),
        ("setting", json!(one.setting)),
        ("notes", json!(one.notes)),
        ("choices", json!(choices)),
        ("cases", json!(cases)),
    ]
}
