//! Steps in the format of the OMNeT++ model's traces.

use paceline_fabric::RunSpec;
use paceline_kernel::Time;

use super::{CreditEvent, CreditSpec, CreditStep};

/// Number of hosts in the demo; switch ids follow host ids.
const HOSTS: u32 = 19;

/// Returns a flow's index among its sender's messages.
fn number(run: &RunSpec, flow: u32) -> u32 {
    let sources = CreditSpec::of(run).map_or(&[][..], |credits| &credits.sources);
    let source = sources.iter().rfind(|source| source.first <= flow);
    flow - source.map_or(flow, |source| source.first)
}

/// Formats picoseconds as nanoseconds with three decimals.
fn ns(at: Time) -> String {
    format!("{}.{:03}", at.as_ps() / 1000, at.as_ps() % 1000)
}

/// Formats a step of the demo as a line of the model's trace. Returns `None` for steps that the trace does not have.
pub fn line(run: &RunSpec, event: &CreditEvent) -> Option<String> {
    let (node, i) = (event.node.0, event.interface);
    let host = format!("H_{}", node + 1);
    let at = |part: &str| match node {
        0..HOSTS => format!("{host}.{part}"),
        _ => format!("SW_{}.subport[{i}].{part}", node - HOSTS + 1),
    };
    let (what, index, info) = match event.what {
        CreditStep::Message { flow } => {
            let spec = &run.flows[flow as usize];
            let (to, message, packets) = (spec.dst.0 + 1, number(run, flow), spec.size.get() / 2048);
            let info = format!("dst={to} msg={message} pkts={packets}");
            ("msg_to_generator", host, info)
        }
        CreditStep::Update { lane, limit, sent } => {
            let info = format!("vl={lane} fccl={limit} fctbs={sent}");
            ("wire_tx_fcp", at("obuf"), info)
        }
        CreditStep::Sent { from, notification } => {
            let value = notification.map_or(0, |congested| if congested { 1 } else { 3 });
            let info = format!("src={} becn={value}", from.0 + 1);
            ("wire_tx_data", at("obuf"), info)
        }
        CreditStep::Credits { credits } => ("arb_credit_update", at("vlarb"), format!("credits={credits}")),
        CreditStep::Marked { from } => ("mark", at("vlarb"), format!("src={}", from.0 + 1)),
        CreditStep::Received { flow, packet, marked } => {
            let (from, message) = (run.flows[flow as usize].src.0 + 1, number(run, flow));
            let info = format!(
                "src={from} fecn={} becn=0 pkt={packet} msg={message}",
                u8::from(marked)
            );
            ("sink_rx", host, info)
        }
        _ => return None,
    };
    Some(format!("{},{what},{index},{info}", ns(event.at)))
}
