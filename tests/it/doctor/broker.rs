//! Tests the doctor against a RabbitMQ node with its management interface, and queues in various states.

use std::process::Command;
use std::time::{Duration, Instant};

use nightshift_tests::{Sandbox, repository_root};
use reqwest::{Client, Method};
use serde_json::{Value, json};

use super::{failed_checks, run_doctor, service};

/// A RabbitMQ node of one test, started by `tests/rabbitmq`.
pub(super) struct RabbitmqNode {
    dir: tempfile::TempDir,
    /// Host and port without user and password: `127.0.0.1:PORT`.
    pub(super) host: String,
    pub(super) management: String,
    client: Client,
}

impl RabbitmqNode {
    pub(super) async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let url = script(&["start"], dir.path(), &["management"]);
        let host = url
            .trim()
            .split_once('@')
            .unwrap()
            .1
            .split_once('/')
            .unwrap()
            .0
            .to_owned();
        let told = std::fs::read_to_string(dir.path().join("management-url")).unwrap();
        let management = format!("http://{}", told.trim().split_once('@').unwrap().1);
        let node = Self {
            dir,
            host,
            management,
            client: Client::new(),
        };
        let user = json!({ "password": "hush", "tags": "monitoring" });
        node.put("users/nightshift", user).await;
        let rights = json!({ "configure": "^$", "write": "^$", "read": ".*" });
        node.put("permissions/%2f/nightshift", rights).await;
        node
    }

    /// Returns a `[[source]]` for a queue on this node.
    pub(super) fn source(&self, queue: &str) -> String {
        format!(
            "[[source]]\nname = \"siem\"\nkind = \"rabbitmq\"\nurl = \"amqp://nightshift@{}/%2f\"\npassword = \"file:pw\"\n\
             queue = \"{queue}\"\nmanagement_url = \"{}\"\n",
            self.host, self.management
        )
    }

    async fn ask(&self, method: Method, path: &str, body: Value) {
        let url = format!("{}/api/{path}", self.management);
        let asked = self
            .client
            .request(method, url)
            .basic_auth("guest", Some("guest"))
            .json(&body);
        let answer = asked.send().await.unwrap();
        assert!(
            answer.status().is_success(),
            "{path}: {}",
            answer.text().await.unwrap()
        );
    }

    pub(super) async fn put(&self, path: &str, body: Value) {
        self.ask(Method::PUT, path, body).await;
    }

    /// Creates a queue with these changes. By default it is a durable quorum queue whose dead letters are kept.
    pub(super) async fn queue(&self, name: &str, change: Value) {
        let mut arguments = json!({ "x-queue-type": "quorum", "x-dead-letter-exchange": "dead" });
        let mut queue = json!({ "durable": true });
        for (key, value) in change.as_object().unwrap() {
            let place = if key.starts_with("x-") {
                &mut arguments
            } else {
                &mut queue
            };
            place[key] = value.clone();
        }
        arguments
            .as_object_mut()
            .unwrap()
            .retain(|_, value| !value.is_null());
        queue["arguments"] = arguments;
        self.put(&format!("queues/%2f/{name}"), queue).await;
    }

    pub(super) async fn dead_letters(&self) {
        self.put(
            "exchanges/%2f/dead",
            json!({ "type": "fanout", "durable": true }),
        )
        .await;
        self.put(
            "queues/%2f/dead",
            json!({ "durable": true, "arguments": { "x-queue-type": "quorum" } }),
        )
        .await;
        self.ask(Method::POST, "bindings/%2f/e/dead/q/dead", json!({}))
            .await;
    }
}

impl RabbitmqNode {
    /// Checks that the user needs a further permission to send canaries.
    async fn canaries(&self, place: &Sandbox) {
        place
            .write_file("key", "00112233445566778899aabbccddeeff")
            .unwrap();
        let text = format!(
            "{}[[destination]]\nname = \"files\"\nkind = \"file\"\npath = \"reports\"\n\
             [canary]\nevery_minutes = 15\nkey = \"file:key\"\n",
            self.source("early")
        );
        let refused = failed_checks(place, &text, "sources");
        assert_eq!(refused, ["source.canary_refused"]);
        let rights = json!({ "configure": "^$", "write": "^amq\\.default$", "read": ".*" });
        self.put("permissions/%2f/nightshift", rights).await;
        assert_eq!(failed_checks(place, &text, "sources"), Vec::<String>::new());
    }

    /// Checks dead letters through the default exchange, where the routing key is the name of a queue.
    async fn dead_letters_by_name(&self, look: &dyn Fn(&str) -> Vec<String>) {
        for (name, key, expected) in [
            ("named", json!("dead"), None),
            ("unnamed", Value::Null, Some("source.dead_letter_missing")),
            ("empty", json!(""), Some("source.dead_letter_missing")),
            (
                "circular",
                json!("circular"),
                Some("source.dead_letter_missing"),
            ),
            (
                "astray",
                json!("nowhere"),
                Some("source.dead_letter_missing"),
            ),
        ] {
            let arguments =
                json!({ "x-dead-letter-exchange": "", "x-dead-letter-routing-key": key });
            self.queue(name, arguments).await;
            assert_eq!(
                look(name),
                expected.into_iter().collect::<Vec<_>>(),
                "{name}"
            );
        }
    }

    /// Checks that a policy counts like a queue argument, and that little is known without the management interface.
    async fn policies(&self, look: &dyn Fn(&str) -> Vec<String>) {
        let policy = json!({ "pattern": "^early$", "apply-to": "queues", "definition": { "max-length": 5 } });
        self.put("policies/%2f/small", policy).await;
        // The broker applies a policy with a delay.
        let until = Instant::now() + Duration::from_secs(60);
        let mut found = look("early");
        while found.is_empty() && Instant::now() < until {
            found = look("early");
        }
        assert_eq!(found, ["source.max_length"]);
        let untagged = json!({ "password": "hush", "tags": "" });
        self.put("users/nightshift", untagged).await;
        assert_eq!(look("early"), ["source.management"]);
    }
}

impl Drop for RabbitmqNode {
    fn drop(&mut self) {
        script(&["stop"], self.dir.path(), &[]);
    }
}

fn script(verb: &[&str], dir: &std::path::Path, more: &[&str]) -> String {
    let ran = Command::new(repository_root().join("tests/rabbitmq"))
        .args(verb)
        .arg(dir)
        .args(more)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

#[cfg_attr(not(has_services), ignore = "needs RabbitMQ: run tests/services")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queues_as_people_make_them() {
    let node = RabbitmqNode::start().await;
    let place = Sandbox::new().unwrap();
    place.write_file("pw", "hush\n").unwrap();
    let look = |queue: &str| failed_checks(&place, &node.source(queue), "sources");
    node.queue("early", json!({})).await;
    assert_eq!(look("early"), ["source.dead_letter_missing"]);
    node.dead_letters().await;
    assert_eq!(look("early"), Vec::<String>::new());
    for (name, change, check) in [
        (
            "classic",
            json!({ "x-queue-type": "classic" }),
            "source.classic_queue",
        ),
        // Without a delivery limit, versions before 4 never dead-letter a message.
        (
            "undead",
            json!({ "x-dead-letter-exchange": null, "x-delivery-limit": 20 }),
            "source.no_dead_letter",
        ),
        (
            "short",
            json!({ "x-queue-type": "classic", "x-message-ttl": 60_000 }),
            "source.retention",
        ),
        ("full", json!({ "x-max-length": 10 }), "source.max_length"),
        (
            "stream",
            json!({ "x-queue-type": "stream", "x-dead-letter-exchange": null }),
            "source.stream",
        ),
        ("idle", json!({ "x-expires": 600_000 }), "source.expires"),
        (
            "brief",
            json!({ "x-queue-type": "classic", "x-consumer-timeout": 60_000 }),
            "source.consumer_timeout",
        ),
        (
            "gone",
            json!({ "x-queue-type": "classic", "durable": false }),
            "source.not_durable",
        ),
        (
            "fleeting",
            json!({ "x-queue-type": "classic", "auto_delete": true }),
            "source.auto_delete",
        ),
    ] {
        node.queue(name, change.clone()).await;
        let mut found = look(name);
        if change["x-queue-type"] == "classic" && name != "classic" {
            found.retain(|one| one != "source.classic_queue");
        }
        assert_eq!(found, [check], "{name}");
    }
    node.dead_letters_by_name(&look).await;
    node.canaries(&place).await;
    node.policies(&look).await;
}

#[cfg_attr(not(has_services), ignore = "needs RabbitMQ: run tests/services")]
#[test]
fn a_broker_that_does_not_let_us_in_is_told_why() {
    let place = Sandbox::new().unwrap();
    let url = service("RABBITMQ");
    let source = |url: &str, more: &str| {
        let text = format!(
            "[[source]]\nname = \"siem\"\nkind = \"rabbitmq\"\nurl = \"{url}\"\nqueue = \"no-such-queue\"\n{more}"
        );
        failed_checks(&place, &text, "sources")
    };
    assert_eq!(source(&url, ""), ["source.no_queue"]);
    assert_eq!(
        source(&url, "declare = true\n"),
        Vec::<String>::new(),
        "it is made at the first start"
    );
    assert_eq!(
        source(&url.replacen("guest:guest", "guest:wrong", 1), ""),
        ["source.refused"]
    );
    let (server, _) = url.rsplit_once('/').unwrap();
    let nameless = format!(
        "[[source]]\nname = \"siem\"\nkind = \"rabbitmq\"\nurl = \"{server}/\"\nqueue = \"no-such-queue\"\n"
    );
    let said = run_doctor(&place, &nameless, "sources");
    assert_eq!(said.only_finding()["check"], "source.refused");
    let mend = said.only_finding()["mend"].as_str().unwrap();
    assert!(mend.contains("leave that / out, or write %2f"), "{mend}");
    assert_eq!(
        source("amqp://guest@127.0.0.1:1/%2f", ""),
        ["source.unreachable"]
    );
    assert_eq!(source("env:NIGHTSHIFT_NO_SUCH", ""), ["source.refused"]);
}
