//! Resolution of `[parity.bolt-ns3]`, and checks for unsupported features.

use paceline_congestion::registry::{SCHEMES, Scheme};
use paceline_fabric::spec::{Accounted, FlowControl, Model, Quirks, Recovery, RunSpec};
use paceline_kernel::Span;
use paceline_scenario::guest::{
    Around, Cx, FlowControlKind, Formula, Guest, Parity, Problem, Profile, REPRODUCED, Simulator, TableRow,
    fill_at, one_way,
};
use toml::Spanned;

use super::keys::Keys;
use super::spec::{BoltNs3Spec, has_scheme};
use crate::filled;

/// Returns the simulator's quirks.
pub fn quirks() -> Quirks {
    Quirks {
        floor_to_ns: true,
        ideal_by_formula: true,
        gentle_failures: true,
        hash_hosts_only: true,
        ..Quirks::default()
    }
}

/// Returns the fidelity's registration.
pub(crate) fn guest() -> Guest {
    Guest {
        profile: PROFILE,
        table: TableRow::of::<Keys>("bolt-ns3", "settings of the simulator of Bolt's authors"),
        simulator: &Steps,
    }
}

const PROFILE: Profile = Profile {
    name: "bolt-ns3",
    // HPCC's formula with a full packet and its headers counted twice per link.
    formula: Some(Formula {
        name: "bolt-formula",
        author: "the formula of Bolt's authors",
    }),
    own_network: true,
    quirks,
    mtu: 1459,
    headers: (41, 41, 0),
    scheme_headers: false,
    framing: 2,
    rto: Some(Span::from_us(10_000)),
    flow_control: FlowControlKind::None,
    has_tiers: false,
    has_detectors: false,
    ..REPRODUCED
};

/// The simulator's steps of resolution.
pub(crate) struct Steps;

impl Simulator for Steps {
    fn name(&self) -> &'static str {
        "bolt-ns3"
    }

    fn model(
        &self,
        cx: &mut Cx<'_>,
        parity: &mut Parity,
        _around: Around<'_>,
    ) -> Result<Option<Model>, Problem> {
        settings(cx, parity).map(|spec| Some(Model::new(spec)))
    }

    fn check(&self, _cx: &Cx<'_>, run: &RunSpec) -> Result<(), Problem> {
        check(run)
    }
}

/// Reads the simulator's settings.
fn settings(cx: &Cx<'_>, parity: &mut Parity) -> Result<BoltNs3Spec, Problem> {
    let default = BoltNs3Spec::default();
    let (_, table) = parity.table::<Keys>("bolt-ns3");
    let above_zero = |slot: &mut Option<Spanned<u32>>, default: u32, what: &str| {
        let value = fill_at(slot, default);
        match value.get_ref() {
            0 => Err(Problem::new(format!("{what} is zero"))
                .at(&cx.place(&value))
                .label("expected at least 1")),
            _ => Ok(value.into_inner()),
        }
    };
    Ok(BoltNs3Spec {
        ports: filled!(table.ports: Keys),
        threshold: filled!(table.threshold: Keys).0,
        buffer_packets: above_zero(&mut table.buffer_packets, default.buffer_packets, "the buffer")?,
        src_factor: above_zero(&mut table.src_factor, default.src_factor, "the factor of SRCs")?,
        share_flows: filled!(table.share_flows: Keys),
        strikes: above_zero(&mut table.strikes, default.strikes, "the number of strikes")?,
        window_pause: filled!(table.window_pause: Keys),
        sm_drift: filled!(table.sm_drift: Keys),
        inc_kept_by_hosts: filled!(table.inc_kept_by_hosts: Keys),
        src_drain_time: filled!(table.src_drain_time: Keys),
        ungated_halving: filled!(table.ungated_halving: Keys),
        swift_beta_sign: filled!(table.swift_beta_sign: Keys),
        swift_double_update: filled!(table.swift_double_update: Keys),
    })
}

/// Rejects features that the simulator lacks. It has few schemes over queues that drop, go-back-N, and one path per
/// pair of hosts.
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

/// Lists the schemes that the simulator has.
fn its_schemes() -> impl Iterator<Item = &'static Scheme> {
    SCHEMES.iter().filter(|scheme| has_scheme(scheme.name))
}
