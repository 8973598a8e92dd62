//! Statistics of samples, and their uncertainty.
//!
//! # Choice of estimators
//!
//! **Within a run** ([`Distribution`]) percentiles are interpolated linearly between the two nearest
//! samples, as numpy does (type 7 of Hyndman and Fan, *Sample quantiles in statistical packages*,
//! 1996). Flows of a run share queues, so they are not independent samples: no interval is given
//! for them. Repeat with other seeds to estimate the uncertainty of a number.
//!
//! **Over repeats** ([`interval()`]) each run gives one value (its mean, its 99th percentile, ...): the
//! values are independent. The interval is that of their mean: Student's t for fewer than
//! [`BOOTSTRAP_FROM`] values, the bootstrap for more. Bootstrap intervals of few values are too
//! narrow: a resampled mean has only (n-1)/n of the variance, and the tails of the normal
//! distribution rather than t's. At n = 5 an interval of "95 %" is one of 1.96 √(4/5) standard
//! errors, which covers 85 % (Hesterberg, *What teachers should know about the bootstrap*, The
//! American Statistician, 2015).
//! With more values the opposite is true: the bootstrap (BCa: bias-corrected and accelerated;
//! Efron, *Better bootstrap confidence intervals*, 1987) follows the skew that tail latencies have,
//! and t does not. [`bootstrap()`] itself takes any statistic: a median over repeats, a ratio of sums.
//!
//! **Between schemes** ([`paired()`], [`pair_flows`](crate::results::pair_flows)) the same seed gives both schemes the
//! same flows (common random numbers), so the influence of the traffic cancels in the difference of a pair.
//! The intervals are those of the mean difference and of the geometric mean of the ratios; the
//! latter because the ratio of a to b is then the inverse of that of b to a, and one repeat with a
//! large value does not decide alone. Flows are paired by their number; their interval is a
//! bootstrap over source hosts, since flows of a host are not independent.
//!
//! Everything is a pure function of the values: resampling draws from the kernel's random streams
//! with a separate purpose and a fixed seed.

mod bootstrap;
mod distribution;
mod interval;
mod paired;
mod quantiles;
mod rise;
mod samples;
mod steps;

pub use bootstrap::bootstrap;
pub(crate) use distribution::Moments;
pub use distribution::{Distribution, RttSummary, jain, mean, percentile, quantile_of_kb_bins};
pub use interval::{BOOTSTRAP_FROM, CONFIDENCE, Interval, interval, standard_deviation};
pub use paired::{Paired, paired};
pub use rise::{Rise, rise};
pub use samples::{Ascending, Samples};
pub use steps::step_mean;
