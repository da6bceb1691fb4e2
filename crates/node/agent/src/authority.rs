//! `host[:port]`, the common part of all addresses in the configuration.
//!
//! Invariants: a port that is not a 16-bit number is an error, never a default; user names and
//! passwords are refused.

/// Parses the host, without the brackets of an IPv6 literal, and the port if there is one.
pub(crate) fn parse(text: &str) -> Option<(String, Option<u16>)> {
    let authority: http::uri::Authority = text.parse().ok()?;
    let after_host = authority.as_str().strip_prefix(authority.host())?;
    let port = match after_host.strip_prefix(':') {
        Some(digits) => Some(digits.parse().ok()?),
        None if after_host.is_empty() => None,
        None => return None,
    };
    let host = authority.host().trim_matches(['[', ']']);
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

/// Formats `host:port`, with brackets around an IPv6 literal.
pub(crate) fn format(host: &str, port: u16) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports_are_told_apart() {
        for (text, host, port) in [
            ("a.example", "a.example", None),
            ("a.example:1", "a.example", Some(1)),
            ("127.0.0.1:65535", "127.0.0.1", Some(65535)),
            ("[::1]", "::1", None),
            ("[::1]:8142", "::1", Some(8142)),
        ] {
            assert_eq!(parse(text), Some((host.to_owned(), port)), "{text}");
        }
        assert_eq!(format("::1", 8142), "[::1]:8142");
        assert_eq!(format("a", 8142), "a:8142");
    }

    #[test]
    fn what_is_neither_is_refused() {
        for text in [
            "", ":1", "a:", "a:65536", "a:x", "a:-1", "u@a", "u:p@a:1", "a b", "a/b", "::1",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
