//! Ternary congestion detection: the experiments of the thesis that it is from, on our own engine.

mod epsilon;
mod fairness;
mod fat_tree;
mod ring;
mod testbed;
mod timely;

use super::Reproduction;

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
