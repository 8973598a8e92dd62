//! Random connection matrices and fat trees of htsim, for the engine and for the simulator of Ultra Ethernet.

use std::fmt::Write as _;

use super::Draft;
use crate::mutate::Mutator;

/// Returns a consistent fat tree: its number of hosts and the text of its file.
fn tree(chance: &mut Mutator) -> (u32, String) {
    let speed = *chance.one(&[25, 100, 400]);
    let (down, tors) = (*chance.one(&[2, 4]), *chance.one(&[2, 4]));
    // The number of uplinks and the oversubscription have to agree.
    let (up, ratio) = *chance.one(&[(down, 1), (down / 2, 2)]);
    let latency = *chance.one(&[1, 500, 1000]);
    let hosts = down * tors;
    let mut text = format!("Nodes {hosts}\nTiers 2\nPodsize {hosts}\n");
    let _ = write!(
        text,
        "Tier 0\nDownlink_speed_Gbps {speed}\nRadix_Down {down}\nRadix_Up {up}\nDownlink_Latency_ns {latency}\n\
         Switch_Latency_ns {}\nOversubscribed {ratio}\nTier 1\nDownlink_speed_Gbps {speed}\nRadix_Down {tors}\n\
         Downlink_Latency_ns {latency}\nSwitch_Latency_ns 0\n",
        chance.one(&[0, 200])
    );
    (hosts, text)
}

/// Returns connections among `hosts` hosts. In the engine only one connection fires a trigger; `messages` adds
/// connections with several messages.
fn connections(chance: &mut Mutator, hosts: u32, in_engine: bool, messages: bool) -> String {
    let count = chance.below(12);
    let mut lines = String::new();
    // Triggers that a previous connection fires, and that others wait for.
    let mut fired: Vec<usize> = Vec::new();
    for id in 1..=count {
        let src = chance.below(hosts as usize) as u32;
        // At least 1, so that a host sends to itself only by the case below.
        let step = 1 + chance.below(hosts as usize - 1) as u32;
        let dst = if chance.once_in(150) {
            src
        } else {
            (src + step) % hosts
        };
        let least = u64::from(in_engine && !chance.once_in(100));
        let size = chance.extent().clamp(least, i32::MAX as u64);
        let size = if chance.once_in(100) { u64::MAX } else { size };
        let _ = write!(lines, "{src}->{dst} id {id}");
        if messages {
            let first = *chance.one(&["", " msg", " msg 1"]);
            let _ = writeln!(lines, "{first} start {} size {}", chance.below(5), size.max(1));
            if chance.once_in(2) {
                let _ = writeln!(
                    lines,
                    "{src}->{dst} id {id} msg 2 start {} size {}",
                    chance.below(30),
                    size.max(1)
                );
            }
            continue;
        }
        match fired.last() {
            Some(trigger) if chance.once_in(2) => {
                let _ = write!(lines, " trigger {trigger}");
            }
            _ => {
                let start = *chance.one(&["0", "1", "1.9", "20", "4294967040", "-0.0"]);
                let _ = write!(lines, " start {start}");
            }
        }
        let _ = write!(lines, " size {size}");
        if chance.once_in(3) {
            let trigger = fired.len() + 1;
            let again = if in_engine { 60 } else { 6 };
            let known = if chance.once_in(again) && trigger > 1 {
                trigger - 1
            } else {
                trigger
            };
            if known == trigger {
                fired.push(trigger);
            }
            let _ = write!(lines, " send_done_trigger {known}");
        }
        lines.push('\n');
    }
    for trigger in &fired {
        let kinds = ["oneshot", "multishot", "barrier count 1", "barrier count 2"];
        let known = if in_engine && !chance.once_in(40) { 3 } else { 4 };
        let kind = *chance.one(&kinds[..known]);
        let _ = writeln!(lines, "trigger id {trigger} {kind}");
    }
    let announced =
        lines.lines().filter(|line| line.contains("->")).count() + usize::from(chance.once_in(80));
    let hosts = if chance.once_in(100) { hosts + 1 } else { hosts };
    format!(
        "Nodes {hosts}\nConnections {announced}\nTriggers {}\n{lines}",
        fired.len()
    )
}

impl Draft {
    pub(super) fn fat_tree(&mut self, chance: &mut Mutator) {
        let (hosts, text) = tree(chance);
        self.files.push(("net.topo".into(), text.into()));
        self.line("[topology]\nfile = \"net.topo\"");
        (self.hosts, self.links) = ((0..hosts).collect(), hosts);
    }

    pub(super) fn matrix(&mut self, chance: &mut Mutator) {
        let text = connections(chance, self.hosts.len() as u32, true, false);
        self.files.push(("mine.cm".into(), text.into()));
        self.line("[[workload]]\nlabel = \"matrix\"\nfile = \"mine.cm\"");
    }

    /// Writes a run of the simulator of Ultra Ethernet.
    pub(super) fn uet(&mut self, chance: &mut Mutator) {
        let duration = *chance.one(&["20us", "100us", "1ms"]);
        self.line(format!(
            "name = \"random\"\nduration = \"{duration}\"\nseed = {}\nfidelity = \"uet-htsim\"",
            1 + chance.below(9)
        ));
        self.line("[parity.uet-htsim]\nconnections = \"mine.cm\"");
        let (mut hosts, text) = tree(chance);
        if chance.once_in(2) {
            self.files.push(("net.topo".into(), text.into()));
            self.line("topology = \"net.topo\"");
        } else {
            hosts = *chance.one(&[16, 16, 128, 2]);
            self.perhaps(
                chance,
                &["tiers = 2", "hop-latency = 0.5", "switch-latency = 0.2"],
            );
        }
        let messages = chance.once_in(4);
        self.line(format!("messages = {messages}"));
        let choices: [&[&str]; 12] = [
            &["linkspeed = 25000", "linkspeed = 800000", "linkspeed = 8000000"],
            &["mtu = 256", "mtu = 9000", "mtu = 128"],
            &["receiver-cc = true", "sender-cc = false\nreceiver-cc = true"],
            &["sender-cc-algo = \"dctcp\"", "sender-cc-algo = \"constant\""],
            &[
                "load-balancing = \"bitmap\"",
                "load-balancing = \"reps\"",
                "load-balancing = \"reps_legacy\"",
                "load-balancing = \"oblivious\"",
            ],
            &["paths = 1", "paths = 8192", "paths = 16"],
            &[
                "strategy = \"ecmp_rr\"",
                "strategy = \"ecmp_ar\"",
                "strategy = \"ecmp_host_ar\"",
            ],
            &["cwnd = 1", "cwnd = 1000000"],
            &["queue = 1", "queue = 3", "queue-bdp-factor = 1000"],
            &["trim = false", "trim-size = 128", "sack-threshold = 1"],
            &["sleek = true", "accurate-base-rtt = true", "qa-gate = 62"],
            &["failed = 1", "failed = 8", "oversubscribed-cc = \"on\""],
        ];
        for choice in choices {
            if chance.once_in(2) {
                self.perhaps(chance, choice);
            }
        }
        let text = connections(chance, hosts, false, messages);
        self.files.push(("mine.cm".into(), text.into()));
    }
}
