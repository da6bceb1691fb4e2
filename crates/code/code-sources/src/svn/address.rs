//! Checks for calls of Subversion: [`check_url`] addresses and [`parse_revision`] revisions.
//!
//! Invariant: no text of a Puppetfile becomes an option, or a program to run.

use super::SvnError;
use crate::remote_address::strip_credentials;

/// The revision that a Puppetfile requires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SvnRevision {
    /// The revision of this number, which never changes.
    Number(u64),
    /// `HEAD`, or a date in braces: its number must be queried.
    Keyword(String),
}

/// Permitted schemes. `svn+` with any other word would run a program of the user's settings.
const SCHEMES: &[&str] = &["file", "http", "https", "svn", "svn+ssh"];

/// Checks that an address may be passed to `svn`.
pub fn check_url(url: &str) -> Result<&str, SvnError> {
    let wrong = || SvnError::Address(strip_credentials(url));
    let (scheme, rest) = url.split_once("://").ok_or_else(wrong)?;
    let authority = rest.split('/').next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let is_wrong = !SCHEMES.contains(&scheme)
        || authority.starts_with('-')
        || host.starts_with('-')
        || url.chars().any(char::is_control);
    match is_wrong {
        true => Err(wrong()),
        false => Ok(url),
    }
}

/// Escapes a name for use as a part of an address.
pub fn escape_path_segment(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let bytes = name.bytes();
    let parts = bytes.map(|byte| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    parts.collect()
}

/// Parses the revision that a Puppetfile names.
pub fn parse_revision(url: &str, named: Option<&str>) -> Result<SvnRevision, SvnError> {
    let Some(named) = named else {
        return Ok(SvnRevision::Keyword("HEAD".to_owned()));
    };
    let number = named.strip_prefix('r').unwrap_or(named);
    let is_date = named.len() > 2
        && named.starts_with('{')
        && named.ends_with('}')
        && named.chars().all(|c| c.is_ascii_graphic() || c == ' ');
    match number.parse() {
        Ok(number) => Ok(SvnRevision::Number(number)),
        Err(_) if is_date => Ok(SvnRevision::Keyword(named.to_owned())),
        Err(_) if named.eq_ignore_ascii_case("HEAD") => Ok(SvnRevision::Keyword("HEAD".to_owned())),
        Err(_) => Err(SvnError::Revision {
            url: strip_credentials(url),
            wanted: named.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for good in [
            "file:///srv/svn/x",
            "https://example.com/x/trunk",
            "svn+ssh://me@example.com/x",
            "svn://example.com:3690/a@b",
        ] {
            assert!(check_url(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "/srv/svn/x",
            "-x",
            "svn+sh://example.com/x",
            "ftp://example.com/x",
            "svn+ssh://-oProxyCommand=x/y",
            "svn+ssh://me@-oProxyCommand=x/y",
            "https://example.com/a\nb",
            "https://example.com/a\0b",
        ] {
            assert!(check_url(bad).is_err(), "{bad:?}");
        }
        let error = check_url("ftp://me:secret@example.com/x").unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }

    #[test]
    fn revisions() {
        let read = |named| parse_revision("file:///x", named).ok();
        let asked = |text: &str| Some(SvnRevision::Keyword(text.to_owned()));
        assert_eq!(read(Some("17")), Some(SvnRevision::Number(17)));
        assert_eq!(read(Some("r17")), Some(SvnRevision::Number(17)));
        assert_eq!(read(None), asked("HEAD"));
        assert_eq!(read(Some("head")), asked("HEAD"));
        assert_eq!(read(Some("{2026-01-01}")), asked("{2026-01-01}"));
        for bad in [
            "",
            "-1",
            "1:2",
            "main",
            "{}",
            "{\n}",
            "BASE",
            "99999999999999999999999",
        ] {
            assert_eq!(read(Some(bad)), None, "{bad:?}");
        }
    }
}
