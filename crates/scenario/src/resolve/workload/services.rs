//! Conversion of `[[inference]]` to services: their pools, requests and transfers.

use std::hash::{DefaultHasher, Hash, Hasher};

use paceline_fabric::spec::{NodeId, Program, State};
use paceline_jobs::serving::{Decode, Prefill, Request, Routing, Service, Serving, ServingFlows, Transfer};
use paceline_kernel::sorted::SortedSet;
use paceline_kernel::{Bytes, Span};
use paceline_traces::model::{PRESETS, preset};
use toml::Spanned;

use crate::diagnostics::{Problem, suggestion};
use crate::resolve::Cx;
use crate::resolve::fill::{fill, fill_value, filled};
use crate::resolve::schemes::Schemes;
use crate::schema::{self, Inference as Written};
use crate::topology::Net;

use super::labels::Labels;
use super::maker::{Maker, choice, destination_port};
use super::placement::{Wanted, seeds};
use super::requests::{Arrivals, requests};

/// Service of a model to users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inference {
    /// Label of the service in results.
    pub label: String,
    /// Index of its program in the run.
    pub program: usize,
    /// Requests in the order of their arrivals.
    pub requests: Vec<Request>,
    /// Bytes of a token's cache.
    pub token_bytes: u64,
    /// GPUs of its pools: for prompts, and for answers.
    pub gpus: [Vec<NodeId>; 2],
    /// Limit of the time to the first token within which a request is served well.
    pub ttft: Option<Span>,
    /// Limit of the mean time between later tokens.
    pub tpot: Option<Span>,
}

/// Lists that services are added to.
pub(super) struct Target<'a> {
    pub(super) labels: &'a mut Labels,
    pub(super) programs: &'a mut Vec<Program>,
    /// Number of workloads and jobs, after which the pools are numbered, two of each service.
    pub(super) first: usize,
}

/// Caches of models that are not described for training, or whose heads do not determine them: layers, heads of keys and
/// values with their width, or 0 heads and the width of the latent vector. `config.json` of Qwen, DeepSeek and Moonshot.
const CACHES: [(&str, [u32; 3]); 3] = [
    ("qwen-2.5-72b", [80, 8, 128]),
    ("deepseek-v3", [61, 0, 576]),
    ("kimi-k2.5", [61, 0, 576]),
];

/// Returns the shape of a model's cache, if it is known.
fn cache_of(name: &str) -> Option<[u32; 3]> {
    let own = CACHES.iter().find(|(known, _)| *known == name);
    own.map(|&(_, shape)| shape).or_else(|| {
        let model = preset(name)?;
        Some([model.layers, model.kv_heads, model.head_dim])
    })
}

/// Returns the bytes of a token's cache: keys and values of each head and layer, or the latent vector of each layer.
fn token_bytes(shape: [u32; 3], precision: u64) -> u64 {
    let [layers, heads, width] = shape.map(u64::from);
    match heads {
        0 => layers * width * precision,
        heads => 2 * layers * heads * width * precision,
    }
}

/// Returns the hosts that the pools of all services ask for, two of each.
pub(super) fn wanted<'a>(cx: &Cx<'_>, services: &'a mut [Spanned<Written>], first: usize) -> Vec<Wanted<'a>> {
    let mut all = Vec::with_capacity(2 * services.len());
    for (i, service) in services.iter_mut().enumerate() {
        let location = cx.texts.of_value(service);
        let service = service.get_mut();
        let share = filled!(service.share_hosts: Inference);
        let label = fill(&mut service.label, format!("inference-{i}"));
        let prefill = service.prefill.get_or_insert_default();
        let decode = service.decode.get_or_insert_default();
        let pools = [
            (
                "prefill",
                &prefill.hosts,
                &prefill.ranks,
                &mut prefill.placement,
                &mut prefill.among,
            ),
            (
                "decode",
                &decode.hosts,
                &decode.ranks,
                &mut decode.placement,
                &mut decode.among,
            ),
        ];
        for (number, (pool, hosts, ranks, placement, among)) in pools.into_iter().enumerate() {
            all.push(Wanted {
                what: "pool",
                label: format!("{label}/{pool}"),
                location: location.clone(),
                share,
                seeds: seeds(cx.seed, first + 2 * i + number),
                hosts,
                ranks,
                placement,
                among,
            });
        }
    }
    all
}

/// Creates all services on the hosts that were found for their pools.
pub(super) fn resolve(
    cx: &mut Cx<'_>,
    services: &mut [Spanned<Written>],
    pools: &[Vec<NodeId>],
    net: &Net,
    schemes: &mut Schemes<'_>,
    to: Target<'_>,
) -> Result<Vec<Inference>, Problem> {
    let mut all = Vec::with_capacity(services.len());
    let mut known = SortedSet::new();
    for (i, (spanned, pools)) in services.iter_mut().zip(pools.chunks(2)).enumerate() {
        let location = cx.texts.of_value(spanned);
        let written = spanned.get_mut();
        let scheme = schemes.index(cx, written.scheme.as_ref())?;
        to.labels.keeps_to_path = filled!(written.one_path: Inference);
        let seeds = seeds(cx.seed, to.first + 2 * i);
        let mut maker = Maker {
            cx: &mut *cx,
            net,
            location,
            seeds,
            labels: &mut *to.labels,
            scheme,
        };
        let label = written.label.clone().unwrap_or_default();
        if !known.insert(label.clone()) {
            return Err(Problem::new(format!("a second service called `{label}`")).at(&maker.location));
        }
        let (service, program) = maker.service(written, label, [&pools[0], &pools[1]], to.programs.len())?;
        all.push(service);
        to.programs.push(program);
    }
    Ok(all)
}

impl Maker<'_, '_> {
    /// Creates a service, and the program that carries it out.
    fn service(
        &mut self,
        written: &mut Written,
        label: String,
        gpus: [&[NodeId]; 2],
        number: usize,
    ) -> Result<(Inference, Program), Problem> {
        let class = self.checked_class(&written.priority)?.unwrap_or(3);
        fill_value(&mut written.priority, class);
        self.check_apart(gpus)?;
        let token_bytes = self.cache_of_token(written)?;
        let prefill = self.prefill(written.prefill.get_or_insert_default(), gpus[0])?;
        let decode = self.decode(written.decode.get_or_insert_default(), gpus[1])?;
        let transfer = self.transfer(written.transfer.get_or_insert_default())?;
        let routing = choice(
            self.cx,
            filled!(written.routing: Inference),
            &[("least", Routing::Least), ("turns", Routing::Turns)],
        )?;
        let prefill_answers = choice(
            self.cx,
            filled!(written.first_token: Inference),
            &[("decode", false), ("prefill", true)],
        )?;
        let is_divided = choice(
            self.cx,
            filled!(written.network: Inference),
            &[("packets", false), ("divided", true)],
        )?;
        let Arrivals { start, requests } = requests(self, written.requests.get_or_insert_default())?;
        let service = Service {
            requests: requests.clone(),
            token_bytes,
            prefill,
            decode,
            transfer,
            routing,
            prefill_answers,
        };
        self.check_room(&service, written)?;
        let mut hosts = gpus.concat();
        hosts.sort_unstable();
        hosts.dedup();
        let (messages, largest) = service.extent();
        self.affordable(messages as f64)?;
        let rates = is_divided.then(|| {
            let rates = self.net.topology.rates();
            hosts.iter().map(|&host| (host, rates[host.0 as usize])).collect()
        });
        let flows = ServingFlows {
            class,
            scheme: self.scheme,
            dport: destination_port("inference"),
            kv: self.labels.index(&format!("{label}/kv")),
            pull: self.labels.index(&format!("{label}/pull")),
        };
        let slo = written.slo.get_or_insert_default();
        let inference = Inference {
            label,
            program: number,
            requests,
            token_bytes,
            gpus: gpus.map(<[NodeId]>::to_vec),
            ttft: slo.ttft,
            tpot: slo.tpot,
        };
        let mut hasher = DefaultHasher::new();
        format!("{service:?} {flows:?} {rates:?}").hash(&mut hasher);
        let program = Program {
            digest: format!("{:x}", hasher.finish()),
            start,
            hosts,
            class,
            scheme: self.scheme,
            flows: if is_divided {
                0
            } else {
                messages.min(u64::from(u32::MAX >> 6)) as u32
            },
            largest: if is_divided { 0 } else { largest },
            state: State::new(Serving::new(service, flows, rates)),
        };
        Ok((inference, program))
    }

    /// Returns the bytes of a token's cache.
    fn cache_of_token(&mut self, written: &mut Written) -> Result<u64, Problem> {
        match (&written.model, &written.token_size) {
            (Some(model), None) => {
                let name = model.get_ref();
                let shape = cache_of(name).ok_or_else(|| {
                    let presets = PRESETS.iter().map(|preset| preset.name);
                    Problem::new(format!("there is no model `{name}` whose cache is known"))
                        .at(&self.cx.texts.of_value(model))
                        .help(suggestion(name, presets.chain(CACHES.map(|(known, _)| known))))
                })?;
                let usual = if name == "kimi-k2.5" { 1 } else { 2 };
                let precision = self.count(&mut written.precision, usual, "bytes of a value")?;
                Ok(token_bytes(shape, u64::from(precision)))
            }
            (None, Some(size)) => Ok(self.size(size)?.get()),
            _ => Err(Problem::new("a service has either a `model` or a `token-size`")
                .at(&self.location)
                .help("`model = \"llama-3-70b\"`, or the bytes that a token takes in the cache")),
        }
    }

    /// Divides the GPUs of a pool into instances.
    fn instances(
        &self,
        gpus: &[NodeId],
        slot: &mut Option<Spanned<u32>>,
        pool: &str,
    ) -> Result<Vec<Vec<NodeId>>, Problem> {
        let each = self.count(slot, 1, "GPUs of an instance")? as usize;
        if gpus.is_empty() || !gpus.len().is_multiple_of(each) {
            let message = format!(
                "the {pool} pool has {} GPUs: expected a multiple of the {each} of an instance",
                gpus.len()
            );
            return Err(Problem::new(message).at(&self.place_of(slot.as_ref())));
        }
        Ok(gpus.chunks(each).map(<[NodeId]>::to_vec).collect())
    }

    fn prefill(&self, written: &mut schema::InferencePrefill, gpus: &[NodeId]) -> Result<Prefill, Problem> {
        let rate = filled!(written.rate: InferencePrefill);
        if *rate.get_ref() == 0 {
            return Err(Problem::new("prefill computes no tokens per second")
                .at(&self.cx.texts.of_value(&rate))
                .label("expected at least 1"));
        }
        Ok(Prefill {
            instances: self.instances(gpus, &mut written.instance, "prefill")?,
            rate: *rate.get_ref(),
            overhead: filled!(written.overhead: InferencePrefill),
            room: written.room.as_ref().map_or(u64::MAX, |room| *room.get_ref()),
        })
    }

    fn decode(&self, written: &mut schema::InferenceDecode, gpus: &[NodeId]) -> Result<Decode, Problem> {
        let step = filled!(written.step: InferenceDecode);
        let per_sequence = filled!(written.per_sequence: InferenceDecode);
        let per_token = filled!(written.per_token: InferenceDecode);
        if step == Span::ZERO && per_sequence == Span::ZERO && per_token == Span::ZERO {
            return Err(Problem::new("a step of decode takes no time")
                .at(&self.location)
                .help("set `decode.step`, `decode.per-sequence` or `decode.per-token`"));
        }
        Ok(Decode {
            instances: self.instances(gpus, &mut written.instance, "decode")?,
            step,
            per_sequence,
            per_token,
            running: self.count(&mut written.running, 256, "running sequences")?,
            room: written.room.as_ref().map_or(u64::MAX, |room| *room.get_ref()),
            block: self.count(&mut written.block, 16, "tokens of a block")?,
        })
    }

    fn transfer(&self, written: &mut schema::InferenceTransfer) -> Result<Transfer, Problem> {
        let push = choice(
            self.cx,
            filled!(written.mode: InferenceTransfer),
            &[("pull", false), ("push", true)],
        )?;
        let layers = self.count(&mut written.layers, 1, "layers")?;
        let message = match &written.message {
            Some(size) => self.size(size)?,
            None => Bytes::LARGEST,
        };
        let outstanding = match &mut written.outstanding {
            None => u32::MAX,
            slot => self.count(slot, 1, "messages under way")?,
        };
        Ok(Transfer {
            push,
            // A cache that is pulled goes when all of it is computed.
            layers: if push { layers } else { 1 },
            message: message.get(),
            outstanding,
        })
    }

    /// Checks that every request has room in both pools.
    fn check_room(&self, service: &Service, written: &Written) -> Result<(), Problem> {
        let longest = |of: &dyn Fn(&Request) -> u64| service.requests.iter().map(of).max().unwrap_or(0);
        let pools = [
            (
                "prefill",
                written.prefill.as_ref().and_then(|pool| pool.room.as_ref()),
                longest(&|request| u64::from(request.prompt)),
            ),
            (
                "decode",
                written.decode.as_ref().and_then(|pool| pool.room.as_ref()),
                longest(&|request| service.reserves(request)),
            ),
        ];
        for (pool, room, needed) in pools {
            if let Some(room) = room.filter(|room| *room.get_ref() < needed) {
                let message = format!(
                    "an instance of {pool} has room for {} tokens: the longest request needs {needed}",
                    room.get_ref()
                );
                return Err(Problem::new(message)
                    .at(&self.cx.texts.of_value(room))
                    .label(format!("expected at least {needed}")));
            }
        }
        Ok(())
    }

    /// Refuses pools that share hosts: no network carries a transfer from a host to itself.
    fn check_apart(&self, gpus: [&[NodeId]; 2]) -> Result<(), Problem> {
        match gpus[0].iter().find(|host| gpus[1].contains(host)) {
            Some(host) => Err(
                Problem::new(format!("host {} is in both pools of the service", host.0)).at(&self.location),
            ),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sizes of published models; a cache of Kimi K2.5 was measured (ai-dynamo/aiconfigurator, 1380).
    #[test]
    fn caches_of_models() {
        let of = |name: &str, precision| token_bytes(cache_of(name).unwrap(), precision);
        assert_eq!(of("llama-3-405b", 2), 516_096);
        assert_eq!(of("qwen-2.5-72b", 2), 327_680);
        assert_eq!(of("deepseek-v3", 2), 70_272);
        assert_eq!(8150 * of("kimi-k2.5", 1), 286_358_400);
    }
}
