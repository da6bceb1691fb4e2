//! `URI + reference`: references are resolved as in RFC 3986.

use pcore::{PuppetUriError, Uri};

/// Resolves a reference relative to a base URI.
pub(crate) fn merge(base_uri: &Uri, reference: &str) -> Result<Uri, PuppetUriError> {
    let parsed = Uri::parse(reference)?;
    let has_scheme = |uri: &Uri| uri.attribute("scheme").is_some_and(|it| !it.is_undef());
    if has_scheme(&parsed) {
        return Ok(parsed);
    }
    if !has_scheme(base_uri) {
        return Err(PuppetUriError::BothRelative);
    }
    if let Some(merged) = base_uri.merge_opaque(&parsed) {
        return merged;
    }
    let base = base_uri.to_string();
    let base = base.as_str();
    let (scheme, rest) = base.split_once(':').unwrap_or(("", base));
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => {
            let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            (Some(&rest[..end]), &rest[end..])
        }
        None => (None, rest),
    };
    let start = match authority {
        Some(authority) => format!("{scheme}://{authority}"),
        None => format!("{scheme}:"),
    };
    let path_only = path.split(['?', '#']).next().unwrap_or_default();
    let merged = if reference.starts_with("//") {
        format!("{scheme}:{reference}")
    } else if reference.starts_with('/') {
        format!("{start}{}", without_dots(reference))
    } else if reference.is_empty() {
        base.to_owned()
    } else if reference.starts_with('?') {
        format!("{start}{path_only}{reference}")
    } else if reference.starts_with('#') {
        format!("{}{reference}", base.split('#').next().unwrap_or_default())
    } else {
        let folder = path_only.rfind('/').map_or("/", |end| &path_only[..=end]);
        format!("{start}{}", without_dots(&format!("{folder}{reference}")))
    };
    Uri::parse(&merged)
}

/// A path without its `.` and `..`.
fn without_dots(reference: &str) -> String {
    let end = reference.find(['?', '#']).unwrap_or(reference.len());
    let (path, rest) = reference.split_at(end);
    let mut parts: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." if is_last => parts.push(""),
            "." => {}
            ".." => {
                parts.pop();
                if is_last {
                    parts.push("");
                }
            }
            other => parts.push(other),
        }
    }
    format!("/{}{rest}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_from_their_base() {
        let merged =
            |base, reference| merge(&Uri::parse(base)?, reference).map(|it| it.to_string());
        assert_eq!(merged("a/b", "c"), Err(PuppetUriError::BothRelative));
        assert_eq!(
            merged("mailto:a@b#c", "/d#e").as_deref(),
            Ok("mailto:a@b#e")
        );
        assert_eq!(
            merged("mailto:a@b", "?c"),
            Err(PuppetUriError::QueryOfOpaque)
        );
        assert_eq!(merged("http://a/b/c", "d").as_deref(), Ok("http://a/b/d"));
        assert_eq!(
            merged("http://a/b/c", "../d?x").as_deref(),
            Ok("http://a/d?x")
        );
        assert_eq!(
            merged("http://a/b", "/x/./y").as_deref(),
            Ok("http://a/x/y")
        );
        assert_eq!(
            merged("http://a/b", "ftp://c/d").as_deref(),
            Ok("ftp://c/d")
        );
        assert_eq!(
            merged("http://a/b?q", "#f").as_deref(),
            Ok("http://a/b?q#f")
        );
    }
}
