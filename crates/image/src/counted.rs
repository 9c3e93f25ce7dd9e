//! Numbers of things in words.

/// "1 voxel", "2 voxels", "0 entries": for messages.
pub fn counted(number: impl TryInto<u64>, one: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    match (number, one.strip_suffix('y')) {
        (1, _) => format!("1 {one}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        (_, None) => format!("{number} {one}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        let said = [0_usize, 1, 2].map(|n| counted(n, "voxel"));
        assert_eq!(said, ["0 voxels", "1 voxel", "2 voxels"]);
        assert_eq!(counted(1_u64, "entry"), "1 entry");
        assert_eq!(counted(3_u32, "entry"), "3 entries");
    }
}
