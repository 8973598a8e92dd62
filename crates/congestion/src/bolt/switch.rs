//! The switch's half of Bolt: what an egress port does about every packet that will leave through it.

use super::{DEC, FIRST, INC, LAST};

/// The state of one egress port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BoltPort {
    /// PRU tokens: packets whose senders send no more after them.
    pub pru: u32,
    /// The SM token: what the port could have sent and was not given, less what it was given and
    /// could not send. In whatever unit the caller measures packets, time or bytes.
    pub sm: i64,
    /// When the last packet came, in ps.
    pub last: u64,
}

/// What a port goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoltRules {
    /// Bytes in the queue that are congestion.
    pub threshold: u32,
    /// Whether congestion is told to the sender at once (SRC).
    pub src: bool,
    /// Whether the end of a flow leaves tokens (PRU).
    pub pru: bool,
    /// Whether unused capacity is handed out (SM).
    pub sm: bool,
    /// PRU tokens that a port can hold.
    pub pru_max: u32,
}

/// What becomes of a data packet's tag, and of what the port has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The tag with which it goes on.
    pub tag: u8,
    /// Who is told of the port's congestion.
    pub report: Report,
}

/// Who is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// Nobody.
    None,
    /// The sender, in a packet of its own (SRC).
    Sender,
    /// The data packet, whose ACK will bring it to the sender.
    Packet,
}

impl BoltPort {
    /// Supply and demand, at every packet: `gained` is what the port could have sent since the last
    /// one, `spent` the packet, `full` a full packet.
    #[inline]
    pub fn supply(&mut self, gained: i64, spent: i64, full: i64) {
        self.sm = self.sm.saturating_add(gained).saturating_sub(spent).min(full);
    }

    /// Algorithm 1 for a data packet that finds `queue` bytes before it: see the scheme's page,
    /// equations (2) to (5).
    #[inline]
    pub fn judge(&mut self, rules: &BoltRules, queue: u32, tag: u8, full: i64) -> Verdict {
        if queue >= rules.threshold {
            return Self::congested(rules, tag);
        }
        let tag = if tag & LAST != 0 {
            if tag & FIRST == 0 && rules.pru {
                self.pru = (self.pru + 1).min(rules.pru_max);
            }
            tag
        } else if tag & INC != 0 && !self.grant(rules, full) {
            tag & !INC
        } else {
            tag
        };
        Verdict {
            tag,
            report: Report::None,
        }
    }

    /// Only the first congested port of a packet's way tells the sender.
    fn congested(rules: &BoltRules, tag: u8) -> Verdict {
        let report = match (rules.src, tag & DEC != 0) {
            (true, false) => Report::Sender,
            (true, true) => Report::None,
            (false, _) => Report::Packet,
        };
        Verdict {
            tag: (tag | DEC) & !INC,
            report,
        }
    }

    /// Whether a token is there for one more packet per round trip; it is taken.
    fn grant(&mut self, rules: &BoltRules, full: i64) -> bool {
        if rules.pru && self.pru > 0 {
            self.pru -= 1;
            true
        } else if rules.sm && self.sm >= full {
            self.sm -= full;
            true
        } else {
            false
        }
    }
}
