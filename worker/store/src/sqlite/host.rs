//! Which process on which boot of this host holds a lease, and whether it is still there.
//!
//! Where the system has no `/proc`, a holder is never known to be dead: its lease then ends by time alone.

use std::fs;

/// A process, named so that no later one is taken for it: boot, process id, start of the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Holder(pub(super) String);

impl Holder {
    /// This process.
    pub(super) fn this_process() -> Self {
        Self::of(std::process::id())
    }

    /// The process of this number.
    pub(super) fn of(pid: u32) -> Self {
        let start = started(pid).unwrap_or_default();
        Self(format!("{}:{pid}:{start}", boot()))
    }

    /// Whether the process has surely ended.
    pub(super) fn is_gone(&self) -> bool {
        let mut parts = self.0.split(':');
        let (Some(its_boot), Some(pid), Some(start)) = (parts.next(), parts.next(), parts.next())
        else {
            return true;
        };
        if its_boot != boot() {
            return true;
        }
        let Ok(pid) = pid.parse() else {
            return true;
        };
        !start.is_empty() && started(pid).is_none_or(|now| now != start)
    }
}

/// Name of this boot of the host.
fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map_or_else(|_| "unknown".to_owned(), |id| id.trim().to_owned())
}

/// When a process was started, in ticks since boot; none where there is no such process. A zombie counts as gone.
fn started(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in brackets, may hold blanks: fields are counted behind its end (proc(5): state is 3, starttime 22).
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    if state == "Z" || state == "X" {
        return None;
    }
    fields.nth(18).map(str::to_owned)
}

/// Seconds since the host was started. No one can set this clock.
pub(super) fn uptime_secs() -> f64 {
    fs::read_to_string("/proc/uptime")
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse().ok())
        .unwrap_or_else(process_secs)
}

/// Where the system does not tell: seconds since the first call.
fn process_secs() -> f64 {
    static FIRST: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    FIRST
        .get_or_init(std::time::Instant::now)
        .elapsed()
        .as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_there_and_others_are_not() {
        let this = Holder::this_process();
        assert!(!this.is_gone());
        assert!(Holder(format!("{}:{}:1", boot(), std::process::id())).is_gone());
        assert!(Holder("another-boot:1:1".into()).is_gone());
        assert!(Holder("nonsense".into()).is_gone());
    }

    #[test]
    fn f29_the_lease_clock_is_no_wall_clock() {
        let first = uptime_secs();
        assert!(first > 0.0);
        assert!(uptime_secs() >= first);
    }
}
