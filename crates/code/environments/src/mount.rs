//! [`FileMount`]: the parts of modules that are served to nodes, and their URIs.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::str::FromStr;

/// A mount of the Puppet file API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileMount {
    /// Files of `<module>/files`.
    Modules,
    /// Tasks of `<module>/tasks`.
    Tasks,
    /// Scripts of `<module>/scripts`.
    Scripts,
    /// Plugins of `<module>/lib` of all modules together; its paths have no module.
    Plugins,
    /// External facts of `<module>/facts.d` of all modules together; its paths have no module.
    PluginFacts,
    /// Translations of `<module>/locales` of all modules together; its paths have no module.
    Locales,
}

/// The error for a text that is not the name of a served mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no such mount: modules, tasks, scripts, plugins, pluginfacts and locales are served")]
pub struct UnknownMount;

const MOUNTS: [(FileMount, &str, &str); 6] = [
    (FileMount::Modules, "modules", "files"),
    (FileMount::Tasks, "tasks", "tasks"),
    (FileMount::Scripts, "scripts", "scripts"),
    (FileMount::Plugins, "plugins", "lib"),
    (FileMount::PluginFacts, "pluginfacts", "facts.d"),
    (FileMount::Locales, "locales", "locales"),
];

impl FileMount {
    /// True if its paths name a module.
    #[must_use]
    pub fn has_modules(self) -> bool {
        !matches!(self, Self::Plugins | Self::PluginFacts | Self::Locales)
    }

    /// Name of the mount in URIs.
    pub fn as_str(self) -> &'static str {
        self.uri_and_directory_names().0
    }

    /// Name of the directory in a module.
    pub(crate) fn directory(self) -> &'static str {
        self.uri_and_directory_names().1
    }

    /// The mount of a module's directory.
    pub(crate) fn from_directory(directory: &str) -> Option<Self> {
        MOUNTS
            .iter()
            .find(|(_, _, known)| *known == directory)
            .map(|(mount, ..)| *mount)
    }

    /// The path of a file's URI, without the query.
    pub(crate) fn uri_path(self, module: &str, path: &str) -> String {
        let mut uri = format!("/puppet/v3/file_content/{}/", self.as_str());
        if self.has_modules() {
            uri.push_str(module);
            uri.push('/');
        }
        for byte in path.bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                    uri.push(char::from(byte));
                }
                _ => {
                    // Writing to a string cannot fail.
                    let _ = write!(uri, "%{byte:02X}");
                }
            }
        }
        uri
    }

    fn uri_and_directory_names(self) -> (&'static str, &'static str) {
        match self {
            Self::Modules => ("modules", "files"),
            Self::Tasks => ("tasks", "tasks"),
            Self::Scripts => ("scripts", "scripts"),
            Self::Plugins => ("plugins", "lib"),
            Self::PluginFacts => ("pluginfacts", "facts.d"),
            Self::Locales => ("locales", "locales"),
        }
    }
}

/// A path below a mount without the superfluous slashes that Puppet ignores: those at its begin and end, and all but
/// one between names.
pub fn mount_path(path: &str) -> Cow<'_, str> {
    let path = path.trim_matches('/');
    match path.contains("//") {
        false => Cow::Borrowed(path),
        true => {
            let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
            Cow::Owned(names.join("/"))
        }
    }
}

impl FromStr for FileMount {
    type Err = UnknownMount;

    fn from_str(text: &str) -> Result<Self, UnknownMount> {
        let found = MOUNTS.iter().find(|(_, name, _)| *name == text);
        found.map(|(mount, ..)| *mount).ok_or(UnknownMount)
    }
}

impl fmt::Display for FileMount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn superfluous_slashes_are_no_part_of_a_path() {
        for (path, expected) in [
            ("", ""),
            ("/", ""),
            ("a/b", "a/b"),
            ("//a///b//", "a/b"),
            ("a/../b", "a/../b"),
        ] {
            assert_eq!(mount_path(path), expected);
        }
    }

    #[test]
    fn uris_are_those_that_agents_ask_for() {
        let path = |mount: FileMount, file| mount.uri_path("ntp", file);
        assert_eq!(
            path(FileMount::Tasks, "init.sh"),
            "/puppet/v3/file_content/tasks/ntp/init.sh"
        );
        assert_eq!(
            path(FileMount::Modules, "a/b"),
            "/puppet/v3/file_content/modules/ntp/a/b"
        );
        assert_eq!(
            path(FileMount::Plugins, "x.rb"),
            "/puppet/v3/file_content/plugins/x.rb"
        );
        assert_eq!(
            path(FileMount::PluginFacts, "x.sh"),
            "/puppet/v3/file_content/pluginfacts/x.sh"
        );
        assert_eq!(
            path(FileMount::Modules, "a b?ä"),
            "/puppet/v3/file_content/modules/ntp/a%20b%3F%C3%A4"
        );
    }

    #[test]
    fn names_are_read_back() {
        for (mount, name, directory) in MOUNTS {
            assert_eq!(name.parse(), Ok(mount));
            assert_eq!(mount.uri_and_directory_names(), (name, directory));
            assert_eq!(FileMount::from_directory(directory), Some(mount));
        }
        assert_eq!("manifests".parse::<FileMount>(), Err(UnknownMount));
    }
}
