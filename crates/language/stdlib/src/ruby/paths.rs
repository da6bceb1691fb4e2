//! `File.basename`, `File.dirname`, `File.extname` and absolute paths of POSIX and Windows.

/// The last part of a path, without `suffix`; `.*` is any extension.
pub(crate) fn basename<'p>(path: &'p str, suffix: &str) -> &'p str {
    let trimmed = path.trim_end_matches('/');
    if trimmed.is_empty() {
        return if path.is_empty() { "" } else { "/" };
    }
    let base = trimmed.rsplit('/').next().unwrap_or(trimmed);
    let cut = if suffix == ".*" {
        match base.rfind('.') {
            Some(at) if at > 0 => &base[..at],
            _ => base,
        }
    } else {
        base.strip_suffix(suffix).unwrap_or(base)
    };
    if cut.is_empty() { base } else { cut }
}

pub(crate) fn dirname(path: &str) -> &str {
    let trimmed = path.trim_end_matches('/');
    if trimmed.is_empty() {
        return if path.is_empty() { "." } else { "/" };
    }
    match trimmed.rfind('/') {
        None => ".",
        Some(at) => {
            let parent = trimmed[..at].trim_end_matches('/');
            if parent.is_empty() {
                "/"
            } else {
                // leading slashes count as one
                let slashes = parent.len() - parent.trim_start_matches('/').len();
                &parent[slashes.saturating_sub(1)..]
            }
        }
    }
}

/// The extension with its dot; a leading dot does not begin an extension.
pub(crate) fn extname(path: &str) -> &str {
    let base = path
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or(path);
    let named = base.trim_start_matches('.');
    match named.rfind('.') {
        Some(at) => &named[at..],
        None => "",
    }
}

/// True if the path is absolute on POSIX systems or on Windows, by Puppet's definition.
pub(crate) fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || is_windows(path)
}

fn is_windows(path: &str) -> bool {
    let is_slash = |c: char| matches!(c, '/' | '\\');
    let mut letters = path.chars();
    let (first, second, third) = (letters.next(), letters.next(), letters.next());
    if first.is_some_and(|c| c.is_ascii_alphabetic())
        && second == Some(':')
        && third.is_some_and(is_slash)
    {
        return true;
    }
    if !(first.is_some_and(is_slash) && second.is_some_and(is_slash)) {
        return false;
    }
    let parts: Vec<&str> = path[2..].split(is_slash).collect();
    // `\\server\share`, `\\?\C:\`
    parts.len() > 1 && !parts[0].is_empty() && !parts[1].is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_apart_as_in_ruby() {
        assert_eq!(
            [
                basename("/a/b.rb", ""),
                basename("/a/b.rb", ".rb"),
                basename("/a/b.rb/", ".*"),
                basename("//", ""),
                basename("", ""),
                basename(".rb", ".rb")
            ],
            ["b.rb", "b", "b", "/", "", ".rb"]
        );
        assert_eq!(
            [
                dirname("/a/b/"),
                dirname("a"),
                dirname("/a"),
                dirname("//a//b"),
                dirname("a//b//"),
                dirname("/")
            ],
            ["/a", ".", "/", "/a", "a", "/"]
        );
        assert_eq!(
            [
                extname("a.b.c"),
                extname(".a"),
                extname(".a.b"),
                extname("a"),
                extname("a."),
                extname("x/..a")
            ],
            [".c", "", ".b", "", ".", ""]
        );
        assert!(
            is_absolute("/")
                && is_absolute("C:\\x")
                && is_absolute("c:/")
                && is_absolute("\\\\a\\b")
        );
        assert!(
            !is_absolute("a/b") && !is_absolute("C:x") && !is_absolute("\\\\a") && !is_absolute("")
        );
    }
}
