//! Networks under credits: InfiniBand, and the model of RRCC's author.

mod demo;
mod fat_tree;
mod messages;
mod ports;
mod rates;
mod reference;
mod row;

pub(super) use demo::DEMO;
pub(super) use fat_tree::FAT_TREE;
pub(super) use messages::{ALL_TO_ALL, MESSAGE, MPI, VICTIMS};
pub(super) use ports::POINTS;
pub(super) use rates::{ON_OFF, RECEIVED, SHARES};
pub(super) use row::ROW;
