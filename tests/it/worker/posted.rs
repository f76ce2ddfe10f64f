//! Tests alerts that are posted to the worker, as a program and an operator see it.

use nightshift_tests::{RunningProgram, Sandbox, sample_finding};

use super::fixture::{cases, place, reports};

const TOKEN: &str = "0123456789abcdef-intake";

/// Returns a place whose worker has an HTTP source on its own address.
fn posted_to() -> Sandbox {
    let mut place =
        place("[[source]]\nname = \"soar\"\nkind = \"http\"\ntokens = [\"env:INTAKE_TOKEN\"]\n");
    place.set_env("INTAKE_TOKEN", TOKEN);
    place.set_env("NIGHTSHIFT__WEB__INTAKE_LISTEN", "127.0.0.1:0");
    place
}

fn address(worker: &mut RunningProgram) -> String {
    let line = worker.wait_for_line("alerts are posted to");
    line.rsplit(' ').next().unwrap().to_owned()
}

async fn post(url: &str, token: &str, body: String) -> (u16, String) {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = client.post(url).bearer_auth(token).body(body);
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn g01_g02_message_answered_200_survives_kill_and_is_sighting() {
    let place = posted_to();
    let mut worker = place.start(&["worker"]).unwrap();
    let url = address(&mut worker);
    let first = sample_finding("scc-crypto-miner", "p1")
        .unwrap()
        .to_string();
    assert_eq!(
        post(&url, "no-token-of-anybody", first.clone()).await.0,
        401
    );
    let (status, told) = post(&url, TOKEN, first.clone()).await;
    assert_eq!((status, told.as_str()), (200, r#"{"outcome":"accepted"}"#));
    worker.kill();
    assert_eq!(cases(&place).len(), 1);
    let mut worker = place.start(&["worker"]).unwrap();
    let url = address(&mut worker);
    let both = format!(
        "{first}\n{}\n",
        sample_finding("scc-crypto-miner", "p2").unwrap()
    );
    assert_eq!(post(&url, TOKEN, both).await.0, 200);
    let (status, told) = post(&url, TOKEN, "no json".to_owned()).await;
    assert_eq!(status, 200);
    assert!(told.contains("dead_letter"), "{told}");
    // The alert about the dead letter is a case too.
    worker.wait_for_lines("report shown", 3);
    let health = url.replace("/v1/alerts", "/healthz");
    assert_eq!(reqwest::get(&health).await.unwrap().status(), 200);
    let pages = url.replace("/v1/alerts", "/");
    assert_eq!(
        reqwest::get(&pages).await.unwrap().status(),
        404,
        "no pages there"
    );
    worker.signal("TERM");
    assert_eq!(worker.wait_for_exit().0.code(), Some(0));
    assert_eq!(cases(&place).len(), 3);
    assert_eq!(reports(&place).len(), 3);
}

#[test]
fn unserved_or_unusable_http_source_is_reported_at_start() {
    let mut place = posted_to();
    let ran = place.run(&["worker", "--only", "intake,triage"]).unwrap();
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("--only intake,web"), "{ran:?}");
    place.set_env("INTAKE_TOKEN", "short");
    let ran = place.run(&["worker"]).unwrap();
    assert_eq!(ran.code, Some(64), "{ran:?}");
    assert!(ran.stderr.contains("shorter than 20 characters"), "{ran:?}");
    assert!(!ran.stderr.contains("\"short\""), "{ran:?}");
    let config = std::fs::read_to_string(place.path().join("nightshift.toml")).unwrap();
    let config = config.replace("tokens = [\"env:INTAKE_TOKEN\"]", "feeds = [\"scc\"]");
    place.write_file("nightshift.toml", config).unwrap();
    let ran = place.run(&["config", "check"]).unwrap();
    assert_eq!(ran.code, Some(64), "{ran:?}");
    assert!(
        ran.stderr
            .contains("[[source]] soar: no sender could authenticate"),
        "{ran:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn f32_post_to_a_draining_worker_is_accepted_while_it_lingers() {
    let mut place = posted_to();
    place.set_env("NIGHTSHIFT__WEB__LINGER_SECS", "60");
    let mut worker = place.start(&["worker"]).unwrap();
    let url = address(&mut worker);
    let readiness = url.replace("/v1/alerts", "/readyz");
    let ready = async || reqwest::get(&readiness).await.unwrap().status();
    assert_eq!(ready().await, 200);
    worker.signal("TERM");
    while ready().await != 503 {}
    let alert = sample_finding("scc-crypto-miner", "p1")
        .unwrap()
        .to_string();
    let (status, told) = post(&url, TOKEN, alert).await;
    assert_eq!((status, told.as_str()), (200, r#"{"outcome":"accepted"}"#));
    worker.signal("TERM");
    assert_eq!(
        worker.wait_for_exit().0.code(),
        Some(1),
        "told twice, it ends at once"
    );
    assert_eq!(cases(&place).len(), 1);
    place.set_env("NIGHTSHIFT__WEB__LINGER_SECS", "1");
    let mut worker = place.start(&["worker"]).unwrap();
    address(&mut worker);
    worker.signal("TERM");
    assert_eq!(
        worker.wait_for_exit().0.code(),
        Some(0),
        "it ends by itself"
    );
    place.set_env("NIGHTSHIFT__WEB__LINGER_SECS", "61");
    let ran = place.run(&["config", "check"]).unwrap();
    assert_eq!(ran.code, Some(64), "{ran:?}");
    assert!(ran.stderr.contains("[web] linger_secs = 61"), "{ran:?}");
}
