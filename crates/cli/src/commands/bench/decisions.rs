//! Runs with an external agent: decisions per second, simulation included.

use std::time::Instant;

use paceline_env::{Batch, Config, Environment, Source};
use paceline_fabric::Outcome;
use paceline_scenario::Overrides;

use crate::failure::Failure;

/// A scenario with sixteen endless flows to one host.
pub(super) const SIXTEEN: &str = r#"
name = "decisions"
duration = "100ms"
[topology.star]
hosts = 17
rate = "100Gbps"
delay = "1us"
[[workload]]
incast = { fan-in = 16, receiver = 17, size = "10GB" }
[network]
mtu = "4096B"
[cc]
scheme = "external"
[cc.external]
decision-latency = "1us"
"#;

/// Index of `rate-log2` among the features of [`Config::default`].
const RATE_LOG2: usize = 5;

/// Results of a run, and the number of its decisions.
pub(super) struct Decided {
    pub(super) outcome: Outcome,
    pub(super) decisions: u64,
    pub(super) run_s: f64,
}

/// Runs to the end with a rule of negligible cost for all agents. Returns the time for building, s, and the results.
pub(super) fn run(name: &str, overrides: Overrides) -> Result<(f64, Decided), Failure> {
    let building = Instant::now();
    let source = Source {
        name: name.to_string(),
        overrides,
    };
    let config = Config::default();
    let features = config.features.len();
    let mut environment = Environment::new(source, config).map_err(Failure::arguments)?;
    let built_s = building.elapsed().as_secs_f64();
    let running = Instant::now();
    let (mut batch, mut actions, mut decisions) = (Batch::default(), Vec::new(), 0);
    loop {
        environment.poll(&mut batch).map_err(Failure::run)?;
        if batch.is_empty() {
            break;
        }
        // The target delay is longer for slower flows, so that all flows get the same rate and decide equally often,
        // as under a trained policy. The last term damps changes of the delay. Features used: the delay, and log2 of
        // the rate over 16.
        let rule = |row: &[f32]| {
            let (now, before) = (&row[batch.width - features..], row[batch.width - 2 * features]);
            let target = 1.2 + 0.1 * (-8.0 * now[RATE_LOG2]).exp2();
            (target - now[0] - 4.0 * (now[0] - before)).clamp(-1.0, 1.0)
        };
        actions.clear();
        actions.extend(batch.observations.chunks_exact(batch.width).map(rule));
        environment.submit(&actions).map_err(Failure::run)?;
        decisions += actions.len() as u64;
    }
    let run_s = running.elapsed().as_secs_f64();
    let outcome = environment.finish().map_err(Failure::run)?.outcome;
    let decided = Decided {
        outcome,
        decisions,
        run_s,
    };
    Ok((built_s, decided))
}
