//! Output files in the format of the simulator of TCD's authors, and the counts of its reference runs.
//!
//! All functions return errors of their writer only.

use std::io::{self, Write};

use paceline_congestion::detect::PortState;
use paceline_fabric::spec::{Completion, NodeKind, OwnFile, RunSpec};
use paceline_kernel::ns3;

use super::outcome::{Change, PortChange, RateChange, TcdNs3Record, alone};
use super::spec::TcdNs3Spec;

/// Payload bytes per packet in flow files (`PACKET`), and the header bytes that a packet's payload contains
/// (`HEADERS`).
const PACKET: u64 = 1000;
const HEADERS: u64 = 24;

/// Returns the bytes that the application of a flow of this size receives.
fn heard(size: u64, mtu: u64) -> u64 {
    match size {
        0..PACKET => size.saturating_sub(HEADERS),
        _ => size.div_ceil(PACKET) * mtu.saturating_sub(HEADERS),
    }
}

/// Formats a line of `fct.txt`: `src dst size start fct base`, with the bytes that the application received, and
/// times in seconds.
pub fn completion(run: &RunSpec, flow: &Completion) -> String {
    let seconds = |ps: u64| ns3::seconds_of_ns(ps / 1000);
    let heard = heard(flow.size, run.packet.mtu.get());
    format!(
        "{} {} {} {:.6} {:.8} {:.8}",
        flow.src,
        flow.dst,
        heard,
        seconds(flow.start.as_ps()),
        seconds(flow.fct.as_ps()),
        alone(flow.src, flow.dst, heard)
    )
}

/// Lists the additional files: marks of flows and ports, and logged changes.
pub(super) fn all<'a>(spec: &TcdNs3Spec, run: &'a RunSpec, record: &'a TcdNs3Record) -> Vec<OwnFile<'a>> {
    let mut files = vec![
        OwnFile::new("flow_marks.tsv", |out| flow_marks(out, run, record)),
        OwnFile::new("port_marks.tsv", |out| port_marks(out, run, record)),
    ];
    if spec.log {
        files.push(OwnFile::new("port_changes.tsv", |out| {
            changes(out, &record.changes)
        }));
        files.push(OwnFile::new("rates.tsv", |out| rates(out, run, &record.rates)));
    }
    files
}

/// Writes `flow_marks.tsv`: by flow, received packets and their marks, notifications at the sender, first and last
/// arrival.
pub fn flow_marks(out: &mut dyn Write, run: &RunSpec, record: &TcdNs3Record) -> io::Result<()> {
    writeln!(
        out,
        "flow\tsrc\tdst\tsize\tstart_s\tsport\tdport\tpackets\tcongested\tundetermined\tcnp_congested\t\
         cnp_undetermined\tfirst_ns\tlast_ns\tway"
    )?;
    for ((i, spec), flow) in run.flows.iter().enumerate().zip(&record.flows) {
        let (first, last) = flow
            .arrivals
            .map_or((0, 0), |(first, last)| (first.as_ns(), last.as_ns()));
        let way: Vec<String> = flow.way.iter().map(u32::to_string).collect();
        writeln!(
            out,
            "{i}\t{}\t{}\t{}\t{:.9}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{first}\t{last}\t{}",
            spec.src.0,
            spec.dst.0,
            spec.size.get(),
            spec.start.as_ns() as f64 / 1e9,
            spec.sport,
            spec.dport,
            flow.received.packets,
            flow.received.congested,
            flow.received.undetermined,
            flow.notified.congested,
            flow.notified.undetermined,
            way.join(" ")
        )?;
    }
    Ok(())
}

/// Writes `port_marks.tsv`: by port, sent and marked packets, longest queue, received frames, and pauses.
pub fn port_marks(out: &mut dyn Write, run: &RunSpec, record: &TcdNs3Record) -> io::Result<()> {
    writeln!(
        out,
        "node\tpeer\tis_switch\tpackets\tcongested\tagain\tundetermined\tqueue_max\tpause_frames\tresume_frames\t\
         pauses\tpaused_us"
    )?;
    for port in &record.ports {
        let is_switch = run.nodes[port.port.node.0 as usize] == NodeKind::Switch;
        writeln!(
            out,
            "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{:.3}",
            port.port.node.0,
            port.port.peer.0,
            u8::from(is_switch),
            port.sent.packets,
            port.sent.congested,
            port.again,
            port.sent.undetermined,
            port.queue_max,
            port.frames[0],
            port.frames[1],
            port.pauses,
            port.paused.as_ps() as f64 / 1e6
        )?;
    }
    Ok(())
}

/// Returns the number of a state in the reference runs.
const fn number(state: PortState) -> u8 {
    match state {
        PortState::NotCongested => 0,
        PortState::Checking => 1,
        PortState::Undetermined => 2,
        PortState::Congested => 3,
    }
}

/// Writes pauses and state changes of ports in time order: `ns node peer class OFF|ON|ON_timeout queue`, or `S old
/// new queue`.
pub fn changes(out: &mut dyn Write, changes: &[PortChange]) -> io::Result<()> {
    writeln!(out, "ns\tnode\tpeer\tclass\twhat\tqueue")?;
    for change in changes {
        let what = match change.what {
            Change::Pause => "OFF".to_string(),
            Change::Resume { expired: false } => "ON".to_string(),
            Change::Resume { expired: true } => "ON_timeout".to_string(),
            Change::State(old, new) => format!("S {} {}", number(old), number(new)),
        };
        writeln!(
            out,
            "{}\t{}\t{}\t{}\t{what}\t{}",
            change.at.as_ns(),
            change.port.node.0,
            change.port.peer.0,
            change.class,
            change.queue
        )?;
    }
    Ok(())
}

/// Writes rate changes: `ns node dport rate target alpha`, rates in Mbit/s.
pub fn rates(out: &mut dyn Write, run: &RunSpec, rates: &[RateChange]) -> io::Result<()> {
    writeln!(out, "ns\tnode\tdport\trate_Mbps\ttarget_Mbps\talpha")?;
    for change in rates {
        let flow = &run.flows[change.flow as usize];
        writeln!(
            out,
            "{}\t{}\t{}\t{:.1}\t{:.1}\t{:.6}",
            change.at.as_ns(),
            flow.src.0,
            flow.dport,
            change.rate as f64 / 1e6,
            change.target as f64 / 1e6,
            change.alpha
        )?;
    }
    Ok(())
}
