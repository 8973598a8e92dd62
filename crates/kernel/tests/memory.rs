//! Comparison of large blocks with the system's: their contents and their pages.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_macros, reason = "says what it does not test")]

use std::alloc::{GlobalAlloc, Layout};

use paceline_kernel::memory::HugePages;
use proptest::prelude::*;

#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

/// Generates sizes on both sides of a huge page's.
fn sizes() -> impl Strategy<Value = Vec<usize>> {
    let size = prop_oneof![
        1..100_000usize,
        2_000_000..2_200_000usize,
        4_000_000..9_000_000usize,
        Just(2 << 20)
    ];
    prop::collection::vec(size, 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// A block that grows and shrinks keeps its first bytes.
    #[test]
    fn contents_stay(
        sizes in sizes(),
        zeroed in any::<bool>(),
        align in prop::sample::select(vec![1usize, 64, 4096, 4 << 20]),
    ) {
        let pattern: Vec<u8> = (0..9_000_000usize).map(|at| (at * 31 + at / 4096) as u8).collect();
        let mut layout = Layout::from_size_align(sizes[0], align).unwrap();
        // SAFETY: no size is zero; each block is used within its size, and freed with its last layout.
        #[expect(unsafe_code, reason = "the allocator is called as collections call it")]
        unsafe {
            let mut block = match zeroed {
                true => ALLOCATOR.alloc_zeroed(layout),
                false => ALLOCATOR.alloc(layout),
            };
            prop_assert!(!block.is_null() && (block as usize).is_multiple_of(align));
            if zeroed {
                let all = std::slice::from_raw_parts(block, layout.size());
                prop_assert!(all.iter().all(|byte| *byte == 0));
            }
            block.copy_from_nonoverlapping(pattern.as_ptr(), layout.size());
            for &size in &sizes[1..] {
                block = ALLOCATOR.realloc(block, layout, size);
                prop_assert!(!block.is_null() && (block as usize).is_multiple_of(align));
                let kept = layout.size().min(size);
                prop_assert!(std::slice::from_raw_parts(block, kept) == &pattern[..kept]);
                block.copy_from_nonoverlapping(pattern.as_ptr(), size);
                layout = Layout::from_size_align(size, align).unwrap();
            }
            ALLOCATOR.dealloc(block, layout);
        }
    }
}

/// Returns a number from the system's memory statistics of this process, in KB.
fn kilobytes(of: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(of));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// A growing vector is in huge pages, if the system has any.
#[test]
fn vectors_lie_in_huge_pages() {
    let enabled = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    if enabled.is_empty() || enabled.contains("[never]") {
        eprintln!("no huge pages here: nothing is tested");
        return;
    }
    let before = kilobytes("AnonHugePages");
    let mut grown: Vec<u64> = Vec::new();
    (0..16 << 20).for_each(|value| grown.push(value));
    let after = kilobytes("AnonHugePages");
    assert!(grown.iter().copied().eq(0..16 << 20));
    // The vector has 128 MiB, but the system may have few huge pages left.
    assert!(after >= before + (64 << 10), "{before} KB, then {after} KB");
}
