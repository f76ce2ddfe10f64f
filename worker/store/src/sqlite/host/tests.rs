use std::process::{Command, Stdio};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::*;

/// Returns a holder with these parts. Missing parts are those of this process.
fn holder(boot: Option<&str>, pid: u32, start: &str, namespace: Option<&str>) -> LeaseHolder {
    let boot = boot.or(HERE.boot.as_deref()).unwrap();
    let namespace = namespace.or(HERE.namespace.as_deref()).unwrap();
    LeaseHolder(format!("{boot}:{pid}:{start}:{namespace}"))
}

fn seen(holder: &LeaseHolder) -> HolderState {
    holder.seen_from(&HERE)
}

#[test]
fn this_process_is_there_and_others_are_not() {
    let pid = std::process::id();
    assert_eq!(seen(&LeaseHolder::this_process()), HolderState::OfThisBoot);
    assert_eq!(seen(&holder(None, pid, "1", None)), HolderState::Gone);
    assert_eq!(
        seen(&holder(Some("another-boot"), pid, "1", None)),
        HolderState::Gone
    );
}

#[test]
fn ended_process_is_gone_before_and_after_it_is_reaped() {
    let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let holder = LeaseHolder::from_pid(child.id());
    assert_eq!(seen(&holder), HolderState::OfThisBoot);
    drop(child.stdin.take());
    let id = WaitId::Pid(Pid::from_child(&child));
    waitid(id, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
    assert_eq!(seen(&holder), HolderState::Gone, "a zombie");
    child.wait().unwrap();
    assert_eq!(seen(&holder), HolderState::Gone);
}

#[test]
fn a_process_of_another_container_is_never_known_to_be_gone() {
    let other = holder(None, std::process::id(), "1", Some("1"));
    assert_eq!(seen(&other), HolderState::OfThisBoot);
    // systemd-nspawn gives each container its own boot id.
    let nspawn = holder(Some("another-boot"), 1, "1", Some("1"));
    assert_eq!(seen(&nspawn), HolderState::OfSomeBoot);
}

#[test]
fn holder_of_another_form_is_left_to_the_time() {
    let (boot, pid) = (HERE.boot.as_deref().unwrap(), std::process::id());
    assert_eq!(
        seen(&LeaseHolder(format!("{boot}:{pid}:1"))),
        HolderState::OfThisBoot
    );
    assert_eq!(
        seen(&LeaseHolder("another-boot:1:1".into())),
        HolderState::OfSomeBoot
    );
    assert_eq!(
        seen(&LeaseHolder("nonsense".into())),
        HolderState::OfSomeBoot
    );
}

#[test]
fn holder_names_boot_process_start_and_namespace() {
    let this = LeaseHolder::this_process().0;
    let parts: Vec<_> = this.split(':').collect();
    let pid = std::process::id();
    let start = HERE.stat(pid).unwrap().start;
    assert_eq!(
        parts[..2],
        [HERE.boot.as_deref().unwrap(), pid.to_string().as_str()]
    );
    assert_eq!(
        parts[2..],
        [start.as_str(), HERE.namespace.as_deref().unwrap()]
    );
}

#[test]
fn nothing_is_known_to_be_gone_where_the_boot_is_hidden() {
    let hidden = HostView {
        boot: None,
        ..HERE.clone()
    };
    let ended = holder(None, std::process::id(), "1", None);
    assert_eq!(ended.seen_from(&hidden), HolderState::OfSomeBoot);
    let unknown = holder(Some(UNKNOWN), std::process::id(), "1", None);
    assert_eq!(unknown.seen_from(&hidden), HolderState::OfSomeBoot);
    assert_eq!(seen(&unknown), HolderState::OfSomeBoot);
    // After a restart of the host, its clock starts at zero. Without a limit, an older lease would be held for as long
    // as the host ran before.
    let latest = unknown.latest(100.0, 30.0);
    assert!((130.0..1_000.0).contains(&latest), "{latest}");
}

#[test]
fn hidden_process_counts_as_alive_and_foreign_proc_is_ignored() {
    let blind = HostView {
        is_our_proc: false,
        ..HERE.clone()
    };
    assert_eq!(blind.stat(std::process::id()), None);
    assert!(!blind.has_ended(std::process::id(), "1"));
    let most = i32::MAX.unsigned_abs();
    assert!(blind.has_ended(most, "1"), "the kernel knows no such one");
    assert!(!is_no_process(1), "it is there, whoever may ask");
    assert!(!is_no_process(u32::MAX), "no number of a process");
}

#[test]
fn a_name_may_hold_brackets_and_blanks() {
    let fields = "1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 777 0 0";
    let of = |state: &str| ProcessStat::parse(&format!("12 (a) b) {state} {fields}")).unwrap();
    let (alive, zombie) = (of("S"), of("Z"));
    assert!(alive.is_of("777") && alive.is_of("") && !alive.is_of("778"));
    assert!(!zombie.is_of("777"));
    assert_eq!(ProcessStat::parse("12 (a) S"), None);
}

#[test]
fn f29_the_lease_clock_is_no_wall_clock() {
    let first = uptime_secs();
    assert!(first > 0.0);
    assert!(uptime_secs() >= first);
}

#[test]
fn lease_clock_is_the_uptime_of_the_host() {
    let before = uptime_secs();
    let text = fs::read_to_string("/proc/uptime").unwrap();
    let host: f64 = text.split_whitespace().next().unwrap().parse().unwrap();
    // The value has two decimal places.
    assert!((before - 0.01..=uptime_secs()).contains(&host));
}
