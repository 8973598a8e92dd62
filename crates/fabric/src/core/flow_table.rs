//! A paged table that maps a flow's number to the slot of a flow under way.

use crate::ids::FlowId;
use paceline_kernel::ids::Id;

const PAGE: usize = 1024;

/// Slots by flow, in pages of 1024 flows. Pages without a flow under way take no memory.
#[derive(Clone, Debug)]
pub(crate) struct FlowTable<I> {
    pages: Vec<Option<Box<Page<I>>>>,
    /// An empty page for the next need: with few flows under way, pages come and go.
    spare: Option<Box<Page<I>>>,
}

#[derive(Clone, Debug)]
struct Page<I> {
    /// `Id::NONE` for a flow that has not started, or is over.
    slots: [I; PAGE],
    live: u32,
}

impl<I> Default for FlowTable<I> {
    fn default() -> Self {
        Self {
            pages: Vec::new(),
            spare: None,
        }
    }
}

impl<I: Id> FlowTable<I> {
    #[inline]
    pub(crate) fn get(&self, flow: FlowId) -> Option<I> {
        let page = self.pages.get(flow.index() / PAGE)?.as_ref()?;
        let slot = page.slots[flow.index() % PAGE];
        (slot != I::NONE).then_some(slot)
    }

    /// Sets the slot of a flow that starts, or moves to another slot.
    pub(crate) fn set(&mut self, flow: FlowId, slot: I) {
        let number = flow.index() / PAGE;
        if self.pages.len() <= number {
            self.pages.resize_with(number + 1, || None);
        }
        let spare = &mut self.spare;
        let page = self.pages[number].get_or_insert_with(|| {
            spare.take().unwrap_or_else(|| {
                Box::new(Page {
                    slots: [I::NONE; PAGE],
                    live: 0,
                })
            })
        });
        let index = &mut page.slots[flow.index() % PAGE];
        // A flow that moves to another slot is counted once.
        page.live += u32::from(*index == I::NONE);
        *index = slot;
    }

    /// Removes a flow that is over, and returns the slot that it had.
    pub(crate) fn take(&mut self, flow: FlowId) -> Option<I> {
        let page = self.pages.get_mut(flow.index() / PAGE)?;
        let slots = page.as_mut()?;
        let slot = std::mem::replace(&mut slots.slots[flow.index() % PAGE], I::NONE);
        if slot == I::NONE {
            return None;
        }
        slots.live -= 1;
        // Kept for the next flow that needs a page: with few flows under way, pages come and go all the time.
        if slots.live == 0 {
            self.spare = page.take();
        }
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::QpId;

    #[test]
    fn slots_are_found_and_pages_go() {
        let mut table = FlowTable::default();
        for flow in 0..5000 {
            table.set(FlowId(flow), QpId(flow / 2));
        }
        table.set(FlowId(7), QpId(9));
        assert_eq!(
            [0, 7, 4999, 5000, u32::MAX].map(|flow| table.get(FlowId(flow))),
            [Some(QpId(0)), Some(QpId(9)), Some(QpId(2499)), None, None]
        );
        for flow in (0..4999).map(FlowId) {
            assert!(table.take(flow).is_some());
            assert_eq!(table.take(flow), None);
        }
        assert_eq!(table.pages.iter().flatten().count(), 1);
        assert_eq!(table.take(FlowId(4999)), Some(QpId(2499)));
        assert_eq!(table.pages.iter().flatten().count(), 0);
    }
}
