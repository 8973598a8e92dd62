//! Copies of boxed trait objects, for runs that fork.

/// Declares a trait `$copies` with a method `$copy` that every [`Clone`] type of the trait `$half`
/// implements. As a supertrait of `$half` it makes boxes of `$half` [`Clone`].
macro_rules! copies {
    ($(#[$doc:meta])* $copies:ident, $copy:ident, $half:ident) => {
        $(#[$doc])*
        pub trait $copies {
            /// Returns a boxed copy of the value.
            fn $copy(&self) -> Box<dyn $half>;
        }

        impl<T: $half + Clone + 'static> $copies for T {
            fn $copy(&self) -> Box<dyn $half> {
                Box::new(self.clone())
            }
        }

        impl Clone for Box<dyn $half> {
            fn clone(&self) -> Self {
                // Dereferences twice: the box itself may implement the trait as well, and would recurse.
                (**self).$copy()
            }
        }
    };
}

pub(crate) use copies;
