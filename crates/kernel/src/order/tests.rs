use proptest::prelude::*;

use super::Sort as _;

proptest! {
    /// The order is that of the standard library's stable sort.
    #[test]
    fn it_sorts_as_the_standard_library(items in prop::collection::vec((0_u8..8, any::<u8>()), 0..80)) {
        let (mut found, mut expected) = (items.clone(), items.clone());
        found.order_by_key(|item| item.0);
        expected.sort_by_key(|item| item.0);
        prop_assert_eq!(&found, &expected);
        found.order_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        expected.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        prop_assert_eq!(&found, &expected);
        found.order();
        expected.sort();
        prop_assert_eq!(&found, &expected);
    }
}
