//! Results of services: times to first tokens, transfers of caches, and requests served within limits.

use paceline_fabric::{Outcome, recorded};
use paceline_jobs::serving::{Request, RequestRecord, ServingOutcome};
use paceline_kernel::Time;
use paceline_scenario::{Inference, Resolved, Warning, WarningKind};
use serde::{Deserialize, Serialize};

use super::groups::FlowCount;
use crate::stats::Distribution;
use crate::text::duration_us;

recorded! {
    /// a request of a service
    pub struct RequestRow = "requests", needs "a service" {
        /// label of the service that it is for
        service: String,
        /// number of the request, from 0, by arrival
        request: u32,
        /// tokens of its prompt
        prompt: u32,
        /// tokens of its answer
        output: u32,
        /// number of the prefill instance that computed its prompt
        prefill: Option<u32>,
        /// number of the decode instance that generated its answer
        decode: Option<u32>,
        /// when the request arrived
        arrival_ps: u64,
        /// when the computation of its prompt started
        prefill_start_ps: Option<u64>,
        /// when its prompt was computed
        prefill_end_ps: Option<u64>,
        /// when decode had room for it
        admitted_ps: Option<u64>,
        /// when the transfer of its cache started
        kv_start_ps: Option<u64>,
        /// when the last byte of its cache had arrived
        kv_end_ps: Option<u64>,
        /// when it got its first token
        first_token_ps: Option<u64>,
        /// when it got its last token
        end_ps: Option<u64>,
    }
}

/// Service of a model to users.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServiceTimes {
    /// Label of the service.
    pub label: String,
    /// Number of requests, and of those that got their last token.
    pub requests: FlowCount,
    /// Time from a request's arrival to its first token, in microseconds.
    pub ttft_us: Distribution,
    /// Mean time between a request's later tokens, in microseconds.
    pub tpot_us: Distribution,
    /// Time from the start of a cache's transfer to the arrival of its last byte, in microseconds.
    pub kv_us: Distribution,
    /// Means of the parts of [`Self::ttft_us`], in microseconds.
    pub parts_us: TtftParts,
    /// [`TtftParts::kv`] as a share of the mean time to the first token; null before the first token.
    pub kv_share: Option<f64>,
    /// Requests that got their last token, per second between the first arrival and the last token.
    pub requests_per_s: Option<f64>,
    /// Requests within the limits, per second; null without limits.
    pub goodput_per_s: Option<f64>,
    /// Share of all requests that ended within the limits; null without limits.
    pub within_slo: Option<f64>,
}

/// Mean times of the parts of the time to the first token, in microseconds; of the requests that got one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TtftParts {
    /// Waiting for a prefill instance.
    pub queue: f64,
    /// Computation of the prompt.
    pub prefill: f64,
    /// Waiting for room in decode.
    pub room: f64,
    /// Transfer of the cache that no computation hides.
    pub kv: f64,
    /// Waiting for a step, and the first step.
    pub step: f64,
}

/// Returns the services with their outcomes.
fn services<'a>(
    input: &'a Resolved,
    outcome: &'a Outcome,
) -> impl Iterator<Item = (&'a Inference, &'a ServingOutcome)> {
    let found = |service: &'a Inference| Some((service, outcome.programs.get(service.program)?.get()?));
    input.services.iter().filter_map(found)
}

/// Returns the requests of all services.
pub(crate) fn request_rows(input: &Resolved, outcome: &Outcome) -> Vec<RequestRow> {
    let ps = |at: Option<Time>| at.map(Time::as_ps);
    let row = |service: &Inference, number: u32, of: &Request, record: &RequestRecord| RequestRow {
        service: service.label.clone(),
        request: number,
        prompt: of.prompt,
        output: of.output,
        prefill: record.prefill,
        decode: record.decode,
        arrival_ps: of.arrival.as_ps(),
        prefill_start_ps: ps(record.prefill_start),
        prefill_end_ps: ps(record.prefill_end),
        admitted_ps: ps(record.admitted),
        kv_start_ps: ps(record.kv_start),
        kv_end_ps: ps(record.kv_end),
        first_token_ps: ps(record.first_token),
        end_ps: ps(record.end),
    };
    let of_service = |(service, left): (&Inference, &ServingOutcome)| {
        let all = (0..).zip(&service.requests).zip(&left.requests);
        all.map(|((number, of), record)| row(service, number, of, record))
            .collect::<Vec<_>>()
    };
    services(input, outcome).flat_map(of_service).collect()
}

fn us_between(from: Time, to: Time) -> f64 {
    to.saturating_since(from).as_us_f64()
}

/// Returns the parts of a request's time to its first token; `None` before it.
fn parts(of: &Request, record: &RequestRecord) -> Option<TtftParts> {
    let first = record.first_token?;
    let (start, end) = (record.prefill_start?, record.prefill_end?);
    let mut parts = TtftParts {
        queue: us_between(of.arrival, start),
        prefill: us_between(start, end),
        ..TtftParts::default()
    };
    // Room that a request waits for before its prompt is computed is not waiting for prefill.
    let admitted = record.admitted.unwrap_or(end);
    if admitted <= start {
        parts.room = us_between(of.arrival, admitted);
        parts.queue = us_between(admitted, start);
    }
    if first == end {
        return Some(parts);
    }
    if admitted > start {
        parts.room = us_between(end, admitted);
    }
    let arrived = record.kv_end?;
    parts.kv = us_between(record.kv_start?.max(end), arrived);
    parts.step = us_between(arrived, first);
    Some(parts)
}

/// Returns the mean time between later tokens, in microseconds; `None` without them.
fn tpot(of: &Request, record: &RequestRecord) -> Option<f64> {
    let later = of.output.checked_sub(1).filter(|&later| later > 0)?;
    Some(us_between(record.first_token?, record.end?) / f64::from(later))
}

/// Returns the times of every service.
pub(super) fn service_times(input: &Resolved, outcome: &Outcome) -> Vec<ServiceTimes> {
    services(input, outcome)
        .map(|(service, left)| of(service, left))
        .collect()
}

fn of(service: &Inference, left: &ServingOutcome) -> ServiceTimes {
    let all = || service.requests.iter().zip(&left.requests);
    let ttft = |of: &Request, record: &RequestRecord| Some(us_between(of.arrival, record.first_token?));
    let ended = all().filter(|(_, record)| record.end.is_some());
    let is_within = |of: &Request, record: &RequestRecord| {
        let fast = |limit: Option<paceline_kernel::Span>, time: Option<f64>| {
            limit.is_none_or(|limit| time.is_none_or(|time| time <= limit.as_us_f64()))
        };
        record.end.is_some() && fast(service.ttft, ttft(of, record)) && fast(service.tpot, tpot(of, record))
    };
    let first = service.requests.first().map(|request| request.arrival);
    let last = left.requests.iter().filter_map(|record| record.end).max();
    let span_s = first.zip(last).map(|(first, last)| us_between(first, last) / 1e6);
    let per_second = |count: usize| span_s.filter(|&span| span > 0.0).map(|span| count as f64 / span);
    let within = all().filter(|(of, record)| is_within(of, record)).count();
    let has_limits = service.ttft.is_some() || service.tpot.is_some();
    let each: Vec<TtftParts> = all().filter_map(|(of, record)| parts(of, record)).collect();
    let mean = |part: fn(&TtftParts) -> f64| each.iter().map(part).sum::<f64>() / each.len().max(1) as f64;
    let parts_us = TtftParts {
        queue: mean(|one| one.queue),
        prefill: mean(|one| one.prefill),
        room: mean(|one| one.room),
        kv: mean(|one| one.kv),
        step: mean(|one| one.step),
    };
    let ttft_us = Distribution::of(
        all()
            .filter_map(|(of, record)| ttft(of, record))
            .collect::<Vec<_>>(),
    );
    let kv = |record: &RequestRecord| Some(us_between(record.kv_start?, record.kv_end?));
    let completed = ended.count();
    ServiceTimes {
        label: service.label.clone(),
        requests: FlowCount {
            total: service.requests.len() as u64,
            completed: completed as u64,
        },
        kv_share: ttft_us
            .mean
            .filter(|&mean| mean > 0.0)
            .map(|mean| parts_us.kv / mean),
        ttft_us,
        tpot_us: Distribution::of(
            all()
                .filter_map(|(of, record)| tpot(of, record))
                .collect::<Vec<_>>(),
        ),
        kv_us: Distribution::of(left.requests.iter().filter_map(kv).collect::<Vec<_>>()),
        parts_us,
        requests_per_s: per_second(completed),
        goodput_per_s: per_second(within).filter(|_| has_limits),
        within_slo: (has_limits).then(|| within as f64 / service.requests.len().max(1) as f64),
    }
}

/// Growth of the time to the first token, from the second quarter of the requests to the last, that is said.
const GROWTH: f64 = 2.0;
/// Minimum number of requests for a comparison of quarters.
const COMPARED: usize = 40;

/// Warns of services that cannot keep up with their requests, and of requests without an end.
pub(super) fn warnings(input: &Resolved, outcome: &Outcome) -> Vec<Warning> {
    let of_service = |(service, left): (&Inference, &ServingOutcome)| {
        let mut said = Vec::new();
        let ended = left.requests.iter().filter(|record| record.end.is_some()).count();
        let all = service.requests.len();
        if ended < all {
            said.push(format!(
                "{} of {all} requests of `{}` have not ended: their times are left out.",
                all - ended,
                service.label
            ));
        }
        let quarter = all / 4;
        let mean = |from: usize| {
            let some = (service.requests.iter().zip(&left.requests))
                .skip(from)
                .take(quarter);
            let times: Vec<f64> = some
                .filter_map(|(of, record)| Some(us_between(of.arrival, record.first_token?)))
                .collect();
            crate::stats::mean(&times)
        };
        if let (Some(early), Some(late)) = (mean(quarter), mean(all - quarter))
            && all >= COMPARED
            && late > GROWTH * early
        {
            said.push(format!(
                "The service `{}` does not keep up: the mean time to the first token grows from {} in the second quarter of \
                 its requests to {} in the last, so it depends on how many there are.",
                service.label,
                duration_us(Some(early)),
                duration_us(Some(late))
            ));
        }
        said
    };
    (services(input, outcome).flat_map(of_service))
        .map(|text| Warning::new(WarningKind::OverloadedService, text))
        .collect()
}
