//! DCQCN's parameters as NVIDIA's ConnectX NICs name them.

/// A parameter of a vendor's NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VendorName {
    /// Its name (in capitals in the firmware's configuration).
    pub name: &'static str,
    /// The parameter here; `None` if it is not modelled.
    pub ours: Option<&'static str>,
    /// Its unit there, and what a value is here; or why there is nothing.
    pub about: &'static str,
}

const fn is(name: &'static str, ours: &'static str, about: &'static str) -> VendorName {
    VendorName {
        name,
        ours: Some(ours),
        about,
    }
}

const fn missing(name: &'static str, about: &'static str) -> VendorName {
    VendorName {
        name,
        ours: None,
        about,
    }
}

/// The names in NVIDIA's table of DCQCN parameters, in its order.
pub const NAMES: &[VendorName] = &[
    is(
        "dce_tcp_g",
        "g",
        "in 1024ths, of the old alpha: g is 1 - dce_tcp_g/1024, so 1019 is g = 0.0048828125",
    ),
    is("dce_tcp_rtt", "alpha-interval", "in microseconds: 1 is \"1us\""),
    is(
        "initial_alpha_value",
        "initial-alpha",
        "in 1024ths: 1023 is 0.9990234375",
    ),
    is(
        "rate_to_set_on_first_cnp",
        "rate-on-first-cnp",
        "in Mbit/s, 0 for no change; here a share of the rate: 0 is 1.0, and 50000 on a line of 100 Gbit/s is 0.5",
    ),
    missing(
        "rpg_min_dec_fac",
        "the largest cut, in percent: a cut here takes alpha/2, so at most 50 %, which is the NIC's default",
    ),
    is("rpg_min_rate", "min-rate", "in Mbit/s: 1 is \"1Mbps\""),
    missing(
        "rpg_gd",
        "how much of alpha a cut takes: always alpha/2 here, which is 11, the NIC's default (10 is alpha)",
    ),
    is(
        "rate_reduce_monitor_period",
        "cut-interval",
        "in microseconds: 4 is \"4us\"",
    ),
    is("clamp_tgt_rate", "clamp-target", "1 is true, 0 is false"),
    missing(
        "clamp_tgt_rate_after_time_inc",
        "a cut after an increase by the timer sets the target rate here, as with 1",
    ),
    is("rpg_threshold", "fast-recovery-stages", "the same number"),
    is(
        "rpg_time_reset",
        "increase-timer",
        "in microseconds: 300 is \"300us\"",
    ),
    is(
        "rpg_byte_reset",
        "byte-counter",
        "in bytes, with flavour = \"paper\" only: flavour nic increases by time alone",
    ),
    is("rpg_ai_rate", "rate-ai", "in Mbit/s: 5 is \"5Mbps\""),
    is("rpg_hai_rate", "rate-hai", "in Mbit/s: 50 is \"50Mbps\""),
    missing("rpg_max_rate", "the highest rate is the line's here, as with 0"),
    is(
        "min_time_between_cnps",
        "cnp-interval",
        "in microseconds: 4 is \"4us\"",
    ),
    missing("cnp_dscp", "notifications have no DSCP here"),
    missing(
        "cnp_802p_prio",
        "notifications have no priority of their own here",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Parameters as _;

    #[test]
    fn the_names_lead_to_parameters() {
        let docs = super::super::Params::docs();
        for vendor in NAMES {
            let is_known = |ours: &str| docs.iter().any(|doc| doc.name == ours);
            assert!(vendor.ours.is_none_or(is_known), "{}", vendor.name);
        }
    }
}
