use super::*;

#[test]
fn a_byte_at_round_rates_is_a_whole_number_of_picoseconds() {
    for (gbps, ps) in [(100, 80), (200, 40), (400, 20), (800, 10)] {
        assert_eq!(
            BitRate::from_gbps(gbps).time_to_send(Bytes::new(1)),
            Span::from_ps(ps)
        );
    }
    // 1000 B at 3 Gbit/s take 2666.67 ns, rounded up.
    assert_eq!(
        BitRate::from_gbps(3).time_to_send(Bytes::new(1000)),
        Span::from_ps(2_666_667)
    );
    // The product exceeds 64 bits before the division.
    assert_eq!(
        BitRate::from_gbps(8).time_to_send(Bytes::new(1 << 40)),
        Span::from_ps((1 << 40) * 1000)
    );
    // Neither the time nor the number of bytes fits into 64 bits.
    assert_eq!(BitRate::from_bps(1).time_to_send(Bytes::LARGEST), Span::MAX);
    assert_eq!(BitRate::from_bps(u64::MAX).bytes_in(Span::MAX), Bytes::MAX);
}

#[test]
fn what_is_too_large_is_refused_with_the_largest() {
    for text in [
        "86400.000000000001s",
        "9223372036854775807ps",
        "99999999999999999999999999s",
    ] {
        let error = text.parse::<Span>().unwrap_err().to_string();
        assert_eq!(error, format!("`{text}` is too large: expected at most 86400s"));
        assert!(text.parse::<Time>().is_err());
    }
    assert_eq!("86400s".parse::<Time>().unwrap(), Time::LATEST);
    assert!(
        "1001TB"
            .parse::<Bytes>()
            .unwrap_err()
            .to_string()
            .ends_with("at most 1000TB")
    );
    assert!(
        "1001Tbps"
            .parse::<BitRate>()
            .unwrap_err()
            .to_string()
            .ends_with("at most 1000Tbps")
    );
}

#[test]
fn quantities_read_and_write() {
    assert_eq!("1.5us".parse::<Span>().unwrap(), Span::from_ps(1_500_000));
    assert_eq!("100 Gbps".parse::<BitRate>().unwrap(), BitRate::from_gbps(100));
    assert_eq!(
        "50Mb/s".parse::<BitRate>().unwrap(),
        BitRate::from_bps(50_000_000)
    );
    assert_eq!("64KiB".parse::<Bytes>().unwrap(), Bytes::new(65536));
    for text in ["1us", "2.5ms", "87ns", "1s"] {
        assert_eq!(text.parse::<Span>().unwrap().to_string(), text);
    }
    for text in ["32MiB", "500KB", "1B", "1.048KB"] {
        assert_eq!(text.parse::<Bytes>().unwrap().to_string(), text);
    }
    assert_eq!(
        "100".parse::<BitRate>().unwrap_err().to_string(),
        "`100` has no unit: write for example \"100Gbps\""
    );
    assert_eq!(
        "1 sec".parse::<Span>().unwrap_err().to_string(),
        "unknown unit `sec`: expected s, ms, us, ns or ps"
    );
}

proptest::proptest! {
    #[test]
    fn what_is_written_reads_back(
        ps in 0..=86_400_000_000_000_000u64,
        bytes in 0..=1_000_000_000_000_000u64,
        bps in 0..=1_000_000_000_000_000u64,
    ) {
        proptest::prop_assert_eq!(Span::from_ps(ps).to_string().parse::<Span>().unwrap(), Span::from_ps(ps));
        proptest::prop_assert_eq!(Bytes::new(bytes).to_string().parse::<Bytes>().unwrap(), Bytes::new(bytes));
        proptest::prop_assert_eq!(BitRate::from_bps(bps).to_string().parse::<BitRate>().unwrap(), BitRate::from_bps(bps));
    }
}
