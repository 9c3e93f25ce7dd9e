//! A sign.

/// A parser of 1 and -1.
pub(crate) fn sign(text: &str) -> Result<i8, String> {
    match text {
        "1" | "+1" => Ok(1),
        "-1" => Ok(-1),
        _ => Err("it is 1 or -1".to_owned()),
    }
}
