//! Warnings about inputs and results.
//!
//! There is one type and one channel. Warnings about an input travel with it ([`crate::Resolved::warnings`]) into the
//! summary of its run, to which the run adds its own. Pages, tables and Python read them there.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::diagnostics::{Location, Source};

/// Subject of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// Input of a run.
    Input,
    /// Course and result of a run.
    Run,
    /// Reading of the input: for information, with nothing to check.
    Note,
}

macro_rules! kinds {
    ($($subject:ident { $($(#[doc = $doc:literal])+ $kind:ident,)* })*) => {
        /// Kinds of warnings. Their names in kebab case are the ids in result files.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum WarningKind { $($($(#[doc = $doc])+ $kind,)*)* }

        impl WarningKind {
            /// All kinds, with a description of each.
            pub const ALL: &'static [(Self, &'static str)] = &[$($((Self::$kind, concat!($($doc),+)),)*)*];

            /// Returns the subject of warnings of this kind.
            pub const fn subject(self) -> Subject {
                match self {
                    $($(Self::$kind => Subject::$subject,)*)*
                }
            }
        }
    };
}
kinds! {
    Input {
        /// A setting that does nothing because of another setting.
        UnusedSetting,
        /// Parameters of a scheme that no flow runs under.
        UnusedScheme,
        /// A parameter in a scheme's name that does nothing.
        UnusedVariant,
        /// A parameter of a scheme that the alias of the scheme overrules.
        OverruledParameter,
        /// A value that is read in a way that may surprise.
        Reading,
        /// A part of a file that is left out.
        LeftOut,
        /// Defaults that were replaced by those of another scheme.
        ReplacedDefaults,
        /// A setting that changes the defaults of others.
        OtherDefaults,
        /// A scenario without flows.
        NoFlows,
        /// Two workloads under one label.
        SharedLabel,
        /// A load that links cannot carry, or arrivals after the end of the run.
        Workload,
        /// A second link between two nodes.
        ParallelLinks,
        /// A scheme that needs a window or pacing that the scenario takes away.
        NoControl,
        /// A scheme in a network that does not give it what it expects.
        SchemeAndNetwork,
        /// A scheme that does nothing, or harms, on ordinary traffic with the parameters that it ships with.
        Misfit,
        /// Packets on several paths under a recovery that takes reordering for loss.
        Reordering,
        /// A delay target below the round-trip time of the empty network.
        DelayTarget,
        /// A timeout or timer below the round-trip time of the empty network.
        TimeConstant,
        /// A marking, pause or headroom threshold that cannot act.
        Threshold,
        /// Buffers or credits that do not carry the rate of a link.
        CreditRate,
        /// A lane that is served only while others are empty.
        StarvedLane,
        /// Headroom and reserve that do not fit into the buffer.
        BufferSplit,
    }
    Note {
        /// Settings under a vendor's names: what they became, and which of them do nothing here.
        VendorValues,
    }
    Run {
        /// The run was interrupted.
        Interrupted,
        /// Pauses that never end.
        Deadlock,
        /// Pauses that the PFC watchdog found too long.
        WatchdogStorm,
        /// No flow finished.
        NothingFinished,
        /// Flows that wait for what will never happen.
        StuckFlows,
        /// Flows that had not finished when the run ended.
        UnfinishedFlows,
        /// Flows that did not start.
        NotStartedFlows,
        /// Flows without a path between their hosts.
        UnreachableFlows,
        /// Flows that their senders gave up.
        GivenUpFlows,
        /// Percentiles that rest on few values.
        FewFlows,
        /// Iterations that still take longer and longer when the run ends.
        RisingIterations,
        /// Services that do not keep up with their requests, and requests without an end.
        OverloadedService,
        /// Percentiles of iteration times that rest on few iterations.
        FewIterations,
        /// Collectives whose messages have a queue pair each.
        QueuePairPerMessage,
        /// A rule that decided how long a job by a trace took, or messages of it that nobody received.
        TraceRule,
        /// Flows faster than the formula of the ideal completion time.
        FasterThanIdeal,
        /// Most bytes were sent before any feedback.
        SentBeforeFeedback,
        /// Values of a scheme that were published for another line rate.
        OtherLineRate,
        /// More flows at a receiver than its port serves at their lowest rate.
        LowestRate,
        /// The order of simultaneous arrivals decided who lost.
        OneSidedTies,
        /// Losses under a scheme that assumes none.
        UnexpectedLosses,
        /// Losses in a class under flow control.
        LosslessDrops,
        /// Retransmission timeouts that expired before acknowledgements could come.
        EarlyTimeouts,
        /// Flows that asked for decisions that nobody made.
        NoDecisions,
        /// A wide confidence interval.
        WideInterval,
        /// A seed that changes nothing.
        SeedChangesNothing,
    }
}

impl WarningKind {
    /// Returns true if the warning applies to several runs of one input only if all of them have it: a setting
    /// without effect in one run may have one in another.
    pub const fn is_of_all_runs(self) -> bool {
        matches!(self, Self::UnusedSetting | Self::UnusedScheme)
    }

    /// Returns true if it is about files that a scenario was read from.
    pub const fn is_of_files(self) -> bool {
        matches!(self, Self::Reading | Self::LeftOut | Self::VendorValues)
    }

    /// Returns true if the scenario that a run writes no longer contains the cause.
    pub const fn is_lost_when_written(self) -> bool {
        self.is_of_files()
            || self.is_of_all_runs()
            || matches!(
                self,
                Self::UnusedVariant | Self::OverruledParameter | Self::ReplacedDefaults | Self::OtherDefaults
            )
    }
}

/// Warning to consider before trusting a result. `Display` writes position and sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Kind of the warning.
    pub id: WarningKind,
    /// Subject of the warning.
    pub about: Subject,
    /// Position in the input, as `file:line:column`, or the name of a file. Shown only on the terminal: result files
    /// must not depend on the input's path.
    #[serde(skip)]
    pub location: Option<String>,
    /// Message as a sentence.
    pub text: String,
}

impl Warning {
    /// Creates a warning without a position.
    pub fn new(id: WarningKind, text: impl Into<String>) -> Self {
        Self {
            id,
            about: id.subject(),
            location: None,
            text: text.into(),
        }
    }

    /// Returns true if it only explains how the input was read, with nothing to check.
    pub fn is_note(&self) -> bool {
        self.about == Subject::Note
    }

    /// Returns true if kind and message are equal, regardless of the position.
    pub fn is_like(&self, other: &Self) -> bool {
        (self.id, &self.text) == (other.id, &other.text)
    }

    /// Sets a whole file as the position.
    #[must_use]
    pub fn of_file(self, source: &Source) -> Self {
        Self {
            location: Some(source.name().to_string()),
            ..self
        }
    }

    /// Sets the position, or clears it if there is none.
    #[must_use]
    pub fn at<'a>(self, location: impl Into<Option<&'a Location>>) -> Self {
        Self {
            location: location.into().map(Location::to_string),
            ..self
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(index) = &self.location {
            write!(f, "{index}: ")?;
        }
        f.write_str(&self.text)
    }
}

/// Returns the warnings as lines of text.
pub fn lines<'a>(warnings: impl IntoIterator<Item = &'a Warning>) -> Vec<String> {
    warnings.into_iter().map(Warning::to_string).collect()
}
