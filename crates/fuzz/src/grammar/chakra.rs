//! Random Chakra traces: ranks that compute, exchange messages and take part in collectives, in protobuf and in JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::protobuf::Message;
use crate::mutate::Mutator;

/// Kinds of nodes by their numbers, with their names in JSON.
const KINDS: [&str; 8] = [
    "INVALID_NODE",
    "METADATA_NODE",
    "MEM_LOAD_NODE",
    "MEM_STORE_NODE",
    "COMP_NODE",
    "COMM_SEND_NODE",
    "COMM_RECV_NODE",
    "COMM_COLL_NODE",
];
const LOAD: usize = 2;
const COMP: usize = 4;
const SEND: usize = 5;
const RECEIVE: usize = 6;
const COLLECTIVE: usize = 7;

/// Groups with their members.
const GROUPS: [(&str, &[usize]); 4] = [
    ("one", &[0]),
    ("pair", &[0, 1]),
    ("others", &[1, 2]),
    ("turned", &[1, 0]),
];

/// Returns the groups that `ranks` ranks can have.
fn groups(ranks: usize) -> impl Iterator<Item = (&'static str, &'static [usize])> {
    let fit = move |(_, members): &(_, &[usize])| members.iter().all(|rank| *rank < ranks);
    GROUPS.into_iter().filter(fit)
}

/// Returns the file of those groups.
pub(super) fn groups_file(ranks: usize) -> String {
    let all: serde_json::Map<String, Value> = groups(ranks)
        .map(|(name, members)| (name.to_string(), json!(members)))
        .collect();
    Value::Object(all).to_string() + "\n"
}

/// Value of an attribute.
#[derive(Clone, Debug)]
enum Attribute {
    Int(i64),
    Text(&'static str),
    Yes(bool),
}

/// Node of a Chakra trace before it is encoded.
#[derive(Clone, Debug)]
struct Node {
    id: u64,
    kind: usize,
    control: Vec<u64>,
    data: Vec<u64>,
    us: Option<u64>,
    attributes: Vec<(&'static str, Attribute)>,
}

/// Nodes of a rank.
type Nodes = Vec<Node>;

/// Adds a node that waits for some earlier ones.
fn add(chance: &mut Mutator, rank: &mut Nodes, kind: usize, attributes: Vec<(&'static str, Attribute)>) {
    let before = rank.last().map_or(0, |node| node.id);
    let id = match chance.below(400) {
        // Rarely a duplicate id, or the largest possible one.
        0 => before,
        1 => u64::MAX,
        _ => before.saturating_add(*chance.one(&[1, 1, 1, 7])),
    };
    let mut parents = [Vec::new(), Vec::new()];
    for _ in 0..chance.below(3) {
        let parent = match chance.below(400) {
            // Rarely a missing node, or the node itself.
            0 => 999,
            1 => id,
            _ if rank.is_empty() => continue,
            _ => chance.one(rank).id,
        };
        parents[usize::from(!chance.once_in(4))].push(parent);
    }
    let [control, data] = parents;
    let lasts = matches!(kind, COMP | LOAD) || chance.once_in(6);
    rank.push(Node {
        id,
        kind,
        control,
        data,
        us: lasts.then(|| chance.extent() % 1_000_000),
        attributes,
    });
}

/// Returns nodes by rank, in an order in which all can be executed.
fn nodes(chance: &mut Mutator, ranks: usize) -> Vec<Nodes> {
    use Attribute::{Int, Yes};
    let mut all: Vec<Nodes> = vec![Vec::new(); ranks];
    for _ in 0..1 + chance.below(8) {
        let (from, to) = (chance.below(ranks), chance.below(ranks));
        let size = chance.extent() as i64 & i64::MAX;
        match chance.below(8) {
            0 | 1 => {
                let mut more = Vec::new();
                if chance.once_in(3) {
                    more.push(("is_cpu_op", Yes(chance.once_in(2))));
                }
                if chance.once_in(4) {
                    more.push(("num_ops", Int(size)));
                    more.push(("tensor_size", Int(chance.extent() as i64 & i64::MAX)));
                }
                add(chance, &mut all[from], COMP, more);
            }
            2 => {
                let kind = LOAD + chance.below(2);
                add(chance, &mut all[from], kind, vec![("tensor_size", Int(size))]);
            }
            3 | 4 => {
                let tag = Int(*chance.one(&[0, 1, 2, i64::from(u32::MAX)]));
                let expects = if chance.once_in(30) {
                    chance.extent() as i64 & i64::MAX
                } else {
                    size
                };
                let missing = chance.below(80);
                let of = |rank: &'static str, peer: usize, size| {
                    vec![
                        (rank, Int(peer as i64)),
                        ("comm_tag", tag.clone()),
                        ("comm_size", Int(size)),
                    ]
                };
                if missing != 0 {
                    add(chance, &mut all[from], SEND, of("comm_dst", to, size));
                }
                if missing != 1 {
                    add(chance, &mut all[to], RECEIVE, of("comm_src", from, expects));
                }
            }
            _ => collective(chance, &mut all, size),
        }
    }
    all
}

/// Adds a collective to the ranks of a group, or to all; in rare cases one member lacks it, or has another.
fn collective(chance: &mut Mutator, all: &mut [Nodes], size: i64) {
    let ranks = all.len();
    use Attribute::{Int, Text, Yes};
    let kinds = if chance.once_in(20) { 12 } else { 10 };
    let kind = Int(chance.below(kinds) as i64);
    let everybody: Vec<usize> = (0..ranks).collect();
    let (group, members) = match chance.below(3) {
        0 => {
            let known: Vec<_> = groups(ranks).collect();
            let (name, members) = *chance.one(&known);
            let name = if chance.once_in(60) { "unknown" } else { name };
            (Some(name), members.to_vec())
        }
        _ => (None, everybody),
    };
    let root = match chance.below(30) {
        0 => Some(chance.below(ranks)),
        1..10 => Some(*chance.one(&members)),
        _ => None,
    };
    for rank in members.into_iter().filter(|rank| *rank < ranks) {
        // Faults are rare: otherwise almost every program would be refused at once.
        if chance.once_in(150) {
            continue;
        }
        let size = if chance.once_in(150) { -size } else { size };
        let mut own = vec![("comm_type", kind.clone()), ("comm_size", Int(size))];
        own.extend(group.map(|name| ("pg_name", Text(name))));
        own.extend(root.map(|root| ("comm_src", Int(root as i64))));
        if chance.once_in(10) {
            own.push(("is_cpu_op", Yes(false)));
        }
        add(chance, &mut all[rank], COLLECTIVE, own);
    }
}

/// Returns the trace files of `ranks` ranks, in JSON or protobuf.
pub(super) fn files(chance: &mut Mutator, ranks: usize, is_json: bool) -> Vec<(String, Vec<u8>)> {
    let ranks = nodes(chance, ranks).into_iter().enumerate();
    ranks
        .map(|(rank, nodes)| match is_json {
            true => (format!("t.{rank}.json"), json(&nodes).into_bytes()),
            false => (format!("t.{rank}.et"), protobuf(&nodes)),
        })
        .collect()
}

fn protobuf(nodes: &[Node]) -> Vec<u8> {
    let metadata = Message::default().bytes(1, "1.0.0");
    // A Chakra file is a sequence of messages, each behind its length.
    let mut file = Message::default().varint(metadata.0.len() as u64);
    file.0.extend(metadata.0);
    for node in nodes {
        // Field numbers of Chakra's `et_def.proto`.
        let mut own = Message::default()
            .number(1, node.id)
            .bytes(2, format!("n{}", node.id));
        own = own.number(3, node.kind as u64);
        for (field, parents) in [(4, &node.control), (5, &node.data)] {
            own = parents.iter().fold(own, |own, parent| own.number(field, *parent));
        }
        own = node.us.into_iter().fold(own, |own, us| own.number(7, us));
        for (name, value) in &node.attributes {
            let attribute = Message::default().bytes(1, name);
            let attribute = match value {
                Attribute::Int(number) => attribute.number(9, *number as u64),
                Attribute::Yes(is) => attribute.number(27, u64::from(*is)),
                Attribute::Text(text) => attribute.bytes(29, text),
            };
            own = own.bytes(10, attribute.0);
        }
        file = file.varint(own.0.len() as u64);
        file.0.extend(own.0);
    }
    file.0
}

fn json(nodes: &[Node]) -> String {
    let mut text = json!({ "version": "1.0.0" }).to_string() + "\n";
    // The JSON form of Protobuf writes numbers of 64 bits as texts.
    let texts = |ids: &[u64]| ids.iter().map(u64::to_string).collect::<Vec<_>>();
    for node in nodes {
        let attributes = node.attributes.iter().map(|(name, value)| match value {
            Attribute::Int(number) => json!({ "name": name, "int64Val": number.to_string() }),
            Attribute::Yes(is) => json!({ "name": name, "boolVal": is }),
            Attribute::Text(text) => json!({ "name": name, "stringVal": text }),
        });
        let mut own = json!({
            "id": node.id.to_string(),
            "name": format!("n{}", node.id),
            "type": KINDS[node.kind],
            "ctrlDeps": texts(&node.control),
            "dataDeps": texts(&node.data),
            "attr": attributes.collect::<Vec<Value>>(),
        });
        if let Some(us) = node.us {
            own["durationMicros"] = us.to_string().into();
        }
        let _ = writeln!(text, "{own}");
    }
    text
}
