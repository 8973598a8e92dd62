//! Encoder of Chakra traces for tests.

/// Protobuf message under construction.
#[derive(Clone, Default)]
pub(crate) struct Message(pub(crate) Vec<u8>);

pub(crate) fn varint(mut n: u64, out: &mut Vec<u8>) {
    while n > 127 {
        out.push(n as u8 | 128);
        n >>= 7;
    }
    out.push(n as u8);
}

impl Message {
    pub(crate) fn number(mut self, field: u64, n: u64) -> Self {
        varint(field << 3, &mut self.0);
        varint(n, &mut self.0);
        self
    }

    pub(crate) fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        varint(field << 3 | 2, &mut self.0);
        varint(bytes.len() as u64, &mut self.0);
        self.0.extend(bytes);
        self
    }

    pub(crate) fn fixed64(mut self, field: u64, n: u64) -> Self {
        varint(field << 3 | 1, &mut self.0);
        self.0.extend(n.to_le_bytes());
        self
    }

    pub(crate) fn fixed32(mut self, field: u64, n: u32) -> Self {
        varint(field << 3 | 5, &mut self.0);
        self.0.extend(n.to_le_bytes());
        self
    }
}

/// Node of a trace under construction.
#[derive(Clone)]
pub(crate) struct Node(Message);

pub(crate) const METADATA: u64 = 1;
pub(crate) const MEMORY: u64 = 2;
pub(crate) const COMP: u64 = 4;
pub(crate) const SEND: u64 = 5;
pub(crate) const RECEIVE: u64 = 6;
pub(crate) const COLLECTIVE: u64 = 7;

impl Node {
    pub(crate) fn new(id: u64, kind: u64) -> Self {
        let message = Message::default()
            .number(1, id)
            .bytes(2, format!("n{id}").as_bytes());
        Self(message.number(3, kind))
    }

    /// Creates a kernel of `us` microseconds.
    pub(crate) fn comp(id: u64, us: u64) -> Self {
        Self::new(id, COMP).lasts(us)
    }

    /// Creates a collective with the number of its kind.
    pub(crate) fn collective(id: u64, kind: i64, bytes: i64) -> Self {
        Self::new(id, COLLECTIVE)
            .int("comm_type", kind)
            .int("comm_size", bytes)
    }

    pub(crate) fn send(id: u64, to: i64, tag: i64, bytes: i64) -> Self {
        let node = Self::new(id, SEND).int("comm_dst", to);
        node.int("comm_tag", tag).int("comm_size", bytes)
    }

    pub(crate) fn receive(id: u64, from: i64, tag: i64, bytes: i64) -> Self {
        let node = Self::new(id, RECEIVE).int("comm_src", from);
        node.int("comm_tag", tag).int("comm_size", bytes)
    }

    pub(crate) fn lasts(self, us: u64) -> Self {
        Self(self.0.number(7, us))
    }

    pub(crate) fn control(self, parent: u64) -> Self {
        Self(self.0.number(4, parent))
    }

    pub(crate) fn after(self, parent: u64) -> Self {
        Self(self.0.number(5, parent))
    }

    pub(crate) fn values(self, text: &str) -> Self {
        let io = Message::default().bytes(1, text.as_bytes());
        Self(self.0.bytes(8, &io.0))
    }

    /// Adds an attribute with its encoded value.
    pub(crate) fn attribute(self, name: &str, value: impl FnOnce(Message) -> Message) -> Self {
        let attribute = value(Message::default().bytes(1, name.as_bytes()));
        Self(self.0.bytes(10, &attribute.0))
    }

    pub(crate) fn int(self, name: &str, n: i64) -> Self {
        self.attribute(name, |m| m.number(9, n as u64))
    }

    pub(crate) fn text(self, name: &str, text: &str) -> Self {
        self.attribute(name, |m| m.bytes(29, text.as_bytes()))
    }

    pub(crate) fn cpu(self) -> Self {
        self.attribute("is_cpu_op", |m| m.number(27, 1))
    }
}

/// Returns the bytes of a file.
pub(crate) fn file(nodes: &[Node]) -> Vec<u8> {
    let metadata = Message::default().bytes(1, b"1.0.0");
    let mut out = Vec::new();
    for message in std::iter::once(&metadata).chain(nodes.iter().map(|n| &n.0)) {
        varint(message.0.len() as u64, &mut out);
        out.extend(&message.0);
    }
    out
}

/// Returns the files of ranks, named `t.0.et`, `t.1.et`, ...
pub(crate) fn ranks(ranks: &[Vec<Node>]) -> Vec<(String, Vec<u8>)> {
    let files = ranks.iter().enumerate();
    files
        .map(|(rank, nodes)| (format!("t.{rank}.et"), file(nodes)))
        .collect()
}
