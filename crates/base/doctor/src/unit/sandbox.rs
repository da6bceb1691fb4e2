//! Paths that a unit may write: [`is_allowed`] by its settings, [`is_mounted_writable`] by the
//! mounts of its process.

use std::path::{Path, PathBuf};

use super::facts::UnitFacts;

const HOMES: [&str; 3] = ["/home", "/root", "/run/user"];
const SYSTEM: [&str; 4] = ["/usr", "/boot", "/efi", "/lib"];

/// True if the settings of the unit allow writing to a path.
pub(super) fn is_allowed(unit: &UnitFacts, path: &Path) -> bool {
    if writable_paths(unit).iter().any(|it| path.starts_with(it)) {
        return true;
    }
    let is_below = |directories: &[&str]| directories.iter().any(|it| path.starts_with(it));
    let is_off = |property| matches!(unit.property(property), "" | "no" | "false");
    if !is_off("ProtectHome") && is_below(&HOMES) {
        return false;
    }
    match unit.property("ProtectSystem") {
        "strict" => {
            !is_off("PrivateTmp") && is_below(&["/tmp", "/var/tmp"])
                || is_below(&["/dev", "/proc", "/sys"])
        }
        "full" => !is_below(&SYSTEM) && !is_below(&["/etc"]),
        "" | "no" | "false" => true,
        _ => !is_below(&SYSTEM),
    }
}

fn writable_paths(unit: &UnitFacts) -> Vec<PathBuf> {
    let named = unit.property("ReadWritePaths").split_whitespace();
    let named = named.map(|path| PathBuf::from(path.trim_start_matches(['-', '+'])));
    let directories = [
        ("StateDirectory", "/var/lib"),
        ("CacheDirectory", "/var/cache"),
        ("LogsDirectory", "/var/log"),
    ];
    let made = directories.iter().flat_map(|(property, above)| {
        let names = unit.property(property).split_whitespace();
        // `NAME:LINK` creates a link as well.
        names.map(move |name| Path::new(above).join(name.split(':').next().unwrap_or(name)))
    });
    named.chain(made).collect()
}

/// True if the mounts of a process allow writing to a path; `None` if no mount contains it.
pub(super) fn is_mounted_writable(mounts: &str, path: &Path) -> Option<bool> {
    let mut found: Option<(PathBuf, bool)> = None;
    for line in mounts.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let (Some(point), Some(options)) = (fields.get(4), fields.get(5)) else {
            continue;
        };
        let point = PathBuf::from(unescape(point));
        if !path.starts_with(&point) {
            continue;
        }
        let is_writable = |options: &str| options.split(',').next() != Some("ro");
        let of_file_system = fields.last().is_none_or(|options| is_writable(options));
        // A later mount on the same point hides the earlier one.
        if found
            .as_ref()
            .is_none_or(|(known, _)| point.starts_with(known))
        {
            found = Some((point, is_writable(options) && of_file_system));
        }
    }
    found.map(|(_, is_writable)| is_writable)
}

/// Restores spaces and other characters that the kernel writes as `\040` and the like.
fn unescape(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part
            .get(..3)
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => {
                shown.push(char::from(code));
                shown.push_str(part.get(3..).unwrap_or_default());
            }
            None => {
                shown.push('\\');
                shown.push_str(part);
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_the_unit_decide() {
        let strict = "ProtectSystem=strict\nProtectHome=yes\nPrivateTmp=yes\nStateDirectory=tutti a:b\n\
                      ReadWritePaths=-/etc/puppetlabs/code -/opt/puppetlabs/tutti\n";
        for (unit, path, allowed) in [
            (strict, "/var/lib/tutti/ca", true),
            (strict, "/var/lib/a", true),
            (strict, "/var/lib/other", false),
            (strict, "/etc/puppetlabs/code/environments", true),
            (strict, "/etc/puppetlabs/codex", false),
            (strict, "/srv/code", false),
            (strict, "/tmp/x", true),
            ("ProtectSystem=full\n", "/etc/puppetlabs/code", false),
            ("ProtectSystem=full\n", "/srv/code", true),
            ("ProtectSystem=yes\n", "/etc/puppetlabs/code", true),
            ("ProtectSystem=yes\n", "/usr/share/x", false),
            ("ProtectHome=yes\n", "/home/a/code", false),
            ("ProtectHome=no\n", "/home/a/code", true),
            ("", "/anywhere", true),
        ] {
            let facts = UnitFacts::parse(unit);
            assert_eq!(
                is_allowed(&facts, Path::new(path)),
                allowed,
                "{path} in {unit}"
            );
        }
    }

    #[test]
    fn the_innermost_mount_decides() {
        let mounts = "22 1 0:20 / / ro,relatime shared:1 - ext4 /dev/vda rw\n\
                      23 22 0:20 /x /srv rw,relatime - ext4 /dev/vda rw\n\
                      24 23 0:21 / /srv/code\\040x ro - tmpfs tmpfs rw\n\
                      25 22 0:22 / /iso rw - iso9660 /dev/sr0 ro\n";
        for (path, writable) in [
            ("/etc/x", Some(false)),
            ("/srv/a", Some(true)),
            ("/srv/code x/y", Some(false)),
            ("/iso/a", Some(false)),
        ] {
            assert_eq!(
                is_mounted_writable(mounts, Path::new(path)),
                writable,
                "{path}"
            );
        }
        assert_eq!(is_mounted_writable("", Path::new("/x")), None);
    }
}
