//! From `[[workload]]` to flows.

use paceline_fabric::spec::{FlowSpec, NodeId};
use paceline_kernel::{BitRate, Bytes, Span, Time};
use toml::Spanned;

use crate::diagnostics::{Place, Problem, suggestion};
use crate::ns3;
use crate::schema;
use crate::topology::Net;
use crate::traffic::{self, DISTRIBUTIONS, Message, Seeds, SizeDistribution};

use super::Cx;
use super::drafts::{self, Draft, not_a_host};
use super::fill::{fill, fill_at, fill_value, only_block};
use super::network::probability;

const BLOCKS: &str = "flows, file, incast, poisson, incast-poisson, permutation, all-to-all";

/// More would exhaust the memory of most machines.
const MOST_FLOWS: f64 = 5e7;

/// Flows and the labels that they name.
pub(super) struct Traffic {
    pub(super) flows: Vec<FlowSpec>,
    pub(super) labels: Vec<String>,
}

/// Makes the flows. `scheme` gives the index of a scheme that a workload names.
pub(super) fn resolve(
    cx: &mut Cx<'_>,
    workloads: &mut [Spanned<schema::Workload>],
    net: &Net,
    mut scheme: impl FnMut(&Cx<'_>, Option<&Spanned<String>>) -> Result<u16, Problem>,
) -> Result<Traffic, Problem> {
    let mut drafts = Vec::new();
    let mut labels = Labels::default();
    for (i, spanned) in workloads.iter_mut().enumerate() {
        let place = cx.texts.of_value(spanned);
        let written = spanned.get_mut();
        let scheme = scheme(cx, written.scheme.as_ref())?;
        let mut maker = Maker {
            cx: &mut *cx,
            net,
            place,
            seeds: Seeds {
                seed: 0,
                workload: i as u64,
            },
            labels: &mut labels,
            scheme,
        };
        maker.seeds.seed = maker.cx.seed;
        maker.make(written, &mut drafts)?;
    }
    drafts::check(cx, &drafts, net)?;
    drafts.sort_by_key(|draft| draft.message.start);
    Ok(Traffic {
        flows: drafts::with_ports(&drafts),
        labels: labels.names,
    })
}

#[derive(Default)]
struct Labels {
    names: Vec<String>,
}

impl Labels {
    fn index(&mut self, name: &str) -> u16 {
        let index = self.names.iter().position(|known| known == name);
        index.unwrap_or_else(|| {
            self.names.push(name.to_string());
            self.names.len() - 1
        }) as u16
    }
}

/// Makes the flows of one workload.
struct Maker<'a, 'b> {
    cx: &'a mut Cx<'b>,
    net: &'a Net,
    place: Place,
    seeds: Seeds,
    labels: &'a mut Labels,
    scheme: u16,
}

impl Maker<'_, '_> {
    fn make(&mut self, written: &mut schema::Workload, drafts: &mut Vec<Draft>) -> Result<(), Problem> {
        let present = [
            ("flows", written.flows.is_some()),
            ("file", written.file.is_some()),
            ("incast", written.incast.is_some()),
            ("poisson", written.poisson.is_some()),
            ("incast-poisson", written.incast_poisson.is_some()),
            ("permutation", written.permutation.is_some()),
            ("all-to-all", written.all_to_all.is_some()),
        ];
        let name = only_block(&present, "a workload")
            .map_err(|problem| problem.at(&self.place).help(format!("the blocks are {BLOCKS}")))?;
        if name == "file" {
            return self.file(written, drafts);
        }
        let class = self.class(written)?.unwrap_or(3);
        fill_value(&mut written.priority, class);
        let label = fill(&mut written.label, name.to_string());
        let mut places = Vec::new();
        let mut messages = self.messages(name, written, &mut places)?;
        traffic::jitter(
            &mut messages,
            fill(&mut written.start_jitter, Span::ZERO),
            self.seeds,
        );
        let dport = if name.starts_with("incast") { 200 } else { 100 };
        let label = self.labels.index(&label);
        drafts.extend(messages.into_iter().enumerate().map(|(i, message)| Draft {
            message,
            class,
            dport,
            label,
            scheme: self.scheme,
            place: places.get(i).unwrap_or(&self.place).clone(),
        }));
        Ok(())
    }

    /// The flows of the block called `name`.
    fn messages(
        &mut self,
        name: &str,
        written: &mut schema::Workload,
        places: &mut Vec<Place>,
    ) -> Result<Vec<Message>, Problem> {
        Ok(match name {
            "flows" => self.flows(written.flows.get_or_insert_default(), places)?,
            "incast" => self.incast(written.incast.get_or_insert_default())?,
            "poisson" => self.poisson(written.poisson.get_or_insert_default())?,
            "incast-poisson" => self.incast_poisson(written.incast_poisson.get_or_insert_default())?,
            "permutation" => {
                let block = written.permutation.get_or_insert_default();
                let (size, start) = self.size_and_start(&mut block.size, &mut block.start)?;
                traffic::permutation(&self.hosts(), size, start, self.seeds)
            }
            _ => {
                let block = written.all_to_all.get_or_insert_default();
                let (size, start) = self.size_and_start(&mut block.size, &mut block.start)?;
                let hosts = self.hosts();
                self.affordable(hosts.len() as f64 * hosts.len() as f64)?;
                traffic::all_to_all(&hosts, size, start)
            }
        })
    }

    /// Not so many flows that they would exhaust memory.
    fn affordable(&self, flows: f64) -> Result<(), Problem> {
        if flows <= MOST_FLOWS {
            return Ok(());
        }
        Err(Problem::new(format!(
            "the workload has about {flows:.0} flows: expected at most {MOST_FLOWS}"
        ))
        .at(&self.place)
        .help("shorten it (`to`, `duration`) or lower its load"))
    }

    fn hosts(&self) -> Vec<NodeId> {
        self.net.topology.hosts().collect()
    }

    fn hosts_with_rates(&self) -> Vec<(NodeId, BitRate)> {
        let rates = self.net.topology.rates();
        let hosts = self.net.topology.hosts();
        let linked = hosts.map(|host| (host, rates[host.0 as usize]));
        linked.filter(|(_, rate)| rate.as_bps() > 0).collect()
    }

    fn class(&self, written: &schema::Workload) -> Result<Option<u8>, Problem> {
        let Some(priority) = &written.priority else {
            return Ok(None);
        };
        if (1..=7).contains(priority.get_ref()) {
            return Ok(Some(*priority.get_ref()));
        }
        Err(
            Problem::new(format!("priority {}: expected 1 to 7", priority.get_ref()))
                .at(&self.cx.texts.of_value(priority))
                .label("expected 1 to 7")
                .help("class 0 is for control packets"),
        )
    }

    fn host(&self, node: &Spanned<u32>) -> Result<NodeId, Problem> {
        let id = NodeId(*node.get_ref());
        not_a_host(id, self.net).map_or(Ok(id), |message| {
            Err(Problem::new(message)
                .at(&self.cx.texts.of_value(node))
                .label("not a host"))
        })
    }

    fn sender(&self, node: &Spanned<u32>, receiver: NodeId) -> Result<NodeId, Problem> {
        let sender = self.host(node)?;
        if sender != receiver {
            return Ok(sender);
        }
        Err(
            Problem::new(format!("the flow goes from host {} to itself", sender.0))
                .at(&self.cx.texts.of_value(node))
                .label("the receiver"),
        )
    }

    fn missing(&self, key: &str) -> Problem {
        Problem::new(format!("the workload has no `{key}`")).at(&self.place)
    }

    fn size(&self, size: &Spanned<Bytes>) -> Result<Bytes, Problem> {
        if *size.get_ref() > Bytes::ZERO {
            return Ok(*size.get_ref());
        }
        Err(Problem::new("a flow of no bytes")
            .at(&self.cx.texts.of_value(size))
            .label("expected more than zero"))
    }

    fn size_and_start(
        &self,
        size: &mut Option<Spanned<Bytes>>,
        start: &mut Option<Time>,
    ) -> Result<(Bytes, Time), Problem> {
        let size = self.size(&fill_at(size, Bytes::new(1_000_000)))?;
        Ok((size, fill(start, Time::ZERO)))
    }

    /// A share of a rate: above zero; above 1 only with a warning.
    fn load(&mut self, slot: &Option<Spanned<f64>>) -> Result<f64, Problem> {
        let load = slot.as_ref().ok_or_else(|| self.missing("load"))?;
        let value = *load.get_ref();
        let place = self.cx.texts.of_value(load);
        if !(value > 0.0 && value.is_finite()) {
            return Err(Problem::new(format!(
                "a load of {value}: expected a number above zero, such as 0.3"
            ))
            .at(&place));
        }
        if value > 1.0 {
            let warning = format!("{place}: a load of {value} is more than the links carry");
            self.cx.warnings.push(warning);
        }
        Ok(value)
    }

    fn window(
        &self,
        from: &mut Option<Spanned<Time>>,
        to: &mut Option<Spanned<Time>>,
    ) -> Result<(Time, Time), Problem> {
        let from = fill_value(from, Time::ZERO);
        let until = fill_at(to, self.cx.stop);
        if from >= *until.get_ref() {
            let message = format!(
                "the workload ends at {}, no later than it begins ({from})",
                until.get_ref()
            );
            return Err(Problem::new(message).at(&self.cx.texts.of_value(&until)));
        }
        Ok((from, until.into_inner()))
    }

    fn flows(
        &self,
        flows: &mut [Spanned<schema::Flow>],
        places: &mut Vec<Place>,
    ) -> Result<Vec<Message>, Problem> {
        let mut messages = Vec::with_capacity(flows.len());
        for spanned in flows {
            let place = self.cx.texts.of_value(spanned);
            let flow = spanned.get_mut();
            let missing = |key: &str| Problem::new(format!("the flow has no `{key}`")).at(&place);
            messages.push(Message {
                src: self.host(flow.src.as_ref().ok_or_else(|| missing("src"))?)?,
                dst: self.host(flow.dst.as_ref().ok_or_else(|| missing("dst"))?)?,
                size: self.size(flow.size.as_ref().ok_or_else(|| missing("size"))?)?,
                start: fill(&mut flow.start, Time::ZERO),
            });
            places.push(place);
        }
        Ok(messages)
    }

    fn incast(&mut self, block: &mut schema::Incast) -> Result<Vec<Message>, Problem> {
        let receiver = block.receiver.as_ref().ok_or_else(|| self.missing("receiver"))?;
        let dst = self.host(receiver)?;
        let senders = self.senders(block, dst)?;
        let sizes = match (&block.sizes, &block.size) {
            (Some(sizes), None) if !sizes.is_empty() => {
                let sizes: Result<Vec<_>, _> = sizes.iter().map(|size| self.size(size)).collect();
                sizes?
            }
            (None, _) => vec![self.size(&fill_at(&mut block.size, Bytes::new(500_000)))?],
            _ => return Err(Problem::new("an incast has either `size` or a list of `sizes`").at(&self.place)),
        };
        let start = fill(&mut block.start, Time::ZERO);
        let rounds = fill(&mut block.rounds, 1);
        let period = match (&block.period, rounds) {
            (Some(period), _) => *period.get_ref(),
            (None, 0 | 1) => Span::ZERO,
            (None, _) => {
                return Err(self
                    .missing("period")
                    .help("with `rounds`, the time from one to the next"));
            }
        };
        self.affordable(f64::from(rounds) * senders.len() as f64)?;
        let last = *sizes.last().expect("there is at least one size");
        let round = |r: u32| {
            let start = start.saturating_add(Span::from_ps(period.as_ps().saturating_mul(r.into())));
            let senders = senders.iter().enumerate();
            let sizes = &sizes;
            senders.map(move |(i, &src)| Message {
                src,
                dst,
                size: sizes.get(i).copied().unwrap_or(last),
                start,
            })
        };
        Ok((0..rounds).flat_map(round).collect())
    }

    /// The senders by name, or the first `fan-in` hosts that are not the receiver.
    fn senders(&self, block: &mut schema::Incast, dst: NodeId) -> Result<Vec<NodeId>, Problem> {
        match (&block.senders, &block.fan_in) {
            (Some(senders), None) => senders.iter().map(|sender| self.sender(sender, dst)).collect(),
            (None, Some(fan_in)) => {
                let others: Vec<_> = self.net.topology.hosts().filter(|&host| host != dst).collect();
                let wanted = *fan_in.get_ref() as usize;
                if wanted == 0 || wanted > others.len() {
                    let message = format!("a fan-in of {wanted}: there are {} other hosts", others.len());
                    return Err(Problem::new(message).at(&self.cx.texts.of_value(fan_in)));
                }
                Ok(others[..wanted].to_vec())
            }
            _ => Err(Problem::new("an incast has either a `fan-in` or a list of `senders`").at(&self.place)),
        }
    }

    fn poisson(&mut self, block: &mut schema::Poisson) -> Result<Vec<Message>, Problem> {
        let load = self.load(&block.load)?;
        let window = self.window(&mut block.from, &mut block.to)?;
        let name = block.sizes.as_mut().ok_or_else(|| self.missing("sizes"))?;
        let sizes = self.distribution(name)?;
        let hosts = self.hosts_with_rates();
        let capacity: f64 = hosts.iter().map(|(_, rate)| rate.as_bps() as f64).sum();
        self.affordable(capacity * load * (window.1 - window.0).as_secs_f64() / (8.0 * sizes.mean()))?;
        Ok(traffic::poisson(&hosts, &sizes, load, window, self.seeds))
    }

    /// A built-in distribution, or one from a file.
    fn distribution(&mut self, name: &mut Spanned<String>) -> Result<SizeDistribution, Problem> {
        if let Some(sizes) = SizeDistribution::builtin(name.get_ref()) {
            return Ok(sizes);
        }
        let place = self.cx.texts.of_value(name);
        let source = self
            .cx
            .files
            .read(name.get_ref(), "the flow size distribution", &place)
            .map_err(|problem| {
                if name.get_ref().contains(['.', '/']) {
                    return problem;
                }
                Problem::new(format!("there is no flow size distribution `{}`", name.get_ref()))
                    .at(&place)
                    .help(suggestion(name.get_ref(), DISTRIBUTIONS.map(|(name, ..)| name)))
            })?;
        let sizes = SizeDistribution::parse(&source)?;
        *name.get_mut() = self.cx.keep("sizes", &source);
        Ok(sizes)
    }

    fn incast_poisson(&mut self, block: &mut schema::IncastPoisson) -> Result<Vec<Message>, Problem> {
        if block.load.is_none() {
            block.load = Some(Spanned::new(0..0, 0.02));
        }
        let load = self.load(&block.load)?;
        probability(self.cx, block.load.as_ref().expect("it was set"), "the load")?;
        let window = self.window(&mut block.from, &mut block.to)?;
        let size = self.size(&fill_at(&mut block.size, Bytes::new(500_000)))?;
        let hosts = self.hosts_with_rates();
        let fan_in = fill_at(&mut block.fan_in, 60);
        let wanted = *fan_in.get_ref() as usize;
        if wanted == 0 || wanted >= hosts.len() {
            let message = format!(
                "a fan-in of {wanted}: there are {} hosts, the receiver included",
                hosts.len()
            );
            return Err(Problem::new(message).at(&self.cx.texts.of_value(&fan_in)));
        }
        let capacity: f64 = hosts.iter().map(|(_, rate)| rate.as_bps() as f64).sum();
        let seconds = (window.1 - window.0).as_secs_f64();
        self.affordable(capacity * load * seconds / (8.0 * size.get() as f64))?;
        Ok(traffic::incast_poisson(
            &hosts, load, wanted, size, window, self.seeds,
        ))
    }

    /// An ns-3 flow file, which says class and port of each flow itself.
    fn file(&mut self, written: &mut schema::Workload, drafts: &mut Vec<Draft>) -> Result<(), Problem> {
        let class = self.class(written)?;
        let path = written.file.as_mut().expect("it is present");
        let place = self.cx.texts.of_value(path);
        let source = self.cx.files.read(path.get_ref(), "the flow file", &place)?;
        let lines = ns3::flows::read(&source, self.cx.fidelity, &mut self.cx.warnings)?;
        *path.get_mut() = self.cx.keep("flow", &source);
        if let Some(pair) = lines.windows(2).find(|pair| pair[0].start > pair[1].start) {
            let place = source.at(pair[1].span.clone());
            let warning =
                format!("{place}: flows are not in the order of their start times; they were sorted");
            self.cx.warnings.push(warning);
        }
        let mut messages: Vec<_> = lines
            .iter()
            .map(|line| Message {
                src: NodeId(line.src),
                dst: NodeId(line.dst),
                size: line.size,
                start: line.start,
            })
            .collect();
        traffic::jitter(
            &mut messages,
            fill(&mut written.start_jitter, Span::ZERO),
            self.seeds,
        );
        for (line, message) in lines.iter().zip(messages) {
            let label = match (&written.label, line.dport) {
                (Some(label), _) => label.clone(),
                (None, 100) => "normal".to_string(),
                (None, 200) => "incast".to_string(),
                (None, other) => format!("dport-{other}"),
            };
            drafts.push(Draft {
                message,
                class: class.unwrap_or(line.class),
                dport: line.dport,
                label: self.labels.index(&label),
                scheme: self.scheme,
                place: source.at(line.span.clone()),
            });
        }
        Ok(())
    }
}
