//! What to know before trusting a result.
//!
//! There is one type and one channel: what is found in an input travels with it ([`crate::Resolved::warnings`]) into the
//! summary of its run, where what the run itself shows is added. Pages, tables and Python read it there.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::diagnostics::{Place, Source};

/// Which half of a run a warning is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// What was asked for.
    Input,
    /// What came of it.
    Run,
    /// How it was read: to know, not to check.
    Note,
}

macro_rules! kinds {
    ($($subject:ident { $($(#[doc = $doc:literal])+ $kind:ident,)* })*) => {
        /// The kinds of warnings: their names, in kebab case, are the ids in result files.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum WarningKind { $($($(#[doc = $doc])+ $kind,)*)* }

        impl WarningKind {
            /// All of them, with a sentence on each.
            pub const ALL: &'static [(Self, &'static str)] = &[$($((Self::$kind, concat!($($doc),+)),)*)*];

            /// What warnings of this kind are about.
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
    /// Whether it holds for several runs of one input only if all of them have it: a setting that does nothing in one
    /// run may be there for another.
    pub const fn is_of_all_runs(self) -> bool {
        matches!(self, Self::UnusedSetting | Self::UnusedScheme)
    }

    /// Whether it is about files that a scenario was read from.
    pub const fn is_of_files(self) -> bool {
        matches!(self, Self::Reading | Self::LeftOut | Self::VendorValues)
    }

    /// Whether the scenario that a run writes no longer has what it is about.
    pub const fn is_lost_when_written(self) -> bool {
        self.is_of_files()
            || self.is_of_all_runs()
            || matches!(
                self,
                Self::UnusedVariant | Self::OverruledParameter | Self::ReplacedDefaults | Self::OtherDefaults
            )
    }
}

/// Something to know before trusting a result. `Display` is its place and its sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Its kind.
    pub id: WarningKind,
    /// What it is about.
    pub about: Subject,
    /// Where in the input, as `file:line:column`, or a file as a whole. Told on the terminal only: result files are the
    /// same wherever the input was.
    #[serde(skip)]
    pub place: Option<String>,
    /// The sentence.
    pub text: String,
}

impl Warning {
    /// A warning without a place.
    pub fn new(id: WarningKind, text: impl Into<String>) -> Self {
        Self {
            id,
            about: id.subject(),
            place: None,
            text: text.into(),
        }
    }

    /// Returns true if it tells how the input was read, and nothing is to be checked.
    pub fn is_note(&self) -> bool {
        self.about == Subject::Note
    }

    /// Whether it says the same, wherever.
    pub fn is_like(&self, other: &Self) -> bool {
        (self.id, &self.text) == (other.id, &other.text)
    }

    /// The same, of a whole file.
    #[must_use]
    pub fn of_file(self, source: &Source) -> Self {
        Self {
            place: Some(source.name().to_string()),
            ..self
        }
    }

    /// The same, at a place if there is one.
    #[must_use]
    pub fn at<'a>(self, place: impl Into<Option<&'a Place>>) -> Self {
        Self {
            place: place.into().map(Place::to_string),
            ..self
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.text)
    }
}

/// Warnings as lines of text.
pub fn lines<'a>(warnings: impl IntoIterator<Item = &'a Warning>) -> Vec<String> {
    warnings.into_iter().map(Warning::to_string).collect()
}
