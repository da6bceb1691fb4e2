//! Addresses of repositories and archives in the form for messages and locks:
//! [`strip_credentials`].

/// Removes the credentials from an address.
pub fn strip_credentials(remote: &str) -> String {
    let Some((scheme, rest)) = remote.split_once("://") else {
        return remote.to_owned();
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://{host}/{path}"),
        None => remote.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_password_are_left_out() {
        for (remote, safe) in [
            (
                "https://me:pw@example.com/x.git",
                "https://example.com/x.git",
            ),
            (
                "https://token@example.com/x.git",
                "https://example.com/x.git",
            ),
            ("ssh://git@example.com/x", "ssh://example.com/x"),
            ("git@example.com:x.git", "git@example.com:x.git"),
            ("/srv/x.git", "/srv/x.git"),
        ] {
            assert_eq!(strip_credentials(remote), safe);
        }
    }
}
