//! Conversion of keys of `config.txt` to the parameters of its scheme.

use crate::document::Places;

use paceline_kernel::{BitRate, Span};
use toml::{Table, Value};

use crate::diagnostics::Problems;

use super::format::InputFormat;
use super::keys::Config;

/// Returns the gain, by default 0 in HPCC's simulator, which divides the integers 1 and 16.
fn ewma_gain(config: &Config) -> f64 {
    let default = match config.format() {
        InputFormat::Ns3Alibabacloud => 1.0 / 16.0,
        _ => 0.0,
    };
    config.real("EWMA_GAIN", default)
}

/// Block of a scheme, with the position of each parameter.
pub(super) struct Block {
    pub(super) table: Table,
    pub(super) locations: Places,
}

/// Returns the block of `scheme`; parameters without a key have the original's fixed value. Missing required keys are
/// added to `problems`.
pub(super) fn of(config: &Config, scheme: &str, problems: &mut Problems) -> Block {
    let mut factory = Maker {
        config,
        scheme,
        problems,
        block: Table::new(),
        locations: Vec::new(),
    };
    match scheme {
        "dcqcn" => factory.dcqcn(),
        "dctcp" => {
            factory.put("g", "EWMA_GAIN", ewma_gain(config));
            let step = config.rate("DCTCP_RATE_AI").unwrap_or(BitRate::from_gbps(1));
            factory.put("rate-ai", "DCTCP_RATE_AI", step.to_string());
            factory.min_rate();
        }
        "timely" => {
            factory.rate("rate-ai", "RATE_AI");
            factory.rate("rate-hai", "RATE_HAI");
            factory.min_rate();
        }
        "hpcc" => {
            factory.hpcc();
            factory.put("fast-react", "FAST_REACT", config.flag("FAST_REACT", true));
            factory.put("multi-rate", "MULTI_RATE", config.flag("MULTI_RATE", true));
            factory.put(
                "sample-feedback",
                "SAMPLE_FEEDBACK",
                config.flag("SAMPLE_FEEDBACK", false),
            );
        }
        "hpcc-pint" => {
            factory.hpcc();
            factory.put("log-base", "PINT_LOG_BASE", config.real("PINT_LOG_BASE", 1.05));
            factory.put("probability", "PINT_PROB", config.real("PINT_PROB", 1.0));
        }
        _ => {}
    }
    let mut table = Table::new();
    table.insert(scheme.to_string(), Value::Table(factory.block));
    Block {
        table,
        locations: factory.locations,
    }
}

struct Maker<'a> {
    config: &'a Config,
    scheme: &'a str,
    problems: &'a mut Problems,
    block: Table,
    locations: Places,
}

impl Maker<'_> {
    fn put(&mut self, parameter: &str, key: &str, value: impl Into<Value>) {
        self.block.insert(parameter.to_string(), value.into());
        let span = self.config.span(key);
        self.locations
            .push((format!("cc.{}.{parameter}", self.scheme), span));
    }

    /// Sets a rate that the configuration must give.
    fn rate(&mut self, parameter: &str, key: &str) {
        match self.config.rate(key) {
            Some(rate) => self.put(parameter, key, rate.to_string()),
            None => {
                let message = format!("the configuration has no {key}, which {} needs", self.scheme);
                self.problems.push(self.config.problem(key, message));
            }
        }
    }

    fn min_rate(&mut self) {
        let rate = self
            .config
            .rate("MIN_RATE")
            .unwrap_or(BitRate::from_bps(100_000_000));
        self.put("min-rate", "MIN_RATE", rate.to_string());
    }

    fn count(&mut self, parameter: &str, key: &str, default: u64) {
        let value = self.config.int(key, default).min(u32::MAX.into());
        self.put(parameter, key, value as i64);
    }

    /// Sets a timer; the original truncates it to whole microseconds.
    fn timer(&mut self, parameter: &str, key: &str, default: f64) {
        let us = self.config.real(key, default).min(1e12) as u64;
        self.put(parameter, key, Span::from_us(us).to_string());
    }

    fn dcqcn(&mut self) {
        self.put("flavour", "CC_MODE", "nic");
        // HPCC's receivers echo each mark; THEMIS' notify once in 5 us.
        let interval = match self.config.format() {
            InputFormat::Themis => "5us",
            _ => "0ps",
        };
        self.put("cnp-interval", "CC_MODE", interval);
        self.put("g", "EWMA_GAIN", ewma_gain(self.config));
        self.timer("alpha-interval", "ALPHA_RESUME_INTERVAL", 55.0);
        self.timer("cut-interval", "RATE_DECREASE_INTERVAL", 4.0);
        self.timer("increase-timer", "RP_TIMER", 0.0);
        self.count("fast-recovery-stages", "FAST_RECOVERY_TIMES", 5);
        self.rate("rate-ai", "RATE_AI");
        self.rate("rate-hai", "RATE_HAI");
        self.min_rate();
        self.put(
            "clamp-target",
            "CLAMP_TARGET_RATE",
            self.config.flag("CLAMP_TARGET_RATE", false),
        );
        self.put("rate-on-first-cnp", "CC_MODE", 1.0);
    }

    fn hpcc(&mut self) {
        self.put("eta", "U_TARGET", self.config.real("U_TARGET", 0.95));
        self.count("max-stage", "MI_THRESH", 5);
        self.rate("rate-ai", "RATE_AI");
        self.min_rate();
    }
}
