//! Ranks: processes, perhaps on several machines, each of which runs some parts of one network.
//!
//! All ranks build the same network and go through the same windows ([`super::parallel`]). They exchange packets and
//! announcements at the end of each window, and draw the same conclusions from them, so that none is in charge. At the
//! end the first rank gets the results of all.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::core::wire::{decode, encode};

/// Connection between the ranks of a run.
///
/// A rank that is lost does not come back, so there are no errors to return: an implementation ends the process, or
/// panics.
pub trait Exchange: Send + Sync {
    /// Returns the number of this rank, from 0.
    fn rank(&self) -> usize;

    /// Returns the number of ranks.
    fn ranks(&self) -> usize;

    /// Sends `to[r]` to each other rank `r`, and replaces `from[r]` by what it has sent here. All ranks call this the
    /// same number of times; it returns when all messages for this rank have come.
    fn exchange(&self, to: &[Vec<u8>], from: &mut [Vec<u8>]);
}

/// The ranks of a run, as its parts see them.
#[derive(Clone)]
pub(crate) struct Team(Arc<dyn Exchange>);

impl Team {
    pub(crate) fn new(exchange: Arc<dyn Exchange>) -> Self {
        Self(exchange)
    }

    pub(crate) fn rank(&self) -> usize {
        self.0.rank()
    }

    pub(crate) fn ranks(&self) -> usize {
        self.0.ranks()
    }

    pub(crate) fn exchange(&self, to: &[Vec<u8>], from: &mut [Vec<u8>]) {
        self.0.exchange(to, from);
    }

    /// Returns a value of each rank, in the order of ranks.
    pub(crate) fn gather<T: Serialize + DeserializeOwned>(&self, own: T) -> Vec<T> {
        gather(&*self.0, own)
    }

    /// Sends a value to the first rank, which calls [`Team::collect`].
    pub(crate) fn send_to_first<T: Serialize>(&self, value: &T) {
        let mut to = vec![Vec::new(); self.ranks()];
        to[0] = encode(value);
        self.exchange(&to, &mut vec![Vec::new(); self.ranks()]);
    }

    /// Returns the items that the other ranks have sent with [`Team::send_to_first`], in the order of ranks.
    pub(crate) fn collect<T: DeserializeOwned>(&self) -> Vec<T> {
        let mut from = vec![Vec::new(); self.ranks()];
        self.exchange(&vec![Vec::new(); self.ranks()], &mut from);
        let lists = from.iter().skip(1).map(|bytes| decode::<Vec<T>>(bytes));
        lists.flatten().collect()
    }
}

/// Returns a value of each rank, in the order of ranks. All ranks call this.
pub fn gather<T: Serialize + DeserializeOwned>(exchange: &dyn Exchange, own: T) -> Vec<T> {
    let (rank, ranks) = (exchange.rank(), exchange.ranks());
    let to = vec![encode(&own); ranks];
    let mut from = vec![Vec::new(); ranks];
    exchange.exchange(&to, &mut from);
    let mut own = Some(own);
    let of_rank = |(r, bytes): (usize, &Vec<u8>)| match own.take_if(|_| r == rank) {
        Some(own) => own,
        None => decode(bytes),
    };
    from.iter().enumerate().map(of_rank).collect()
}

/// Ranks that are threads of one process, for tests.
pub struct ThreadRanks {
    rank: usize,
    ranks: usize,
    table: Arc<(Mutex<Messages>, Condvar)>,
}

/// Messages by sender and receiver that were not taken yet.
type Messages = Vec<Vec<Option<Vec<u8>>>>;

impl ThreadRanks {
    /// Returns the connections of `ranks` ranks.
    pub fn connect(ranks: usize) -> Vec<Self> {
        let table = Arc::new((Mutex::new(vec![vec![None; ranks]; ranks]), Condvar::new()));
        let connection = |rank| Self {
            rank,
            ranks,
            table: table.clone(),
        };
        (0..ranks).map(connection).collect()
    }
}

impl Exchange for ThreadRanks {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn exchange(&self, to: &[Vec<u8>], from: &mut [Vec<u8>]) {
        let (table, changed) = &*self.table;
        let mut messages = table.lock().unwrap_or_else(PoisonError::into_inner);
        let others = (0..self.ranks).filter(|&other| other != self.rank);
        for other in others.clone() {
            while messages[self.rank][other].is_some() {
                messages = changed.wait(messages).unwrap_or_else(PoisonError::into_inner);
            }
            messages[self.rank][other] = Some(to[other].clone());
            changed.notify_all();
        }
        for other in others {
            from[other] = loop {
                if let Some(message) = messages[other][self.rank].take() {
                    changed.notify_all();
                    break message;
                }
                messages = changed.wait(messages).unwrap_or_else(PoisonError::into_inner);
            };
        }
    }
}
