//! Invented facts of a Debian server, in the form of Facter: [`facts`].
//!
//! What servers of one site have in common (release, processors, file systems' options) is the same
//! on many of these; what every server has alone (addresses, keys, serial numbers, free space) is
//! of its own on each.

use serde_json::{Map, Value, json};

/// How much there is on a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) interfaces: u64,
    pub(crate) mounts: u64,
    pub(crate) processors: u64,
}

/// The facts of the server of this number.
pub(crate) fn facts(n: u64, size: Size) -> Map<String, Value> {
    let name = format!("node{n:06}");
    let bytes = |salt: u64| chance(n, salt) % 400_000_000_000;
    let release = ["11", "12", "13"][(n % 3) as usize];
    let total = 8_323_072_000 + (n % 4) * 8_589_934_592;
    let free = chance(n, 1) % total;
    let os = json!({
        "architecture": "amd64", "family": "Debian", "hardware": "x86_64", "name": "Debian",
        "distro": {"codename": format!("release-{release}"), "id": "Debian",
            "description": format!("Debian GNU/Linux {release}"),
            "release": {"full": format!("{release}.4"), "major": release, "minor": "4"}},
        "release": {"full": format!("{release}.4"), "major": release, "minor": "4"},
        "selinux": {"enabled": false},
    });
    let facts = json!({
        "aio_agent_version": "8.10.0", "augeas": {"version": "1.14.1"},
        "disks": {"sda": disk(n, 2), "sdb": disk(n, 3), "nvme0n1": disk(n, 4)},
        "dmi": {
            "bios": {"release_date": "03/14/2025", "vendor": "SeaBIOS", "version": "1.16.3"},
            "board": {"manufacturer": "Example Inc.", "product": "X-12", "serial_number": hex(n, 5)},
            "chassis": {"asset_tag": hex(n, 6), "type": "Rack Mount Chassis"},
            "manufacturer": "Example Inc.",
            "product": {"name": "Server 9", "serial_number": hex(n, 7), "uuid": uuid(n)}},
        "facterversion": "4.10.0",
        "filesystems": "btrfs,ext2,ext3,ext4,squashfs,vfat,xfs",
        "fips_enabled": false,
        "hypervisors": {"kvm": {}},
        "identity": {"gid": 0, "group": "root", "privileged": true, "uid": 0, "user": "root"},
        "is_virtual": true, "kernel": "Linux", "kernelmajversion": "6.12",
        "kernelrelease": "6.12.48+deb13-amd64", "kernelversion": "6.12.48",
        "load_averages": {"1m": load(n, 8), "5m": load(n, 9), "15m": load(n, 10)},
        "memory": {
            "swap": {"available": human(bytes(11)), "available_bytes": bytes(11), "capacity": "0%",
                "total": "976.00 MiB", "total_bytes": 1_023_406_080_u64, "used": "0 bytes",
                "used_bytes": 0},
            "system": {"available": human(free), "available_bytes": free,
                "capacity": format!("{:.2}%", chance(n, 12) as f64 % 100.0),
                "total": human(total), "total_bytes": total,
                "used": human(total - free), "used_bytes": total - free}},
        "mountpoints": mounts(n, size.mounts),
        "networking": networking(n, &name, size.interfaces),
        "os": os,
        "partitions": partitions(n),
        "path": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/puppetlabs/bin",
        "processors": {"cores": size.processors / 2, "count": size.processors, "isa": "x86_64",
            "extensions": ["x86_64", "x86_64-v1", "x86_64-v2", "x86_64-v3"],
            "models": vec!["AMD EPYC 7763 64-Core Processor"; size.processors as usize],
            "physicalcount": 1, "speed": "2.45 GHz", "threads": 2},
        "puppetversion": "8.10.0", "role": if n.is_multiple_of(5) { "web" } else { "db" },
        "ruby": {"platform": "x86_64-linux", "sitedir": "/opt/puppetlabs/puppet/lib/ruby/site_ruby",
            "version": "3.2.8"},
        "ssh": {"ecdsa": key(n, 13, 100), "ed25519": key(n, 14, 68), "rsa": key(n, 15, 372)},
        "system_uptime": {"days": n % 300, "hours": n % 7_200, "seconds": chance(n, 16) % 26_000_000,
            "uptime": format!("{} days", n % 300)},
        "timezone": "UTC", "virtual": "kvm",
    });
    match facts {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn networking(n: u64, name: &str, interfaces: u64) -> Value {
    let mut all = Map::new();
    for i in 0..interfaces {
        let (ip, mac) = (format!("10.{}.{}.{}", i, n / 250, n % 250), mac(n, i));
        let ip6 = format!("fe80::{:x}:{:x}", i, chance(n, 100 + i) >> 16);
        let interface = json!({
            "bindings": [{"address": ip, "netmask": "255.255.0.0", "network": format!("10.{i}.0.0")}],
            "bindings6": [{"address": ip6, "flags": ["permanent"], "netmask": "ffff:ffff:ffff:ffff::",
                "network": "fe80::", "scope6": "link"}],
            "duplex": "full", "ip": ip, "ip6": ip6, "mac": mac, "mtu": 1_500,
            "netmask": "255.255.0.0", "netmask6": "ffff:ffff:ffff:ffff::",
            "network": format!("10.{i}.0.0"), "network6": "fe80::", "operational_state": "up",
            "physical": true, "scope6": "link", "speed": 10_000,
        });
        all.insert(format!("eth{i}"), interface);
    }
    json!({"domain": "example.com", "fqdn": format!("{name}.example.com"), "hostname": name,
        "interfaces": all, "ip": format!("10.0.{}.{}", n / 250, n % 250), "mac": mac(n, 0),
        "mtu": 1_500, "netmask": "255.255.0.0", "network": "10.0.0.0", "primary": "eth0",
        "scope6": "link"})
}

fn mounts(n: u64, mounts: u64) -> Value {
    let mut all = Map::new();
    for i in 0..mounts {
        let size = 40_000_000_000 + i * 1_000_000_000;
        let used = chance(n, 200 + i) % size;
        let mount = json!({
            "available": human(size - used), "available_bytes": size - used,
            "capacity": format!("{:.2}%", used as f64 / size as f64 * 100.0),
            "device": format!("/dev/mapper/vg0-lv{i}"), "filesystem": "ext4",
            "options": ["rw", "relatime", "errors=remount-ro"],
            "size": human(size), "size_bytes": size, "used": human(used), "used_bytes": used,
        });
        all.insert(format!("/srv/volume{i}"), mount);
    }
    Value::Object(all)
}

fn partitions(n: u64) -> Value {
    let mut all = Map::new();
    for i in 1..=4 {
        let size = 10_000_000_000_u64 * i;
        let partition = json!({"filesystem": "ext4", "mount": format!("/srv/volume{i}"),
            "partuuid": hex(n, 300 + i), "size": human(size), "size_bytes": size, "uuid": uuid(n + i)});
        all.insert(format!("/dev/sda{i}"), partition);
    }
    Value::Object(all)
}

fn disk(n: u64, salt: u64) -> Value {
    json!({"model": "QEMU HARDDISK", "serial": hex(n, salt), "size": "40.00 GiB",
        "size_bytes": 42_949_672_960_u64, "type": "ssd", "vendor": "QEMU", "wwn": hex(n, salt + 50)})
}

fn key(n: u64, salt: u64, length: usize) -> Value {
    let mut key = String::new();
    let mut at = salt * 1_000;
    while key.len() < length {
        key.push_str(&hex(n, at));
        at += 1;
    }
    key.truncate(length);
    json!({"fingerprints": {"sha1": format!("SSHFP 3 1 {}", hex(n, salt + 60)),
        "sha256": format!("SSHFP 3 2 {}{}", hex(n, salt + 70), hex(n, salt + 80))},
        "key": key, "type": "ecdsa-sha2-nistp256"})
}

fn human(bytes: u64) -> String {
    format!("{:.2} GiB", bytes as f64 / 1_073_741_824.0)
}

fn load(n: u64, salt: u64) -> f64 {
    (chance(n, salt) % 800) as f64 / 100.0
}

fn mac(n: u64, i: u64) -> String {
    let [a, b, c, d, e, ..] = chance(n, 400 + i).to_be_bytes();
    format!("02:{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}")
}

fn uuid(n: u64) -> String {
    let text = format!("{:016x}{:016x}", chance(n, 500), chance(n, 501));
    format!(
        "{}-{}-{}-{}-{}",
        &text[..8],
        &text[8..12],
        &text[12..16],
        &text[16..20],
        &text[20..]
    )
}

fn hex(n: u64, salt: u64) -> String {
    format!("{:016x}{:016x}", chance(n, salt), chance(n, !salt))
}

/// The same for the same two numbers, in any run.
fn chance(n: u64, salt: u64) -> u64 {
    // SplitMix64 of <https://prng.di.unimi.it/splitmix64.c>, which is in the public domain.
    let mut z = (n ^ (salt << 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
