//! Where a host keeps what it knows of a flow: a slot for each flow that is under way, found by the flow's number.

/// No slot: the flow has not begun, or is over.
const NONE: u32 = u32::MAX;
/// Flows of one page.
const PAGE: usize = 1024;

/// Slots by flow, in pages: those without a flow under way take no room.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowTable {
    pages: Vec<Option<Box<Page>>>,
}

#[derive(Clone, Debug)]
struct Page {
    slots: [u32; PAGE],
    live: u32,
}

impl FlowTable {
    #[inline]
    pub(crate) fn get(&self, flow: u32) -> Option<u32> {
        let page = self.pages.get(flow as usize / PAGE)?.as_ref()?;
        let slot = page.slots[flow as usize % PAGE];
        (slot != NONE).then_some(slot)
    }

    /// A flow begins, or moves to another slot.
    pub(crate) fn set(&mut self, flow: u32, slot: u32) {
        let number = flow as usize / PAGE;
        if self.pages.len() <= number {
            self.pages.resize_with(number + 1, || None);
        }
        let page = self.pages[number].get_or_insert_with(|| {
            Box::new(Page {
                slots: [NONE; PAGE],
                live: 0,
            })
        });
        let place = &mut page.slots[flow as usize % PAGE];
        page.live += u32::from(*place == NONE);
        *place = slot;
    }

    /// A flow is over: the slot that it had.
    pub(crate) fn take(&mut self, flow: u32) -> Option<u32> {
        let page = self.pages.get_mut(flow as usize / PAGE)?;
        let slots = page.as_mut()?;
        let slot = std::mem::replace(&mut slots.slots[flow as usize % PAGE], NONE);
        if slot == NONE {
            return None;
        }
        slots.live -= 1;
        if slots.live == 0 {
            *page = None;
        }
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_found_and_pages_go() {
        let mut table = FlowTable::default();
        for flow in 0..5000 {
            table.set(flow, flow / 2);
        }
        table.set(7, 9);
        assert_eq!(
            [0, 7, 4999, 5000, u32::MAX].map(|flow| table.get(flow)),
            [Some(0), Some(9), Some(2499), None, None]
        );
        for flow in 0..4999 {
            assert!(table.take(flow).is_some());
            assert_eq!(table.take(flow), None);
        }
        assert_eq!(table.pages.iter().flatten().count(), 1);
        assert_eq!(table.take(4999), Some(2499));
        assert_eq!(table.pages.iter().flatten().count(), 0);
    }
}
