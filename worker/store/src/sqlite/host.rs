//! Identifies the process, and the boot of the host, that holds a lease, and checks whether it still runs.
//!
//! A process is certainly gone only if its process id means the same to us as to itself, which requires the same pid
//! namespace. Containers each count from 1, some see a boot id of their own, and `/proc` may hide processes of other
//! users. If nothing is certain, a lease ends only by time.

use std::fs;
use std::sync::LazyLock;

/// The placeholder for an unknown boot.
const UNKNOWN: &str = "unknown";
/// A lease that ends more than this many lease durations from now was given before the host restarted.
const LATEST: f64 = 10.0;

/// The view that this process has of its host. It does not change while the process runs.
static HERE: LazyLock<HostView> = LazyLock::new(HostView::from_system);

/// A process, identified so that no later one can be confused with it: boot, process id, start time, pid namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeaseHolder(pub(crate) String);

impl LeaseHolder {
    /// Returns the holder for this process.
    pub(super) fn this_process() -> Self {
        Self::from_pid(std::process::id())
    }

    /// Returns the holder for the process with this id.
    pub(super) fn from_pid(pid: u32) -> Self {
        let boot = HERE.boot.as_deref().unwrap_or(UNKNOWN);
        let namespace = HERE.namespace.as_deref().unwrap_or_default();
        let stat = HERE.stat(pid).filter(|stat| !stat.is_dead);
        let start = stat.map(|stat| stat.start).unwrap_or_default();
        Self(format!("{boot}:{pid}:{start}:{namespace}"))
    }

    /// Returns the latest time at which a lease of this holder can end, on the clock of [`uptime_secs`]. A lease with a
    /// later end is free. The time is before `now` if the process is gone.
    pub(crate) fn latest(&self, now: f64, lease_secs: f64) -> f64 {
        match self.seen_from(&HERE) {
            HolderState::Gone => f64::NEG_INFINITY,
            HolderState::OfThisBoot => f64::INFINITY,
            HolderState::OfSomeBoot => now + LATEST * lease_secs,
        }
    }

    fn seen_from(&self, here: &HostView) -> HolderState {
        let mut parts = self.0.split(':');
        let (Some(its_boot), Some(pid), Some(start)) = (parts.next(), parts.next(), parts.next())
        else {
            return HolderState::OfSomeBoot;
        };
        let Some(boot) = here.boot.as_deref().filter(|_| its_boot != UNKNOWN) else {
            return HolderState::OfSomeBoot;
        };
        let is_of_ours = here.namespace.is_some() && parts.next() == here.namespace.as_deref();
        let has_ended = || pid.parse().is_ok_and(|pid| here.has_ended(pid, start));
        match (its_boot == boot, is_of_ours) {
            (false, true) => HolderState::Gone,
            (false, false) => HolderState::OfSomeBoot,
            (true, true) if has_ended() => HolderState::Gone,
            (true, _) => HolderState::OfThisBoot,
        }
    }
}

/// The state of a holder as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HolderState {
    /// The process has certainly ended.
    Gone,
    /// The process may run, and its times are on our clock.
    OfThisBoot,
    /// The process may run, or it ran before the host restarted. In that case its times have no meaning.
    OfSomeBoot,
}

/// The position from which holders are examined.
#[derive(Debug, Clone)]
struct HostView {
    /// The id of this boot, or `None` if `/proc/sys` is hidden.
    boot: Option<String>,
    /// The number of our pid namespace.
    namespace: Option<String>,
    /// True if `/proc` shows the processes of our namespace and not those of another.
    is_our_proc: bool,
}

impl HostView {
    fn from_system() -> Self {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
        let boot = boot.map(|id| id.trim().to_owned());
        let namespace = fs::read_link("/proc/self/ns/pid").ok();
        // The link looks like `pid:[4026531836]`.
        let namespace = namespace.as_ref().and_then(|link| {
            let number = link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?;
            Some(number.to_owned())
        });
        let this = fs::read_link("/proc/self").ok();
        let this = this.and_then(|link| link.to_str()?.parse().ok());
        Self {
            boot: boot.filter(|id| !id.is_empty()),
            namespace,
            is_our_proc: this == Some(std::process::id()),
        }
    }

    /// Returns whether the process of our namespace with this id and start time has ended.
    fn has_ended(&self, pid: u32, start: &str) -> bool {
        is_no_process(pid) || self.stat(pid).is_some_and(|stat| !stat.is_of(start))
    }

    /// Returns the state of a process from `/proc`, or `None` if it does not exist or is hidden.
    fn stat(&self, pid: u32) -> Option<ProcessStat> {
        if !self.is_our_proc {
            return None;
        }
        ProcessStat::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }
}

/// The used fields of `/proc/PID/stat`.
#[derive(Debug, PartialEq, Eq)]
struct ProcessStat {
    /// True for a zombie.
    is_dead: bool,
    /// The start time in ticks since boot.
    start: String,
}

impl ProcessStat {
    fn parse(text: &str) -> Option<Self> {
        // The name in parentheses may contain spaces, so fields are counted after it (proc(5): state is 3, starttime
        // 22).
        let (_, fields) = text.rsplit_once(')')?;
        let mut fields = fields.split_whitespace();
        let state = fields.next()?;
        Some(Self {
            is_dead: state == "Z" || state == "X",
            start: fields.nth(18)?.to_owned(),
        })
    }

    /// Returns whether this may be the living process with this start time.
    fn is_of(&self, start: &str) -> bool {
        !self.is_dead && (start.is_empty() || self.start == start)
    }
}

/// Returns whether the kernel knows no process with this id. A process of another user exists even if `/proc` hides it:
/// a signal to it fails with EPERM and not with ESRCH (kill(2)).
#[cfg(unix)]
fn is_no_process(pid: u32) -> bool {
    use rustix::process::{Pid, test_kill_process};
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
fn is_no_process(_: u32) -> bool {
    false
}

/// Returns the seconds since the host started. All its processes see the same clock, even if `/proc` is hidden, and
/// nobody can set it.
#[cfg(unix)]
pub(crate) fn uptime_secs() -> f64 {
    use rustix::time::{ClockId, clock_gettime};
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const CLOCK: ClockId = ClockId::Boottime;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const CLOCK: ClockId = ClockId::Monotonic;
    std::time::Duration::try_from(clock_gettime(CLOCK))
        .unwrap_or_default()
        .as_secs_f64()
}

/// Returns the seconds since the first call. This system does not provide the uptime, so only one process may use a
/// database.
#[cfg(not(unix))]
pub(crate) fn uptime_secs() -> f64 {
    static FIRST: LazyLock<std::time::Instant> = LazyLock::new(std::time::Instant::now);
    FIRST.elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests;
