//! Metrics of jobs and collectives: a column for each name and metric.

use super::{Metric, ValueSource};
use crate::results::{CollectiveTotals, JobTimes, ServiceTimes, Summary, collective_totals};
use crate::text::{duration_us, number};

/// Metric of a named item.
pub(super) struct Quantity<T: 'static> {
    name: &'static str,
    /// Key within the named item.
    key: &'static str,
    value: fn(&T) -> Option<f64>,
    show: fn(Option<f64>) -> String,
    /// 1 if less is better, -1 if more is.
    sign: f64,
}

const JOB: &[Quantity<JobTimes>] = &[
    Quantity {
        name: "iteration mean",
        key: "iteration_us.mean",
        value: |job| job.iteration_us.mean,
        show: duration_us,
        sign: 1.0,
    },
    Quantity {
        name: "p99",
        key: "iteration_us.p99",
        value: |job| job.iteration_us.p99,
        show: duration_us,
        sign: 1.0,
    },
    Quantity {
        name: "max",
        key: "iteration_us.max",
        value: |job| job.iteration_us.max,
        show: duration_us,
        sign: 1.0,
    },
    Quantity {
        name: "exposed",
        key: "exposed_us",
        value: |job| job.exposed_us,
        show: duration_us,
        sign: 1.0,
    },
    Quantity {
        name: "exposed share",
        key: "communication",
        value: |job| job.communication,
        show: share,
        sign: 1.0,
    },
];

const SERVICE: &[Quantity<ServiceTimes>] = &[
    Quantity {
        name: "first token mean",
        key: "ttft_us.mean",
        value: |service| service.ttft_us.mean,
        show: duration_us,
        sign: 1.0,
    },
    Quantity {
        name: "first token p99",
        key: "ttft_us.p99",
        value: |service| service.ttft_us.p99,
        show: duration_us,
        sign: 1.0,
    },
    Quantity {
        name: "later tokens mean",
        key: "tpot_us.mean",
        value: |service| service.tpot_us.mean,
        show: duration_us,
        sign: 1.0,
    },
    Quantity {
        name: "cache mean",
        key: "kv_us.mean",
        value: |service| service.kv_us.mean,
        show: duration_us,
        sign: 1.0,
    },
    Quantity {
        name: "cache p99",
        key: "kv_us.p99",
        value: |service| service.kv_us.p99,
        show: duration_us,
        sign: 1.0,
    },
    Quantity {
        name: "cache share",
        key: "kv_share",
        value: |service| service.kv_share,
        show: share,
        sign: 1.0,
    },
    Quantity {
        name: "requests/s",
        key: "requests_per_s",
        value: |service| service.requests_per_s,
        show: number,
        sign: -1.0,
    },
    Quantity {
        name: "within limits",
        key: "within_slo",
        value: |service| service.within_slo,
        show: share,
        sign: -1.0,
    },
    Quantity {
        name: "goodput/s",
        key: "goodput_per_s",
        value: |service| service.goodput_per_s,
        show: number,
        sign: -1.0,
    },
];

const COLLECTIVE: &[Quantity<CollectiveTotals>] = &[
    Quantity {
        name: "time mean",
        key: "time_us.mean",
        value: |of| of.time_us.mean,
        show: duration_us,
        sign: 1.0,
    },
    Quantity {
        name: "time p99",
        key: "time_us.p99",
        value: |of| of.time_us.p99,
        show: duration_us,
        sign: 1.0,
    },
    Quantity {
        name: "bus Gbit/s",
        key: "busbw_gbps",
        value: |of| of.busbw_gbps,
        show: number,
        sign: -1.0,
    },
];

/// Metric of the job or collective with a label.
#[derive(Clone)]
pub(super) enum OfNamed {
    Job(String, &'static Quantity<JobTimes>),
    Service(String, &'static Quantity<ServiceTimes>),
    Collective(String, &'static Quantity<CollectiveTotals>),
}

impl OfNamed {
    pub(super) fn value(&self, summary: &Summary) -> Option<f64> {
        match self {
            Self::Job(label, of) => {
                let mut jobs = summary.jobs.iter();
                (of.value)(jobs.find(|job| job.label == *label)?)
            }
            Self::Service(label, of) => {
                let mut services = summary.services.iter();
                (of.value)(services.find(|service| service.label == *label)?)
            }
            Self::Collective(label, of) => {
                let mut all = collective_totals(summary).into_iter();
                let one = all.find(|one| one.label == *label)?;
                // The mean of some iterations is not that of all.
                let whole = one.iterations.completed == one.iterations.total;
                whole.then(|| (of.value)(&one)).flatten()
            }
        }
    }

    pub(super) fn label(&self) -> &str {
        match self {
            Self::Job(label, _) | Self::Service(label, _) | Self::Collective(label, _) => label,
        }
    }

    pub(super) fn show(&self) -> fn(Option<f64>) -> String {
        match self {
            Self::Job(_, of) => of.show,
            Self::Service(_, of) => of.show,
            Self::Collective(_, of) => of.show,
        }
    }

    pub(super) fn sign(&self) -> f64 {
        match self {
            Self::Job(_, of) => of.sign,
            Self::Service(_, of) => of.sign,
            Self::Collective(_, of) => of.sign,
        }
    }
}

/// Formats a share in percent.
fn share(share: Option<f64>) -> String {
    share.map_or_else(|| number(None), |share| format!("{:.1}%", 100.0 * share))
}

/// Returns names in the order in which they first appear.
fn distinct(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in all {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Returns metrics of named things: those of each name together.
fn of_named<T>(
    kind: &'static str,
    labels: impl Iterator<Item = String>,
    all: &'static [Quantity<T>],
    named: fn(String, &'static Quantity<T>) -> OfNamed,
) -> impl Iterator<Item = Metric> {
    distinct(labels).into_iter().flat_map(move |label| {
        all.iter().map(move |of| Metric {
            group: format!("{kind} {label}"),
            name: of.name,
            key: format!("{kind}s.{label}.{}", of.key),
            of: ValueSource::Named(named(label.clone(), of)),
        })
    })
}

/// Returns iterations and exposed communication of all jobs of these runs, job by job.
pub fn of_jobs<'a>(runs: impl IntoIterator<Item = &'a Summary>) -> Vec<Metric> {
    let labels = runs
        .into_iter()
        .flat_map(|run| run.jobs.iter().map(|job| job.label.clone()));
    of_named("job", labels, JOB, OfNamed::Job).collect()
}

/// Returns the times of all services of these runs, service by service.
pub fn of_services<'a>(runs: impl IntoIterator<Item = &'a Summary>) -> Vec<Metric> {
    let labels = (runs.into_iter()).flat_map(|run| run.services.iter().map(|service| service.label.clone()));
    of_named("service", labels, SERVICE, OfNamed::Service).collect()
}

/// Returns the metrics of all jobs and services, and times and bus bandwidths of all collectives.
pub(super) fn of_all<'a>(runs: impl IntoIterator<Item = &'a Summary>) -> Vec<Metric> {
    let runs: Vec<&Summary> = runs.into_iter().collect();
    let mut all = of_jobs(runs.iter().copied());
    all.extend(of_services(runs.iter().copied()));
    let labels = runs
        .iter()
        .flat_map(|run| collective_totals(run).into_iter().map(|one| one.label));
    all.extend(of_named("collective", labels, COLLECTIVE, OfNamed::Collective));
    all
}
