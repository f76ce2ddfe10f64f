//! Values that cannot work are refused before anything is installed, and the error says how to mend them.

use super::helm;

fn refused(options: &[&str]) -> String {
    let made = helm(&["template", "night"], options);
    assert!(!made.status.success(), "{options:?}");
    String::from_utf8_lossy(&made.stderr).into_owned()
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn what_cannot_work_is_refused() {
    for (options, says) in [
        (
            &["--set", "replicas=2"][..],
            "set store.url to a PostgreSQL database",
        ),
        (
            &["--set", "store.passwordKey=pw"],
            "there is no Secret; set existingSecret",
        ),
        (&["--set", "existingSecret=a,secrets.b=c"], "not both"),
        (&["--set", "store.url=postgres://u:hush@h/d"], "store.url"),
        (&["--set", "store.url=sqlite:x.db"], "store.url"),
        (&["--set", "stoer.url=x"], "stoer"),
        (&["--set", "only={web}"], "only"),
        (
            &["--set", "terminationGracePeriodSeconds=5"],
            "terminationGracePeriodSeconds",
        ),
        (&["--set", "web.port=80"], "web.port"),
    ] {
        let said = refused(options);
        assert!(said.contains(says), "{options:?}: {said}");
        assert!(!said.contains("hush"), "{said}");
    }
}
