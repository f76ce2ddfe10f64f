//! An installation in good order, with a real PostgreSQL, RabbitMQ and SQS, a model, and every kind of destination: the
//! doctor has nothing to say.

use std::fmt::Write as _;

use serde_json::json;

use super::broker::Node;
use super::store::Server;
use super::world::World;
use super::{doctor, models, sqs, vendors};
use crate::worker::blobs;

#[cfg_attr(
    not(has_services),
    ignore = "needs PostgreSQL, RabbitMQ and moto: run tests/services"
)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_installation_in_good_order_has_no_finding() {
    let (server, node, world, fake) = (
        Server::start().await,
        Node::start().await,
        World::start().await,
        models::fake().await,
    );
    node.dead_letters().await;
    node.queue("alerts", json!({})).await;
    let (_, dead) = sqs::queue(json!({ "MessageRetentionPeriod": "1209600" })).await;
    let (queue, _) = sqs::queue(sqs::good(&dead)).await;
    let mut place = vendors::place();
    for (name, value) in sqs::SETTINGS {
        place.set(name, value);
    }
    place.set("KEY", "key-of-the-tests-0123456789");
    place.file("pw", "hush\n").unwrap();
    place
        .file("assets.csv", "id,owner\nweb-1,ana@example.com\n")
        .unwrap();
    let mut config = models::table(&fake, "");
    write!(
        config,
        "[store]\nurl = \"{}\"\npassword = \"file:pw\"\n{}{}{}{}\
         [[tool]]\nname = \"assets\"\nkind = \"asset_lookup\"\npath = \"assets.csv\"\n\
         [[route]]\ndestinations = [\"soc\", \"tickets\", \"desk\", \"pager\", \"issues\", \"soar\"]\n\
         [digest]\nat = \"09:00\"\ndestination = \"soc\"\n{}",
        server.of("nightshift"),
        node.source("alerts"),
        sqs::source(&queue, ""),
        vendors::WEB,
        vendors::destinations(&world.url),
        blobs::blobs(&blobs::bucket().await),
    )
    .unwrap();
    place.file("nightshift.toml", &config).unwrap();
    let ran = place.run(&["migrate"]).unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let said = doctor(&place, &config, "");
    assert_eq!(said.checks(), Vec::<&str>::new(), "{:#}", said.object);
    assert_eq!(said.code, Some(0));
    for secret in ["hush", "key-of-the-tests", "whsec_"] {
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
