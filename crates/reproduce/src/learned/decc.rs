//! DECC's rate law beside an oracle and Swift, tuned and not, from 2 to 8192 flows and among 64 hosts.

use paceline_congestion::learned::shipped;
use paceline_congestion::registry::SchemeConfig;
use paceline_lab::stats::{CONFIDENCE, Interval, interval, paired};
use paceline_learn::decc::EVALUATION;
use paceline_learn::search::{
    Measured, Network, SWIFT_BY_HAND, SWIFT_SEARCHED, Shape, Subject, decc_of, oracle,
};

use super::watched::in_chunks;
use super::{Line, OWN, column, panel};
use crate::{
    Choice, Column, Criterion, Done, Numbers, Panel, Reproduction, Source, Step, StepError, Tolerance, Work,
};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "decc-law",
    title: "DECC's rate law from 2 to 8192 flows, beside an oracle and Swift, searched for and not",
    source: OWN,
    setting: "The network of the paper on DECC: 4 racks of 16 hosts, 400 Gbit/s, links of 1 µs, packets of 1 KB, 1 MB of buffer \
              that drops, selective repeat. Flows always have data; their starts are spread over 1 ms. 2 to 8192 flows to one \
              host, ten seeds; 1, 4 and 16 flows from each host to each other, five seeds. Numbers are of the second half of \
              each run, but for losses of the whole run. ± is half of the 95 % interval.",
    notes: &[
        "The oracle knows how many flows there are: each sends at 0.99 of its share from its first packet. No scheme that does \
         not know that can be much better.",
        "Cost: 1 for each point of the line that is not used, 5 for each doubling of the 99th percentile of one-way latency \
         over the empty network's, 1 for each 0.05 of Jain's index below 1, 1 for each point of packets lost.",
        "`swift, searched` has nine parameters from `paceline train swift --rounds 20`: the same search as the law's, in networks \
         drawn in the same way, with at least as many generations and as many candidates. `swift` was set by hand: a target of \
         1.11 base round trips, half a round trip more for small windows, windows down to 1/1000 of a packet, from 1/20 of one.",
        "With 2 flows a run is too short for Swift: it adds a packet per round trip, and half of the line are 200. Its cost \
         there is that of its start, and it makes the geometric mean smaller; so the mean without that row is shown, too.",
        "Seeds were neither searched nor chosen with. Shapes of networks were: the search draws trees of two levels, and \
         numbers of flows and rates as here; 64 hosts among themselves it never saw.",
        "Among 64 hosts acknowledgements share links with data: 94.6 % of a link is left.",
    ],
    choices: &[
        Choice {
            what: "The search starts from round numbers near a law that an earlier and shorter search found.",
            tried: "nothing else",
            changed: "Not known.",
        },
        Choice {
            what: "The search lowers the mean square root of costs.",
            tried: "the mean logarithm",
            changed: "A law found by that had a cost of 27 with 8192 flows: logarithms gave up networks of many flows.",
        },
        Choice {
            what: "Runs last 2 ms and 60 packets of each flow, or 120 times the way through the empty network.",
            tried: "25 packets, as in the search",
            changed: "With 8192 flows the second half was still settling under earlier laws: p99 of up to 24 us, as of a full buffer.",
        },
    ],
    steps: &[STEP],
    needs: Vec::new,
    panels,
};

const STEP: Step = Step {
    name: "laws and rules",
    title: "running oracle, Swift and the law",
    work,
};

/// A network, and how many seeds.
struct Case {
    label: &'static str,
    shape: Shape,
    seeds: u64,
}

const fn case(label: &'static str, shape: Shape, seeds: u64) -> Case {
    Case { label, shape, seeds }
}

const CASES: [Case; 8] = [
    case("2 flows to one host", Shape::LeafSpine(2), 10),
    case("32 flows to one host", Shape::LeafSpine(32), 10),
    case("256 flows to one host", Shape::LeafSpine(256), 10),
    case("2048 flows to one host", Shape::LeafSpine(2048), 10),
    case("8192 flows to one host", Shape::LeafSpine(8192), 10),
    case("64 hosts, 1 flow each pair", Shape::Broadcast(1), 5),
    case("64 hosts, 4 flows each pair", Shape::Broadcast(4), 5),
    case("64 hosts, 16 flows each pair", Shape::Broadcast(16), 5),
];
/// The case with the most flows to one host.
const MOST: usize = 4;

/// Who sends, and the colour of whom.
const COLUMNS: [(&str, &str); 4] = [
    ("oracle", "none"),
    ("swift", "swift"),
    ("swift, searched", "bolt"),
    ("law", "decc"),
];
const ORACLE: usize = 0;
const SEARCHED: usize = 2;
const LAW: usize = 3;

/// What is shown of a run: its name, unit and decimals, and how it is found.
type Quantity = ((&'static str, &'static str, usize), fn(&Measured) -> f64);

const QUANTITIES: [Quantity; 6] = [
    (("goodput, of what the links carry", "%", 2), |run| {
        100.0 * run.goodput
    }),
    (("p99 of one-way latency", "µs", 2), |run| run.p99_us),
    (("Jain's index", "of 1", 4), |run| run.jain),
    (("packets lost", "%", 3), |run| 100.0 * run.loss),
    (("packets lost in the whole run", "%", 3), |run| {
        100.0 * run.loss_all
    }),
    (("cost", "", 2), Measured::cost),
];
const COST: usize = 5;

/// A run lasts as long as each flow sends so many packets, where flows are many.
const PACKETS: f64 = 60.0;

/// A run: its case, its column, its seed.
type Run = (usize, usize, u64);

fn runs() -> Vec<Run> {
    let mut all = Vec::new();
    for (place, case) in CASES.iter().enumerate() {
        for column in 0..COLUMNS.len() {
            all.extend((0..case.seeds).map(|seed| (place, column, seed)));
        }
    }
    all
}

fn config(column: usize, network: &Network) -> Result<SchemeConfig, StepError> {
    match column {
        ORACLE => Ok(oracle(network)),
        LAW => {
            let model = shipped::find("decc-law").ok_or_else(|| StepError::of("no law ships"))?;
            Ok(decc_of(model))
        }
        SEARCHED => Subject::Swift
            .config(&SWIFT_SEARCHED, network)
            .map_err(StepError::of),
        _ => Subject::Swift
            .config(&SWIFT_BY_HAND, network)
            .map_err(StepError::of),
    }
}

fn run(&(place, column, seed): &Run) -> Result<Measured, StepError> {
    let network = Network {
        packets: PACKETS,
        ..Network::plain(CASES[place].shape)
    };
    let input = network.resolve(EVALUATION + 1 + seed).map_err(StepError::of)?;
    Measured::of(&network, &input, config(column, &network)?).map_err(StepError::of)
}

fn work(work: &mut Work<'_>) -> Result<Numbers, StepError> {
    let all = runs();
    let seen = in_chunks(&all, work, (0.0..1.0, "run"), &run)?;
    let mut numbers = Numbers::default();
    for ((name, ..), of) in QUANTITIES {
        let points = seen
            .iter()
            .zip(0..)
            .map(|(run, number)| (f64::from(number), of(run)));
        numbers.series.insert(name, points.collect());
    }
    Ok(numbers)
}

/// A quantity of all seeds of a case in a column.
fn values(done: &Done, quantity: usize, place: usize, column: usize) -> Option<Vec<f64>> {
    let ((name, ..), _) = QUANTITIES[quantity];
    let series = done.step(STEP.name)?.series.get(name)?;
    let own = runs().into_iter().enumerate();
    let own = own.filter(|(_, run)| (run.0, run.1) == (place, column));
    own.map(|(number, _)| series.get(number).map(|point| point.1))
        .collect()
}

fn columns() -> Vec<Column> {
    COLUMNS.map(|(name, colour)| column(name, colour)).to_vec()
}

fn panels(done: &Done) -> Vec<Panel> {
    let shown = (0..QUANTITIES.len()).map(|quantity| table(done, quantity));
    [bars(done), closed(done)].into_iter().chain(shown).collect()
}

fn table(done: &Done, quantity: usize) -> Panel {
    let (head, _) = QUANTITIES[quantity];
    let mut lines = Vec::new();
    for (place, case) in CASES.iter().enumerate() {
        let estimate = |column| interval(&values(done, quantity, place, column)?, CONFIDENCE);
        let all: Vec<Option<Interval>> = (0..COLUMNS.len()).map(estimate).collect();
        let means = all.iter().map(|one| one.map(|interval| interval.mean));
        lines.push(Line::shown(case.label, head, means));
        let halves = all.iter().map(|one| one.map(|interval| interval.half_width()));
        lines.push(Line::shown(format!("{}, ±", case.label), head, halves));
    }
    let (name, unit, _) = head;
    let unit = if unit.is_empty() {
        String::new()
    } else {
        format!(", {unit}")
    };
    panel(&format!("{name}{unit}"), "flows", columns(), &lines)
}

/// How much of the way from one column's cost to the oracle's the law goes, seed by seed, in per cent.
fn way(done: &Done, place: usize, from: usize) -> Option<Interval> {
    let of = |column| values(done, COST, place, column);
    let (from, law, oracle) = (of(from)?, of(LAW)?, of(ORACLE)?);
    let each = from.iter().zip(&law).zip(&oracle);
    let each: Vec<f64> = each
        .map(|((from, law), oracle)| 100.0 * (from - law) / (from - oracle))
        .collect();
    interval(&each, CONFIDENCE)
}

fn closed(done: &Done) -> Panel {
    let head = ("share of the gap that is closed", "%", 1);
    let mut lines = Vec::new();
    for (place, case) in CASES.iter().enumerate() {
        let ways = [1, SEARCHED].map(|from| way(done, place, from));
        lines.push(Line::shown(
            case.label,
            head,
            ways.map(|one| one.map(|interval| interval.mean)),
        ));
        lines.push(Line::shown(
            format!("{}, ±", case.label),
            head,
            ways.map(|one| one.map(|interval| interval.half_width())),
        ));
    }
    panel(
        "How much of the gap between Swift's cost and the oracle's the law closes, %",
        "flows",
        vec![
            column("from swift", "swift"),
            column("from swift, searched", "bolt"),
        ],
        &lines,
    )
}

/// The law's cost over that of Swift, searched for: its geometric mean over seeds, and the farther end of its interval.
fn ratio(done: &Done, place: usize) -> Option<(f64, f64)> {
    let of = |column| values(done, COST, place, column);
    let ratio = paired(&of(SEARCHED)?, &of(LAW)?, CONFIDENCE)?.ratio?;
    Some((ratio.mean, ratio.hi))
}

/// The geometric mean of ratios.
fn mean_ratio(ratios: &[Option<(f64, f64)>]) -> Option<f64> {
    let all: Option<Vec<(f64, f64)>> = ratios.iter().copied().collect();
    let logs: f64 = all?.iter().map(|(mean, _)| libm::log(*mean)).sum();
    Some(libm::exp(logs / ratios.len() as f64))
}

const BETTER: &str = "asked for before the search";
const ALL: Criterion = Criterion::property(Tolerance::AtMost(0.6), Source::Us, BETTER);
const EACH: Criterion = Criterion::property(Tolerance::AtMost(1.05), Source::Us, BETTER);

/// Of 8192 flows: quantity, what the paper prints, whether more is better.
const PRINTED: [(usize, f64, bool); 4] = [
    (0, 96.23, true),
    (1, 15.32, false),
    (2, 0.941, true),
    (3, 2.93, false),
];
const START: Criterion = Criterion::property(Tolerance::AtMost(2.0), Source::Us, BETTER);

fn bars(done: &Done) -> Panel {
    let mut lines = Vec::new();
    let ratios: Vec<Option<(f64, f64)>> = (0..CASES.len()).map(|place| ratio(done, place)).collect();
    let head = ("cost over that of swift, searched", "", 3);
    let all = mean_ratio(&ratios);
    lines.push(Line::shown("all, geometric mean", head, [all]).wanted(0, ALL));
    lines.push(Line::shown(
        "all but 2 flows, geometric mean",
        head,
        [mean_ratio(&ratios[1..])],
    ));
    for (case, ratio) in CASES.iter().zip(&ratios) {
        let farther = ratio.map(|(_, farther)| farther);
        let label = format!("{}, farther end of the interval", case.label);
        lines.push(Line::shown(label, head, [farther]).wanted(0, EACH));
        let mean = ratio.map(|(mean, _)| mean);
        lines.push(Line::shown(format!("{}, mean", case.label), head, [mean]));
    }
    let mean = |quantity| {
        let values = values(done, quantity, MOST, LAW)?;
        Some(values.iter().sum::<f64>() / values.len().max(1) as f64)
    };
    for (quantity, printed, more) in PRINTED {
        let (head, _) = QUANTITIES[quantity];
        let tolerance = match more {
            true => Tolerance::AtLeast(printed),
            false => Tolerance::AtMost(printed),
        };
        let criterion = Criterion::property(tolerance, Source::Paper, "what the paper prints of its trees");
        let label = format!("{}: {}", CASES[MOST].label, head.0);
        lines.push(
            Line::shown(label, head, [mean(quantity)])
                .printed(0, printed)
                .wanted(0, criterion),
        );
    }
    let (head, _) = QUANTITIES[4];
    let label = format!("{}: {}", CASES[MOST].label, head.0);
    lines.push(Line::shown(label, head, [mean(4)]).wanted(0, START));
    panel(
        "What was asked of the law",
        "bar",
        vec![column("law", "decc")],
        &lines,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_of_seeds_that_nobody_chose_with() {
        assert_eq!(runs().len(), 4 * (5 * 10 + 3 * 5));
        let law = config(LAW, &Network::plain(CASES[0].shape)).unwrap();
        assert_eq!(law.name(), "decc");
        assert_eq!(
            config(ORACLE, &Network::plain(CASES[0].shape)).unwrap().name(),
            "fixed"
        );
    }

    /// Of numbers by hand: the law half way between a rule and the oracle.
    #[test]
    fn the_gap_by_hand() {
        let mut numbers = Numbers::default();
        let cost = |run: &Run| [2.0, 20.0, 10.0, 6.0][run.1];
        for ((name, ..), _) in QUANTITIES {
            let points = runs()
                .iter()
                .zip(0..)
                .map(|(run, number)| (f64::from(number), cost(run)))
                .collect();
            numbers.series.insert(name, points);
        }
        let mut done = Done::default();
        done.steps.insert(STEP.name, numbers);
        assert!((way(&done, 0, SEARCHED).unwrap().mean - 50.0).abs() < 1e-9);
        let (mean, farther) = ratio(&done, 3).unwrap();
        assert!((mean - 0.6).abs() < 1e-9 && (farther - 0.6).abs() < 1e-9);
    }
}
