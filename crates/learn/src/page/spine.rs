//! Report page of SPINE's agent.

use paceline_congestion::learned::activation::sigmoid;
use paceline_congestion::spine::{FIRST, HIDDEN, INPUTS, Interval, OUTPUTS, SubPolicy, run};
use paceline_report::{Axis, Chart, ChartKind, Line, Part, Width};

use super::rounds::{Texts, best, page, trials};
use super::{PolicyPage, chart};
use crate::Error;
use crate::rounds::TrainedPolicy;

/// Renders the page of an agent.
///
/// # Errors
/// The template is faulty.
pub fn spine(of: &PolicyPage<'_, TrainedPolicy>) -> Result<String, Error> {
    let texts = Texts {
        title: "SPINE's watcher and generator",
        story: story(of.trained),
        reward: "At most 1 each: what flows are delivered of their fair shares, over the delay.",
        action: "Of what the generator says, on a logistic scale.",
    };
    page(of, texts, answers(of.trained))
}

fn story(trained: &TrainedPolicy) -> String {
    let first = trials(trained).first().map_or(0.0, |trial| trial.1);
    let (round, reward) = best(trained);
    format!(
        "In {} rounds a network of {} weights learned when a flow needs new parameters for the rule that moves its window, and \
         which: 1 where all flows have their fair share without a queue, less for less and for delay, up to 1 less for losses, and 0.02 less for \
         each trigger. In networks that it never learned in it got {first:.3} an interval before, and {reward:.3} after round \
         {round:.0}, whose policy this is.",
        trained.updates.len() - 1,
        trained.policy.values().len(),
    )
}

/// Equal intervals after which the network's state has settled.
const SETTLED: usize = 32;

/// Returns the network's outputs after many equal intervals: at this round trip over the empty network's,
/// with a window of this share of 100 packets, all delivered.
fn said(trained: &TrainedPolicy, rtt: f64, share: f64) -> [f32; OUTPUTS] {
    let (mut seen, mut said) = ([0.0; INPUTS], [0.0; OUTPUTS]);
    let now = Interval {
        growth: 0.0,
        rtt,
        delivered: share / rtt,
        packets: (100.0 * share, 100.0),
        loss: 0.0,
        elapsed: 1.0,
        policy: FIRST,
        since: 0,
    };
    seen[HIDDEN..].copy_from_slice(&now.numbers());
    for _ in 0..SETTLED {
        let output = run(&trained.policy, &seen);
        said = output.heads;
        seen[..HIDDEN].copy_from_slice(&output.memory);
    }
    said
}

/// Returns the round trip at which the rule with these parameters is in equilibrium: equation (1) of the
/// scheme is zero.
fn rest(policy: SubPolicy) -> f64 {
    1.0 + policy.gamma as f64 / 1024.0 + policy.alpha as f64 / policy.beta as f64
}

/// Returns the part on triggers and generated parameters, by delay and window.
fn answers(trained: &TrainedPolicy) -> Part {
    let of = |share: f64, value: &dyn Fn([f32; OUTPUTS]) -> f64| -> Vec<(f64, f64)> {
        let point = |k: i32| {
            let rtt = 1.0 + f64::from(k) / 20.0;
            (rtt, value(said(trained, rtt, share)))
        };
        (0..=80).map(point).collect()
    };
    let shown = |title: &str, note: &str, y: Axis, value: &dyn Fn([f32; OUTPUTS]) -> f64| {
        let shares = [(0.5, "half"), (0.1, "a tenth"), (0.01, "a hundredth")];
        let lines = shares.into_iter().enumerate();
        let lines = lines.map(|(color, (share, name))| Line::new(name, color, &of(share, value)));
        let x = Axis::new("round-trip time, of the empty network's", "");
        Chart {
            kind: ChartKind::Lines,
            width: Width::Full,
            ..chart(title, note, x, y, lines.collect())
        }
    };
    let trigger = |said: [f32; OUTPUTS]| f64::from(sigmoid(said[0]));
    let rests = |[_, policy @ ..]: [f32; OUTPUTS]| rest(SubPolicy::of(policy));
    Part {
        title: "What it does".into(),
        text: "Of a flow that has met the same for long, under the parameters that hold at first; by its window as a share of \
               the bandwidth-delay product, of 100 packets."
            .into(),
        charts: vec![
            shown(
                "Probability of a trigger",
                "In a run it triggers from one half on.",
                Axis::new("probability", ""),
                &trigger,
            ),
            shown(
                "Where the rule would rest",
                "The round trip at which the generated parameters neither add nor take away: 1 + gamma + alpha / beta.",
                Axis::new("round-trip time, of the empty network's", ""),
                &rests,
            ),
        ],
        tables: Vec::new(),
    }
}
