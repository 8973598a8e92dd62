//! Scenarios of the simulator of Bolt's authors.

use paceline_parity::bolt_ns3::{BoltNs3Spec, quirks};
use paceline_scenario::{Overrides, load_text};

#[test]
fn settings_are_of_its_table() {
    let text = "fidelity = 'bolt-ns3'\n[topology.star]\n[cc]\nscheme = 'bolt'\n[parity.bolt-ns3]\nwindow-pause = false\n";
    let resolved = load_text("one", text, &Overrides::default()).unwrap();
    assert_eq!(resolved.run.quirks, quirks());
    let expected = BoltNs3Spec {
        window_pause: false,
        ..BoltNs3Spec::default()
    };
    assert_eq!(BoltNs3Spec::of(&resolved.run), Some(&expected));
}
