//! Papers, theses and standards: a short name and a citation of each, in one table.

/// Publication on which a scheme or an experiment is based.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paper {
    /// Name of its constant; experiments write it in lower case with hyphens, such as `pidnn-thesis`.
    pub key: &'static str,
    /// Name in lists and tables.
    pub short: &'static str,
    /// Authors, title and venue.
    pub citation: &'static str,
    /// Notes that a reader needs to find it; empty for most.
    pub note: &'static str,
}

/// Declares each publication as a constant, and a list of all in this order.
macro_rules! papers {
    ($($name:ident = $short:literal, $citation:literal $(, $note:literal)?;)+) => {
        $(
            #[doc = $citation]
            pub const $name: Paper = Paper { key: stringify!($name), short: $short, citation: $citation, note: concat!($($note)?) };
        )+

        /// All publications, in the order of their declaration.
        pub const ALL: &[Paper] = &[$($name),+];
    };
}

impl Paper {
    /// Returns the name that experiments use.
    pub fn name(&self) -> String {
        self.key.to_lowercase().replace('_', "-")
    }
}

/// Returns the publication that experiments call `key`, such as `pidnn-thesis`.
pub fn find(key: &str) -> Option<Paper> {
    ALL.iter().find(|paper| paper.name() == key).copied()
}

papers! {
    ACC = "ACC", "Zhang et al., Revisiting Congestion Control for Lossless Ethernet, NSDI 2024";
    ADPG = "RL-CC", "Tessler et al., Reinforcement Learning for Datacenter Congestion Control, AAAI 2022";
    AURORA = "Aurora", "Jay et al., A Deep Reinforcement Learning Perspective on Internet Congestion Control, ICML 2019";
    BOLT = "Bolt", "Arslan et al., Bolt: Sub-RTT Congestion Control for Ultra-Low Latency, NSDI 2023";
    CC4SPRAYING = "CC4Spraying", "Gerstein et al., Congestion Control for Spraying with Congested Paths, arXiv 2509.07907, 2026";
    DCQCN = "DCQCN", "Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015";
    DCTCP = "DCTCP", "Alizadeh et al., Data Center TCP (DCTCP), SIGCOMM 2010";
    DECC = "DECC", "Chen et al., 数据处理单元赋能的智算中心网络拥塞控制机制, Beijing University of Posts and Telecommunications";
    DX = "DX", "Lee et al., Accurate Latency-based Congestion Feedback for Datacenters, USENIX ATC 2015";
    HPCC = "HPCC", "Li et al., HPCC: High Precision Congestion Control, SIGCOMM 2019";
    IBCC = "InfiniBand", "InfiniBand Architecture Specification, volume 1, annex A10";
    IRN = "IRN", "Mittal et al., Revisiting Network Support for RDMA, SIGCOMM 2018";
    NSCC = "UEC", "Ultra Ethernet Specification 1.0, sections 3.5 and 3.6, 2025; its public simulator, ultraethernet/uet-htsim";
    PCN = "PCN", "Cheng et al., Re-architecting Congestion Management in Lossless Ethernet, NSDI 2020";
    PIDNN_THESIS = "PIDNN thesis", "基于神经网络的拥塞控制算法研究 (Research on a congestion control algorithm based on neural networks), a thesis",
        "The copy that we have starts with the abstract. It has neither a title page nor an author, so the title is that of its \
         third chapter. The latest work that it cites is of 2022. Its chapters, tables, figures and equations are numbered as \
         printed there.";
    PINT = "PINT", "Ben Basat et al., PINT: Probabilistic In-band Network Telemetry, SIGCOMM 2020";
    POWERTCP = "PowerTCP", "Addanki et al., PowerTCP: Pushing the Performance Limits of Datacenter Networks, NSDI 2022";
    QCN = "QCN", "IEEE 802.1Qau; Alizadeh et al., Data Center Transport Mechanisms, Allerton 2008";
    RRCC_MODEL = "RRCC's model", "RRCC's author's packet-level model (Yi-ran/OMNet-, samples/ib_model, tree of October 2020), run on OMNeT++ 5.6.3";
    SPINE = "SPINE", "Tian et al., Spine: An Efficient DRL-based Congestion Control with Ultra-low Overhead, CoNEXT 2022";
    SWIFT = "Swift", "Kumar et al., Swift: Delay is Simple and Effective for Congestion Control in the Datacenter, SIGCOMM 2020";
    TCD = "TCD", "Zhang et al., Congestion Detection in Lossless Networks, SIGCOMM 2021";
    TCD_THESIS = "TCD thesis", "无丢失网络拥塞管理关键技术研究 (Key techniques of congestion management in lossless networks), doctoral thesis, Tsinghua University, May 2022",
        "The copy that we have names no author. TCD, RRCC and ACC are in it.";
    TIMELY = "TIMELY", "Mittal et al., TIMELY: RTT-based Congestion Control for the Datacenter, SIGCOMM 2015";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_are_short_and_different() {
        for (i, paper) in ALL.iter().enumerate() {
            assert!(paper.short.len() <= 14, "{}", paper.short);
            assert!(
                ALL[..i].iter().all(|other| other.short != paper.short),
                "{}",
                paper.short
            );
        }
    }
}
