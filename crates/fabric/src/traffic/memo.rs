//! Simulated phases, stored for when they recur.
//!
//! A *state* is the network at some instant, up to a shift of time and of the flows' numbers. A *phase* leads from one
//! state to the next: all calls of programs in it, with their requests. The network's behaviour depends on its state
//! and on the requests, and on nothing else. So if the network is in a known state and programs request the same, the
//! rest of the phase is known.

use std::collections::{BTreeMap, HashMap, HashSet};

use paceline_kernel::Time;

use super::programs::Request;
use crate::core::digest::Digest;
use crate::core::link::Sent;
use crate::core::print::{Part, StateHash};
use crate::watch::record::round_trips::{RoundTripCounts, RoundTrips};
use crate::world::World;
use paceline_run::outcome::{Counters, FlowRecord, PfcEvent, Repeats, StateRepeats};
use paceline_run::spec::{FlowSpec, NodeId};

/// Event that a program is called for; `Ended` is the end of a flow, for which no program is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallKind {
    Begin,
    Woken,
    Left,
    Received,
    Acknowledged,
    Ended,
}

/// A call, with time and numbers of the network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) at: u64,
    /// Number of the flow; unused in calls without a flow.
    pub(super) of: u32,
    pub(super) program: u32,
    pub(super) what: CallKind,
}

/// A call relative to the start of its phase, and the number of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) after: u64,
    pub(super) of: u32,
    pub(super) program: u32,
    pub(super) asked: u32,
    pub(super) what: CallKind,
}

/// A request, as far as the network depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// A wake-up, this long after the start of the phase (ps).
    Wake { after: u64 },
    /// A flow of the program.
    Send {
        src: NodeId,
        dst: NodeId,
        size: u64,
        class: u8,
        scheme: u16,
        /// Hash of the flow's paths, to tell paths apart if there are several between its hosts.
        ways: u64,
    },
}

/// A pending wake-up of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PendingWake {
    pub(super) after: u64,
    pub(super) program: u32,
}

impl PendingWake {
    pub(super) fn note(&self, print: &mut StateHash) {
        print.note(self.after);
        print.note(u64::from(self.program));
    }
}

/// A state of the network.
#[derive(Clone, Debug)]
pub(super) struct NetworkState {
    /// Fingerprint of everything in the network but the wake-ups.
    pub(super) residue: u128,
    pub(super) wakes: Vec<PendingWake>,
    /// Phases that start in the state, the most recently taken first.
    pub(super) phases: Vec<u32>,
    pub(super) counts: StateRepeats,
}

/// A simulated phase, from one state to the next.
#[derive(Clone, Debug)]
pub(super) struct Phase {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) lasts: u64,
    pub(super) items: Vec<Item>,
    pub(super) asked: Vec<Asked>,
    /// Records of flows that ended, with times relative to the start of the phase.
    pub(super) ends: Vec<FlowRecord>,
    pub(super) counts: Counts,
}

/// Counters of a phase, with times relative to its start.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub(crate) counters: Counters,
    pub(crate) sent: Sent,
    pub(crate) digest: Digest,
    pub(crate) round_trips: [RoundTripCounts; 3],
    pub(crate) pfc: Vec<PfcEvent>,
    pub(crate) completed: u64,
}

/// Counters of a run so far, with times of the run; without the network's own counters since its last state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Taken {
    /// Counts in phases taken from memory.
    pub(crate) counters: Counters,
    pub(crate) sent: Sent,
    pub(crate) completed: u64,
    /// Counts in these phases, and in the phases simulated before the network was last suspended.
    pub(crate) digest: Digest,
    pub(crate) pfc: Vec<PfcEvent>,
    /// Round-trip times of all phases.
    pub(crate) round_trips: [RoundTrips; 3],
}

/// A phase that is being simulated.
#[derive(Clone, Debug)]
struct Recording {
    from: u32,
    /// Time and next flow's number at the start, in the network.
    begin: Begin,
    items: Vec<Item>,
    asked: Vec<Asked>,
    ends: Vec<FlowRecord>,
    /// The known start of the phase, and the call in which programs requested something else.
    known: Option<Beginning>,
}

/// Start of a phase.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Begin {
    pub(crate) at: u64,
    pub(crate) flow: u32,
}

/// The part of a phase that programs went through while the network was suspended.
#[derive(Clone, Debug)]
pub(crate) struct Beginning {
    pub(super) items: Vec<Item>,
    /// Requests of the programs in these calls, with times of the run, and the number of them that the network has
    /// taken in.
    pub(super) requests: Vec<Request>,
    pub(super) next: usize,
    /// The call behind them, with requests that no phase has.
    pub(super) last: Option<(Item, Vec<Request>)>,
}

/// Prior knowledge of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// No knowledge of the call.
    No,
    /// Known requests, not yet entered under their numbers.
    Requests,
    /// Known requests that were entered under their numbers.
    Whole,
}

/// Memory of simulated phases.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memo {
    pub(super) states: Vec<NetworkState>,
    known: BTreeMap<u128, u32>,
    /// Hashes of each component of states, to count the different ones.
    parts: [HashSet<u64>; Part::ALL.len()],
    pub(super) phases: Vec<Phase>,
    recording: Option<Recording>,
    /// True for pairs of hosts with a single path between them, false for those with several.
    ways: HashMap<(NodeId, NodeId), bool>,
    pub(crate) taken: Taken,
    pub(super) report: Repeats,
    /// Bytes of all phases.
    bytes: usize,
    /// True if a tenth of the known phases are simulated and compared.
    pub(super) checks: bool,
}

/// Upper limit of the memory for phases, in bytes.
const ROOM: usize = 1 << 29;

impl Memo {
    /// Creates an empty memory; with `checks`, a tenth of the known phases are simulated and compared.
    pub(crate) fn new(checks: bool) -> Self {
        Self {
            checks,
            ..Self::default()
        }
    }

    /// Returns the state with this fingerprint; `wakes` are given for a network at rest.
    pub(super) fn state(&mut self, rest: StateHash, wakes: Vec<PendingWake>) -> u32 {
        let mut print = rest;
        print.begin(Part::Coming);
        // Wake-ups are part of the state but not of the residue, so that a suspended network can go on with others.
        wakes.iter().for_each(|wake| wake.note(&mut print));
        let Self {
            states, known, parts, ..
        } = self;
        *known.entry(print.finish()).or_insert_with(|| {
            states.push(NetworkState {
                residue: rest.finish(),
                wakes,
                phases: Vec::new(),
                counts: StateRepeats {
                    print: print.finish(),
                    simulated: 0,
                    taken: 0,
                },
            });
            for (seen, part) in parts.iter_mut().zip(print.parts()) {
                seen.insert(part);
            }
            states.len() as u32 - 1
        })
    }

    /// Returns true if the state with this fingerprint is known.
    pub(super) fn has(&self, print: &StateHash) -> bool {
        self.known.contains_key(&print.finish())
    }

    /// Returns a number that distinguishes the paths of a flow from others between its hosts.
    pub(super) fn ways(&mut self, world: &World, flow: &FlowSpec) -> u64 {
        ways_of(&mut self.ways, world, flow)
    }

    /// Returns the statistics of phases.
    pub(crate) fn report(&self) -> Repeats {
        Repeats {
            states: self.states.iter().map(|state| state.counts).collect(),
            parts: (Part::ALL.into_iter().zip(&self.parts))
                .map(|(part, seen)| (part, seen.len() as u64))
                .collect(),
            ..self.report.clone()
        }
    }

    /// Returns true if the network is still going through calls that programs have been through.
    pub(crate) fn is_catching_up(&self) -> bool {
        let Some(recording) = &self.recording else {
            return false;
        };
        let known = recording.known.as_ref();
        known.is_some_and(|known| known.expected(recording.items.len()).is_some())
    }

    /// Starts the recording of a phase.
    pub(crate) fn record(&mut self, from: u32, begin: Begin, known: Option<Beginning>) {
        // A phase that programs have partly been through is recorded even without room: its start has to be checked
        // off.
        self.recording = (self.bytes < ROOM || known.is_some()).then(|| Recording {
            from,
            begin,
            items: Vec::new(),
            asked: Vec::new(),
            ends: Vec::new(),
            known,
        });
    }

    /// Ends the phase that was simulated, at `now`, in state `to`. If a phase with the same requests is known, both
    /// have to be equal.
    pub(crate) fn close(&mut self, to: u32, now: u64, counts: impl FnOnce(u64) -> Counts) {
        let Some(recording) = self.recording.take() else {
            return;
        };
        let Recording {
            from,
            begin,
            items,
            asked,
            ends,
            known,
        } = recording;
        let ahead = known.is_some_and(|known| known.expected(items.len()).is_some());
        assert!(!ahead, "a phase ends behind what is known of its beginning");
        let phase = Phase {
            from,
            to,
            lasts: now - begin.at,
            items,
            asked,
            ends,
            counts: counts(begin.at),
        };
        self.report.simulated += 1;
        self.states[from as usize].counts.simulated += 1;
        for &other in &self.states[from as usize].phases {
            let other = &self.phases[other as usize];
            if other.asked != phase.asked {
                continue;
            }
            let differs = other.differs(&phase);
            assert!(
                differs.is_empty(),
                "a phase began with a known state of the network, and went on otherwise: {differs:?}"
            );
            if (other.to, other.lasts) == (phase.to, phase.lasts) {
                self.report.checked += 1;
                return;
            }
        }
        self.bytes += size_of::<Phase>()
            + size_of_val(&phase.items[..])
            + size_of_val(&phase.asked[..])
            + size_of_val(&phase.ends[..]);
        self.report.kept += 1;
        let number = self.phases.len() as u32;
        self.phases.push(phase);
        // In front, since the last phase is the likeliest to recur.
        self.states[from as usize].phases.insert(0, number);
    }

    /// Looks up what is known of a call, and puts known requests into `requests`.
    pub(super) fn known(&mut self, index: Call, requests: &mut Vec<Request>) -> Known {
        let Some(recording) = &mut self.recording else {
            return Known::No;
        };
        let Some(known) = &mut recording.known else {
            return Known::No;
        };
        let is_last = recording.items.len() == known.items.len();
        let Some(item) = known.expected(recording.items.len()) else {
            recording.known = None;
            return Known::No;
        };
        let is = recording.begin.item(index, item.asked as usize);
        assert!(
            is == *item,
            "the network did something else than before: {is:?} was {item:?}"
        );
        if is_last {
            let (_, last) = known.last.take().expect("it is expected");
            requests.extend(last);
            recording.known = None;
            return Known::Requests;
        }
        let asked = known.next + item.asked as usize;
        requests.extend(&known.requests[known.next..asked]);
        known.next = asked;
        Known::Whole
    }

    /// Returns the program that is called next, if that is known.
    pub(super) fn known_program(&self) -> Option<u32> {
        let recording = self.recording.as_ref()?;
        let known = recording.known.as_ref()?;
        Some(known.expected(recording.items.len())?.program)
    }

    /// Records a call of a program.
    pub(super) fn note_call(&mut self, world: &World, index: Call, behind: u64, requests: &[Request]) {
        let Some(recording) = &mut self.recording else {
            return;
        };
        recording.items.push(recording.begin.item(index, requests.len()));
        // Relative to the start of the phase, so that repeated requests are equal.
        let since = recording.begin.at + behind;
        for request in requests {
            recording.asked.push(asked(&mut self.ways, world, since, request));
        }
    }

    /// Records the end of a flow. Returns true if it was known.
    pub(super) fn note_end(&mut self, index: Call, record: &FlowRecord) -> bool {
        let Some(recording) = &mut self.recording else {
            return false;
        };
        let item = recording.begin.item(index, 0);
        let is_known = recording
            .known
            .as_ref()
            .and_then(|known| known.items.get(recording.items.len()));
        if let Some(known) = is_known {
            assert!(
                item == *known,
                "the network did something else than before: {item:?} was {known:?}"
            );
        }
        let is_known = is_known.is_some();
        recording.items.push(item);
        let from_begin = recording.begin.at.wrapping_neg();
        recording.ends.push(super::programs::shifted(*record, from_begin));
        is_known
    }

    /// Returns a program's request in the form of memory, for a phase that started at `since` in the run.
    pub(super) fn asked(&mut self, world: &World, since: u64, request: &Request) -> Asked {
        asked(&mut self.ways, world, since, request)
    }
}

impl Phase {
    /// Returns the differences from a phase with the same requests. Either may end at a state that the other passes
    /// through.
    fn differs(&self, other: &Self) -> Vec<&'static str> {
        let items = self.items.iter().zip(&other.items);
        if (self.to, self.lasts) != (other.to, other.lasts) {
            let differs = items.into_iter().any(|(mine, theirs)| mine != theirs);
            return differs.then_some("calls").into_iter().collect();
        }
        let (mine, theirs) = (&self.counts, &other.counts);
        let parts = [
            (self.items != other.items, "calls"),
            (self.ends != other.ends, "flows"),
            (
                mine.counters != theirs.counters || mine.sent != theirs.sent,
                "counters",
            ),
            (mine.digest != theirs.digest, "events"),
            (mine.round_trips != theirs.round_trips, "round-trip times"),
            (mine.pfc != theirs.pfc, "pauses"),
            (mine.completed != theirs.completed, "completions"),
        ];
        parts
            .into_iter()
            .filter_map(|(differs, what)| differs.then_some(what))
            .collect()
    }
}

impl Beginning {
    /// Returns the call at this index, if it is known.
    fn expected(&self, index: usize) -> Option<&Item> {
        let last = || self.last.as_ref().filter(|_| index == self.items.len());
        self.items.get(index).or_else(|| last().map(|(item, _)| item))
    }
}

impl Begin {
    fn item(&self, index: Call, asked: usize) -> Item {
        let of = match index.what {
            CallKind::Begin | CallKind::Woken => 0,
            _ => index.of.wrapping_sub(self.flow),
        };
        Item {
            after: index.at - self.at,
            of,
            program: index.program,
            asked: asked as u32,
            what: index.what,
        }
    }
}

fn asked(ways: &mut HashMap<(NodeId, NodeId), bool>, world: &World, since: u64, request: &Request) -> Asked {
    match request {
        Request::Wake { at, .. } => Asked::Wake {
            after: at.as_ps() - since,
        },
        Request::Send { flow, .. } => Asked::Send {
            src: flow.src,
            dst: flow.dst,
            size: flow.size.get(),
            class: flow.class,
            scheme: flow.scheme,
            ways: ways_of(ways, world, flow),
        },
    }
}

/// Returns a number that distinguishes the paths of a flow from others between its hosts.
fn ways_of(known: &mut HashMap<(NodeId, NodeId), bool>, world: &World, flow: &FlowSpec) -> u64 {
    let pair = (flow.src, flow.dst);
    let has_one = *known.entry(pair).or_insert_with(|| world.has_one_way(flow));
    // With a single path, the ports that the hash is computed from make no difference.
    if has_one {
        return 0;
    }
    let Some(paths) = world.find_paths_of(flow) else {
        return 1;
    };
    let ports = paths.forward.iter().chain(&paths.back);
    ports.fold(2, |print, port| {
        paceline_kernel::rng::mix(print ^ u64::from(port.0))
    })
}

impl Taken {
    /// Adds the counters of a phase that starts at `at`.
    pub(super) fn add(&mut self, phase: &Counts, at: u64) {
        self.counters.add(&phase.counters, 1);
        self.sent.add(&phase.sent, 1);
        self.completed += phase.completed;
        self.digest.add(&phase.digest.shifted(at));
        self.pfc.extend(phase.pfc.iter().map(|event| later(event, at)));
        for (sum, part) in self.round_trips.iter_mut().zip(&phase.round_trips) {
            sum.add(part);
        }
    }
}

/// Returns the frame shifted by `by` ps.
pub(crate) fn later(event: &PfcEvent, by: u64) -> PfcEvent {
    PfcEvent {
        at: Time::from_ps(event.at.as_ps().wrapping_add(by)),
        ..*event
    }
}
