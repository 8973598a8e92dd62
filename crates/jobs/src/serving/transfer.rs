//! Transfers of caches: streams of messages between the GPUs of two instances.

use paceline_kernel::sorted::SortedMap;
use paceline_run::spec::NodeId;

use super::service::{Service, Transfer};

/// Bytes of the message with which decode asks for a cache.
pub(super) const PULL_BYTES: u64 = 64;

/// Message of a transfer that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) request: u32,
    pub(super) stream: u32,
    /// True for the message that asks for the cache.
    pub(super) is_pull: bool,
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    pub(super) bytes: u64,
}

/// Part of a cache that goes from one GPU to one other.
#[derive(Clone, Debug)]
struct Stream {
    from: NodeId,
    to: NodeId,
    /// Bytes of all layers.
    bytes: u64,
    /// Bytes that may be sent.
    ready: u64,
    /// Bytes that have not arrived.
    left: u64,
    /// Number of messages under way.
    under_way: u32,
    /// True once the receiver has asked; always true if the sender pushes.
    is_open: bool,
}

/// Transfers that are not over, by request.
#[derive(Clone, Debug, Default)]
pub(super) struct Transfers(SortedMap<u32, Vec<Stream>>);

impl Transfers {
    /// Enters the transfer of a request between two instances.
    pub(super) fn open(&mut self, service: &Service, request: u32, from: &[NodeId], to: &[NodeId]) {
        let bytes = u64::from(service.requests[request as usize].prompt) * service.token_bytes;
        let count = from.len().max(to.len());
        let streams = (0..count).map(|number| {
            let bytes = Service::part(bytes, number as u64, count as u64);
            Stream {
                from: from[number * from.len() / count],
                to: to[number * to.len() / count],
                bytes,
                ready: 0,
                left: bytes,
                under_way: 0,
                is_open: service.transfer.push,
            }
        });
        self.0.insert(request, streams.collect());
    }

    /// Returns the messages that ask for the cache of a request; none if it is pushed.
    pub(super) fn pulls(&self, request: u32) -> Vec<Piece> {
        let closed = |(number, stream): (usize, &Stream)| {
            (!stream.is_open && stream.bytes > 0).then_some(Piece {
                request,
                stream: number as u32,
                is_pull: true,
                from: stream.to,
                to: stream.from,
                bytes: PULL_BYTES,
            })
        };
        self.0[&request].iter().enumerate().filter_map(closed).collect()
    }

    /// Notes that a layer is computed; returns the messages that may leave now.
    pub(super) fn computed(&mut self, transfer: &Transfer, request: u32, layer: u32) -> Vec<Piece> {
        let streams = self.0.get_mut(&request).expect("the transfer is open");
        let mut pieces = Vec::new();
        for (number, stream) in streams.iter_mut().enumerate() {
            stream.ready += Service::part(stream.bytes, layer.into(), transfer.layers.into());
            stream.send(transfer, (request, number as u32), &mut pieces);
        }
        pieces
    }

    /// Notes that a message has arrived; returns the messages that may leave now, and true if the transfer is over.
    pub(super) fn arrived(&mut self, transfer: &Transfer, piece: &Piece) -> (Vec<Piece>, bool) {
        let streams = self.0.get_mut(&piece.request).expect("the transfer is open");
        let stream = &mut streams[piece.stream as usize];
        if piece.is_pull {
            stream.is_open = true;
        } else {
            stream.under_way -= 1;
            stream.left -= piece.bytes;
        }
        let mut pieces = Vec::new();
        stream.send(transfer, (piece.request, piece.stream), &mut pieces);
        let is_over = streams.iter().all(|stream| stream.left == 0);
        if is_over {
            self.0.remove(&piece.request);
        }
        (pieces, is_over)
    }
}

impl Stream {
    /// Adds the messages that may leave now.
    fn send(&mut self, transfer: &Transfer, (request, stream): (u32, u32), pieces: &mut Vec<Piece>) {
        while self.is_open && self.ready > 0 && self.under_way < transfer.outstanding {
            let bytes = self.ready.min(transfer.message);
            self.ready -= bytes;
            self.under_way += 1;
            pieces.push(Piece {
                request,
                stream,
                is_pull: false,
                from: self.from,
                to: self.to,
                bytes,
            });
        }
    }
}
