//! What a node of a trace means.

use paceline_kernel::Bytes;

use super::node::{Attribute, Node, Scalar};
use super::rank::Interned;
use crate::program::{CollectiveKind, Rank};
use crate::trouble::{Trouble, unknown};

/// Node types by their numbers.
pub(super) const NODE_TYPES: [&str; 8] = [
    "INVALID",
    "METADATA",
    "MEM_LOAD",
    "MEM_STORE",
    "COMP",
    "COMM_SEND",
    "COMM_RECV",
    "COMM_COLL",
];

/// Collectives by their numbers.
const COLLECTIVES: [(&str, CollectiveKind); 10] = [
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

/// What occupies the CPU of a rank, one at a time.
pub(super) const CPU: u8 = 0;
/// What occupies the GPU of a rank, one at a time.
pub(super) const GPU: u8 = 1;
/// What occupies the communication of a rank, one at a time.
pub(super) const COMMUNICATION: u8 = 2;

/// What a node means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    Nothing,
    /// Lasts so long in a lane.
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
        /// Its name's place.
        group: u32,
        root: Option<Rank>,
    },
}

/// A node without what nobody needs.
#[derive(Clone, Debug)]
pub(super) struct Brief {
    pub(super) id: u64,
    /// Its name's place.
    pub(super) name: u32,
    pub(super) what: What,
    /// On the GPU, whether it computes or communicates.
    pub(super) is_kernel: bool,
    pub(super) is_broadcast: bool,
    /// The stream that it runs on, if the trace says so.
    pub(super) stream: Option<i64>,
}

impl Brief {
    /// Whether it is a kernel that computes: no collective, no message.
    pub(super) fn computes(&self) -> bool {
        self.is_kernel && !self.is_broadcast && matches!(self.what, What::Lasts { .. })
    }

    /// How long it lasts by itself, in ns.
    pub(super) fn lasts_ns(&self) -> u64 {
        match self.what {
            What::Lasts { ns, .. } => ns,
            _ => 0,
        }
    }
}

/// Where a node is, for people.
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

/// Reads attributes of a node.
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

    /// An end of a message that is this rank itself, if it is there at all.
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
        // Tags below zero keep their bits: they only have to be equal.
        i32::try_from(tag)
            .map(|t| t as u32)
            .or_else(|_| u32::try_from(tag))
            .map_err(|_| Trouble::at(&self.at, format!("comm_tag is {tag}, expected 32 bits")))
    }

    fn duration(&self) -> Result<u64, Trouble> {
        let us = self.node.duration_us;
        // A simulated time has 64 bits of picoseconds.
        us.checked_mul(1000)
            .filter(|ns| ns.checked_mul(1000).is_some())
            .map(|ns| ns.max(1))
            .ok_or_else(|| Trouble::at(&self.at, format!("duration_micros is {us}: more than 213 days")))
    }

    /// Whether a collective uses the network, of one dimension.
    fn is_involved(&self) -> bool {
        let dims = self.node.attribute("involved_dim");
        dims.is_none_or(|dims| {
            let values = dims.values();
            let is_no = |value: &Scalar<'_>| matches!(value, Scalar::Bool(false) | Scalar::Int(0));
            values.is_empty() || !values.iter().all(is_no)
        })
    }
}

/// What a node means at a rank of so many.
pub(super) fn brief(
    file: &str,
    node: &Node<'_>,
    names: &mut Interned,
    (rank, ranks): (Rank, Rank),
) -> Result<Brief, Trouble> {
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
    let mut is_broadcast = false;
    let what = match NODE_TYPES[kind] {
        "INVALID" | "METADATA" => What::Nothing,
        _ if is_cpu => What::Lasts {
            ns: reader.duration()?,
            lane: CPU,
        },
        "MEM_LOAD" | "MEM_STORE" => What::Lasts {
            ns: reader.duration()?,
            lane: COMMUNICATION,
        },
        "COMP" => What::Lasts {
            ns: reader.duration()?,
            lane: GPU,
        },
        "COMM_SEND" => {
            reader.own("comm_src", rank)?;
            What::Send {
                to: reader.rank("comm_dst", reader.needed("comm_dst")?, ranks)?,
                bytes: reader.bytes(reader.needed("comm_size")?)?,
                tag: reader.tag()?,
            }
        }
        "COMM_RECV" => {
            reader.own("comm_dst", rank)?;
            What::Receive {
                from: reader.rank("comm_src", reader.needed("comm_src")?, ranks)?,
                bytes: reader.bytes(reader.needed("comm_size")?)?,
                tag: reader.tag()?,
            }
        }
        _ => {
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
            is_broadcast = kind == CollectiveKind::Broadcast;
            let needs_size = !is_broadcast && kind != CollectiveKind::Barrier;
            let size = match reader.int("comm_size")? {
                Some(size) => size,
                None if needs_size => reader.needed("comm_size")?,
                None => 0,
            };
            let bytes = reader.bytes(size)?;
            let root = match reader.int("comm_src")? {
                Some(root) => Some(reader.rank("comm_src", root, ranks)?),
                None => None,
            };
            let group = match node.value("pg_name") {
                Some(Scalar::Text(name)) => names.place(name),
                Some(Scalar::Int(name)) => names.place(&name.to_string()),
                _ => names.place(""),
            };
            if is_broadcast {
                What::Lasts {
                    ns: reader.duration()?,
                    lane: COMMUNICATION,
                }
            } else if reader.is_involved() {
                What::Collective {
                    kind,
                    bytes,
                    group,
                    root,
                }
            } else {
                What::Nothing
            }
        }
    };
    let stream = match reader.int("stream")? {
        Some(stream) => Some(stream as i64),
        None => reader.int("tid")?.map(|tid| tid as i64),
    };
    Ok(Brief {
        id: node.id,
        name: names.place(node.name),
        is_kernel: !is_cpu && kind >= 4,
        what,
        is_broadcast,
        stream,
    })
}
