use super::*;

/// Returns a sender that has sent packets 0 to `sent` - 1 of 1000.
fn sender(sent: u32) -> Sender {
    let mut sender = Sender::default();
    sender.begin(1000, u32::MAX);
    sender.next = sent;
    sender
}

impl Sender {
    /// Takes a NACK for the gap at `una` that packet `packet` revealed.
    fn nack(&mut self, una: u32, packet: u32) -> bool {
        self.acknowledge(una, Some(Arrived::Whole(packet)), Some(0), 0)
    }
    /// Returns the packets that are retransmitted now.
    fn resends(&mut self, now: u64) -> Vec<u32> {
        std::iter::from_fn(|| self.resend(now)).collect()
    }
}

/// Packet 4 of ten is lost. 5 reveals it, 6 to 9 reveal nothing new, and it is retransmitted once.
#[test]
fn one_loss() {
    let mut sender = sender(10);
    assert!(!sender.acknowledge(4, None, Some(0), 0));
    assert!(!sender.dirty, "without losses nothing is written down");
    assert!(sender.nack(4, 5));
    assert_eq!(sender.resends(1), [4]);
    for packet in 6..10 {
        assert!(!sender.nack(4, packet));
        assert!(sender.resends(2).is_empty());
    }
    assert!(sender.recovering && sender.until == 10);
    assert_eq!(sender.sacked_bytes(1000, 1_000_000), 5000);
    // The retransmission arrives: everything is acknowledged, and recovery is over.
    assert!(!sender.acknowledge(10, None, Some(1), 0));
    assert!(!sender.recovering && !sender.dirty);
    assert_eq!(sender.sacked_bytes(1000, 1_000_000), 0);
}

/// Packets 2, 3 and 6 are lost: the first NACK reveals two of them, that of 7 the third.
#[test]
fn several_losses() {
    let mut sender = sender(9);
    assert!(sender.nack(2, 4));
    assert_eq!(sender.resends(1), [2, 3]);
    assert!(!sender.nack(2, 5));
    assert!(sender.nack(2, 7));
    assert_eq!(sender.resends(2), [6]);
    assert!(!sender.nack(2, 8));
    // 2 arrives, then 3, then 6; each acknowledges all up to the next gap.
    for (una, sent_at) in [(3, 1), (6, 1), (9, 2)] {
        assert!(!sender.acknowledge(una, None, Some(sent_at), 0));
        assert!(sender.resends(3).is_empty());
    }
    assert!(!sender.dirty);
}

/// Recovery lasts until everything sent before the last retransmission is acknowledged.
#[test]
fn recovery_sequence() {
    let mut sender = sender(5);
    sender.nack(1, 2);
    assert_eq!(sender.until, 5);
    sender.next = 8;
    assert_eq!(sender.resends(1), [1]);
    assert_eq!(sender.until, 8);
    sender.acknowledge(7, None, Some(1), 0);
    assert!(sender.recovering);
    sender.acknowledge(8, None, Some(1), 0);
    assert!(!sender.recovering);
}

/// The retransmission is lost: only the timeout repeats it, and with it every gap.
#[test]
fn loss_of_a_retransmission() {
    let mut sender = sender(8);
    sender.nack(1, 3);
    assert_eq!(sender.resends(1), [1, 2]);
    for packet in 4..8 {
        assert!(!sender.nack(1, packet));
    }
    assert!(sender.resends(2).is_empty());
    // 2 arrived, 1 did not.
    assert!(!sender.nack(1, 2));
    assert!(sender.resends(3).is_empty());
    sender.time_out(0);
    assert_eq!(sender.resends(4), [1], "2 is not missing any more");
    sender.acknowledge(8, None, Some(4), 0);
    assert!(!sender.dirty);
}

/// The last three packets are lost. After the timeout, each acknowledgement of a retransmission shows that the next
/// packet is missing too.
#[test]
fn loss_of_the_tail() {
    let mut sender = sender(6);
    sender.acknowledge(3, None, Some(0), 0);
    sender.time_out(0);
    assert_eq!(sender.resends(10), [3]);
    assert!(sender.acknowledge(4, None, Some(10), 0));
    assert_eq!(sender.resends(20), [4]);
    assert!(sender.acknowledge(5, None, Some(20), 0));
    assert_eq!(sender.resends(30), [5]);
    assert!(!sender.acknowledge(6, None, Some(30), 0));
    assert!(!sender.dirty);
}

/// The timeout was too short: acknowledgements of packets sent before the retransmission do not make the sender repeat
/// everything.
#[test]
fn a_timeout_too_early() {
    let mut sender = sender(6);
    sender.time_out(0);
    assert_eq!(sender.resends(10), [0]);
    for una in 1..=5 {
        assert!(!sender.acknowledge(una, None, Some(u64::from(una)), 0));
        assert!(sender.resends(20).is_empty());
    }
    sender.acknowledge(6, None, Some(6), 0);
    assert!(!sender.dirty);
}

/// With `reordering = 3` a packet is lost once one has arrived that is more than 3 beyond it.
#[test]
fn reordering() {
    let mut sender = sender(10);
    for packet in [3, 4, 5] {
        assert!(
            !sender.acknowledge(2, Some(Arrived::Whole(packet)), Some(0), 3),
            "{packet}"
        );
    }
    assert!(sender.resends(1).is_empty());
    let mut late = sender.clone();
    assert!(!late.acknowledge(6, None, Some(0), 3), "it was only late");
    assert!(!late.dirty);
    assert!(sender.acknowledge(2, Some(Arrived::Whole(6)), Some(0), 3));
    assert_eq!(sender.resends(1), [2]);
}

/// Trimmed packets are lost at once, each time; what arrived is not retransmitted.
#[test]
fn trimmed() {
    let mut sender = sender(8);
    assert!(sender.acknowledge(0, Some(Arrived::Trimmed(4)), Some(0), 0));
    assert!(!sender.acknowledge(0, Some(Arrived::Trimmed(4)), Some(0), 0));
    assert_eq!(sender.resends(1), [4]);
    assert!(!sender.nack(4, 5));
    assert!(sender.resends(2).is_empty());
    // The retransmission is trimmed too.
    assert!(sender.acknowledge(4, Some(Arrived::Trimmed(4)), Some(1), 0));
    assert_eq!(sender.resends(3), [4]);
    assert!(
        !sender.acknowledge(0, Some(Arrived::Trimmed(3)), Some(0), 0),
        "old news"
    );
    assert!(!sender.acknowledge(8, None, Some(3), 0));
    assert!(!sender.dirty);
}

/// Pacing holds the retransmission back: until it has left, acknowledgements of packets sent before do not show that
/// the next one is lost.
#[test]
fn recovery_without_a_retransmission() {
    let mut sender = sender(10);
    assert!(sender.acknowledge(2, Some(Arrived::Trimmed(6)), None, 0));
    assert!(!sender.acknowledge(3, None, Some(5), 0));
    assert_eq!(sender.resends(7), [6]);
    assert!(!sender.acknowledge(4, None, Some(6), 0));
    assert!(sender.resends(8).is_empty());
}

/// A queue pair's next flow inherits nothing from the last one.
#[test]
fn memory_is_kept_and_empty() {
    let mut sender = sender(500);
    sender.nack(1, 400);
    sender.begin(10, 5);
    assert_eq!(
        (sender.sacked.count(), sender.lost.count(), sender.resent.count()),
        (0, 0, 0)
    );
    sender.next = 5;
    assert!(sender.nack(2, 4));
    assert_eq!(sender.resends(1), [2, 3]);
}
