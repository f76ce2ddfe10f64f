//! Which process on which boot of this host holds a lease, and whether it is still there.
//!
//! A process is surely gone only where its number means to us what it meant to the process itself: in the same namespace of
//! processes. Containers each count from 1, some are told a boot of their own, and `/proc` may hide the processes of other
//! users. Where nothing is sure, a lease ends by time alone.

use std::fs;
use std::sync::LazyLock;

/// Stands where the system does not tell its boot.
const UNKNOWN: &str = "unknown";
/// A lease that ends later than so many of its length from now was given before the host was started anew.
const LATEST: f64 = 10.0;

/// What this process sees of its host; that does not change while it runs.
static HERE: LazyLock<HostView> = LazyLock::new(HostView::from_system);

/// A process, named so that no later one is taken for it: boot, process id, start of the process, namespace of processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LeaseHolder(pub(super) String);

impl LeaseHolder {
    /// This process.
    pub(super) fn this_process() -> Self {
        Self::from_pid(std::process::id())
    }

    /// The process of this number.
    pub(super) fn from_pid(pid: u32) -> Self {
        let boot = HERE.boot.as_deref().unwrap_or(UNKNOWN);
        let namespace = HERE.namespace.as_deref().unwrap_or_default();
        let stat = HERE.stat(pid).filter(|stat| !stat.is_dead);
        let start = stat.map(|stat| stat.start).unwrap_or_default();
        Self(format!("{boot}:{pid}:{start}:{namespace}"))
    }

    /// Until when a lease that it holds can last, as [`uptime_secs`] counts: nothing that ends later is held. Before `now`
    /// where the process is gone.
    pub(super) fn latest(&self, now: f64, lease_secs: f64) -> f64 {
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

/// What can be said of a holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HolderState {
    /// It has surely ended.
    Gone,
    /// It may be there, and has our clock.
    OfThisBoot,
    /// It may be there, or was before the host was started anew: then its times mean nothing.
    OfSomeBoot,
}

/// From where holders are looked at.
#[derive(Debug, Clone)]
struct HostView {
    /// Name of this boot of the host; none where `/proc/sys` is hidden.
    boot: Option<String>,
    /// Number of our namespace of processes.
    namespace: Option<String>,
    /// Whether `/proc` has the processes of our namespace, and not those of another.
    is_our_proc: bool,
}

impl HostView {
    fn from_system() -> Self {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
        let boot = boot.map(|id| id.trim().to_owned());
        let namespace = fs::read_link("/proc/self/ns/pid").ok();
        // It reads `pid:[4026531836]`.
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

    /// Whether the process of our namespace has ended that has this number and start.
    fn has_ended(&self, pid: u32, start: &str) -> bool {
        is_no_process(pid) || self.stat(pid).is_some_and(|stat| !stat.is_of(start))
    }

    /// What `/proc` says of a process; none where there is no such process, or where it is hidden.
    fn stat(&self, pid: u32) -> Option<ProcessStat> {
        if !self.is_our_proc {
            return None;
        }
        ProcessStat::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }
}

/// What stands in `/proc/PID/stat`.
#[derive(Debug, PartialEq, Eq)]
struct ProcessStat {
    /// A zombie.
    is_dead: bool,
    /// When it was started, in ticks since boot.
    start: String,
}

impl ProcessStat {
    fn parse(text: &str) -> Option<Self> {
        // The name, in brackets, may hold blanks: fields are counted behind its end (proc(5): state is 3, starttime 22).
        let (_, fields) = text.rsplit_once(')')?;
        let mut fields = fields.split_whitespace();
        let state = fields.next()?;
        Some(Self {
            is_dead: state == "Z" || state == "X",
            start: fields.nth(18)?.to_owned(),
        })
    }

    /// Whether this may be the living process that was started then.
    fn is_of(&self, start: &str) -> bool {
        !self.is_dead && (start.is_empty() || self.start == start)
    }
}

/// Whether the kernel knows of no process of this number. That of another user is one, also where `/proc` hides it: asking
/// for it is not permitted, which is another answer (kill(2): ESRCH, EPERM).
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

/// Seconds since the host was started, the same to all its processes, also where `/proc` is hidden. No one can set this
/// clock.
#[cfg(unix)]
pub(super) fn uptime_secs() -> f64 {
    use rustix::time::{ClockId, clock_gettime};
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const CLOCK: ClockId = ClockId::Boottime;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const CLOCK: ClockId = ClockId::Monotonic;
    std::time::Duration::try_from(clock_gettime(CLOCK))
        .unwrap_or_default()
        .as_secs_f64()
}

/// Seconds since the first call: the system does not tell, so one process alone may use a database.
#[cfg(not(unix))]
pub(super) fn uptime_secs() -> f64 {
    static FIRST: LazyLock<std::time::Instant> = LazyLock::new(std::time::Instant::now);
    FIRST.elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests;
