//! Random inputs of SimAI: workloads, topologies and its configuration.

use std::fmt::Write as _;

use super::Draft;
use crate::mutate::Mutator;

const CONF: &str = include_str!("../../../traces/tests/data/simai/SimAI.conf");

/// Returns a number of ranks that `hosts` hosts support.
pub(super) fn ranks(chance: &mut Mutator, hosts: usize) -> usize {
    let sizes: Vec<usize> = [1, 2, 4, 8, 16]
        .into_iter()
        .filter(|size| *size <= hosts)
        .collect();
    *chance.one(&sizes)
}

/// Returns a random divisor of a number; in rare cases another number.
fn divisor(chance: &mut Mutator, of: usize) -> usize {
    let all: Vec<usize> = (1..=of).filter(|part| of.is_multiple_of(*part)).collect();
    match chance.below(60) {
        0 => 3,
        1 => 4_000_000_000,
        _ => *chance.one(&all),
    }
}

/// Returns a workload of `ranks` ranks.
pub(super) fn workload(chance: &mut Mutator, ranks: usize) -> String {
    let (tp, layers) = (divisor(chance, ranks), 1 + chance.below(6));
    let ep = divisor(chance, ranks / tp.clamp(1, ranks));
    let pp = *chance.one(&[1, 1, 1, 2]);
    let mut text = format!(
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {tp} ep: {ep} pp: {pp} vpp: 1 ga: 1 all_gpus: {ranks} \
         checkpoints: 0 checkpoint_initiates: 0 pp_comm: 0\n"
    );
    let announced = if chance.once_in(80) { layers + 1 } else { layers };
    let _ = writeln!(text, "{announced}");
    for layer in 0..layers {
        let _ = write!(text, "layer{layer}\t-1");
        for _ in 0..3 {
            let name = *chance.one(&["NONE", "ALLREDUCE", "ALLGATHER", "REDUCESCATTER", "ALLTOALL"]);
            let group = match name {
                "NONE" => "",
                _ => *chance.one(&["", "", "_EP", "_DP_EP"]),
            };
            let (time, bytes) = (chance.extent(), chance.extent());
            let _ = write!(text, "\t{time}\t{name}{group}\t{bytes}");
        }
        let _ = writeln!(text, "\t{}", chance.one(&[0, 100, 100, 100, u64::MAX]));
    }
    text
}

impl Draft {
    /// Writes SimAI's configuration, with a topology of one or two servers.
    pub(super) fn conf(&mut self, chance: &mut Mutator) {
        let (servers, gpus) = (1 + chance.below(2), *chance.one(&[1, 2, 4, 8]));
        let all = servers * gpus;
        // Nodes are numbered by kind: GPUs, the NVSwitch of each server, then switches.
        let (first, switches) = (all + servers, 1 + chance.below(2));
        let mut links = String::new();
        let (rate, delay) = (
            *chance.one(&["100Gbps", "400Gbps"]),
            *chance.one(&["0.0005ms", "0.00001ms"]),
        );
        for gpu in 0..all {
            let _ = writeln!(links, "{gpu} {} 2400Gbps 0.000025ms 0", all + gpu / gpus);
            let _ = writeln!(links, "{gpu} {} {rate} {delay} 0", first + gpu % switches);
        }
        if switches == 2 {
            let _ = writeln!(links, "{first} {} 400Gbps 0.0005ms 0", first + 1);
        }
        let names = (all..first + switches).map(|node| node.to_string());
        let topology = format!(
            "{} {gpus} {servers} {switches} {} {}\n{}\n{links}",
            first + switches,
            links.lines().count(),
            chance.one(&["A100", "H100", "H20", "X"]),
            names.collect::<Vec<_>>().join(" ")
        );
        let ranks = if chance.once_in(12) {
            ranks(chance, all)
        } else {
            all
        };
        let workload = workload(chance, ranks);
        self.files.push(("topology".into(), topology.into()));
        self.files.push(("workload.txt".into(), workload.into()));
        self.line("TOPOLOGY_FILE topology\nWORKLOAD_FILE workload.txt");
        self.perhaps(
            chance,
            &[
                "AS_SEND_LAT 3",
                "AS_SEND_LAT 0",
                "AS_SEND_LAT 4000000000",
                "AS_NVLS_ENABLE 1",
            ],
        );
        self.line(CONF);
        if chance.once_in(6) {
            let line = *chance.one(&[
                "RATE_BOUND 0",
                "ERROR_RATE_PER_LINK 0.01",
                "HAS_WIN 0",
                "CC_MODE 3",
                "CC_MODE 7",
                "CC_MODE 8",
                "PACKET_PAYLOAD_SIZE 1000",
                "L2_BACK_TO_ZERO 1",
                "BUFFER_SIZE 1",
            ]);
            let key = line.split(' ').next().unwrap_or_default();
            let kept = self
                .text
                .lines()
                .filter(|other| other.split(' ').next() != Some(key));
            self.text = kept.map(|line| format!("{line}\n")).collect();
            self.line(line);
        }
    }
}
