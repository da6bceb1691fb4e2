//! Puppet versions that support a run on demand. Main function: [`is_too_old`].
//!
//! Invariant: only a node that is known to be too old is refused. If the version is unknown or
//! cannot be parsed, the node itself decides.

/// The oldest supported version: `--job-id` came with it, and older ones end with "invalid option".
pub(crate) const OLDEST: &str = "5.0.0";
const OLDEST_MAJOR: u64 = 5;

/// True if this Puppet is older than [`OLDEST`]. A version is `MAJOR.MINOR.PATCH` with any suffix
/// (`-rc1`, `.123.gabcdef0`).
pub(super) fn is_too_old(version: &str) -> bool {
    let major = version
        .split('.')
        .next()
        .and_then(|major| major.parse().ok());
    major.is_some_and(|major: u64| major < OLDEST_MAJOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_known_to_be_older_is_too_old() {
        for old in ["2.7.26", "3.8.7", "4.10.12", "4.99.0-rc1"] {
            assert!(is_too_old(old), "{old}");
        }
        for fine in [
            "5.0.0",
            "5.0.0-rc2",
            "7.23.0",
            "8.11.0.5.gabcdef0",
            "10.0.0",
        ] {
            assert!(!is_too_old(fine), "{fine}");
        }
        for unreadable in ["", "four", "-1.0", "..", "4", "v4.1.0"] {
            assert_eq!(is_too_old(unreadable), unreadable == "4", "{unreadable}");
        }
    }

    #[test]
    fn the_number_is_that_of_the_words() {
        assert!(OLDEST.starts_with(&format!("{OLDEST_MAJOR}.")));
    }
}
