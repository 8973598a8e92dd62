//! Sizes of the built-in scenarios, in groups.

/// Group of related built-in scenarios.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// Heading of the group, in the plural.
    pub title: &'static str,
    /// Members of the group, in the order of the list.
    pub scenarios: &'static [ScenarioSize],
}

/// Size of a built-in scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScenarioSize {
    /// Name under which Paceline loads the scenario.
    pub name: &'static str,
    /// Number of hosts in the network.
    pub hosts: usize,
    /// Number of flows, including random ones.
    pub flows: usize,
    /// Packet-hops of a run with the scenario's own settings: the measure of its cost.
    pub packet_hops: u64,
}

const fn of(name: &'static str, hosts: usize, flows: usize, packet_hops: u64) -> ScenarioSize {
    ScenarioSize {
        name,
        hosts,
        flows,
        packet_hops,
    }
}

/// Groups of all built-in scenarios.
pub const GROUPS: &[Group] = &[
    Group {
        title: "Incasts",
        scenarios: &[
            of("incast-20", 21, 20, 2_540_000),
            of("incast-16", 17, 16, 32_000),
            of("many-to-one-512", 64, 8192, 4_202_336),
            of("many-to-one-2048", 64, 8192, 4_210_584),
            of("many-to-one-8192", 64, 16384, 8_413_954),
            of("swift-incast", 101, 3200, 472_410),
            of("swift-many-flows", 51, 5000, 800_000),
            of("qcn-incast", 9, 8, 640_665),
            of("bolt-incast50x100", 51, 5000, 2_499_997),
            of("acc-drain", 65, 16, 128_000),
        ],
    },
    Group {
        title: "Few flows: fairness, joining, leaving",
        scenarios: &[
            of("two-flow-join", 3, 2, 600_000),
            of("fairness-4", 5, 4, 400_000),
            of("long-flows-short-flows", 16, 165, 1_638_144),
            of("swift-target-scaling", 65, 32, 940_426),
            of("swift-long-flows", 65, 16, 566_148),
            of("pcn-head-of-line", 12, 66, 225_539),
            of("tcd-single-point", 20, 1203, 1_219_644),
            of("acc-join", 3, 2, 200_000),
            of("acc-parking-lot", 8, 4, 806_366),
            of("acc-victims", 20, 1203, 978_753),
            of("acc-shared-class", 8, 8, 482_758),
            of("tcd-victims", 20, 2500, 2_311_028),
            of("tcd-fairness", 24, 1205, 4_167_803),
            of("tcd-testbed", 5, 3, 245_342),
        ],
    },
    Group {
        title: "InfiniBand",
        scenarios: &[
            of("infiniband-demo", 19, 3002, 253_509),
            of("infiniband-unfairness", 5, 4, 224_752),
            of("infiniband-row", 13, 11, 2_054_718),
            of("infiniband-join", 4, 3, 224_705),
            of("infiniband-fat-tree-128", 128, 19320, 2_580_629),
            of("infiniband-fat-tree-1024", 1024, 77760, 20_952_086),
            of("infiniband-service-level", 6, 5, 146_706),
            of("infiniband-osu", 16, 1, 32),
            of("infiniband-all-to-all", 16, 240, 32_768),
            of("tcd-credits", 20, 243, 184_570),
            of("tcd-credits-victims", 20, 1250, 1_016_123),
            of("credits-cable", 2, 1, 80_000),
            of("infiniband-mpi-io", 1024, 53248, 32_688_138),
        ],
    },
    Group {
        title: "Ultra Ethernet",
        scenarios: &[
            of("uec-incast", 16, 15, 91_254),
            of("uec-permutation", 128, 128, 450_908),
            of("uet-incast-15", 16, 15, 88_262),
            of("uet-permutation-1024", 1024, 1024, 3_950_800),
        ],
    },
    Group {
        title: "All-to-all, collectives, permutations",
        scenarios: &[
            of("ring-all-reduce", 32, 3968, 8_928_000),
            of("hierarchical-all-reduce", 32, 1280, 8_704_000),
            of("ai-cluster", 64, 5888, 7_345_600),
            of("llm-3d", 64, 76_800, 29_175_808),
            of("llm-by-name", 32, 265_408, 3_052_288),
            of("inference-kv", 16, 320, 22_488_320),
            of("all-to-all-linear", 64, 4032, 3_637_354),
            of("all-to-all-pairwise", 64, 4032, 3_637_248),
            of("all-to-all-1", 64, 6144, 2_763_008),
            of("all-to-all-4", 64, 6144, 2_763_008),
            of("all-to-all-16", 64, 6144, 2_763_008),
            of("all-to-all-broadcast-1", 64, 32256, 14_548_992),
            of("all-to-all-broadcast-4", 64, 32256, 14_548_992),
            of("all-to-all-broadcast-16", 64, 129024, 58_195_968),
            of("permutation-k8", 128, 128, 1_436_000),
            of("load-balancing", 64, 64, 4_880_000),
        ],
    },
    Group {
        title: "Traffic of data centres: HPCC's network",
        scenarios: &[
            of("fat320-websearch30", 320, 1403, 27_329_892),
            of("fat320-websearch30-incast", 320, 1823, 29_657_892),
            of("fat320-websearch50", 320, 2317, 47_163_504),
            of("fat320-websearch50-incast", 320, 2737, 49_491_504),
            of("fat320-hadoop30", 320, 20030, 26_178_868),
            of("fat320-hadoop30-2ms", 320, 20450, 28_506_868),
            of("fat320-hadoop30-10ms", 320, 101174, 140_263_308),
            of("fat320-hadoop50", 320, 33177, 43_424_276),
            of("fat320-hadoop50-incast", 320, 33597, 45_752_276),
        ],
    },
    Group {
        title: "Traffic of data centres: a fat tree of 250 hosts",
        scenarios: &[
            of("acc-fat250-hadoop60", 250, 3907, 5_540_698),
            of("acc-fat250-websearch60", 250, 317, 5_077_654),
            of("tcd-fat-tree", 250, 39970, 52_762_408),
        ],
    },
    Group {
        title: "Failures, losses, pauses without end",
        scenarios: &[
            of("leaf-spine-failure", 32, 234, 3_309_481),
            of("link-flap", 32, 355, 4_936_072),
            of("flapping-optic", 32, 373, 4_938_928),
            of("degraded-link", 16, 6720, 8_232_000),
            of("recovery-loss", 16, 647, 11_332_352),
            of("hpcc-recovery", 16, 1623, 2_209_287),
            of("pfc-storm", 16, 19, 355_614),
            of("pfc-watchdog", 16, 18, 698_401),
            of("slow-receiver", 16, 18, 472_330),
            of("pfc-deadlock", 4, 4, 2_672),
        ],
    },
    Group {
        title: "Learned control",
        scenarios: &[
            of("decision-latency", 21, 20, 2_540_000),
            of("decisions-in-service", 3, 20, 1_600_000),
            of("prediction-value", 21, 20, 2_540_000),
            of("lstm-pid-rates", 21, 20, 2_540_000),
            of("lstm-pid-senders", 201, 20, 320_000),
            of("lstm-pid-rtts", 21, 20, 2_540_000),
            of("lstm-pid-leaf-spine", 16, 28, 1_560_000),
            of("many-to-one-16", 17, 16, 53_158),
            of("rl-cc", 5, 4, 885_303),
            of("rl-cc-all-to-all", 4, 36, 3_512_553),
            of("rl-cc-long-short", 21, 260, 877_396),
        ],
    },
    Group {
        title: "Bolt's evaluation",
        scenarios: &[
            of("bolt-single", 4, 1, 30_852),
            of("bolt-join100", 4, 2, 30_878),
            of("bolt-join1000", 4, 2, 82_332),
            of("bolt-leave200", 4, 2, 82_577),
            of("bolt-leave4000", 4, 2, 310_709),
            of("bolt-down400", 4, 2, 102_571),
            of("bolt-fair5", 10, 5, 937_283),
            of("bolt-star5-1500", 6, 5, 7_816),
            of("bolt-star5-5000", 6, 5, 2_314),
            of("bolt-util60", 16, 688, 1_794_465),
            of("bolt-star16-fb", 16, 3944, 428_390),
            of("bolt-fat32-fb", 32, 3913, 985_806),
            of("bolt-solo-star16", 16, 25, 428),
            of("bolt-solo-fat32", 32, 39, 432),
            of("bolt-lab80", 5, 363, 322_283),
            of("bolt-fat256-100", 256, 3082, 3_394_940),
            of("bolt-fat256-400", 256, 12257, 13_665_212),
        ],
    },
];
