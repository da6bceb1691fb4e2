//! Text files named in the configuration, without which the server can start: [`read_text`],
//! [`read_line`].
//!
//! Invariant: an error names the key, the file, the cause and the next step.

use std::path::Path;

/// Reads the whole file. `key` is the key of the configuration that names it.
pub(crate) fn read_text(key: &str, path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| {
        format!(
            "cannot read {key}, {}: {error}; let the server's user read the file, or name another one",
            path.display()
        )
    })
}

/// Reads the first line without surrounding spaces, the format of secrets.
pub(crate) fn read_line(key: &str, path: &Path) -> Result<String, String> {
    let text = read_text(key, path)?;
    match text.lines().next().map(str::trim) {
        None | Some("") => Err(format!(
            "the first line of {key}, {}, is empty; write the secret there, or name another file",
            path.display()
        )),
        Some(line) => Ok(line.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_key_file_cause_and_next_step() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("password");
        let missing = read_line("ldap.password_file", &path).unwrap_err();
        let shown = path.display().to_string();
        for part in ["ldap.password_file", &shown, "No such file", "name another"] {
            assert!(missing.contains(part), "{missing}");
        }
        std::fs::write(&path, "\nsecret\n").unwrap();
        let empty = read_line("ldap.password_file", &path).unwrap_err();
        assert!(empty.contains("is empty"), "{empty}");
        std::fs::write(&path, " secret \nmore").unwrap();
        assert_eq!(read_line("k", &path).unwrap(), "secret");
        assert_eq!(read_text("k", &path).unwrap(), " secret \nmore");
    }
}
