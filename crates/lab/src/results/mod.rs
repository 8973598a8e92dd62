//! From an outcome to a summary.

mod checks;
mod collectives;
mod decisions;
mod feedback;
mod flows;
mod groups;
mod jobs;
mod least;
mod marks;
mod pairs;
mod ports;
mod proportion;
mod queues;
mod rows;
mod sharing;
mod sizes;
mod standstill;
mod summary;

pub use collectives::CollectiveTime;
pub use decisions::DecisionTimes;
pub use feedback::BeforeFeedback;
pub use feedback::WORTH_SAYING;
pub use flows::{FlowRow, FlowState, IdealFct, slowest_of};
pub use groups::{FlowCount, Group, SIZE_EDGES, SizeBucket};
pub use jobs::JobTimes;
pub use marks::{FlowMarks, PortStates};
pub use pairs::{FlowPairs, pair_flows, pair_repeats};
pub use ports::{PauseShare, PortShare, TierShare, Utilisation};
pub use queues::queue_bytes;
pub use queues::{BusiestPort, QueueBytes, QueueCdf, QueuePercentiles};
pub(crate) use rows::Gathering;
pub use rows::{FlowRows, flow_rows};
pub use sharing::{Convergence, Goodputs, HOLD, JainOverTime, Phase};
pub use sizes::{Buckets, FCT_ANALYSIS, fct_table};
pub use standstill::{Cycle, EndlessPause, Standstill};
pub use summary::{Credits, Ecn, Goodput, Machine, Pfc, RunStatus, Summary, Totals, summarise};
