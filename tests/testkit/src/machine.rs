//! The machine under a measurement, and the processes on it: cores, disk, memory, processor time.
//!
//! Main function: [`describe`].
//!
//! Invariant: everything is read from the kernel at the moment of the call.

use std::io::Write as _;
use std::time::{Duration, Instant};

use anyhow::Result;
use rustix::process::Pid;
use serde_json::{Value, json};

/// Duration of the disk's measurement.
const DISK_TIME: Duration = Duration::from_secs(1);

/// Cores, kernel, load and the rate of durable writes, as JSON.
pub fn describe() -> Result<Value> {
    let cores = std::thread::available_parallelism()?.get();
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease")?
        .trim()
        .to_owned();
    Ok(
        json!({"cores": cores, "kernel": kernel, "fsync_per_s": fsync_per_second()?,
              "load": load_average()?}),
    )
}

/// The rate of appends of 4 KiB, each made durable, per second.
pub fn fsync_per_second() -> Result<u64> {
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
pub fn resident_kib(pid: Pid) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero()))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap_or("0");
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

/// Processor time of a process so far, in seconds.
pub fn cpu_seconds(pid: Pid) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()))?;
    Ok(stat_seconds(&stat, 11))
}

/// CPU time of the children of this process that have ended, and of theirs, in seconds.
pub fn children_cpu_seconds() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    Ok(stat_seconds(&stat, 13))
}

/// The sum of user and system time in a line of `/proc/PID/stat`; the first of them is this field after the
/// name.
fn stat_seconds(stat: &str, first: usize) -> f64 {
    // The name may contain blanks; the fields after it are counted from its closing bracket.
    let fields = stat
        .rsplit_once(')')
        .map(|(_, fields)| fields)
        .unwrap_or_default();
    let ticks: u64 = fields
        .split_whitespace()
        .skip(first)
        .take(2)
        .flat_map(str::parse::<u64>)
        .sum();
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

/// Number of open file descriptors of a process.
pub fn open_files(pid: Pid) -> Result<usize> {
    let directory = format!("/proc/{}/fd", pid.as_raw_nonzero());
    Ok(std::fs::read_dir(directory)?.count())
}

/// The load average of the last minute.
pub fn load_average() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/loadavg")?;
    let first = text.split_whitespace().next().unwrap_or_default();
    Ok(first.parse()?)
}
