//! Listening sockets of this machine: [`judge`], gathered by [`list_listeners`] from `/proc`.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use crate::defaults::{PROCESSES, SOCKETS};
use crate::finding::DiagnosisFinding;

/// Name of the check in findings.
pub const CHECK: &str = "ports";

/// State of a listening TCP socket in the kernel's numbering.
const LISTENING: &str = "0A";

/// A listening TCP socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListeningSocket {
    /// Address and port of the socket.
    pub address: SocketAddr,
    /// Id of the user whose process created it.
    pub uid: u32,
    /// Process that owns the socket; `None` if this user has no access to it.
    pub process: Option<LocalProcess>,
}

/// A process of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalProcess {
    /// Numeric id of the process.
    pub pid: u32,
    /// Name of the program.
    pub name: String,
}

/// An address that a service listens on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedPort {
    /// Configuration key that contains the address.
    pub key: &'static str,
    /// Address and port to listen on.
    pub address: SocketAddr,
}

/// The service that is expected to own the ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortOwner {
    /// Name of its program, such as `tutti`.
    pub program: String,
    /// Id of the user that it runs as.
    pub uid: u32,
    /// True if the service is expected to listen now.
    pub is_running: bool,
}

/// Returns one finding for each port with a fault, and one for the others.
pub fn judge(
    wanted: &[ExpectedPort],
    listeners: &[ListeningSocket],
    owner: &PortOwner,
) -> Vec<DiagnosisFinding> {
    let mut findings = Vec::new();
    let mut fine = Vec::new();
    for port in wanted {
        let place = format!("{} {}", port.key, port.address);
        let holder = listeners
            .iter()
            .find(|it| overlaps(it.address, port.address));
        match holder {
            Some(listener) if is_owned_by_service(listener, owner) => {
                fine.push(port.address.to_string())
            }
            Some(listener) => {
                let cause = format!(
                    "the port is held by {}, so {} cannot listen there",
                    holder_name(listener),
                    owner.program
                );
                let command = match &listener.process {
                    Some(process) => format!("systemctl status {}", process.pid),
                    None => format!("ss -ltnp 'sport = :{}'", port.address.port()),
                };
                findings.push(DiagnosisFinding::problem(CHECK, place, cause).remedy(command));
            }
            None if owner.is_running => {
                let cause = format!("{} runs and does not listen there", owner.program);
                let command = format!("journalctl -u {} -n 50", owner.program);
                findings.push(DiagnosisFinding::problem(CHECK, place, cause).remedy(command));
            }
            None => fine.push(port.address.to_string()),
        }
    }
    if !fine.is_empty() {
        let cause = match owner.is_running {
            true => format!("{} listens there", owner.program),
            false => "no other program listens there".to_owned(),
        };
        findings.insert(0, DiagnosisFinding::ok(CHECK, fine.join(", "), cause));
    }
    findings
}

fn is_owned_by_service(listener: &ListeningSocket, owner: &PortOwner) -> bool {
    match &listener.process {
        Some(process) => process.name == owner.program,
        None => owner.is_running && listener.uid == owner.uid,
    }
}

fn holder_name(listener: &ListeningSocket) -> String {
    match &listener.process {
        Some(process) => format!("{} (process {})", process.name, process.pid),
        None => format!("a process of the user with id {}", listener.uid),
    }
}

/// True if no other socket can listen on the wanted address besides this one.
fn overlaps(held: SocketAddr, wanted: SocketAddr) -> bool {
    let is_any = |address: SocketAddr| address.ip().is_unspecified();
    held.port() == wanted.port() && (held.ip() == wanted.ip() || is_any(held) || is_any(wanted))
}

/// All listening TCP sockets of this machine; those of other users have a process only if root runs
/// the diagnosis.
pub fn list_listeners() -> Vec<ListeningSocket> {
    let text = |path| std::fs::read_to_string(path).unwrap_or_default();
    let sockets = parse(&text("/proc/net/tcp"))
        .into_iter()
        .chain(parse(&text("/proc/net/tcp6")));
    let sockets: Vec<ProcNetSocket> = sockets.take(SOCKETS).collect();
    let holders = socket_owners(Path::new("/proc"));
    let listener = |socket: ProcNetSocket| ListeningSocket {
        address: socket.address,
        uid: socket.uid,
        process: holders.get(&socket.inode).cloned(),
    };
    sockets.into_iter().map(listener).collect()
}

#[derive(Debug, PartialEq, Eq)]
struct ProcNetSocket {
    address: SocketAddr,
    uid: u32,
    inode: u64,
}

/// Listening sockets in the kernel's table.
fn parse(table: &str) -> Vec<ProcNetSocket> {
    let socket = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        (*fields.get(3)? == LISTENING).then_some(())?;
        Some(ProcNetSocket {
            address: address(fields.get(1)?)?,
            uid: fields.get(7)?.parse().ok()?,
            inode: fields.get(9)?.parse().ok()?,
        })
    };
    table.lines().skip(1).filter_map(socket).collect()
}

/// Parses `0100007F:1FCF`: words of the address in this machine's byte order, then the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut bytes = Vec::new();
    for index in (0..host.len()).step_by(8) {
        let word = u32::from_str_radix(host.get(index..index + 8)?, 16).ok()?;
        bytes.extend(word.to_ne_bytes());
    }
    let ip: IpAddr = match <[u8; 4]>::try_from(bytes.as_slice()) {
        Ok(bytes) => Ipv4Addr::from(bytes).into(),
        Err(_) => Ipv6Addr::from(<[u8; 16]>::try_from(bytes.as_slice()).ok()?).into(),
    };
    Some(SocketAddr::new(ip, port))
}

/// Processes by the inodes of their sockets, as far as this user has access. Children that
/// inherited a socket have it too, so the lowest process id counts, which is that of the process
/// that created it.
fn socket_owners(proc: &Path) -> HashMap<u64, LocalProcess> {
    let mut holders: HashMap<u64, LocalProcess> = HashMap::new();
    let entries = std::fs::read_dir(proc).into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut pids: Vec<u32> = pids.take(PROCESSES).collect();
    pids.sort_unstable();
    for pid in pids {
        let directory = proc.join(pid.to_string());
        let Ok(descriptors) = std::fs::read_dir(directory.join("fd")) else {
            continue;
        };
        let inodes: Vec<u64> = descriptors
            .flatten()
            .filter_map(|entry| std::fs::read_link(entry.path()).ok())
            .filter_map(|link| {
                let text = link.to_str()?.strip_prefix("socket:[")?;
                text.strip_suffix(']')?.parse().ok()
            })
            .collect();
        if inodes.is_empty() {
            continue;
        }
        let name = std::fs::read_to_string(directory.join("comm")).unwrap_or_default();
        let process = LocalProcess {
            pid,
            name: name.trim().to_owned(),
        };
        for inode in inodes {
            holders.entry(inode).or_insert_with(|| process.clone());
        }
    }
    holders
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;
    use crate::FindingSeverity;

    const API: ExpectedPort = ExpectedPort {
        key: "api.listen",
        address: SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 8143),
    };

    fn held(address: &str, uid: u32, name: Option<&str>) -> ListeningSocket {
        ListeningSocket {
            address: address.parse().unwrap(),
            uid,
            process: name.map(|name| LocalProcess {
                pid: 12,
                name: name.to_owned(),
            }),
        }
    }

    #[test]
    fn a_port_is_ours_or_free_or_held_by_another() {
        for (is_running, listener, severity, part) in [
            (
                true,
                Some(held("0.0.0.0:8143", 998, Some("tutti"))),
                FindingSeverity::Ok,
                "tutti listens",
            ),
            (
                true,
                Some(held("[::]:8143", 998, None)),
                FindingSeverity::Ok,
                "tutti listens",
            ),
            (
                true,
                Some(held("0.0.0.0:8143", 33, Some("nginx"))),
                FindingSeverity::Problem,
                "nginx (process 12)",
            ),
            (
                false,
                Some(held("127.0.0.1:8143", 33, None)),
                FindingSeverity::Problem,
                "user with id 33",
            ),
            (true, None, FindingSeverity::Problem, "does not listen"),
            (
                true,
                Some(held("0.0.0.0:8142", 998, Some("tutti"))),
                FindingSeverity::Problem,
                "does not listen",
            ),
            (false, None, FindingSeverity::Ok, "no other program"),
        ] {
            let owner = PortOwner {
                program: "tutti".to_owned(),
                uid: 998,
                is_running,
            };
            let findings = judge(&[API], &listener.into_iter().collect::<Vec<_>>(), &owner);
            assert_eq!(findings.len(), 1, "{findings:?}");
            assert_eq!(findings[0].severity, severity, "{findings:?}");
            assert!(findings[0].cause.contains(part), "{findings:?}");
        }
    }

    #[test]
    fn the_tables_of_the_kernel_are_read() {
        let table = "  sl  local_address rem_address   st tx rx tr tm retrnsmt   uid  timeout inode\n   \
             0: 0100007F:1FCF 00000000:0000 0A 00000000:00000000 00:00000000 00000000   998        0 4711 1 0 100\n   \
             1: 0100007F:1FCE 00000000:0000 01 00000000:00000000 00:00000000 00000000   998        0 4712 1 0 100\n   \
             2: 00000000000000000000000000000000:1FCD 0:0 0A 0:0 0:0 0 0 0 4713 1\n bad\n";
        let sockets = parse(table);
        assert_eq!(sockets.len(), 2, "{sockets:?}");
        assert_eq!(sockets[0].address, "127.0.0.1:8143".parse().unwrap());
        assert_eq!((sockets[0].uid, sockets[0].inode), (998, 4711));
        assert_eq!(sockets[1].address, "[::]:8141".parse().unwrap());
    }

    #[test]
    fn a_socket_of_this_process_is_found_with_its_process() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let found = list_listeners()
            .into_iter()
            .find(|it| it.address == address)
            .unwrap();
        assert_eq!(found.process.unwrap().pid, std::process::id());
        let user = std::fs::metadata("/proc/self").unwrap().uid();
        assert_eq!(found.uid, user);
    }
}
