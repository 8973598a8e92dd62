//! Interpretation of a trace's nodes.

use paceline_kernel::Bytes;

use super::node::{Attribute, NODE_TYPES, Node, Scalar};
use super::options::{Kernels, Options};
use super::rank::Interned;
use super::tally::{Reason, Tally};
use crate::program::{CollectiveKind, Rank};
use crate::trouble::{Trouble, unknown};

/// Kinds of collectives by their numbers in the schema.
pub(super) const COLLECTIVES: [(&str, CollectiveKind); 10] = [
    ("ALL_REDUCE", CollectiveKind::AllReduce),
    ("REDUCE", CollectiveKind::Reduce),
    ("ALL_GATHER", CollectiveKind::AllGather),
    ("GATHER", CollectiveKind::Gather),
    ("SCATTER", CollectiveKind::Scatter),
    ("BROADCAST", CollectiveKind::Broadcast),
    ("ALL_TO_ALL", CollectiveKind::AllToAll),
    ("REDUCE_SCATTER", CollectiveKind::ReduceScatter),
    ("REDUCE_SCATTER_BLOCK", CollectiveKind::ReduceScatter),
    ("BARRIER", CollectiveKind::Barrier),
];

/// Lane of a rank's CPU, which executes one node at a time.
pub(super) const CPU: u8 = 0;
/// Lane of a rank's GPU, which executes one node at a time.
pub(super) const GPU: u8 = 1;
/// Lane of a rank's communication, which executes one node at a time.
pub(super) const COMMUNICATION: u8 = 2;

/// Meaning of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NodeWork {
    Nothing,
    /// Fixed duration in a lane.
    Lasts {
        ns: u64,
        lane: u8,
    },
    Send {
        to: Rank,
        bytes: u64,
        tag: u32,
    },
    Receive {
        from: Rank,
        bytes: u64,
        tag: u32,
    },
    Collective {
        kind: CollectiveKind,
        bytes: u64,
        /// Index of the group's name.
        group: u32,
        root: Option<Rank>,
    },
}

/// Node reduced to the parts that are needed.
#[derive(Clone, Debug)]
pub(super) struct Brief {
    pub(super) id: u64,
    /// Index of its name.
    pub(super) name: u32,
    pub(super) what: NodeWork,
    /// True if it runs on the GPU, for computation or communication.
    pub(super) is_kernel: bool,
    /// True for a kernel that computes, as opposed to a collective or a message.
    pub(super) computes: bool,
    /// Stream that it runs on, if the trace names one.
    pub(super) stream: Option<i64>,
}

impl Brief {
    /// Returns its duration without the network, in ns.
    pub(super) fn lasts_ns(&self) -> u64 {
        match self.what {
            NodeWork::Lasts { ns, .. } => ns,
            _ => 0,
        }
    }
}

/// Returns the position of a node for messages.
pub(super) fn place(file: &str, node: &Node<'_>) -> String {
    format!("{file}: node {} ({})", node.id, node.name)
}

fn whole(at: &str, attribute: &Attribute<'_>) -> Result<Option<i128>, Trouble> {
    match attribute.values().first() {
        None => Ok(None),
        Some(Scalar::Int(n)) => Ok(Some(*n)),
        Some(other) => Err(Trouble::at(
            at,
            format!("{} is {other:?}, expected a whole number", attribute.name),
        )),
    }
}

/// Reader of a node's attributes.
struct Reader<'a> {
    node: &'a Node<'a>,
    at: String,
}

impl Reader<'_> {
    fn int(&self, name: &str) -> Result<Option<i128>, Trouble> {
        match self.node.attribute(name) {
            Some(attribute) => whole(&self.at, attribute),
            None => Ok(None),
        }
    }

    fn needed(&self, name: &str) -> Result<i128, Trouble> {
        let kind = NODE_TYPES.get(self.node.kind as usize).unwrap_or(&"");
        self.int(name)?
            .ok_or_else(|| Trouble::at(&self.at, format!("{kind} has no {name}")))
    }

    fn bytes(&self, size: i128) -> Result<u64, Trouble> {
        let most = Bytes::LARGEST.get();
        u64::try_from(size).ok().filter(|&n| n <= most).ok_or_else(|| {
            Trouble::at(
                &self.at,
                format!("comm_size is {size}, expected 0 to {most} bytes"),
            )
        })
    }

    fn rank(&self, name: &str, value: i128, ranks: Rank) -> Result<Rank, Trouble> {
        Rank::try_from(value).ok().filter(|&r| r < ranks).ok_or_else(|| {
            Trouble::at(
                &self.at,
                format!("{name} is {value}, but the ranks are 0 to {}", ranks.max(1) - 1),
            )
        })
    }

    /// Checks that the end of a message at this rank, if the trace names it, is this rank.
    fn own(&self, name: &str, rank: Rank) -> Result<(), Trouble> {
        match self.int(name)? {
            Some(value) if value != i128::from(rank) => Err(Trouble::at(
                &self.at,
                format!("{name} is {value}, but this is rank {rank}"),
            )),
            _ => Ok(()),
        }
    }

    fn tag(&self) -> Result<u32, Trouble> {
        let tag = self.int("comm_tag")?.unwrap_or(0);
        // Negative tags keep their bits, since tags are only compared for equality.
        i32::try_from(tag)
            .map(|t| t as u32)
            .or_else(|_| u32::try_from(tag))
            .map_err(|_| Trouble::at(&self.at, format!("comm_tag is {tag}, expected 32 bits")))
    }

    /// Returns the recorded duration in ns; `None` if it is 0.
    fn duration(&self) -> Result<Option<u64>, Trouble> {
        let us = self.node.duration_us;
        // Simulated time has 64 bits of picoseconds.
        us.checked_mul(1000)
            .filter(|ns| ns.checked_mul(1000).is_some())
            .map(|ns| Some(ns).filter(|&ns| ns > 0))
            .ok_or_else(|| Trouble::at(&self.at, format!("duration_micros is {us}: more than 213 days")))
    }

    /// Returns an amount of work; 0 if there is none.
    fn amount(&self, name: &str) -> Result<f64, Trouble> {
        let value = match self.node.value(name) {
            None => return Ok(0.0),
            Some(Scalar::Int(n)) => *n as f64,
            Some(Scalar::Real(n)) => *n,
            Some(other) => {
                return Err(Trouble::at(
                    &self.at,
                    format!("{name} is {other:?}, expected a number"),
                ));
            }
        };
        if value.is_finite() && (0.0..1e30).contains(&value) {
            return Ok(value);
        }
        Err(Trouble::at(
            &self.at,
            format!("{name} is {value}, expected a number of at least 0"),
        ))
    }

    /// Returns the duration of a COMP node, in ns.
    fn computes(&self, is_cpu: bool, options: &Options, tally: &mut Tally) -> Result<u64, Trouble> {
        tally.kernel();
        let recorded = self.duration()?;
        let (ops, bytes) = (self.amount("num_ops")?, self.amount("tensor_size")?);
        let wants_roofline = options.kernels == Kernels::Roofline;
        // Under ASTRA-sim's rules a missing rate is no error, so `NoRate` is not counted here.
        if options.as_astra_sim {
            return Ok(match recorded {
                // ASTRA-sim skips kernels without memory traffic.
                _ if wants_roofline && !is_cpu && bytes == 0.0 => {
                    tally.add(Reason::AstraSkipped, &self.at, 0, 0);
                    0
                }
                _ if wants_roofline && !is_cpu => options.roofline.ns(ops, bytes).unwrap_or(0),
                Some(ns) => ns,
                None => match options.roofline.ns(ops, bytes) {
                    Some(ns) if ns > 0 => ns,
                    _ => {
                        tally.add(Reason::AstraInstant, &self.at, 0, 1);
                        1
                    }
                },
            });
        }
        let has_work = ops > 0.0 || bytes > 0.0;
        match recorded {
            Some(ns) if !(wants_roofline && has_work) => return Ok(ns),
            None if !has_work => {
                tally.add(Reason::NoWork, &self.at, 0, 1);
                return Ok(1);
            }
            _ => {}
        }
        let ns = options.roofline.ns(ops, bytes).map(|ns| ns.max(1));
        // Time is counted in ps from here on, and 2^64 ps are 213 days.
        if ns.is_some_and(|ns| ns.checked_mul(1000).is_none()) {
            let message =
                format!("num_ops {ops} and tensor_size {bytes} take more than 213 days at these rates");
            return Err(Trouble::at(&self.at, message));
        }
        // Not refused here: `Tally::check` names the first such node and the number of all.
        let reason = if ns.is_some() {
            Reason::Roofline
        } else {
            Reason::NoRate
        };
        tally.add(reason, &self.at, 0, ns.unwrap_or(0));
        Ok(ns.unwrap_or(0))
    }

    /// Returns the duration of a load or store, in ns.
    fn loads(&self, options: &Options, tally: &mut Tally) -> Result<u64, Trouble> {
        let bytes = self.amount("tensor_size")?;
        tally.moves(bytes as u64);
        let ns = match self.duration()? {
            Some(ns) => ns,
            None if bytes == 0.0 || options.as_astra_sim => 1,
            None => match options.roofline.ns(0.0, bytes) {
                Some(ns) => ns.max(1),
                None => {
                    tally.add(Reason::NoRate, &self.at, 0, 0);
                    0
                }
            },
        };
        tally.add(Reason::Memory, &self.at, bytes as u64, ns);
        Ok(ns)
    }

    /// Returns true if a collective uses the network. ASTRA-sim decides for each dimension; the network here has one.
    fn is_involved(&self, as_astra_sim: bool) -> Result<bool, Trouble> {
        let values = self
            .node
            .attribute("involved_dim")
            .map_or(&[][..], Attribute::values);
        let is_yes = |value: &Scalar<'_>| !matches!(value, Scalar::Bool(false) | Scalar::Int(0));
        let yes = values.iter().filter(|value| is_yes(value)).count();
        if values.is_empty() || yes == values.len() {
            return Ok(true);
        }
        // Only the first entry counts, since the network has one dimension.
        if as_astra_sim {
            return Ok(values.first().is_some_and(is_yes));
        }
        if yes == 0 {
            return Ok(false);
        }
        let shown: Vec<&str> = values
            .iter()
            .map(|value| if is_yes(value) { "true" } else { "false" })
            .collect();
        Err(Trouble::at(
            &self.at,
            format!(
                "involved_dim is [{}]: the collective runs in some dimensions of a network that has several, and its members \
                 are not known without them",
                shown.join(", ")
            ),
        )
        .help(
            "Name its members: pg_name at the node, and `rules = { groups = \"groups.json\" }`. See \"Networks of several \
             dimensions\" in the guide to traces",
        ))
    }
}

/// File of a rank, and the options for reading it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'a> {
    pub(super) file: &'a str,
    pub(super) rank: Rank,
    /// Number of ranks of the job.
    pub(super) ranks: Rank,
    pub(super) options: &'a Options,
}

/// Interprets a node of a rank, and counts the rules that determine its time.
pub(super) fn brief(
    source: Source<'_>,
    node: &Node<'_>,
    names: &mut Interned,
    tally: &mut Tally,
) -> Result<Brief, Trouble> {
    let Source {
        file,
        rank,
        ranks,
        options,
    } = source;
    let reader = Reader {
        node,
        at: place(file, node),
    };
    let kind = usize::try_from(node.kind).unwrap_or(usize::MAX);
    if kind >= NODE_TYPES.len() {
        return Err(unknown(
            &reader.at,
            "node type",
            &node.kind.to_string(),
            &["0 to 7"],
        ));
    }
    let is_cpu = match node.value("is_cpu_op") {
        Some(Scalar::Bool(cpu)) => *cpu,
        Some(Scalar::Int(n)) => *n != 0,
        _ => false,
    };
    let communicates = matches!(NODE_TYPES[kind], "COMM_SEND" | "COMM_RECV" | "COMM_COLL");
    // Converters of PyTorch traces keep the calls that start communication as CPU nodes, without these attributes.
    let is_call = communicates
        && is_cpu
        && ["comm_type", "comm_size", "comm_src", "comm_dst"]
            .iter()
            .all(|name| node.attribute(name).is_none());
    let what = match NODE_TYPES[kind] {
        "INVALID" | "METADATA" => NodeWork::Nothing,
        _ if is_call => {
            let ns = reader.duration()?.unwrap_or(1);
            tally.add(Reason::Call, &reader.at, 0, ns);
            NodeWork::Lasts { ns, lane: CPU }
        }
        "MEM_LOAD" | "MEM_STORE" => NodeWork::Lasts {
            ns: reader.loads(options, tally)?,
            lane: if is_cpu { CPU } else { COMMUNICATION },
        },
        "COMP" => NodeWork::Lasts {
            ns: reader.computes(is_cpu, options, tally)?,
            lane: if is_cpu { CPU } else { GPU },
        },
        "COMM_SEND" => {
            // A file holds the nodes of one rank, so another source means that files were mixed up.
            reader.own("comm_src", rank)?;
            NodeWork::Send {
                to: reader.rank("comm_dst", reader.needed("comm_dst")?, ranks)?,
                bytes: reader.bytes(reader.needed("comm_size")?)?,
                tag: reader.tag()?,
            }
        }
        "COMM_RECV" => {
            reader.own("comm_dst", rank)?;
            NodeWork::Receive {
                from: reader.rank("comm_src", reader.needed("comm_src")?, ranks)?,
                bytes: reader.bytes(reader.needed("comm_size")?)?,
                tag: reader.tag()?,
            }
        }
        _ => collective(&reader, names, ranks, options, tally)?,
    };
    match what {
        NodeWork::Lasts { ns, .. } => tally.lasts(ns),
        NodeWork::Send { bytes, .. } | NodeWork::Collective { bytes, .. } => tally.moves(bytes),
        NodeWork::Nothing | NodeWork::Receive { .. } => {}
    }
    match what {
        NodeWork::Send { to, bytes, .. } if to == rank => tally.add(Reason::ToSelf, &reader.at, bytes, 0),
        _ => {}
    }
    if communicates && reader.int("comm_priority")?.is_some_and(|priority| priority != 0) {
        tally.add(Reason::Priority, &reader.at, 0, 0);
    }
    if communicates && is_cpu && !is_call {
        let bytes = match what {
            NodeWork::Send { bytes, .. } | NodeWork::Collective { bytes, .. } => bytes,
            _ => 0,
        };
        tally.add(Reason::OnCpu, &reader.at, bytes, 0);
    }
    let stream = match reader.int("stream")? {
        Some(stream) => Some(stream as i64),
        None => reader.int("tid")?.map(|tid| tid as i64),
    };
    Ok(Brief {
        id: node.id,
        name: names.place(node.name),
        is_kernel: !is_cpu && kind >= 4,
        computes: !is_cpu && NODE_TYPES[kind] == "COMP",
        what,
        stream,
    })
}

/// Interprets a node of a collective.
fn collective(
    reader: &Reader<'_>,
    names: &mut Interned,
    ranks: Rank,
    options: &Options,
    tally: &mut Tally,
) -> Result<NodeWork, Trouble> {
    let node = reader.node;
    let number = reader.needed("comm_type")?;
    let found = usize::try_from(number).ok().and_then(|n| COLLECTIVES.get(n));
    let Some(&(_, kind)) = found else {
        let known: Vec<String> = COLLECTIVES
            .iter()
            .enumerate()
            .map(|(n, (name, _))| format!("{n} {name}"))
            .collect();
        return Err(Trouble::at(
            &reader.at,
            format!("comm_type is {number}, expected one of {}", known.join(", ")),
        ));
    };
    // ASTRA-sim gives a broadcast its recorded time and sends nothing.
    let is_fixed = options.as_astra_sim && kind == CollectiveKind::Broadcast;
    let size = match reader.int("comm_size")? {
        Some(size) => size,
        None if is_fixed || kind == CollectiveKind::Barrier => 0,
        None => reader.needed("comm_size")?,
    };
    let bytes = reader.bytes(size)?;
    if is_fixed {
        let ns = reader.duration()?.unwrap_or(1);
        tally.moves(bytes);
        tally.add(Reason::FixedBroadcast, &reader.at, bytes, ns);
        return Ok(NodeWork::Lasts {
            ns,
            lane: COMMUNICATION,
        });
    }
    let root = match reader.int("comm_src")? {
        Some(root) => Some(reader.rank("comm_src", root, ranks)?),
        None => None,
    };
    // Converters write the group's name as text or as a number.
    let group = match node.value("pg_name") {
        Some(Scalar::Text(name)) => names.place(name),
        Some(Scalar::Int(name)) => names.place(&name.to_string()),
        _ => names.place(""),
    };
    // After the root and the size: errors in them count even if nothing is sent.
    if !reader.is_involved(options.as_astra_sim)? {
        tally.moves(bytes);
        tally.add(Reason::NotInvolved, &reader.at, bytes, 0);
        return Ok(NodeWork::Nothing);
    }
    if root.is_none() && kind.has_root() {
        tally.add(Reason::NoRoot, &reader.at, bytes, 0);
    }
    Ok(NodeWork::Collective {
        kind,
        bytes,
        group,
        root,
    })
}
