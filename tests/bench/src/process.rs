//! Reads CPU time and memory of a process from `/proc`, and builds the runtime.

use anyhow::Context;
use tokio::runtime::{Builder, Runtime};

/// Ticks per second of the times in `/proc/*/stat`: `USER_HZ`, 100 on every Linux that Rust runs on (proc(5)).
const TICKS_PER_SEC: f64 = 100.0;

/// CPU time in seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cpu {
    /// User and system time of this process, all threads.
    pub(crate) own_secs: f64,
    /// The system part of it: sockets, waits, switches.
    pub(crate) system_secs: f64,
    /// User and system time of ended child processes.
    pub(crate) children_secs: f64,
}

/// Returns the CPU time so far. Its resolution is a hundredth of a second, so measurements must be long enough.
pub(crate) fn cpu() -> anyhow::Result<Cpu> {
    let stat =
        std::fs::read_to_string("/proc/self/stat").context("CPU time needs Linux's /proc")?;
    // Fields are counted after the name, which may contain any character and ends at the last `)`. There, utime is
    // the 12th.
    let (_, fields) = stat
        .rsplit_once(')')
        .context("/proc/self/stat has no name")?;
    let times: Vec<f64> = fields
        .split_whitespace()
        .skip(11)
        .take(4)
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    let [user, system, children_user, children_system] = times.as_slice() else {
        anyhow::bail!("/proc/self/stat has no times");
    };
    Ok(Cpu {
        own_secs: (user + system) / TICKS_PER_SEC,
        system_secs: system / TICKS_PER_SEC,
        children_secs: (children_user + children_system) / TICKS_PER_SEC,
    })
}

/// Returns the runtime of the program (`worker/cli/src/lib.rs`): one thread per two cores.
pub(crate) fn runtime() -> anyhow::Result<Runtime> {
    let cores = std::thread::available_parallelism()?;
    Ok(Builder::new_multi_thread()
        .worker_threads(cores.get().div_ceil(2))
        .enable_all()
        .build()?)
}

/// Returns a line of `/proc/PID/status` in KiB, such as `VmRSS`.
pub(crate) fn status_kib(process: &str, field: &str) -> anyhow::Result<f64> {
    let path = format!("/proc/{process}/status");
    let status = std::fs::read_to_string(&path).context("memory needs Linux's /proc")?;
    status
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
        .and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse().ok())
        .with_context(|| format!("{path} has no {field}"))
}
