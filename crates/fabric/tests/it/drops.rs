//! Lost packets one by one: as many of each cause as are counted, and recording them changes nothing.

use crate::common::run;
use crate::networks::{build, case};
use paceline_fabric::probes::{Lost, LostPacket};
use paceline_fabric::spec::RecordSpec;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: paceline_testkit::cases(400), ..ProptestConfig::default() })]

    #[test]
    fn each_lost_packet_is_a_row(case in case(&["none", "dcqcn", "dctcp", "swift", "nscc", "bolt", "pcn"])) {
        let mut spec = build(&case);
        spec.record = RecordSpec { drops: true, ..RecordSpec::default() };
        let outcome = run(spec.clone());
        let rows: &[LostPacket] = outcome.tables.rows();
        prop_assert!(rows.is_sorted_by_key(|row| row.time_ps));
        let of = |causes: &[Lost]| rows.iter().filter(|row| causes.contains(&row.why)).count() as u64;
        let counted = outcome.counters;
        prop_assert_eq!(of(&[Lost::Buffer, Lost::Watchdog]), counted.buffer_drops);
        prop_assert_eq!(of(&[Lost::Watchdog]), counted.watchdog_drops);
        prop_assert_eq!(of(&[Lost::Link, Lost::Route]), counted.link_drops);
        spec.record.drops = false;
        let plain = run(spec);
        prop_assert_eq!((plain.digest, plain.counters), (outcome.digest, counted));
        prop_assert!(!plain.tables.has::<LostPacket>());
    }
}
