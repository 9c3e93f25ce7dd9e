//! Any text as a response of fibres: an error that names a line, or one that is written as it is read.
#![no_main]

use fimbria_models::fod::Response;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Response::from_text(text) {
        Ok(response) => {
            let again = Response::from_text(&response.to_string()).expect("its own text");
            assert_eq!(again.to_string(), response.to_string());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
