//! Names of files as strangers write them.

use std::path::Path;

use fimbria_pipeline::BidsName;
use proptest::prelude::*;

proptest! {
    #[test]
    fn a_name_that_is_understood_is_written_as_it_was(name in "sub-[a-zA-Z0-9+_.-]{0,24}") {
        if let Some(parsed) = BidsName::parse(Path::new(&name)) {
            prop_assert_eq!(parsed.to_string(), name);
        }
    }

    #[test]
    fn no_name_is_too_strange(name in "\\PC{0,32}") {
        // With a folder before it, as files have.
        let path = Path::new("folder").join(&name);
        if let Some(parsed) = BidsName::parse(&path) {
            prop_assert!(parsed.entity("sub").is_some());
            prop_assert!(parsed.belongs_to(&parsed.clone(), &[]));
        }
    }
}
