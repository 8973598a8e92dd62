//! Intervals in which classes of ports were paused, reconstructed from the frames.

use paceline_fabric::RunSpec;
use paceline_fabric::outcome::PfcEvent;
use paceline_fabric::spec::{FlowControl, PfcMode, PfcResponse};
use paceline_kernel::sorted::SortedMap;

/// Class of a port: node, interface from 1 in the order of links, class.
pub(crate) type PausedClass = (u32, u32, u8);

/// Interval in which a class of a port was paused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pause {
    pub(crate) from: u64,
    /// End in ps: by a resume, by expiry, with its link or with the run.
    pub(crate) until: u64,
    /// Frames of the pause: the first, and those that renewed it.
    pub(crate) frames: u64,
}

/// Returns the pauses of a run that ended at `end`, in the order of their starts. If ports have a reaction time, frames
/// act after its minimum.
pub(crate) fn pauses(spec: &RunSpec, frames: &[PfcEvent], end: u64) -> SortedMap<PausedClass, Vec<Pause>> {
    let (expires_after, response) = match spec.switch.flow_control {
        FlowControl::Pfc(pfc) => match pfc.mode {
            PfcMode::Quanta { pause } => (pause.as_ps(), pfc.response),
            PfcMode::OnOff => (u64::MAX, pfc.response),
        },
        FlowControl::None | FlowControl::Credits => (u64::MAX, PfcResponse::NONE),
    };
    let mut failures: SortedMap<(u32, u32), Vec<u64>> = SortedMap::new();
    for (node, interface, _, link) in ports_of(spec) {
        let of_link = spec.failures.iter().filter(|failure| failure.link == link);
        let times = of_link.map(|failure| failure.at.as_ps());
        failures.entry((node, interface)).or_default().extend(times);
    }
    let mut all: SortedMap<PausedClass, Vec<(u64, bool)>> = SortedMap::new();
    for frame in frames {
        let of = all
            .entry((frame.node.0, frame.interface, frame.class))
            .or_default();
        of.push((frame.at.as_ps() + response.least.as_ps(), frame.pause));
    }
    let of_class = |(index, frames): (PausedClass, Vec<(u64, bool)>)| {
        let down = failures.get(&(index.0, index.1)).map_or(&[][..], Vec::as_slice);
        (index, of_one(&frames, down, expires_after, end))
    };
    all.into_iter().map(of_class).collect()
}

/// Returns the pauses of one class from its frames; its link failed at the times `down`.
fn of_one(frames: &[(u64, bool)], down: &[u64], expires_after: u64, end: u64) -> Vec<Pause> {
    let mut all: Vec<Pause> = Vec::new();
    let mut open: Option<Pause> = None;
    // End of a pause that was requested at `at` and not renewed.
    let ends = |at: u64| {
        let fails = down.iter().copied().filter(|&fails| fails >= at).min();
        at.saturating_add(expires_after)
            .min(fails.unwrap_or(u64::MAX))
            .min(end)
    };
    for &(at, pause) in frames.iter().filter(|(at, _)| *at < end) {
        // An expired pause is closed first, so that a later frame starts a new pause instead of renewing it.
        all.extend(open.take_if(|open| open.until <= at));
        match (&mut open, pause) {
            // A frame for a paused class only renews the pause; counting it as another one would overstate pauses.
            (Some(open), true) => {
                open.until = ends(at);
                open.frames += 1;
            }
            (None, true) => {
                open = Some(Pause {
                    from: at,
                    until: ends(at),
                    frames: 1,
                });
            }
            (Some(open), false) => open.until = at,
            (None, false) => {}
        }
    }
    all.extend(open);
    all
}

/// Lists every port: node, interface from 1 in the order of links, peer, link.
pub(crate) fn ports_of(spec: &RunSpec) -> Vec<(u32, u32, u32, usize)> {
    let mut interfaces = vec![0; spec.nodes.len()];
    let mut ports = Vec::with_capacity(2 * spec.links.len());
    for (number, link) in spec.links.iter().enumerate() {
        for (node, peer) in [(link.a, link.b), (link.b, link.a)] {
            let interface = &mut interfaces[node.0 as usize];
            *interface += 1;
            ports.push((node.0, *interface, peer.0, number));
        }
    }
    ports
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(frames: &[(u64, bool)], down: &[u64], expires_after: u64) -> Vec<(u64, u64, u64)> {
        let all = of_one(frames, down, expires_after, 1_000);
        all.iter()
            .map(|pause| (pause.from, pause.until, pause.frames))
            .collect()
    }

    #[test]
    fn frames_that_renew_a_pause_are_no_pauses() {
        let frames = [(100, true), (150, true), (200, true), (230, false), (300, true)];
        assert_eq!(spans(&frames, &[], u64::MAX), [(100, 230, 3), (300, 1_000, 1)]);
        // Timed pauses expire, and a later frame starts another one.
        assert_eq!(spans(&frames, &[], 60), [(100, 230, 3), (300, 360, 1)]);
        assert_eq!(
            spans(&frames, &[], 40),
            [(100, 140, 1), (150, 190, 1), (200, 230, 1), (300, 340, 1)]
        );
    }

    #[test]
    fn a_failure_ends_a_pause() {
        let frames = [(100, true), (400, true), (600, false), (700, false)];
        assert_eq!(spans(&frames, &[300], u64::MAX), [(100, 300, 1), (400, 600, 1)]);
        assert_eq!(spans(&[(2_000, true)], &[], u64::MAX), []);
    }
}
