//! Workloads and jobs of a random scenario.

use std::fmt::Write as _;

use super::{Draft, Family, relative};
use crate::mutate::Mutator;

impl Draft {
    pub(super) fn traffic(&mut self, chance: &mut Mutator) {
        if self.family == Family::Omnet {
            return self.messages(chance);
        }
        let workloads = 1 + chance.below(3);
        let mut before: Option<String> = None;
        for number in 0..workloads {
            self.line(format!("[[workload]]\nlabel = \"w{number}\""));
            if chance.below(2) == 0 {
                let scheme = match &before {
                    Some(name) if chance.below(2) == 0 => relative(chance, name),
                    _ => self.scheme(chance).to_string(),
                };
                self.line(format!("scheme = \"{scheme}\""));
                before = Some(scheme);
            }
            self.perhaps(
                chance,
                &["priority = 4", "priority = 5", "start-jitter = \"2us\""],
            );
            let workload = self.workload(chance);
            self.line(workload);
        }
        if self.family != Family::TcdNs3 && chance.below(3) == 0 {
            self.job(chance);
        }
        if self.family != Family::TcdNs3 && self.hosts.len() >= 3 && chance.below(4) == 0 {
            self.service(chance);
        }
    }

    fn size(chance: &mut Mutator) -> &'static str {
        chance.one::<&str>(&["1B", "700B", "3KB", "20KB", "150KB"])
    }

    fn workload(&mut self, chance: &mut Mutator) -> String {
        let (src, dst, size) = (self.host(chance), self.host(chance), Self::size(chance));
        let other = *self.hosts.iter().find(|host| **host != dst).unwrap_or(&src);
        let connections = *chance.one(&["", "", ", connections = \"persistent\""]);
        let again = *chance.one(&["", ", iterations = 2, compute = \"1us\"", ", start = \"5us\""]);
        let kinds = if self.family == Family::TcdNs3 { 2 } else { 15 };
        match chance.below(kinds) {
            0 => format!(
                "flows = [{{ src = {other}, dst = {dst}, size = \"{size}\" }}, {{ src = {other}, dst = {dst}, size = \"9KB\", start = \"3us\" }}]"
            ),
            1 => {
                let rounds = *chance.one(&["", ", rounds = 2, period = \"30us\""]);
                format!("incast = {{ fan-in = 2, receiver = {dst}, size = \"{size}\"{rounds} }}")
            }
            2 => format!(
                "incast = {{ senders = \"all except {dst}\", receiver = {dst}, sizes = [\"{size}\", \"5KB\"] }}"
            ),
            3 => {
                let sizes = match chance.below(3) {
                    0 => "\"websearch\"".to_string(),
                    1 => {
                        let text = "0 0\n1000 20\n20000 70.5\n300000 100\n";
                        self.files.push(("sizes.txt".into(), text.into()));
                        "\"sizes.txt\"".to_string()
                    }
                    _ => "[{ size = \"1KB\", share = 0.5 }, { size = \"30KB\", share = 0.5 }]".to_string(),
                };
                format!("poisson = {{ sizes = {sizes}, load = 0.3, to = \"20us\" }}")
            }
            4 => "incast-poisson = { load = 0.2, fan-in = 2, size = \"8KB\", to = \"30us\" }".to_string(),
            5 => format!("permutation = {{ size = \"{size}\" }}"),
            6 => format!(
                "closed-loop = {{ senders = [{other}], receivers = [{dst}], messages = 5, outstanding = 2, size = \"{size}\", think-time = \"1us\"{connections} }}"
            ),
            7 => format!(
                "closed-loop = {{ messages = 2, to = \"all\", processes = 2, sizes = [{{ size = \"1KB\", share = 0.25 }}, {{ size = \"8KB\", share = 0.75 }}]{connections} }}"
            ),
            8 => format!("all-to-all = {{ size = \"{size}\"{again}{connections} }}"),
            9 => format!("all-to-all = {{ algorithm = \"pairwise\", size = \"{size}\"{connections} }}"),
            10 => format!("all-reduce = {{ size = \"{size}\"{again}{connections} }}"),
            11 => format!("reduce-scatter = {{ size = \"{size}\"{again} }}"),
            12 => {
                let shape = *chance.one(&[
                    "senders = 1",
                    "senders = 2, targets = 1, bursts = 1",
                    "senders = 1, amplitude = 0.3, stay = false",
                ]);
                format!(
                    "bursts = {{ load = 0.2, {shape}, duration = \"2us\", gap = \"3us\", size = \"5KB\", to = \"30us\" }}"
                )
            }
            13 => format!("all-gather = {{ size = \"{size}\"{again}{connections} }}"),
            _ => self.trace(chance, other, dst),
        }
    }

    /// Writes a table of flows that depend on each other.
    fn trace(&mut self, chance: &mut Mutator, src: u32, dst: u32) -> String {
        let mut table =
            String::from("flow_id,src,dst,size_bytes,start_us,after,delay_us,label,priority,connection\n");
        for flow in 0..2 + chance.below(4) {
            let _ = match flow {
                0 => writeln!(table, "0,{src},{dst},1000,0.25,,,first,3,"),
                _ if chance.below(2) == 0 => {
                    writeln!(table, "{flow},{dst},{src},3000,,{},1.5,\"then, b\",3,", flow - 1)
                }
                _ => writeln!(table, "{flow},{src},{dst},20000,{flow},,,other,3,7"),
            };
        }
        self.files.push(("trace.csv".into(), table.into()));
        let more = *chance.one(&["", ", ignore = [\"priority\"]"]);
        format!("trace = {{ file = \"trace.csv\"{more} }}")
    }

    /// Writes a job by a small model.
    fn model_job(&mut self, chance: &mut Mutator) {
        self.line("[[job]]\nlabel = \"job\"\nranks = 4\nshare-hosts = true");
        let has_experts = chance.once_in(2);
        let experts = if has_experts {
            ", experts = 4, top-k = 2, expert-ffn = 8"
        } else {
            ""
        };
        self.line(format!(
            "model = {{ layers = 4, hidden = 16, heads = 2, vocabulary = 64{experts} }}"
        ));
        let mut parallel = vec!["tensor = 2", "pipeline = 2", "data = 4"];
        parallel.push(if has_experts {
            "expert = 2"
        } else {
            "context = 2, tensor = 2"
        });
        // Wrong keys are worth a test only now and then.
        if chance.once_in(20) {
            parallel = vec![
                "tensor = 3",
                "pipeline = 3, data = 4",
                "expert = 8",
                "context = 0",
            ];
        }
        let parallel = *chance.one(&parallel);
        self.line(format!("parallel = {{ {parallel} }}"));
        let mut keys = vec![
            "",
            ", schedule = \"gpipe\"",
            ", schedule = \"zero-bubble\"",
            ", overlap = true, bucket = \"1KB\"",
            ", optimizer-sharding = false",
            ", granularity = \"stage\", like = \"aicb\"",
            ", times = { attention = \"1us\" }",
        ];
        keys.push(if has_experts {
            *chance.one(&[", precision = \"fp8\"", ", experts-skew = 1.3"])
        } else {
            ", sequence-parallel = false"
        });
        keys.extend((parallel == "pipeline = 2").then_some(", interleave = 2"));
        keys.extend(
            chance
                .once_in(20)
                .then_some(", flops = \"1\", efficiency = 1e-300"),
        );
        let key = *chance.one(&keys);
        self.line(format!("training = {{ global-batch = 8, sequence = 16{key} }}"));
        // Ranks of which two each share a server.
        self.perhaps(
            chance,
            &[
                "local = { rate = \"100Gbps\" }\nrules.gpus-per-server = 2",
                "local = { rate = \"1Gbps\", latency = \"3us\" }\nrules.gpus-per-server = 4",
            ],
        );
    }

    /// Writes a service with one or two instances for answers.
    fn service(&mut self, chance: &mut Mutator) {
        let (prompts, rest) = (self.hosts[0], &self.hosts[1..self.hosts.len().min(3)]);
        let answers = rest.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        self.line("[[inference]]\nshare-hosts = true");
        self.perhaps(
            chance,
            &[
                "network = \"divided\"",
                "routing = \"turns\"",
                "first-token = \"prefill\"",
                "slo.ttft = \"20us\"",
            ],
        );
        let cache = *chance.one(&[
            "token-size = \"100B\"",
            "token-size = \"3KB\"",
            "model = \"mixtral-8x7b\"",
        ]);
        self.line(cache);
        let requests = match chance.below(3) {
            0 => {
                let trace = "arrival_us,prompt,output\n1,20,3\n1,7,1\n9.5,30,2\n";
                self.files.push(("requests.csv".into(), trace.into()));
                "trace = \"requests.csv\""
            }
            1 => {
                "rate = 200000, count = 9, burst = 3, prompt = [{ tokens = 3, share = 0.5 }, { tokens = 20, share = 0.5 }], output = 4"
            }
            _ => "rate = 100000, count = 5, prompt = 30, output = 2",
        };
        self.line(format!("requests = {{ {requests} }}"));
        let room = *chance.one(&["", ", room = 40"]);
        self.line(format!(
            "prefill = {{ hosts = [{prompts}], rate = 5000000{room} }}"
        ));
        let more = *chance.one(&[
            "",
            ", room = 64",
            ", running = 1",
            ", per-token = \"100ns\"",
            ", instance = 2",
        ]);
        self.line(format!(
            "decode = {{ hosts = [{answers}], step = \"2us\"{more} }}"
        ));
        let transfer = *chance.one(&[
            "",
            "mode = \"push\", layers = 3",
            "message = \"1KB\", outstanding = 2",
        ]);
        self.line(format!("transfer = {{ {transfer} }}"));
    }

    fn job(&mut self, chance: &mut Mutator) {
        if self.hosts.len() >= 4 && chance.once_in(4) {
            return self.model_job(chance);
        }
        self.line("[[job]]\nlabel = \"job\"\niterations = 2");
        let indices = ["packed", "spread", "random"];
        match chance.below(2) {
            0 => self.line("hosts = \"all\""),
            _ => {
                let index = *chance.one(&indices);
                self.line(format!("ranks = 2\nplacement = \"{index}\"\nshare-hosts = true"));
            }
        }
        self.perhaps(
            chance,
            &[
                "connections = \"persistent\"",
                "connections = \"per-message\"",
                "start = \"4us\"",
            ],
        );
        for _ in 0..1 + chance.below(2) {
            let size = Self::size(chance);
            self.line("[[job.step]]");
            self.perhaps(chance, &["compute = \"2us\"", "within = 2", "across = 2"]);
            let kind = *chance.one(&["all-reduce", "all-gather", "reduce-scatter", "all-to-all"]);
            self.line(format!("{kind} = {{ size = \"{size}\" }}"));
        }
    }

    fn messages(&mut self, chance: &mut Mutator) {
        let last = self.hosts[self.hosts.len() - 1];
        self.line("[[workload]]\nlabel = \"messages\"");
        let until = *chance.one(&["", ", until = \"60us\""]);
        let workload = match chance.below(3) {
            0 => {
                let mut table = String::from("src_lid,dst_lid,msg_bytes,n_msgs,gap_ns,start_ms\n");
                for host in 1..self.hosts.len() {
                    let _ = writeln!(
                        table,
                        "{host},{},4096,{},{},0.001",
                        self.hosts.len(),
                        1 + chance.below(5),
                        1 + host
                    );
                }
                self.files.push(("messages.csv".into(), table.into()));
                format!("messages = {{ file = \"messages.csv\"{until} }}")
            }
            1 => format!(
                "messages = {{ senders = \"all except {last}\", receivers = {last}, messages = 6, size = \"4096B\"{until} }}"
            ),
            _ => format!(
                "messages = {{ senders = \"all except {last}\", receivers = {last}, messages = 3, size = \"10KB\", gap = \"2us\", start = \"3us\"{until} }}"
            ),
        };
        self.line(workload);
    }
}
