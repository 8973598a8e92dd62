//! A hint to the processor's caches. It changes nothing but time.

/// Asks for the cache line of `slice[index]`, which will be needed soon; nothing where there is no
/// such element, or on processors for which Rust has no such hint.
#[inline(always)]
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(unused_variables, reason = "no hint there")
)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if index < slice.len() {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address is that of an element of the slice, and a prefetch reads nothing.
        #[expect(unsafe_code, reason = "the standard library has no safe prefetch")]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(slice.as_ptr().add(index).cast());
        }
    }
}

/// Asks for all cache lines of a value.
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
            // SAFETY: the address lies in the value, and a prefetch reads nothing.
            #[expect(unsafe_code, reason = "the standard library has no safe prefetch")]
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(start.add(byte));
            }
        }
    }
}
