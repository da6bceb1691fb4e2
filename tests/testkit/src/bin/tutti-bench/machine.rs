//! What the figures stand on: cores, and how fast this disk makes things durable.

use std::io::Write as _;
use std::time::{Duration, Instant};

use anyhow::Result;
use rustix::process::Pid;
use serde_json::{Value, json};

/// How long the disk is measured.
const DISK_TIME: Duration = Duration::from_secs(1);

pub(crate) fn describe() -> Result<Value> {
    let cores = std::thread::available_parallelism()?.get();
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease")?
        .trim()
        .to_owned();
    Ok(json!({"cores": cores, "kernel": kernel, "fsync_per_s": fsync_per_second()?}))
}

/// Appends of 4 KiB, each made durable.
pub(crate) fn fsync_per_second() -> Result<u64> {
    let mut file = tempfile::tempfile()?;
    let (started, mut count) = (Instant::now(), 0_u32);
    while started.elapsed() < DISK_TIME {
        file.write_all(&[0; 4_096])?;
        file.sync_data()?;
        count += 1;
    }
    Ok((f64::from(count) / started.elapsed().as_secs_f64()) as u64)
}

/// Resident memory of a process, in KiB.
pub(crate) fn resident_kib(pid: Pid) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero()))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap_or("0");
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

/// Processor time of a process so far, in seconds.
pub(crate) fn cpu_seconds(pid: Pid) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()))?;
    // The name may hold blanks; the fields after it are counted from its closing bracket.
    let fields = stat
        .rsplit_once(')')
        .map(|(_, fields)| fields)
        .unwrap_or_default();
    let ticks: u64 = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .flat_map(str::parse::<u64>)
        .sum();
    Ok(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}
