//! Switches with vendors' configurations pause where those switches do: T = alpha (size - used), where `size` is the
//! pool without headroom.

use paceline_lab::run::{Control, Resources, execute_on};
use paceline_scenario::{Overrides, load_text};

/// Vendor's profile of a switch: its pool, alpha as a power of two, size, headroom and xon, and the senders of the
/// incast.
struct Case {
    name: &'static str,
    pool: f64,
    power: i32,
    profile: &'static str,
    reserve: f64,
    senders: usize,
    hosts: usize,
}

/// Bytes of each input when the pool is shared out: q = alpha (pool - n q).
fn share(case: &Case) -> f64 {
    let alpha = 2f64.powi(case.power);
    alpha * case.pool / (1.0 + alpha * case.senders as f64)
}

#[test]
fn the_pool_of_a_switch_is_shared_out_as_there() {
    let small = "size = \"0\", xon_offset = \"2496\", xoff = \"165888\"";
    let cases = [
        // 250 KB each, 0.75 MB.
        Case {
            name: "alpha 1",
            pool: 1e6,
            power: 0,
            profile: small,
            reserve: 0.0,
            senders: 3,
            hosts: 4,
        },
        // 285.7 KB each, 0.857 MB.
        Case {
            name: "alpha 2",
            pool: 1e6,
            power: 1,
            profile: small,
            reserve: 0.0,
            senders: 3,
            hosts: 4,
        },
        // 90.9 KB each, 0.273 MB.
        Case {
            name: "an eighth",
            pool: 1e6,
            power: -3,
            profile: small,
            reserve: 0.0,
            senders: 3,
            hosts: 4,
        },
        // 467 KB each, 3.74 MB; the headroom of 32 ports is not taken out of the pool.
        Case {
            name: "32 ports",
            pool: 11_213_696.0,
            power: -4,
            profile: "size = \"1248\", xon_offset = \"2288\", xoff = \"165568\"",
            reserve: 1248.0,
            senders: 8,
            hosts: 32,
        },
        // Mellanox: 184320 = 18432 (reserve) + 165888 (headroom). 364 KB and the reserve each.
        Case {
            name: "xon + xoff",
            pool: 4e6,
            power: -3,
            profile: "size = \"184320\", xon = \"18432\", xon_offset = \"2496\", xoff = \"165888\"",
            reserve: 18_432.0,
            senders: 3,
            hosts: 4,
        },
    ];
    for case in &cases {
        let text = format!(
            "name = \"v\"\nduration = \"400us\"\n[topology.star]\nhosts = {}\nrate = \"100Gbps\"\ndelay = \"200ns\"\n\
             [vendor.sonic]\nBUFFER_POOL.ingress_lossless_pool.size = \"{}\"\n\
             BUFFER_PROFILE.pg = {{ {}, dynamic_th = \"{}\" }}\n\
             [[workload]]\nincast = {{ senders = \"2..{}\", receiver = 1, size = \"4MB\" }}\n\
             [network]\necn.curves = []\n[cc]\nscheme = \"none\"\n",
            case.hosts,
            case.pool,
            case.profile,
            case.power,
            case.senders + 1,
        );
        let input = load_text("v.toml", &text, &Overrides::default()).unwrap();
        let run = execute_on(&input, Resources::ONE_THREAD, &mut |_| Control::Continue).unwrap();
        let outcome = &run.outcome;
        let whole = (share(case) + case.reserve) * case.senders as f64;
        let queue = outcome.queue_max.get() as f64;
        // Packets in flight when the pauses took effect are added.
        let in_flight = 8_000.0 * case.senders as f64;
        assert!(
            whole <= queue && queue <= whole + in_flight,
            "{}: {queue} of {whole}",
            case.name
        );
        assert_eq!(outcome.counters.buffer_drops, 0, "{}", case.name);
    }
}
