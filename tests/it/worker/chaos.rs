//! Runs a small `tests/chaos`: random failures of everything, on servers of its own (row F35 of the faults).

use std::path::Path;

use tokio::process::Command;

use nightshift_tests::program_path;

/// The seed that determines what is broken and when. Any other would do.
const SEED: &str = "35";

#[cfg_attr(
    not(has_services),
    ignore = "needs PostgreSQL and RabbitMQ: run tests/services"
)]
#[tokio::test]
async fn f35_chaos_of_workers_servers_passwords_loses_nothing() {
    // This program is `target/<profile>/deps/it-…`, and the other is `target/<profile>/nightshift-chaos`.
    let this = std::env::current_exe().unwrap();
    let profile = this.parent().and_then(Path::parent).unwrap();
    let chaos = profile.join("nightshift-chaos");
    let output = Command::new(&chaos)
        .args(["--alerts", "300", "--kills", "2", "--database-kills", "1"])
        .args(["--broker-kills", "1", "--rollouts", "1", "--rotations", "1"])
        .args(["--seed", SEED])
        .args(["--every-ms", "500", "--patience-secs", "300", "--untimed"])
        .env("NIGHTSHIFT_BIN", program_path().unwrap())
        .output()
        .await
        .expect("`cargo build -p nightshift-chaos` has been run");
    let said = String::from_utf8_lossy(&output.stdout);
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{why}");
    assert!(said.contains("a fresh alert            passed"), "{said}");
}
