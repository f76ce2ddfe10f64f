//! Tests that a sound installation has no finding. It has a real PostgreSQL, RabbitMQ and SQS, a model, a trace
//! collector, canaries, and every kind of source and destination except Pub/Sub. Pub/Sub is faked beside its adapter
//! (`worker/queue/src/conformance/with_pubsub.rs`).

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use nightshift_tests::{Collector, Sandbox, repository_root};
use serde_json::json;

use super::broker::RabbitmqNode;
use super::fake_vendors::FakeVendors;
use super::store::PostgresServer;
use super::{models, run_doctor, sqs, vendors};
use crate::worker::blobs;

/// Everything that needs no service: spool and HTTP sources, a register, a file destination, playbooks, digests,
/// canaries.
const OTHERS: &str = r#"[[source]]
name = "drop"
kind = "spool"
dir = "spool"
[[source]]
name = "posted"
kind = "http"
tokens = ["env:INTAKE_TOKEN"]
[[tool]]
name = "assets"
kind = "asset_lookup"
path = "assets.csv"
[[destination]]
name = "reports"
kind = "file"
path = "reports"
[[route]]
destinations = ["soc", "tickets", "desk", "pager", "issues", "soar", "reports"]
[playbooks]
dir = "books"
[digest]
at = "09:00"
destination = "soc"
[canary]
every_minutes = 15
key = "file:canary"
"#;

/// Returns a place with the files that [`OTHERS`] names, and with all secrets.
fn furnished() -> Sandbox {
    let mut place = vendors::place();
    for (name, value) in sqs::SETTINGS {
        place.set_env(name, value);
    }
    place.set_env("KEY", "key-of-the-tests-0123456789");
    place.set_env("INTAKE_TOKEN", "of-those-who-post-0123456789");
    let book = repository_root().join("worker/analyst/playbooks/recon.toml");
    let book = std::fs::read_to_string(book).unwrap();
    for (name, text) in [
        ("pw", "hush\n"),
        ("canary", "00112233445566778899aabbccddeeff"),
        ("assets.csv", "id,owner\nweb-1,ana@example.com\n"),
        ("books/recon.toml", &book),
    ] {
        place.write_file(name, text).unwrap();
        let ours = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(place.path().join(name), ours).unwrap();
    }
    place
}

#[cfg_attr(
    not(has_services),
    ignore = "needs PostgreSQL, RabbitMQ and moto: run tests/services"
)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_installation_in_good_order_has_no_finding() {
    let (server, node, world, fake, collector) = (
        PostgresServer::start().await,
        RabbitmqNode::start().await,
        FakeVendors::start().await,
        models::fake().await,
        Collector::start().await,
    );
    node.dead_letters().await;
    node.queue("alerts", json!({})).await;
    let (_, dead) = sqs::queue(json!({ "MessageRetentionPeriod": "1209600" })).await;
    let (queue, _) = sqs::queue(sqs::good(&dead)).await;
    // Canaries need these permissions.
    let rights = json!({ "configure": "^$", "write": "^amq\\.default$", "read": ".*" });
    node.put("permissions/%2f/nightshift", rights).await;
    let place = furnished();
    let mut config = models::table(&fake, "");
    write!(
        config,
        "[store]\nurl = \"{}\"\npassword = \"file:pw\"\n{}{}{OTHERS}{}{}{}{}",
        server.url_for_role("nightshift"),
        node.source("alerts"),
        sqs::source(&queue, ""),
        vendors::WEB,
        vendors::destinations(&world.url),
        collector.config_table("headers = { authorization = \"env:TOKEN\" }"),
        blobs::blobs(&blobs::bucket().await),
    )
    .unwrap();
    place.write_file("nightshift.toml", &config).unwrap();
    let ran = place.run(&["migrate"]).unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let said = run_doctor(&place, &config, "");
    assert_eq!(
        said.failed_checks(),
        Vec::<&str>::new(),
        "{:#}",
        said.object
    );
    assert_eq!(said.code, Some(0));
    for secret in ["hush", "key-of-the-tests", "whsec_", "of-those-who-post"] {
        assert!(!said.object.to_string().contains(secret), "{secret}");
    }
    let ran = place.run(&["doctor", "--strict"]).unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.ends_with("\nNothing is wrong.\n"),
        "{}",
        ran.stdout
    );
    assert_eq!(ran.stderr, "");
}
