//! Errors of links and link-level retry: `[[network.link-error]]`, `[network.llr]`.

use paceline_congestion::params::{When, if_so, is, is_not};
use paceline_fabric::spec::{Fault, Fec};
use paceline_kernel::{Bytes, Span, Time};
use toml::Spanned;

use super::{NodeItem, OrAuto, tables};

/// Runs in which links have retry.
const RETRIES: When = &[&[is_not(".links", &["[]"])]];

tables! {
    /// Errors of links, in addition to network.error-rate: wrong bits, bursts of them, or faults by script. Each direction of each
    /// link has its own stream of random numbers.
    struct LinkError only(&[&[is("fidelity", &["exact"])]]) {
        /// links that have them: a list of tiers of links (`host`, `leaf-spine`) and of links by their nodes
        /// (`leaf 1-spine 3`), or `all`
        links: Spanned<Vec<String>> = "[\"all\"]";
        /// only the direction to this node, by its number or name
        towards: Spanned<NodeItem> => "both directions";
        /// probability that a bit is wrong, before error correction
        bits: Spanned<f64>;
        /// error correction: `none`, `kp4` (Reed-Solomon 544/514) or `ll` (272/258, half of the latency). A codeword that
        /// cannot be corrected makes all frames bad that lie in its group
        fec: Fec = "none", only(&[&[is_not(".bits", &[""])], &[is_not(".burst-bits", &[""])]]);
        /// codewords in a group
        interleave: Spanned<u32> => "4 (below 800Gbps 2, below 200Gbps 1)", only(&[&[is(".fec", &["kp4", "ll"])]]);
        /// probability that a bit is wrong during a burst; `bits` is that between bursts
        burst_bits: Spanned<f64>;
        /// mean time between bursts
        burst_every: Spanned<Span> = "1ms", only(&[&[is_not(".burst-bits", &[""])]]);
        /// mean length of a burst
        burst_length: Spanned<Span> = "1us", only(&[&[is_not(".burst-bits", &[""])]]);
        /// instead of random errors: frames that arrive `bad`, are `gone`, or arrive `poisoned` (marked as damaged before);
        /// `acks` or `nacks` of link-level retry, `credits` (updates of credits) or `counts` (CC_Updates) that do not arrive;
        /// `dark`: nothing arrives
        fault: Fault;
        /// first and last frame that the fault strikes, counted from 0 in the order of arrival, [first, last]
        frames: Spanned<(u64, u64)> => "all", only(&[&[is(".fault", &["bad", "gone", "poisoned"])]]);
        /// start of the errors
        at: Spanned<Time> = "0s";
        /// end of the errors
        until: Spanned<Time> => "never";
    }
    /// Link-level retry (LLR) of scale-up Ethernet: a port numbers its frames, keeps them until the other end acknowledges
    /// them, and sends them again when the other end misses one. `links` turns it on. Keys have the names of the Switch
    /// Abstraction Interface's profile.
    struct Llr only(&[&[is("fidelity", &["exact"])]]) {
        /// links that have it, as in network.link-error; `["all"]` for all
        links: Spanned<Vec<String>> = "[]";
        /// frames that may be outstanding: sent, and not acknowledged
        outstanding_frames: Spanned<u32> = "524288", only(RETRIES);
        /// bytes of frames that may be outstanding, that is, the replay buffer of a port; `auto`: as much as the full rate
        /// of the link takes
        outstanding_bytes: Spanned<OrAuto<Bytes>> = "auto", only(RETRIES);
        /// time without progress after which all outstanding frames are sent again; `auto`: twice the time for which a
        /// frame is outstanding
        replay_timer: Spanned<OrAuto<Span>> = "auto", only(RETRIES);
        /// replays without progress after which a port gives up its frames: they are lost; 255 is no limit
        replay_count: Spanned<u32> = "255", only(RETRIES);
        /// age at which an outstanding frame, and with it all others, is given up
        data_age: Spanned<Span> = "4.2s", only(RETRIES);
        /// time without light after which a port gives up its frames
        pcs_lost: Spanned<Span> = "4.2s", only(&[&[RETRIES[0][0], if_so("a link that is dark")]]);
        /// least distance of an acknowledgement from the control ordered set before it
        ctlos_spacing: Spanned<Bytes> = "2048B", only(RETRIES);
        /// least distance of a negative acknowledgement
        ctlos_min: Spanned<Bytes> = "400B", only(RETRIES);
        /// answer an expected frame that is bad with another negative acknowledgement, even if one is under way; otherwise
        /// only the timer helps
        nack_again: bool = "true", only(RETRIES);
        /// begin again after frames were given up; otherwise the port stays silent
        re_init: bool = "true", only(RETRIES);
    }
}
