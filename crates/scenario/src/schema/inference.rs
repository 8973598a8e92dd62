//! `[[inference]]` and its tables.

use paceline_congestion::params::{is, is_not};
use paceline_kernel::{Bytes, Span, Time};
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use toml::Spanned;

use super::facts::OWN;
use super::{Nodes, Placement, tables};

tables! {
    /// Inference with a pool of GPUs for prompts and one for answers. A request waits for a prefill instance, which
    /// computes its prompt. Its cache of keys and values (KV) goes to a decode instance that has room for it, where it
    /// runs in a batch whose steps give each sequence a token. A GPU is a host. Flows are labelled `label/kv` and
    /// `label/pull`.
    struct Inference {
        /// name of the service in results
        label: String => "inference-0, inference-1, ..";
        /// congestion control of its flows
        scheme: Spanned<String> => "that of [cc]";
        /// priority class, 1 to 7
        priority: Spanned<u8> = "3";
        /// keep each flow to one path, chosen by hash, while network.load-balancing spreads the others
        one_path: bool = "false", only(&[&[OWN, is_not("network.load-balancing", &["ecmp"])]]);
        /// allow hosts of jobs and of other pools
        share_hosts: bool = "false";
        /// model whose cache is transferred: `llama-3-8b`, `llama-3-70b`, `llama-3-405b`, `mixtral-8x7b`, `qwen-2.5-72b`,
        /// `gpt-13b`, `gpt-175b`, `deepseek-v3`, `kimi-k2.5`
        model: Spanned<String>;
        /// with `model`: bytes of a value in the cache, 2 for bf16, 1 for fp8
        precision: Spanned<u32>, only(&[&[is_not(".model", &[""])]]);
        /// instead of `model`: cache of a token
        token_size: Spanned<Bytes>;
        /// choice of an instance for a request: `least` (with the fewest tokens in it and in its queue) or `turns`
        routing: Spanned<String> = "least";
        /// pool that answers the first token: `decode`, after the transfer, or `prefill`, before it
        first_token: Spanned<String> = "decode";
        /// what carries the caches: `packets`, the network of this scenario; `divided`, a model in which every GPU divides
        /// the rate of its link evenly among its transfers
        network: Spanned<String> = "packets";
        /// when requests arrive, and how long they are
        requests: InferenceRequests;
        /// the pool that computes prompts
        prefill: InferencePrefill;
        /// the pool that generates answers
        decode: InferenceDecode;
        /// the transfers of caches between the pools
        transfer: InferenceTransfer;
        /// limits within which a request counts as served well
        slo: InferenceSlo;
    }
    /// Requests of a service: Poisson arrivals with lengths drawn from distributions, or a trace.
    struct InferenceRequests {
        /// mean rate of arrivals, in requests per second
        rate: Spanned<f64>, only(&[&[is(".trace", &[""])]]);
        /// number of requests that arrive
        count: Spanned<u32>, only(&[&[is(".trace", &[""])]]);
        /// requests that arrive together; their mean rate stays the same
        burst: Spanned<u32> = "1", only(&[&[is(".trace", &[""])]]);
        /// tokens of a prompt: a number, a file of lines `tokens percent`, or a list of { tokens, share }
        prompt: Spanned<Lengths>, only(&[&[is(".trace", &[""])]]);
        /// tokens of an answer, likewise
        output: Spanned<Lengths>, only(&[&[is(".trace", &[""])]]);
        /// instead of the others: a CSV file with the columns `arrival_s` (or `arrival_ms`, `arrival_us`), `prompt` and
        /// `output`, or lines of JSON with `timestamp` (ms), `input_length` and `output_length`
        trace: Spanned<String>;
        /// arrival of the first request at the earliest; added to the times of a trace
        start: Time = "0s";
    }
    /// Pool that computes prompts. An instance takes one prompt after another.
    struct InferencePrefill {
        /// GPUs of the pool, an instance after another: a set of hosts
        hosts: Spanned<Nodes>;
        /// instead of `hosts`: number of GPUs, placed on free hosts
        ranks: Spanned<u32>;
        /// with `ranks`: as for a job
        placement: Spanned<Placement> = "packed";
        /// with `ranks`: the set of hosts to choose from
        among: Spanned<Nodes> = "all";
        /// GPUs of an instance (tensor parallelism)
        instance: Spanned<u32> = "1";
        /// tokens that an instance computes per second
        rate: Spanned<u64> = "20000";
        /// time of a prompt beyond that of its tokens
        overhead: Span = "0s";
        /// tokens whose cache an instance can hold until it has been transferred
        room: Spanned<u64> => "no limit";
    }
    /// Pool that generates answers. A step of an instance gives each running sequence a token.
    struct InferenceDecode {
        /// GPUs of the pool, an instance after another: a set of hosts
        hosts: Spanned<Nodes>;
        /// instead of `hosts`: number of GPUs, placed on free hosts
        ranks: Spanned<u32>;
        /// with `ranks`: as for a job
        placement: Spanned<Placement> = "packed";
        /// with `ranks`: the set of hosts to choose from
        among: Spanned<Nodes> = "all";
        /// GPUs of an instance (tensor parallelism)
        instance: Spanned<u32> = "1";
        /// time of a step of an empty batch
        step: Span = "10ms";
        /// time of a step for each running sequence
        per_sequence: Span = "0s";
        /// time of a step for each token in the caches of running sequences
        per_token: Span = "0s";
        /// sequences that run at the same time
        running: Spanned<u32> = "256";
        /// tokens of the cache of an instance. A request reserves its prompt and its answer before its transfer
        room: Spanned<u64> => "no limit";
        /// tokens of a block, the unit in which the cache is reserved
        block: Spanned<u32> = "16", only(&[&[is_not(".room", &[""])]]);
    }
    /// Transfers from prefill to decode. A cache is spread evenly over the GPUs of an instance; with instances of
    /// different sizes, each GPU of the larger ones has a part of its own.
    struct InferenceTransfer {
        /// `pull`: a request looks for room in decode when its prompt is computed, and decode asks for the cache with a
        /// message. `push`: it looks for room first, and prefill sends what it has computed
        mode: Spanned<String> = "pull";
        /// with `push`: parts of the computation after each of which a part of the cache is sent
        layers: Spanned<u32> = "1", only(&[&[is(".mode", &["push"])]]);
        /// largest message of a transfer
        message: Spanned<Bytes> => "no limit";
        /// messages under way between two GPUs for a request
        outstanding: Spanned<u32> => "no limit";
    }
    /// Limits within which a request counts as served well; their goodput is requests per second.
    struct InferenceSlo {
        /// time to the first token
        ttft: Span => "no limit";
        /// mean time between tokens after the first
        tpot: Span => "no limit";
    }
    /// One of the lengths of a mix.
    struct LengthShare {
        /// number of tokens of some requests
        tokens: Spanned<u32>;
        /// share of the requests
        share: Spanned<f64>;
    }
}

/// Numbers of tokens: one for all requests, from a file, or given as a list of shares.
#[derive(Clone, Debug)]
pub(crate) enum Lengths {
    /// Number for all requests.
    Fixed(u32),
    /// Name of a file.
    Named(String),
    /// Numbers with their shares.
    Mix(Vec<Spanned<LengthShare>>),
}

impl Serialize for Lengths {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fixed(tokens) => serializer.serialize_u32(*tokens),
            Self::Named(name) => serializer.serialize_str(name),
            Self::Mix(shares) => shares.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Lengths {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Lengths;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number of tokens, the name of a file, or a list of { tokens, share }")
            }
            fn visit_i64<E: de::Error>(self, tokens: i64) -> Result<Lengths, E> {
                let fits = u32::try_from(tokens).map(Lengths::Fixed);
                fits.map_err(|_| E::invalid_value(de::Unexpected::Signed(tokens), &self))
            }
            fn visit_u64<E: de::Error>(self, tokens: u64) -> Result<Lengths, E> {
                let fits = u32::try_from(tokens).map(Lengths::Fixed);
                fits.map_err(|_| E::invalid_value(de::Unexpected::Unsigned(tokens), &self))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Lengths, E> {
                Ok(Lengths::Named(text.to_string()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Lengths, A::Error> {
                let mut shares = Vec::new();
                while let Some(share) = sequence.next_element()? {
                    shares.push(share);
                }
                Ok(Lengths::Mix(shares))
            }
        }
        deserializer.deserialize_any(Any)
    }
}
