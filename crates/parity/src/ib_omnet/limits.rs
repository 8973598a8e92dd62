//! Upper limits of the rates in a network under credits: warnings with the numbers, and with values that suffice.

use paceline_fabric::spec::LinkSpec;
use paceline_kernel::{BitRate, Bytes, Span};
use paceline_scenario::WarningKind;
use paceline_scenario::guest::{Cx, Problem};

use super::spec::CreditSpec;

/// Share of a link above which flow-control packets cause a warning.
const UPDATES: f64 = 0.05;

/// Warns if settings limit rates to less than the links carry.
///
/// # Errors If flow-control packets alone use up a link.
pub(super) fn check(
    credits: &CreditSpec,
    mtu: Bytes,
    links: &[LinkSpec],
    cx: &mut Cx<'_>,
) -> Result<(), Problem> {
    let rates = links.iter().map(|link| link.rate);
    let (Some(slowest), Some(fastest)) = (rates.clone().min(), rates.max()) else {
        return Ok(());
    };
    let mut warn = |text: String| cx.warn(WarningKind::CreditRate, None, text);
    let CreditSpec { period, buffer, .. } = *credits;
    let reached = gbps(u64::from(buffer) * mtu.get(), period);
    if reached < fastest.as_gbps_f64() {
        let enough = packets_of(fastest, period, mtu);
        warn(format!(
            "a buffer of {buffer} packets of {mtu} with an update every {period} limits a lane to {reached:.3} \
             Gbit/s, on links of {fastest}; {enough} packets are enough (parity.ib-omnet.buffer), or a period of {} (parity.ib-omnet.period)",
            fastest.time_to_send(Bytes::new(u64::from(buffer) * mtu.get()))
        ));
    }
    let made = gbps(mtu.get(), credits.host_packet);
    if made < fastest.as_gbps_f64() {
        warn(format!(
            "a host creates a packet of {mtu} in {}, which limits it to {made:.3} Gbit/s, on links of {fastest}; {} \
             is enough \
             (parity.ib-omnet.host-packet)",
            credits.host_packet,
            fastest.time_to_send(mtu)
        ));
    }
    let got = Bytes::new(u64::from(credits.lanes) * credits.update.get());
    let share = slowest.time_to_send(got).as_ps() as f64 / period.as_ps() as f64;
    if share >= 1.0 {
        let message = format!(
            "flow-control packets of {} lanes take {} every {period} on links of {slowest}: nothing else could be sent",
            credits.lanes,
            slowest.time_to_send(got)
        );
        return Err(Problem::new(message).help("a longer `parity.ib-omnet.period`, or a shorter `update`"));
    }
    if share > UPDATES {
        warn(format!(
            "flow-control packets of {} lanes every {period} take up to {:.0} % of links of {slowest}",
            credits.lanes,
            100.0 * share
        ));
    }
    Ok(())
}

/// Returns the rate of `bytes` per `time`, Gbit/s.
fn gbps(bytes: u64, time: Span) -> f64 {
    bytes as f64 * 8e3 / time.as_ps() as f64
}

/// Returns the number of packets that a link carries in `time`, rounded up.
fn packets_of(rate: BitRate, time: Span, mtu: Bytes) -> u64 {
    rate.bytes_in(time).get().div_ceil(mtu.get().max(1))
}
