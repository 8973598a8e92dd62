//! Trace-driven jobs of a random scenario.

use super::{Draft, Subject, chakra, goal, simai};
use crate::mutate::Mutator;

impl Draft {
    pub(super) fn trace_job(&mut self, chance: &mut Mutator) {
        let most = self.hosts.len().min(8);
        let ranks = match chance.below(30) {
            0 => 1,
            1 => self.hosts.len() + 1,
            _ => 2 + chance.below(most - 1),
        };
        let costs = chance.once_in(5);
        let mut more = String::new();
        let (source, network) = match self.subject {
            Subject::Goal => {
                self.files
                    .push(("mine.goal".into(), goal::text(chance, ranks).into()));
                ("goal = \"mine.goal\"", "loggops")
            }
            Subject::GoalBinary => {
                self.files.push(("mine.bin".into(), goal::binary(chance, ranks)));
                ("goal = \"mine.bin\"", "loggops")
            }
            Subject::SimAi => {
                let ranks = simai::ranks(chance, self.hosts.len());
                let workload = simai::workload(chance, ranks);
                more = format!("\nranks = {ranks}");
                self.files.push(("workload.txt".into(), workload.into()));
                ("simai = \"workload.txt\"", "packets")
            }
            _ => {
                let is_json = self.subject == Subject::ChakraJson;
                self.files.extend(chakra::files(chance, ranks, is_json));
                ("chakra = \"t\"", "chunks")
            }
        };
        let network = if costs { network } else { "packets" };
        self.line(format!(
            "[[job]]\nlabel = \"job\"\n{source}\nnetwork = \"{network}\"{more}"
        ));
        let iterations = *chance.one(&["1", "1", "2", "3", "30", "300"]);
        let iterations = if chance.once_in(60) {
            "4294967295"
        } else {
            iterations
        };
        // The cost model `loggops` does not take these keys, which is worth a test only now and then.
        if network != "loggops" || chance.once_in(20) {
            self.line(format!("iterations = {iterations}"));
            self.perhaps(
                chance,
                &[
                    "compute-scale = 0.0",
                    "compute-scale = 0.001",
                    "compute-scale = 7.5",
                ],
            );
        }
        if chance.once_in(30) {
            self.line("connections = \"persistent\"");
        } else {
            self.perhaps(chance, &["connections = \"same-ports\""]);
        }
        self.perhaps(
            chance,
            &[
                "placement = \"spread\"",
                "placement = \"random\"",
                "share-hosts = true",
            ],
        );
        self.perhaps(chance, &["start = \"4us\"", "priority = 5"]);
        self.rules(chance, network, ranks);
        if chance.once_in(6) {
            self.traffic(chance);
        }
    }

    fn rules(&mut self, chance: &mut Mutator, network: &str, ranks: usize) {
        let choices: &[&[&str]] = match (self.subject, network) {
            (Subject::Goal | Subject::GoalBinary, "loggops") => &[
                &["variant = \"atlahs\"", "variant = \"loggopsim\""],
                &["latency = \"0s\"", "latency = \"1us\""],
                &["overhead = \"0s\"", "overhead = \"200ns\""],
                &["gap = \"0s\"", "gap = \"5ns\""],
                &["gap-per-byte = 0.04", "gap-per-byte = 0.0", "gap-per-byte = 1e6"],
                &["overhead-per-byte = 1", "overhead-per-byte = 4000000000"],
                &["eager = \"0B\"", "eager = \"1KB\""],
            ],
            (Subject::Goal | Subject::GoalBinary, _) => &[
                &["overhead = \"0s\"", "overhead = \"200ns\""],
                &["gap = \"0s\"", "gap = \"5ns\""],
                &["eager = \"0B\"", "eager = \"1KB\""],
            ],
            (Subject::SimAi, _) => &[
                &["send-latency = \"3us\"", "send-latency = \"0s\""],
                &["pxn = true", "pxn = false"],
            ],
            (_, chunks) => &[
                &["control-deps = \"false\"", "control-deps = \"true\""],
                &["repair = \"drop\"", "repair = \"stream\""],
                &["sends = \"in-turn\"", "sends = \"overlap\""],
                &[
                    "algorithm = \"direct\"",
                    "algorithm = \"binomial\"",
                    "algorithm = \"double-binary\"",
                ],
                &[
                    "splits = 2",
                    "splits = 3, active = 2",
                    "splits = 4096",
                    "splits = 2, active = 4000000000",
                ],
                &["kernels = \"roofline\"", "kernels = \"recorded\""],
                &["waits = false", "waits = true"][..if chunks == "chunks" { 2 } else { 0 }],
            ],
        };
        let mut all: Vec<String> = Vec::new();
        for some in choices {
            let which = chance.below(some.len() * 3 + 1);
            all.extend(some.get(which).map(|rule| rule.to_string()));
        }
        match self.subject {
            Subject::SimAi => {
                let gpus = *chance.one(&[1, 2, 4, 8]);
                all.push(format!(
                    "gpus-per-server = {}",
                    if chance.once_in(9) { gpus } else { 1 }
                ));
            }
            Subject::Chakra | Subject::ChakraJson => {
                all.push("groups = \"groups.json\"".into());
                all.push("flops = \"4T\", memory = \"3TB/s\"".into());
                self.files
                    .push(("groups.json".into(), chakra::groups_file(ranks).into()));
                if network == "chunks" {
                    let shape = *chance.one(&["Ring", "FullyConnected", "Switch"]);
                    let links = format!(
                        "topology: [ {shape} ]\nnpus_count: [ {ranks} ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n"
                    );
                    self.files.push(("links.yml".into(), links.into()));
                    all.push("links = \"links.yml\"".into());
                }
            }
            _ => {}
        }
        self.line(format!("rules = {{ {} }}", all.join(", ")));
    }
}
