//! Requests of services: drawn, or read from a trace.

use paceline_jobs::serving::Request;
use paceline_kernel::order::Sort;
use paceline_kernel::rng::{Purpose, Rng};
use paceline_kernel::{Bytes, Span, Time};
use toml::Spanned;

use crate::diagnostics::{Location, Problem, Source};
use crate::resolve::fill::filled;
use crate::schema::{InferenceRequests, Lengths};
use crate::trace;
use crate::traffic::SizeDistribution;
use crate::warning::WarningKind;

use super::maker::Maker;

/// Requests of a service, with the start of the program that carries them out.
pub(super) struct Arrivals {
    pub(super) start: Time,
    pub(super) requests: Vec<Request>,
}

/// Streams of a service's random numbers, apart from that of its placement.
mod stream {
    pub(super) const ARRIVALS: u64 = 1;
    pub(super) const PROMPTS: u64 = 2;
    pub(super) const OUTPUTS: u64 = 3;
}

/// Longest prompt or answer, in tokens.
const MOST_TOKENS: u32 = 100_000_000;

/// Returns the requests of a service.
pub(super) fn requests(
    maker: &mut Maker<'_, '_>,
    written: &mut InferenceRequests,
) -> Result<Arrivals, Problem> {
    let start = filled!(written.start: InferenceRequests);
    let mut requests = match &mut written.trace {
        Some(path) => {
            let location = maker.cx.texts.of_value(path);
            let source = maker
                .cx
                .files
                .read(path.get_ref(), "the trace of requests", &location)?;
            let requests = read(&source, start)?;
            *path.get_mut() = maker.cx.keep("requests", "csv", &source);
            requests
        }
        None => drawn(maker, written, start)?,
    };
    if requests.is_empty() {
        return Err(Problem::new("the service has no requests").at(&maker.location));
    }
    let late = requests
        .iter()
        .filter(|request| request.arrival > maker.cx.stop)
        .count();
    if late > 0 {
        let text = format!(
            "{late} of {} requests arrive after the end of the run ({})",
            requests.len(),
            maker.cx.stop
        );
        let location = maker.location.clone();
        maker.cx.warn(WarningKind::Workload, &location, text);
    }
    requests.order_by_key(|request| request.arrival);
    Ok(Arrivals { start, requests })
}

/// Draws Poisson arrivals of bursts, and lengths for each request from streams of their own, so that another rate leaves
/// the lengths as they are.
fn drawn(
    maker: &mut Maker<'_, '_>,
    written: &mut InferenceRequests,
    start: Time,
) -> Result<Vec<Request>, Problem> {
    let missing = |maker: &Maker<'_, '_>, key: &str| {
        Problem::new(format!("the requests of the service have no `{key}`"))
            .at(&maker.location)
            .help("`requests = { rate = 10, count = 1000, prompt = 2000, output = 200 }`, or a `trace`")
    };
    let rate = written.rate.as_ref().ok_or_else(|| missing(maker, "rate"))?;
    if !(*rate.get_ref() > 0.0 && *rate.get_ref() <= 1e9) {
        return Err(Problem::new(format!("{} requests per second", rate.get_ref()))
            .at(&maker.cx.texts.of_value(rate))
            .label("expected more than 0, at most 1e9"));
    }
    let rate = *rate.get_ref();
    let count = written.count.clone().ok_or_else(|| missing(maker, "count"))?;
    let count = maker.count(&mut Some(count), 1, "requests")?;
    maker.affordable(f64::from(count))?;
    let burst = maker.count(&mut written.burst, 1, "requests of a burst")?;
    let distribution = |maker: &mut Maker<'_, '_>, slot: &mut Option<Spanned<Lengths>>, key: &str| {
        let slot = slot.as_mut().ok_or_else(|| missing(maker, key))?;
        lengths(maker, slot)
    };
    let prompts = distribution(maker, &mut written.prompt, "prompt")?;
    let outputs = distribution(maker, &mut written.output, "output")?;
    let draws = |entity| maker.seeds.stream(Purpose::Workload, entity);
    let (mut arrivals, mut prompt_draws, mut output_draws) = (
        draws(stream::ARRIVALS),
        draws(stream::PROMPTS),
        draws(stream::OUTPUTS),
    );
    let mut at = start.as_ps() as f64;
    let gap = f64::from(burst) * 1e12 / rate;
    let length = |of: &SizeDistribution, draws: &mut Rng| of.quantile(draws.next_f64()).get() as u32;
    let requests = (0..count).map(|number| {
        if number % burst == 0 {
            at += gap * arrivals.next_exponential();
        }
        Request {
            arrival: Time::from_ps(at as u64),
            prompt: length(&prompts, &mut prompt_draws),
            output: length(&outputs, &mut output_draws),
        }
    });
    Ok(requests.collect())
}

/// Returns a distribution of numbers of tokens.
fn lengths(maker: &mut Maker<'_, '_>, written: &mut Spanned<Lengths>) -> Result<SizeDistribution, Problem> {
    let location = maker.cx.texts.of_value(written);
    let fits = |tokens: u32, location: &Location| match tokens {
        1..=MOST_TOKENS => Ok(Bytes::new(tokens.into())),
        _ => Err(Problem::new(format!("{tokens} tokens"))
            .at(location)
            .label(format!("expected 1 to {MOST_TOKENS}"))),
    };
    match written.get_mut() {
        Lengths::Fixed(tokens) => Ok(SizeDistribution::fixed(fits(*tokens, &location)?)),
        Lengths::Mix(shares) => {
            let mut list = Vec::with_capacity(shares.len());
            for written in shares {
                let of = maker.cx.texts.of_value(written);
                let missing = |key: &str| Problem::new(format!("the length of a mix has no `{key}`")).at(&of);
                let share = written.get_ref();
                let tokens = share.tokens.as_ref().ok_or_else(|| missing("tokens"))?;
                let part = share.share.as_ref().ok_or_else(|| missing("share"))?;
                let length = fits(*tokens.get_ref(), &maker.cx.texts.of_value(tokens))?;
                list.push((length, maker.share(part)?));
            }
            maker.mixed(&list, "lengths", &location)
        }
        Lengths::Named(name) => {
            let source = maker
                .cx
                .files
                .read(name, "the distribution of lengths", &location)?;
            let lengths = SizeDistribution::parse(&source)?;
            let longest = lengths.quantile(1.0).get();
            if longest > MOST_TOKENS.into() {
                return Err(Problem::new(format!("a length of {longest} tokens")).at(&source.end()));
            }
            *name = maker.cx.keep("lengths", "txt", &source);
            Ok(lengths)
        }
    }
}

/// Names of the columns of a trace: of arrivals with their unit in ps, of prompts, and of answers.
const ARRIVALS: [(&str, f64); 4] = [
    ("arrival_s", 1e12),
    ("arrival_ms", 1e9),
    ("arrival_us", 1e6),
    ("timestamp", 1e9),
];
const PROMPTS: [&str; 2] = ["prompt", "input_length"];
const OUTPUTS: [&str; 2] = ["output", "output_length"];

/// Reads a trace of requests: CSV with named columns, or a JSON object per line.
fn read(source: &Source, start: Time) -> Result<Vec<Request>, Problem> {
    match source.text().trim_start().starts_with('{') {
        true => read_json(source, start),
        false => read_csv(source, start),
    }
}

/// Returns a request, or what is wrong with it.
fn request(start: Time, (arrival, unit): (f64, f64), prompt: f64, output: f64) -> Result<Request, String> {
    let tokens = |value: f64, what: &str| match value {
        whole if whole.fract() == 0.0 && (1.0..=f64::from(MOST_TOKENS)).contains(&whole) => Ok(whole as u32),
        other => Err(format!("{what} of {other} tokens: expected 1 to {MOST_TOKENS}")),
    };
    let ps = (arrival * unit).round();
    let latest = Time::LATEST.as_ps() as f64;
    if !(0.0..=latest).contains(&ps) {
        return Err(format!("an arrival at {arrival}: expected 0 to a day"));
    }
    Ok(Request {
        arrival: start.saturating_add(Span::from_ps(ps as u64)),
        prompt: tokens(prompt, "a prompt")?,
        output: tokens(output, "an answer")?,
    })
}

fn read_csv(source: &Source, start: Time) -> Result<Vec<Request>, Problem> {
    let mut reader = trace::reader(source);
    let problem = |error: csv::Error| trace::csv_problem(&error, source);
    let mut records = reader.records();
    let header = match records.next() {
        Some(record) => record.map_err(problem)?,
        None => return Err(Problem::new("the trace is empty").at(&source.end())),
    };
    let column = |names: &[&str]| {
        let found = header.iter().position(|name| names.contains(&name));
        found.ok_or_else(|| {
            Problem::new(format!("the trace has no column `{}`", names.join("` or `")))
                .at(&source.at(trace::line_of(source, &header)))
        })
    };
    let arrival = column(&ARRIVALS.map(|(name, _)| name))?;
    let (prompt, output) = (column(&PROMPTS)?, column(&OUTPUTS)?);
    let unit = ARRIVALS.iter().find(|(name, _)| *name == &header[arrival]);
    let unit = unit.map_or(1.0, |&(_, unit)| unit);
    let mut requests = Vec::new();
    for record in records {
        let record = record.map_err(problem)?;
        let at = source.at(trace::line_of(source, &record));
        let number = |column: usize| {
            let text = record.get(column).unwrap_or_default();
            let value = text.parse::<f64>();
            value.map_err(|_| Problem::new(format!("`{text}`: expected a number")).at(&at))
        };
        let values = (number(arrival)?, number(prompt)?, number(output)?);
        requests.push(
            request(start, (values.0, unit), values.1, values.2)
                .map_err(|message| Problem::new(message).at(&at))?,
        );
    }
    Ok(requests)
}

fn read_json(source: &Source, start: Time) -> Result<Vec<Request>, Problem> {
    let mut requests = Vec::new();
    let mut from = 0;
    for line in source.text().split_inclusive('\n') {
        let at = source.at(from..from + line.trim_end().len());
        from += line.len();
        if line.trim().is_empty() {
            continue;
        }
        let value: serde_json::Value = serde_json::from_str(line)
            .map_err(|error| Problem::new(format!("not a JSON object: {error}")).at(&at))?;
        let number = |names: &[&str]| {
            let found = names.iter().find_map(|name| value.get(name)?.as_f64());
            found.ok_or_else(|| Problem::new(format!("no number `{}`", names.join("` or `"))).at(&at))
        };
        let arrival = ARRIVALS
            .iter()
            .find_map(|&(name, unit)| Some((value.get(name)?.as_f64()?, unit)));
        let arrival = arrival.ok_or_else(|| Problem::new("no number `timestamp`").at(&at))?;
        requests.push(
            request(start, arrival, number(&PROMPTS)?, number(&OUTPUTS)?)
                .map_err(|message| Problem::new(message).at(&at))?,
        );
    }
    Ok(requests)
}
