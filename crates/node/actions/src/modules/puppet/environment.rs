//! The path of `puppet` and its environment variables: [`find`], [`variables`].
//!
//! Invariants: messages are in English and UTF-8, independent of the agent's own environment,
//! because some of them are parsed; and `HOME` is set, which Ruby needs.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Paths used by packages: Puppet's and OpenVox's own, then the distributions'.
const PLACES: [&str; 3] = [
    "/opt/puppetlabs/bin/puppet",
    "/usr/bin/puppet",
    "/usr/local/bin/puppet",
];

/// The configured `puppet`, or the first that is installed; the error lists the searched paths.
pub(super) fn find(configured: Option<&Path>) -> Result<PathBuf, String> {
    let places: Vec<PathBuf> = match configured {
        Some(path) => vec![path.to_owned()],
        None => PLACES.iter().map(PathBuf::from).collect(),
    };
    if let Some(found) = places.iter().find(|path| is_executable(path)) {
        return Ok(found.clone());
    }
    let listed: Vec<_> = places.iter().map(|it| it.display().to_string()).collect();
    Err(listed.join(", "))
}

fn is_executable(path: &Path) -> bool {
    path.is_absolute()
        && std::fs::metadata(path)
            .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// The environment of `puppet`, derived from that of the runner.
pub(super) fn variables(
    own: impl Iterator<Item = (String, String)>,
    puppet: &Path,
) -> Vec<(String, String)> {
    let language = |name: &str| name.starts_with("LC_") || name == "LANG" || name == "LANGUAGE";
    let mut variables: Vec<_> = own.filter(|(name, _)| !language(name)).collect();
    for name in ["LANG", "LC_ALL"] {
        variables.push((name.to_owned(), "C.UTF-8".to_owned()));
    }
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let (user, home) = account(rustix::process::geteuid().as_raw(), &passwd);
    for (name, value) in [("HOME", home), ("USER", user.clone()), ("LOGNAME", user)] {
        if !variables.iter().any(|(known, _)| known == name) {
            variables.push((name.to_owned(), value));
        }
    }
    // `facter` and related programs are in the same directory.
    if let Some(directory) = puppet.parent().and_then(Path::to_str)
        && let Some((_, path)) = variables.iter_mut().find(|(name, _)| name == "PATH")
        && !path.split(':').any(|part| part == directory)
    {
        *path = format!("{path}:{directory}");
    }
    variables
}

fn account(uid: u32, passwd: &str) -> (String, String) {
    let found = passwd
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .find(|fields| fields.get(2).and_then(|field| field.parse().ok()) == Some(uid));
    match found.as_deref() {
        Some([name, _, _, _, _, home, ..]) => ((*name).to_owned(), (*home).to_owned()),
        _ if uid == 0 => ("root".to_owned(), "/root".to_owned()),
        _ => (uid.to_string(), "/".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_english_and_the_rest_passes() {
        let own = [
            ("LC_MESSAGES", "de_DE"),
            ("LANG", "de"),
            ("HOME", "/h"),
            ("PATH", "/bin"),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let variables = variables(own.into_iter(), Path::new("/opt/p/bin/puppet"));
        let get = |wanted: &str| {
            let found = variables.iter().find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(get("LC_MESSAGES"), None);
        assert_eq!(get("LC_ALL"), Some("C.UTF-8"));
        assert_eq!(get("HOME"), Some("/h"));
        assert_eq!(get("PATH"), Some("/bin:/opt/p/bin"));
        assert!(get("USER").is_some());
    }

    #[test]
    fn everybody_has_a_home() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nsvc:x:5:5::/srv:/bin/false\n";
        assert_eq!(account(5, passwd), ("svc".into(), "/srv".into()));
        assert_eq!(account(0, ""), ("root".into(), "/root".into()));
        assert_eq!(account(7, passwd), ("7".into(), "/".into()));
    }

    #[test]
    fn a_puppet_that_is_not_there_is_named() {
        let error = find(Some(Path::new("/nonexistent/puppet"))).unwrap_err();
        assert_eq!(error, "/nonexistent/puppet");
        assert!(find(Some(Path::new("/tmp"))).is_err(), "a directory");
        assert!(find(Some(Path::new("bin/sh"))).is_err(), "relative");
        assert_eq!(
            find(Some(Path::new("/bin/sh"))).unwrap(),
            Path::new("/bin/sh")
        );
    }
}
