//! `[parity.bolt-ns3]`, and what that simulator does not have.

use paceline_congestion::registry::{SCHEMES, Scheme};
use paceline_fabric::spec::{Accounted, FlowControl, Model, Recovery, RunSpec};
use paceline_parity::bolt_ns3::{BoltNs3Spec, has_scheme};
use toml::Spanned;

use crate::diagnostics::Problem;
use crate::schema;

use super::Cx;
use super::fill::{fill_at, filled};
use super::simulator::{Around, Simulator, one_way};

/// The simulator of Bolt's authors.
pub(super) struct BoltNs3;

impl Simulator for BoltNs3 {
    fn name(&self) -> &'static str {
        "bolt-ns3"
    }

    fn model(
        &self,
        cx: &mut Cx<'_>,
        parity: &mut schema::Parity,
        _around: Around<'_>,
    ) -> Result<Option<Model>, Problem> {
        settings(cx, parity).map(|spec| Some(Model::new(spec)))
    }

    fn check(&self, _cx: &Cx<'_>, run: &RunSpec) -> Result<(), Problem> {
        check(run)
    }
}

/// What the simulator is told.
fn settings(cx: &Cx<'_>, parity: &mut schema::Parity) -> Result<BoltNs3Spec, Problem> {
    let default = BoltNs3Spec::default();
    let table = parity
        .bolt_ns3
        .get_or_insert_with(|| Spanned::new(0..0, schema::BoltNs3::default()))
        .get_mut();
    let texts = cx.texts;
    let above_zero = |slot: &mut Option<Spanned<u32>>, default: u32, what: &str| {
        let value = fill_at(slot, default);
        match value.get_ref() {
            0 => Err(Problem::new(format!("{what} is zero"))
                .at(&texts.of_value(&value))
                .label("expected at least 1")),
            _ => Ok(value.into_inner()),
        }
    };
    Ok(BoltNs3Spec {
        ports: filled!(table.ports: BoltNs3),
        threshold: filled!(table.threshold: BoltNs3).0,
        buffer_packets: above_zero(&mut table.buffer_packets, default.buffer_packets, "the buffer")?,
        src_factor: above_zero(&mut table.src_factor, default.src_factor, "the factor of SRCs")?,
        share_flows: filled!(table.share_flows: BoltNs3),
        strikes: above_zero(&mut table.strikes, default.strikes, "the number of strikes")?,
        window_pause: filled!(table.window_pause: BoltNs3),
        sm_drift: filled!(table.sm_drift: BoltNs3),
        inc_kept_by_hosts: filled!(table.inc_kept_by_hosts: BoltNs3),
        src_drain_time: filled!(table.src_drain_time: BoltNs3),
        ungated_halving: filled!(table.ungated_halving: BoltNs3),
        swift_beta_sign: filled!(table.swift_beta_sign: BoltNs3),
        swift_double_update: filled!(table.swift_double_update: BoltNs3),
    })
}

/// What the simulator has is a few schemes over queues that drop, go-back-N, and one path for two hosts.
fn check(run: &RunSpec) -> Result<(), Problem> {
    let (switch, nic) = (&run.switch, &run.nic);
    let refuse = |what: &str, help: &str| {
        let message = format!("{what} in bolt-ns3 fidelity: that simulator has none");
        Err(Problem::new(message).help(format!("write `{help}`, or `fidelity = \"exact\"`")))
    };
    let mut schemes = run.schemes.iter().map(|scheme| &scheme.config);
    if let Some(scheme) = schemes.find(|scheme| !has_scheme(scheme.name())) {
        let has: Vec<String> = its_schemes().map(|scheme| format!("`{}`", scheme.name)).collect();
        let message = format!(
            "`{}` in bolt-ns3 fidelity: that simulator has {} only",
            scheme.name(),
            has.join(" and ")
        );
        return Err(Problem::new(message).help(format!(
            "write `fidelity = \"exact\"`, or choose {}",
            has.join(" or ")
        )));
    }
    if switch.flow_control != FlowControl::None {
        return refuse("PFC", "flow-control = \"none\"");
    }
    if nic.recovery != Recovery::GoBackN {
        return refuse("selective repeat", "recovery = \"go-back-n\"");
    }
    if nic.endpoint.is_some() {
        return refuse("hosts that take time", "no [network.endpoint]");
    }
    if !one_way(run) {
        return refuse(
            "load balancing by packets or flowlets",
            "load-balancing = \"ecmp\"",
        );
    }
    if run.record.accounts != Accounted::None {
        return refuse("accounts of flows' time", "accounts = \"off\"");
    }
    Ok(())
}

/// The schemes that the simulator has.
fn its_schemes() -> impl Iterator<Item = &'static Scheme> {
    SCHEMES.iter().filter(|scheme| has_scheme(scheme.name))
}
