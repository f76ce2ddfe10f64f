use crate::playbook::{Playbooks, check, set::SHIPPED};

#[test]
fn every_shipped_playbook_is_without_problems() {
    for (file, text) in SHIPPED {
        let problems = check(file, text, &[]);
        let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "{}", lines.join("\n"));
    }
    assert_eq!(Playbooks::shipped().iter().count(), SHIPPED.len());
}
