//! Facts that need nothing installed, structured and named as in Facter: [`facts`].
//!
//! Invariant: a fact that the kernel does not provide is left out; only the family of an unknown
//! Linux is guessed.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Map, Value, json};

/// OS families with their Linux names, as in `ID` and `ID_LIKE`.
const FAMILIES: &[(&str, &[&str])] = &[
    ("Debian", &["debian", "ubuntu", "raspbian", "linuxmint"]),
    (
        "RedHat",
        &[
            "rhel",
            "fedora",
            "centos",
            "rocky",
            "almalinux",
            "ol",
            "amzn",
        ],
    ),
    ("Suse", &["suse", "opensuse", "sles", "opensuse-leap"]),
    ("Archlinux", &["arch", "manjaro"]),
    ("Gentoo", &["gentoo"]),
    ("Alpine", &["alpine"]),
];

/// Facter's names of distributions that differ from those in os-release.
const NAMES: &[(&str, &str)] = &[
    ("debian", "Debian"),
    ("ubuntu", "Ubuntu"),
    ("rhel", "RedHat"),
    ("centos", "CentOS"),
    ("fedora", "Fedora"),
    ("rocky", "Rocky"),
    ("almalinux", "AlmaLinux"),
    ("ol", "OracleLinux"),
    ("amzn", "Amazon"),
    ("sles", "SLES"),
    ("arch", "Archlinux"),
    ("gentoo", "Gentoo"),
    ("alpine", "Alpine"),
];

/// Collects the whole set.
pub(super) fn facts() -> Map<String, Value> {
    let uname = rustix::system::uname();
    let text = |c: &std::ffi::CStr| c.to_string_lossy().into_owned();
    let (kernel, release, machine) = (
        text(uname.sysname()),
        text(uname.release()),
        text(uname.machine()),
    );
    let mut facts = Map::new();
    facts.insert("kernel".into(), kernel.into());
    facts.insert("kernelversion".into(), kernel_version(&release).into());
    facts.insert("kernelrelease".into(), release.into());
    let release = read("/etc/os-release").or_else(|| read("/usr/lib/os-release"));
    facts.insert("os".into(), os(&release.unwrap_or_default(), &machine));
    facts.insert("networking".into(), networking(&text(uname.nodename())));
    facts.insert("processors".into(), processors());
    if let Some(memory) = read("/proc/meminfo").as_deref().and_then(memory) {
        facts.insert("memory".into(), memory);
    }
    if let Some(uptime) = read("/proc/uptime").as_deref().and_then(uptime) {
        facts.insert("system_uptime".into(), uptime);
    }
    facts
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// The version in a kernel release: `6.1.0` for `6.1.0-18-amd64`.
fn kernel_version(release: &str) -> &str {
    let end = release.find(|c: char| !(c.is_ascii_digit() || c == '.'));
    &release[..end.unwrap_or(release.len())]
}

fn os(release: &str, machine: &str) -> Value {
    let release = assignments(release);
    let get = |name: &str| release.get(name).map_or("", String::as_str);
    let id = get("ID");
    let like = get("ID_LIKE");
    let known = NAMES.iter().find(|(known, _)| *known == id);
    let name = known.map_or_else(|| get("NAME").to_owned(), |(_, name)| (*name).to_owned());
    let of_family = |word: &str| {
        let found = FAMILIES.iter().find(|(_, ids)| ids.contains(&word));
        found.map(|(family, _)| *family)
    };
    let family = of_family(id).or_else(|| like.split(' ').find_map(of_family));
    let version = get("VERSION_ID");
    let (major, minor) = match version.split_once('.') {
        // For Ubuntu, the major release is the whole `22.04`.
        Some(_) if id == "ubuntu" => (version, None),
        Some((major, minor)) => (major, Some(minor)),
        None => (version, None),
    };
    let mut release = Map::new();
    release.insert("full".into(), version.into());
    release.insert("major".into(), major.into());
    if let Some(minor) = minor {
        release.insert("minor".into(), minor.into());
    }
    let architecture = match (family, machine) {
        (Some("Debian"), "x86_64") => "amd64",
        (Some("Debian"), "aarch64") => "arm64",
        _ => machine,
    };
    json!({
        "name": name,
        "family": family.unwrap_or("Linux"),
        "release": release,
        "architecture": architecture,
        "hardware": machine,
    })
}

/// Parses the `NAME="value"` lines of os-release.
fn assignments(text: &str) -> BTreeMap<String, String> {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs
        .map(|(name, value)| {
            let value = value.trim().trim_matches(['"', '\'']);
            (name.trim().to_owned(), value.to_owned())
        })
        .collect()
}

fn networking(nodename: &str) -> Value {
    let (hostname, domain) = match nodename.split_once('.') {
        Some((hostname, domain)) => (hostname, Some(domain.to_owned())),
        None => (nodename, resolver_domain()),
    };
    let mut networking = Map::new();
    networking.insert("hostname".into(), hostname.into());
    let fqdn = match &domain {
        Some(domain) => format!("{hostname}.{domain}"),
        None => hostname.to_owned(),
    };
    networking.insert("fqdn".into(), fqdn.into());
    if let Some(domain) = domain {
        networking.insert("domain".into(), domain.into());
    }
    if let Some(primary) = read("/proc/net/route")
        .as_deref()
        .and_then(primary_interface)
    {
        networking.insert("primary".into(), primary.into());
    }
    if let Some(ip) = own_address() {
        networking.insert("ip".into(), ip.into());
    }
    Value::Object(networking)
}

fn resolver_domain() -> Option<String> {
    let text = read("/etc/resolv.conf")?;
    let mut words = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let is_domain = matches!(words.next(), Some("domain" | "search"));
        is_domain.then(|| words.next()).flatten()
    });
    words.next().map(str::to_owned)
}

/// The interface of the default route.
fn primary_interface(routes: &str) -> Option<&str> {
    routes.lines().skip(1).find_map(|line| {
        let mut columns = line.split_whitespace();
        let interface = columns.next()?;
        (columns.next()? == "00000000").then_some(interface)
    })
}

/// The source address of packets to the internet. Connecting a UDP socket sends nothing.
fn own_address() -> Option<String> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    Some(socket.local_addr().ok()?.ip().to_string())
}

fn processors() -> Value {
    let text = read("/proc/cpuinfo").unwrap_or_default();
    let models: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| name.trim() == "model name")
        .map(|(_, model)| model.trim())
        .collect();
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    json!({ "count": models.len().max(count), "models": models })
}

/// Parses `/proc/meminfo`, which counts in KiB.
fn memory(text: &str) -> Option<Value> {
    let values: BTreeMap<&str, u64> = text
        .lines()
        .filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name, value.split_whitespace().next()?.parse().ok()?))
        })
        .collect();
    let part = |total: &str, free: &str| {
        let (total, free) = (values.get(total)? * 1_024, values.get(free)? * 1_024);
        Some(json!({
            "total_bytes": total,
            "available_bytes": free,
            "used_bytes": total.saturating_sub(free),
        }))
    };
    let mut memory = Map::new();
    memory.insert("system".into(), part("MemTotal", "MemAvailable")?);
    if values.get("SwapTotal").is_some_and(|total| *total > 0) {
        memory.insert("swap".into(), part("SwapTotal", "SwapFree")?);
    }
    Some(Value::Object(memory))
}

fn uptime(text: &str) -> Option<Value> {
    let seconds: f64 = text.split_whitespace().next()?.parse().ok()?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an uptime is positive and small"
    )]
    let seconds = seconds as u64;
    Some(json!({
        "seconds": seconds,
        "hours": seconds / 3_600,
        "days": seconds / 86_400,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_is_named_as_facter_names_it() {
        for (text, name, family, major) in [
            (
                "ID=debian\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"",
                "Debian",
                "Debian",
                "12",
            ),
            (
                "ID=ubuntu\nVERSION_ID=\"22.04\"",
                "Ubuntu",
                "Debian",
                "22.04",
            ),
            (
                "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID='9.3'",
                "Rocky",
                "RedHat",
                "9",
            ),
            ("ID=mine\nNAME=Mine\nID_LIKE=debian", "Mine", "Debian", ""),
            ("", "", "Linux", ""),
        ] {
            let os = os(text, "x86_64");
            assert_eq!(os["name"], name);
            assert_eq!(os["family"], family, "{name}");
            assert_eq!(os["release"]["major"], major, "{name}");
        }
        assert_eq!(os("ID=debian", "x86_64")["architecture"], "amd64");
    }

    #[test]
    fn numbers_are_read_from_the_kernels_texts() {
        let text = "MemTotal: 100 kB\nMemAvailable: 40 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n";
        let memory = memory(text).unwrap();
        assert_eq!(memory["system"]["used_bytes"], 60 * 1_024);
        assert_eq!(memory.get("swap"), None);
        assert_eq!(uptime("90061.5 1.0\n").unwrap()["days"], 1);
        assert_eq!(uptime("x"), None);
        let routes = "Iface Destination Gateway\nlo 0000007F 0\neth0 00000000 0101\n";
        assert_eq!(primary_interface(routes), Some("eth0"));
        assert_eq!(kernel_version("6.1.0-18-amd64"), "6.1.0");
    }

    #[test]
    fn this_machine_has_the_whole_set() {
        let facts = facts();
        for name in [
            "kernel",
            "os",
            "networking",
            "processors",
            "memory",
            "system_uptime",
        ] {
            assert!(facts.contains_key(name), "{name}");
        }
        assert!(facts["processors"]["count"].as_u64() > Some(0));
    }
}
