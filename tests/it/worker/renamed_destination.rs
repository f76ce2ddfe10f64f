//! Tests a destination that is renamed while its deliveries are pending.

use super::fixture::{place, put};
use super::reload::change;

#[test]
fn a_worker_tells_what_nobody_delivers_and_keeps_what_it_serves() {
    let place = place("");
    place.write_file("a-file", "").unwrap();
    change(&place, "path = \"reports\"", "path = \"a-file/below\"");
    put(&place, "scc-crypto-miner", "s1");
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("cannot deliver report");
    let text = std::fs::read_to_string(place.path().join("nightshift.toml")).unwrap();
    let renamed = text.replace("\"files\"", "\"archive\"");
    place.write_file("renamed.toml", renamed).unwrap();
    let drop = ["destinations", "drop", "files", "--config", "renamed.toml"];
    let served = place.run(&drop).unwrap();
    assert_eq!(served.code, Some(1), "{served:?}");
    assert!(
        served
            .stderr
            .contains("another process delivers to \"files\""),
        "{served:?}"
    );
    change(&place, "\"files\"", "\"archive\"");
    let told = worker.wait_for_line("reports are pending for a destination that is not configured");
    for word in [
        "WARN",
        "destination.name=files",
        "reports=1",
        "since=20",
        "`nightshift destinations drop files`",
    ] {
        assert!(told.contains(word), "{word}: {told}");
    }
    let dropped = place.run(&drop).unwrap();
    assert_eq!(dropped.code, Some(0), "{dropped:?}");
    assert!(
        dropped.stdout.starts_with("reports to files given up: 1\n"),
        "{dropped:?}"
    );
    worker.signal("TERM");
    let (status, _, lines) = worker.wait_for_exit();
    assert_eq!(status.code(), Some(0), "{lines:#?}");
}
