//! Lists of names to sign, in the format of Puppet's `autosign.conf`. Main function: [`is_listed`].
//!
//! Invariant: a line that cannot be parsed signs nothing, and is logged once per read of the file.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use crate::defaults::AUTOSIGN_LIST_BYTES;

/// True if the list names this certname. A missing file names nothing.
pub(super) fn is_listed(path: &Path, certname: &str) -> bool {
    match read(path) {
        Ok(text) => is_listed_in(&text, path, certname),
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => {
            tracing::warn!(
                file = %path.display(), %error,
                "nothing is signed automatically: the list of ca.autosign cannot be read; make it readable for the \
                 user of the service"
            );
            false
        }
    }
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let limit = AUTOSIGN_LIST_BYTES + 1;
    File::open(path)?.take(limit).read_to_string(&mut text)?;
    if text.len() as u64 >= limit {
        let what = format!("it is larger than {AUTOSIGN_LIST_BYTES} bytes");
        return Err(std::io::Error::new(ErrorKind::FileTooLarge, what));
    }
    Ok(text)
}

fn is_listed_in(text: &str, path: &Path, certname: &str) -> bool {
    let mut is_named = false;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        match super::pattern(line) {
            Some(pattern) => is_named |= pattern.matches(certname),
            None => tracing::warn!(
                file = %path.display(), line = number,
                "this line of ca.autosign is neither a certname nor a domain such as *.lab.example, and signs nothing"
            ),
        }
    }
    is_named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_names_domains_and_comments_as_puppets_has() {
        let text =
            "# nodes\n\n  db1  # the first\n*.lab.example\n*\n*.*.org\n/etc/passwd\n*.com\r\n";
        let named = |certname: &str| is_listed_in(text, Path::new("autosign.conf"), certname);
        for good in ["db1", "a.lab.example", "a.b.lab.example", "x.com"] {
            assert!(named(good), "{good}");
        }
        for bad in [
            "db2",
            "lab.example",
            "evillab.example",
            "a.b.org",
            "web1",
            "#",
        ] {
            assert!(!named(bad), "{bad}");
        }
    }

    #[test]
    fn a_list_that_is_missing_unreadable_or_too_large_names_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("autosign.conf");
        assert!(!is_listed(&path, "db1"));
        std::fs::write(&path, "db1\n").unwrap();
        assert!(is_listed(&path, "db1"));
        std::fs::write(&path, b"db1\n\xff\n").unwrap();
        assert!(!is_listed(&path, "db1"));
        let large = "db1\n".repeat(usize::try_from(AUTOSIGN_LIST_BYTES).unwrap());
        std::fs::write(&path, large).unwrap();
        assert!(!is_listed(&path, "db1"));
        assert!(!is_listed(dir.path(), "db1"));
    }
}
