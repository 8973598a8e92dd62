//! Single quirks, which override those of the fidelity: `[quirks]`.

use paceline_fabric::spec;
use serde::{Deserialize, Serialize};

/// Declares the quirks. One that a scenario leaves out is as in its fidelity.
macro_rules! switches {
    ($($name:ident,)*) => {
        /// Quirks as written in `[quirks]`.
        #[derive(Clone, Debug, Default, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
        pub(crate) struct Quirks {
            $(
                #[serde(skip_serializing_if = "Option::is_none")]
                pub(crate) $name: Option<bool>,
            )*
        }

        impl Quirks {
            /// Returns all quirks, after filling in absent ones from `fidelity`.
            pub(crate) fn fill(&mut self, fidelity: spec::Quirks) -> spec::Quirks {
                spec::Quirks {
                    $($name: *self.$name.get_or_insert(fidelity.$name),)*
                }
            }
        }
    };
}

switches! {
    truncate_to_ns,
    int_wire_precision,
    wakeup_suppression,
    lazy_qp_removal,
    ack_threshold,
    ack_nic_class,
    ack_high_priority,
    mark_acks,
    ignore_duplicates,
    wrapping_threshold,
    hpcc_divides_by_window,
    ideal_by_formula,
    last_parallel_link_only,
    next_hops_as_found,
    ns3_random,
    pint_approximate_logs,
    repaces_unpaced,
    receiver_forgets,
    unsigned_in_flight,
    whole_chunks_only,
    first_path_found,
    lost_bytes_stay,
    hash_ordered_qps,
    shift_rounds_up,
    floor_to_ns,
    gentle_failures,
    hash_hosts_only,
}
