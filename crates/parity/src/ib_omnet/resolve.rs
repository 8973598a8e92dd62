//! Resolution of `[parity.ib-omnet]`, and checks for features that InfiniBand networks lack.

use std::ops::RangeInclusive;

use paceline_congestion::{ibcc::omnet as ibcc, rrcc::omnet as rrcc};
use paceline_fabric::spec::{FlowControl, Model, Recovery, RunSpec};
use paceline_kernel::{Span, Time};
use paceline_scenario::guest::{
    Around, Cx, FlowControlKind, Guest, Net, Nodes, OrAuto, OrOff, Parity, Problem, Profile, REPRODUCED,
    Simulator, TableRow, above_zero, check_within, fill_at, fill_value, hosts, one_way, probability, within,
};
use paceline_scenario::traffic::PacedSource;
use toml::Spanned;

use super::keys::{ControlKind, IbOmnet as Keys, Ibcc, Rrcc};
use super::limits;
use super::spec::{Control, CreditSpec, Stall};

/// Returns the fidelity's registration.
pub(crate) fn guest() -> Guest {
    let table = TableRow::of::<Keys>(
        "ib-omnet",
        "settings of the InfiniBand simulator of RRCC's author",
    );
    Guest {
        profile: PROFILE,
        table: table.with::<Ibcc>("ibcc").with::<Rrcc>("rrcc"),
        simulator: &Steps,
    }
}

const PROFILE: Profile = Profile {
    name: "ib-omnet",
    own_network: true,
    mtu: 2048,
    // The simulator has no headers: a packet's size is its payload.
    headers: (0, 0, 0),
    flow_control: FlowControlKind::Credits,
    paced_messages: true,
    accounts: true,
    accounts_by_default: true,
    port_bins_up_to: 1024,
    ..REPRODUCED
};

const UNDERSHOOT: RangeInclusive<f64> = 1.0..=100.0;
const INCREASE: RangeInclusive<f64> = 0.0..=1e6;

/// Checks the fractions of `[parity.ib-omnet.rrcc]`, even if RRCC is not used.
fn check_fractions(cx: &Cx<'_>, table: &Rrcc) -> Result<(), Problem> {
    for (value, what, range) in [
        (&table.threshold, "the threshold", &(0.0..=1.0)),
        (&table.undershoot, "the undershoot", &UNDERSHOOT),
        (&table.increase, "the increase", &INCREASE),
    ] {
        if let Some(value) = value {
            check_within(cx, value, what, range)?;
        }
    }
    Ok(())
}

/// The simulator's steps of resolution.
pub(crate) struct Steps;

impl Simulator for Steps {
    fn name(&self) -> &'static str {
        "ib-omnet"
    }

    fn check_unused(&self, cx: &Cx<'_>, parity: &Parity) -> Result<(), Problem> {
        let table: Option<&Keys> = parity.get("ib-omnet");
        let rrcc = table.and_then(|table| table.rrcc.as_ref());
        rrcc.map_or(Ok(()), |rrcc| check_fractions(cx, rrcc))
    }

    fn model(
        &self,
        cx: &mut Cx<'_>,
        parity: &mut Parity,
        around: Around<'_>,
    ) -> Result<Option<Model>, Problem> {
        self.check_unused(cx, parity)?;
        let credits = settings(cx, parity, around.net, around.sources)?;
        limits::check(&credits, around.packet.mtu, around.links, cx)?;
        Ok(Some(Model::new(credits)))
    }

    fn check(&self, _cx: &Cx<'_>, run: &RunSpec) -> Result<(), Problem> {
        check(run)
    }
}

/// Reads the settings of a network under credits, and fills in defaults.
fn settings(
    cx: &Cx<'_>,
    parity: &mut Parity,
    net: &Net,
    sources: Vec<PacedSource>,
) -> Result<CreditSpec, Problem> {
    let (span, table) = parity.table::<Keys>("ib-omnet");
    let location = cx.place_at(span);
    let span = |slot: &mut Option<Spanned<Span>>, default: Span, what: &str| {
        above_zero(cx, &fill_at(slot, default), what)
    };
    let known = CreditSpec::ib_omnet();
    let lanes = within(
        cx,
        &mut table.lanes,
        known.lanes,
        "the number of virtual lanes",
        1..=15,
    )?;
    let weights = fill_at(
        &mut table.weights,
        [1, 20].into_iter().cycle().take(usize::from(lanes)).collect(),
    );
    if weights.get_ref().len() != usize::from(lanes) || weights.get_ref().contains(&0) {
        let message = format!(
            "{} weights for {lanes} virtual lanes: expected one each, above 0",
            weights.get_ref().len()
        );
        return Err(Problem::new(message).at(&cx.place(&weights)));
    }
    let control = control(cx, table)?;
    let rate = OrAuto(None);
    let marking_rate = match (fill_value(&mut table.marking_rate, rate).0, control) {
        (Some(rate), _) => rate,
        // The author's scenarios set 3 with IBCC.
        (None, Control::Ibcc(_)) => 3,
        (None, _) => 1,
    };
    let set = |slot: &mut Option<Spanned<Nodes>>| hosts(cx, net, &fill_at(slot, Nodes::all()));
    let lasts = span(&mut table.stall, Span::from_ns(1), "a stall")?;
    let every = fill_value(
        &mut table.stall_every,
        OrOff(known.stall.map(|stall| stall.every)),
    )
    .0;
    let update = above_zero(
        cx,
        &fill_at(&mut table.update, known.update),
        "a flow-control packet",
    )?;
    // Packets hold their wire size in 16 bits.
    if update.get() > 65_000 {
        return Err(Problem::new(format!(
            "a flow-control packet of {update}: expected 65000B at most"
        ))
        .at(&location));
    }
    Ok(CreditSpec {
        lanes,
        weights: weights.into_inner(),
        buffer: within(
            cx,
            &mut table.buffer,
            known.buffer,
            "the buffer of a lane",
            1..=1_000_000,
        )?,
        period: span(&mut table.period, known.period, "the period of flow control")?,
        update,
        fifo: within(
            cx,
            &mut table.output_queue,
            known.fifo,
            "the queue of an output",
            2..=1_000_000,
        )?,
        host_queue: within(
            cx,
            &mut table.host_queue,
            known.host_queue,
            "the queue of a host",
            1..=1_000_000,
        )?,
        input_delay: fill_value(&mut table.input_delay, known.input_delay),
        output_delay: fill_value(&mut table.output_delay, known.output_delay),
        switch_arbitration: span(
            &mut table.switch_arbitration,
            known.switch_arbitration,
            "an arbitration",
        )?,
        host_arbitration: span(
            &mut table.host_arbitration,
            known.host_arbitration,
            "an arbitration",
        )?,
        host_packet: span(
            &mut table.host_packet,
            known.host_packet,
            "what a host takes for a packet",
        )?,
        stall: every.map(|every| Stall { every, lasts }),
        marking_rate,
        control,
        controlled: set(&mut table.controlled)?,
        notified: Some(set(&mut table.notified)?),
        sources,
        trace: match fill_value(&mut table.log, false) {
            true => vec![(Time::ZERO, cx.stop())],
            false => Vec::new(),
        },
    })
}

fn control(cx: &Cx<'_>, table: &mut Keys) -> Result<Control, Problem> {
    Ok(match fill_value(&mut table.control, ControlKind::None) {
        ControlKind::None => Control::None,
        ControlKind::Ibcc => {
            let table = table.ibcc.get_or_insert_default();
            let known = ibcc::Params::with_timer(Span::from_us(30));
            Control::Ibcc(ibcc::Params {
                limit: within(cx, &mut table.limit, known.limit, "the largest index", 1..=1023)?,
                timer: above_zero(cx, &fill_at(&mut table.timer, known.timer), "the timer")?,
                delay: fill_value(&mut table.delay, known.delay),
                at: within(cx, &mut table.at, known.at, "the index of the delay", 1..=1023)?,
            })
        }
        ControlKind::Rrcc => {
            let table = table.rrcc.get_or_insert_default();
            let known = rrcc::Params::default();
            let threshold = fill_at(&mut table.threshold, known.threshold);
            Control::Rrcc(rrcc::Params {
                window: above_zero(cx, &fill_at(&mut table.window, known.window), "the window")?,
                threshold: probability(cx, &threshold, "the threshold")?,
                undershoot: within(
                    cx,
                    &mut table.undershoot,
                    known.undershoot,
                    "the undershoot",
                    UNDERSHOOT,
                )?,
                increase: within(cx, &mut table.increase, known.increase, "the increase", INCREASE)?,
                after: fill_value(&mut table.after, known.after),
            })
        }
    })
}

/// Rejects features that the network does not have: schemes, other kinds of recovery, and per-packet load balancing.
fn check(run: &RunSpec) -> Result<(), Problem> {
    let (switch, nic) = (&run.switch, &run.nic);
    let scheme = run.schemes[0].config.name();
    debug_assert_eq!(switch.flow_control, FlowControl::None);
    let refuse = |what: &str, help: &str| {
        Err(
            Problem::new(format!("{what} in ib-omnet fidelity: that simulator has none"))
                .help(format!("write {help}")),
        )
    };
    if scheme != "none" {
        let what = format!("`{scheme}`");
        return refuse(
            &what,
            "`cc.scheme = \"none\"`, and `parity.ib-omnet.control = \"ibcc\"` or `\"rrcc\"`",
        );
    }
    if nic.recovery != Recovery::GoBackN || nic.endpoint.is_some() {
        return refuse(
            "selective repeat, or hosts that take time",
            "neither: its hosts have times of their own",
        );
    }
    if !one_way(run) {
        return refuse(
            "load balancing by packets or flowlets",
            "`load-balancing = \"ecmp\"`",
        );
    }
    Ok(())
}
