//! What help says of the schemes: a change of a default or a range shows here.

use std::fmt::Write as _;

use paceline_congestion::registry::SCHEMES;

#[test]
fn schemes_and_their_parameters() {
    let mut text = String::new();
    for scheme in SCHEMES {
        let aliases: Vec<_> = scheme.aliases.iter().map(|alias| alias.name).collect();
        writeln!(
            text,
            "{} [{}] window {:?}",
            scheme.name,
            aliases.join(" "),
            scheme.default_window
        )
        .unwrap();
        for doc in (scheme.params)() {
            assert!(!doc.help.is_empty() && !doc.source.is_empty());
            writeln!(text, "  {} = {}; {}", doc.name, doc.default, doc.range).unwrap();
        }
    }
    insta::assert_snapshot!(text, @r"
    none [] window Off
    dcqcn [dcqcn-win dcqcn-paper] window Off
      flavour = nic; one of nic, paper
      cnp-interval = 0ps (nic), 50us (paper); at least 0
      g = 0.00390625; above 0, at most 1
      alpha-interval = 1us (nic), 55us (paper); above 0
      cut-interval = 4us; above 0
      increase-timer = 300us (nic), 55us (paper); above 0
      byte-counter = 10MB; above 0
      fast-recovery-stages = 1 (nic), 5 (paper); at least 0
      rate-ai = auto; above 0
      rate-hai = auto; above 0
      min-rate = 1Gbps (nic), 100Mbps (paper); above 0
      clamp-target = false; one of true, false
      rate-on-first-cnp = 1; above 0, at most 1
    dctcp [] window Variable
      g = 0.0625; above 0, at most 1
      rate-ai = auto; above 0
      min-rate = 1Gbps; above 0
    timely [timely-win timely-patched] window Off
      variant = original; one of original, patched
      ewma = 0.875; above 0, at most 1
      beta = 0.8 (original), 0.008 (patched); above 0, at most 1
      t-low = 50us; at least 0
      t-high = 500us; above 0
      min-rtt = 20us; above 0
      rtt-ref = t-low; above 0
      start-rate = auto; above 0
      segment = auto; above 0
      rate-ai = auto; above 0
      rate-hai = auto; above 0
      hai-after = 5; at least 0
      min-rate = auto; above 0
    hpcc [] window Variable
      eta = 0.95; above 0, at most 1
      max-stage = 0; at least 0
      rate-ai = auto; at least 0
      min-rate = 1Gbps; above 0
      fast-react = true; one of true, false
      over-react = false; one of true, false
      multi-rate = false; one of true, false
      sample-feedback = false; one of true, false
    hpcc-pint [] window Variable
      eta = 0.95; above 0, at most 1
      max-stage = 0; at least 0
      rate-ai = auto; at least 0
      min-rate = 1Gbps; above 0
      log-base = 1.05; above 1, at most 2
      probability = 1; above 0, at most 1
    swift [] window Off
      base-delay = 10us; above 0
      hop-delay = 1us; at least 0
      flow-scaling = true; one of true, false
      fs-range = 100us; at least 0
      fs-min = 0.1; above 0
      fs-max = 256; above 0
      ai = 1; above 0
      beta = 0.8; above 0, at most 1
      max-mdf = 0.5; above 0, at most 0.99
      min-window = 0.01; from 0.000001 to 1
      max-window = 0; at least 0
      initial-window = 0; at least 0
      timeouts = 5; at least 1
      endpoint = true; one of true, false
      endpoint-target = 100us; above 0
    dx [] window Off
      noise = 0ps; at least 0
      initial-window = 0; at least 0
      max-window = 0; at least 0
    powertcp [powertcp-theta] window Off
      variant = int; one of int, theta
      gamma = 0.9; above 0, at most 1
      flows = 10; at least 1
      max-window = 1; at least 1
      min-rate = 100Mbps; above 0
    qcn [qcn-10g] window Off
      q-eq = 260KB; above 0
      w = 2; from 0 to 100
      sample-max = 150KB; above 0
      sample-min = 15KB; above 0
      jitter = 0.15; from 0 to 1
      gd = 0.0078125; above 0, at most 0.015625
      byte-counter = 150KB; above 0
      timer = 1.5ms; above 0
      fast-recovery-cycles = 5; at least 0
      rate-ai = 50Mbps; above 0
      rate-hai = 500Mbps; above 0
      min-rate = 100Mbps; above 0
    pcn [] window Off
      period = 50us; above 0
      marked-share = 0.95; above 0, at most 1
      w-min = 0.0078125; above 0, at most 1
      w-max = 0.5; above 0, at most 1
      min-rate = 100Mbps; above 0
    bolt [bolt-paper] window Off
      src = true; one of true, false
      pru = true; one of true, false
      sm = true; one of true, false
      threshold = auto; above 0
      threshold-packets = 2; at least 1
      pru-max = 256; at least 1
      initial-window = auto; above 0
      max-window = auto; above 0
      min-window = auto; above 0
      pace = true; one of true, false
      pace-gain = 1.25; at least 1
      ai = 1; at least 0
      max-md = 0.5; from 0 to 1
      reset-after = 5; at least 1
    lstm-pid [lstm-pid-rttch lstm-pid-rttch-win pidnn pidnn-rttch pidnn-rttch-win] window Off
      predictor = lstm; one of lstm, gru, rnn, ar3, persistence, oracle, none
      model = auto; any
      model-hash = auto; any
      smoothing = 0.2; above 0, at most 1
      target = 5us; above 0
      target-rtts = 0; at least 0
      k-p = -0.358; any
      k-i = -0.06; any
      k-d = 0.04; any
      clamp-hi = 0.5; at least 0
      clamp-lo = 0.6; from 0 to 1
      initial-rate = 10Gbps; above 0
      min-rate = 1Gbps; above 0
      rtt-change = false; one of true, false
      rtt-change-after = 6; any
      rtt-change-by = deviations; one of deviations, mean
      rtt-change-max = auto; above 0
      printed-counter = false; one of true, false
      repace = false; one of true, false
      decision-latency = 0ps; at least 0
      decisions-in-service = 0; any
    ");
}
