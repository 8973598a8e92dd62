//! Allocation of large blocks in huge pages.
//!
//! An event of a large network accesses a dozen positions in slabs of hundreds of megabytes. With pages of 4
//! KB most of these accesses miss the TLB and wait for a page walk, and so does a prefetch. Therefore blocks
//! of 2 MiB and more are separate mappings for which huge pages are requested.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering};

/// Size and alignment of a huge page in bytes.
#[cfg(target_os = "linux")]
const HUGE: usize = 2 << 20;

static WANTED: AtomicBool = AtomicBool::new(true);

/// Disables huge pages for all later allocations, to measure their effect.
pub fn without_huge_pages() {
    WANTED.store(false, Ordering::Relaxed);
}

/// Returns true if huge pages are requested.
pub fn wants_huge_pages() -> bool {
    WANTED.load(Ordering::Relaxed)
}

/// Returns a copy of numbers most of which are zero. Pages of zeros are not touched: fresh memory is zero, and takes no
/// room before it is written.
pub fn copy_of_sparse(numbers: &[u64]) -> Vec<u64> {
    /// Numbers on a page of 4 KB.
    const PAGE: usize = 512;
    let mut copy = vec![0; numbers.len()];
    for (to, from) in copy.chunks_mut(PAGE).zip(numbers.chunks(PAGE)) {
        if from.iter().any(|&number| number != 0) {
            to.copy_from_slice(from);
        }
    }
    copy
}

/// System allocator, with huge pages for large blocks if the system supports them.
#[derive(Clone, Copy, Debug, Default)]
pub struct HugePages;

#[expect(unsafe_code, reason = "an allocator hands out memory")]
// SAFETY: small blocks are passed to the system. The distinction depends only on the layout, so a block is
// freed by the allocator that made it. For large blocks the contracts are those of the functions of `large`.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match is_large(layout.size(), layout.align()) {
            true => large::map(layout.size()),
            false => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match is_large(layout.size(), layout.align()) {
            // Fresh mappings are already zero.
            true => large::map(layout.size()),
            false => unsafe { System.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match is_large(layout.size(), layout.align()) {
            true => unsafe { large::unmap(block, layout.size()) },
            false => unsafe { System.dealloc(block, layout) },
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let was_large = is_large(layout.size(), layout.align());
        match (was_large, is_large(size, layout.align())) {
            (true, true) => unsafe { large::remap(block, layout.size(), size) },
            (false, false) => unsafe { System.realloc(block, layout, size) },
            _ => {
                // SAFETY: the caller has checked that the size fits a layout of this alignment.
                let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
                let to = unsafe { self.alloc(new) };
                if !to.is_null() {
                    // SAFETY: both blocks have at least this length, and they do not overlap.
                    unsafe { std::ptr::copy_nonoverlapping(block, to, layout.size().min(size)) };
                    unsafe { self.dealloc(block, layout) };
                }
                to
            }
        }
    }
}

#[cfg(target_os = "linux")]
const fn is_large(size: usize, align: usize) -> bool {
    size >= HUGE && align <= HUGE
}

#[cfg(not(target_os = "linux"))]
const fn is_large(_: usize, _: usize) -> bool {
    false
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "mappings are made by system calls")]
mod large {
    use std::ptr::null_mut;

    use super::{HUGE, wants_huge_pages};

    /// Maps a zeroed block aligned to a huge page; null if there is no memory.
    pub(super) fn map(size: usize) -> *mut u8 {
        let size = whole(size);
        let place = reserve(size);
        if !place.is_null() {
            ask(place, size);
        }
        place
    }

    /// Frees a block of this size.
    ///
    /// # Safety
    /// The block is from [`map`] or [`remap`], with this size.
    pub(super) unsafe fn unmap(block: *mut u8, size: usize) {
        // SAFETY: the caller owns the mapping, and its pages contain nothing else.
        unsafe { libc::munmap(block.cast(), whole(size)) };
    }

    /// Changes the size of a block. If it cannot grow in place, its pages are remapped without a copy.
    ///
    /// # Safety
    /// The block is from [`map`] or [`remap`], with the size `old`.
    pub(super) unsafe fn remap(block: *mut u8, old: usize, new: usize) -> *mut u8 {
        let (old, new) = (whole(old), whole(new));
        // SAFETY: the caller owns the mapping.
        let found = unsafe { libc::mremap(block.cast(), old, new, 0) };
        if found != libc::MAP_FAILED {
            ask(block, new);
            return block;
        }
        // The system would choose an address that may not be aligned to a huge page.
        let place = reserve(new);
        if place.is_null() {
            return null_mut();
        }
        // SAFETY: both are mappings of these sizes, and the new one is not in use.
        let moved = unsafe {
            libc::mremap(
                block.cast(),
                old,
                new,
                libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED,
                place,
            )
        };
        if moved == libc::MAP_FAILED {
            // SAFETY: `reserve` has made this mapping above.
            unsafe { unmap(place, new) };
            return null_mut();
        }
        ask(place, new);
        place
    }

    /// Maps memory aligned to a huge page; null on failure.
    fn reserve(size: usize) -> *mut u8 {
        let Some(all) = size.checked_add(HUGE) else {
            return null_mut();
        };
        // SAFETY: a new mapping does not change existing ones.
        let start = unsafe {
            libc::mmap(
                null_mut(),
                all,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return null_mut();
        }
        let start: *mut u8 = start.cast();
        // The mapping is longer by a huge page. The parts outside the aligned block are unmapped.
        let before = start.align_offset(HUGE);
        let end = before + size;
        // SAFETY: both parts are in the mapping and outside the block.
        unsafe {
            if before > 0 {
                libc::munmap(start.cast(), before);
            }
            if end < all {
                libc::munmap(start.add(end).cast(), all - end);
            }
            start.add(before)
        }
    }

    /// Requests huge pages for an entire mapping: parts with different advice could not be remapped together.
    /// Systems without huge pages refuse, which is harmless.
    fn ask(block: *mut u8, size: usize) {
        if wants_huge_pages() {
            // SAFETY: advice does not change the contents.
            unsafe { libc::madvise(block.cast(), size, libc::MADV_HUGEPAGE) };
        }
    }

    /// Rounds up to the largest page size of any system.
    const fn whole(size: usize) -> usize {
        // A `Layout` is too short for an overflow.
        size.next_multiple_of(64 << 10)
    }
}

#[cfg(not(target_os = "linux"))]
#[expect(unsafe_code, reason = "the same as where there are large blocks")]
mod large {
    pub(super) fn map(_: usize) -> *mut u8 {
        std::ptr::null_mut()
    }
    pub(super) unsafe fn unmap(_: *mut u8, _: usize) {}
    pub(super) unsafe fn remap(_: *mut u8, _: usize, _: usize) -> *mut u8 {
        std::ptr::null_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::copy_of_sparse;

    #[test]
    fn a_sparse_copy_is_equal() {
        for length in [0, 1, 511, 512, 513, 5000] {
            for step in [1, 7, 600, 6000] {
                let numbers: Vec<u64> = (0..length)
                    .map(|i| if i % step == step - 1 { i } else { 0 })
                    .collect();
                assert_eq!(copy_of_sparse(&numbers), numbers);
            }
        }
    }
}
