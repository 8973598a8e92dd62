//! Copies of what is in a box, whatever its type: runs that fork ask for them.

/// A trait `$copies` with a method `$copy`, which everything has that is a `$half` and [`Clone`]; with it as a
/// supertrait, boxes of `$half` are [`Clone`].
macro_rules! copies {
    ($(#[$doc:meta])* $copies:ident, $copy:ident, $half:ident) => {
        $(#[$doc])*
        pub trait $copies {
            /// The copy.
            fn $copy(&self) -> Box<dyn $half>;
        }

        impl<T: $half + Clone + 'static> $copies for T {
            fn $copy(&self) -> Box<dyn $half> {
                Box::new(self.clone())
            }
        }

        impl Clone for Box<dyn $half> {
            fn clone(&self) -> Self {
                // Of what is in the box: the box itself may be one, too.
                (**self).$copy()
            }
        }
    };
}

pub(crate) use copies;
