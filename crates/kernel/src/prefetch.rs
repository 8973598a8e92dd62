//! Prefetch hints, which have no effect except on time.

/// Prefetches the cache line of `slice[index]`, which will be needed soon. Does nothing if the element does
/// not exist, or on processors without a stable hint in Rust.
#[inline(always)]
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(unused_variables, reason = "no hint there")
)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if index < slice.len() {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address is that of an element of the slice, and a prefetch does not access it.
        #[expect(unsafe_code, reason = "the standard library has no safe prefetch")]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(slice.as_ptr().add(index).cast());
        }
    }
}

/// Prefetches all cache lines of a value.
#[inline(always)]
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(unused_variables, reason = "no hint there")
)]
pub fn prefetch_all<T: ?Sized>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start: *const i8 = std::ptr::from_ref(value).cast();
        for byte in (0..size_of_val(value)).step_by(64) {
            // SAFETY: the address is inside the value, and a prefetch does not access it.
            #[expect(unsafe_code, reason = "the standard library has no safe prefetch")]
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(start.add(byte));
            }
        }
    }
}
