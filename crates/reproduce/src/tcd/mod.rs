//! Ternary congestion detection: the experiments of the thesis that it is from, on our own engine.

mod epsilon;
mod fairness;
mod fat_tree;
mod ring;
mod testbed;
mod timely;

use super::Reproduction;

/// The thesis, as it is printed: the copy that we have names no author, and its figures are lost.
macro_rules! thesis {
    ($which:literal) => {
        concat!(
            "无丢失网络拥塞管理关键技术研究 (doctoral thesis, Tsinghua University, May 2022), ",
            $which
        )
    };
}
pub(super) use thesis;

/// Every reproduction here.
pub(super) const REPRODUCTIONS: [Reproduction; 7] = [
    epsilon::REPRODUCTION,
    fairness::REPRODUCTION,
    fat_tree::HADOOP,
    fat_tree::WEBSEARCH,
    timely::REPRODUCTION,
    testbed::REPRODUCTION,
    ring::REPRODUCTION,
];
