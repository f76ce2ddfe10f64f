//! Tests `/v1/alerts/pubsub`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};

use super::fixture::{FakeHttpServer, IntakeFixture, Signer, finding, now};
use crate::SigningKeyCache;
use crate::testing::TestResponse;

const AUDIENCE: &str = "https://nightshift.example.com/v1/alerts/pubsub";
const ACCOUNT: &str = "nightshift-push@security-tools.iam.gserviceaccount.com";

/// A worker with a push subscription, and a fake Google.
struct PubsubFixture {
    source: Value,
    keys: SigningKeyCache,
    world: IntakeFixture,
    called: Arc<FakeHttpServer>,
    signer: Signer,
}

fn key(signer: &Signer) -> EncodingKey {
    EncodingKey::from_rsa_pem(signer.key.serialize_pem().as_bytes()).unwrap()
}

/// Returns a token as Google makes it, signed by this key with this key id.
fn token(signer: &Signer, kid: &str, claims: &Value) -> String {
    let mut header = Header::new(Algorithm::RS256);
    header.kid = Some(kid.to_owned());
    encode(&header, claims, &key(signer)).unwrap()
}

fn claims() -> Value {
    let now = now().timestamp();
    json!({
        "aud": AUDIENCE, "azp": "1", "email": ACCOUNT, "email_verified": true, "exp": now + 3_600,
        "iat": now, "iss": "https://accounts.google.com", "sub": "1",
    })
}

fn push(id: &str) -> String {
    let data = STANDARD.encode(finding(id).to_string());
    json!({"message": {"data": data, "messageId": "1", "attributes": {"a": "b"}}, "subscription": "projects/p/subscriptions/s"})
        .to_string()
}

impl PubsubFixture {
    async fn new() -> Self {
        let called = Arc::new(FakeHttpServer::default());
        let signer = Signer::new();
        let mut jwk = Jwk::from_encoding_key(&key(&signer), Algorithm::RS256).unwrap();
        jwk.common.key_id = Some("k1".to_owned());
        called.put("/certs", json!({"keys": [jwk]}).to_string());
        let at = called.serve().await;
        let source = json!({"name": "in", "pubsub": {
            "audience": AUDIENCE, "service_accounts": [ACCOUNT], "jwks_url": format!("{at}/certs"),
        }});
        let keys = SigningKeyCache::default();
        Self {
            world: IntakeFixture::knowing(source.clone(), keys.clone()),
            source,
            keys,
            called,
            signer,
        }
    }

    async fn post(&self, token: &str, body: String) -> TestResponse {
        let token = format!("Bearer {token}");
        let headers = [("authorization", token.as_str())];
        self.world.post("/v1/alerts/pubsub", &headers, body).await
    }
}

#[tokio::test]
async fn pubsub_token_for_us_is_accepted_and_keys_are_fetched_once() {
    let google = PubsubFixture::new().await;
    let right = token(&google.signer, "k1", &claims());
    for id in ["one", "two"] {
        let answer = google.post(&right, push(id)).await;
        assert_eq!(
            (answer.status.as_u16(), answer.text.as_str()),
            (200, r#"{"outcome":"accepted"}"#)
        );
    }
    // Without its envelope, as a subscription can be configured.
    assert_eq!(
        google
            .post(&right, finding("bare").to_string())
            .await
            .status,
        200
    );
    assert_eq!(google.world.committed(), ["one", "two", "bare"]);
    assert_eq!(google.called.asked(), ["/certs"]);
    let answer = google.post(&right, "{}".to_owned()).await;
    assert!(answer.text.contains("dead_letter"), "{}", answer.text);
}

#[tokio::test]
async fn a07_foreign_token_is_refused_and_its_body_is_not_stored() {
    let google = PubsubFixture::new().await;
    let now = now().timestamp();
    let with = |key: &str, value: Value| {
        let mut claims = claims();
        claims[key] = value;
        token(&google.signer, "k1", &claims)
    };
    let without = |key: &str| {
        let mut claims = claims();
        claims.as_object_mut().unwrap().remove(key);
        token(&google.signer, "k1", &claims)
    };
    let right = token(&google.signer, "k1", &claims());
    let parts: Vec<&str> = right.split('.').collect();
    let unsigned = STANDARD
        .encode(r#"{"alg":"none","kid":"k1"}"#)
        .replace('=', "");
    let by_public_key = {
        let mut header = Header::new(Algorithm::HS256);
        header.kid = Some("k1".to_owned());
        let public = google.signer.key.public_key_raw();
        encode(&header, &claims(), &EncodingKey::from_secret(public)).unwrap()
    };
    let refused = [
        with("aud", "https://other.example.com/".into()),
        with("iss", "https://accounts.evil.com".into()),
        with(
            "email",
            "evil@security-tools.iam.gserviceaccount.com".into(),
        ),
        with("email_verified", false.into()),
        with("exp", (now - 61).into()),
        with("iat", (now + 61).into()),
        without("aud"),
        without("email"),
        without("email_verified"),
        without("exp"),
        token(&Signer::new(), "k1", &claims()),
        by_public_key,
        format!("{unsigned}.{}.", parts[1]),
        format!("{}.{}.AAAA", parts[0], parts[1]),
        "no-token".to_owned(),
        String::new(),
        "a".repeat(9_000),
    ];
    for shown in &refused {
        let answer = google.post(shown, push("evil")).await;
        assert_eq!(answer.status, 401, "{shown}: {}", answer.text);
    }
    let answer = google
        .world
        .post("/v1/alerts/pubsub", &[], push("evil"))
        .await;
    assert_eq!(answer.status, 401);
    assert_eq!(google.world.committed(), Vec::<String>::new());
    assert_eq!(google.world.counted("refused"), 18);
}

#[tokio::test]
async fn keys_that_are_made_up_make_nobody_call_again_and_again() {
    let google = PubsubFixture::new().await;
    for kid in ["k2", "k3", ""] {
        let shown = token(&google.signer, kid, &claims());
        let answer = google.post(&shown, push("evil")).await;
        assert_eq!(answer.status, 401, "{}", answer.text);
    }
    assert_eq!(google.called.asked().len(), 1);
}

#[tokio::test]
async fn without_keys_pubsub_is_told_to_come_again() {
    let google = PubsubFixture::new().await;
    google.called.is_away.store(true, Ordering::Relaxed);
    let right = token(&google.signer, "k1", &claims());
    for _ in 0..3 {
        let answer = google.post(&right, push("one")).await;
        assert_eq!(answer.status, 503, "{}", answer.text);
    }
    assert_eq!(google.called.asked().len(), 1);
    assert_eq!(google.world.counted("busy"), 3);
}

#[tokio::test]
async fn keys_that_came_are_known_to_the_next_configuration() {
    let mut google = PubsubFixture::new().await;
    let right = token(&google.signer, "k1", &claims());
    assert_eq!(google.post(&right, push("one")).await.status, 200);
    google.world = IntakeFixture::knowing(google.source.clone(), google.keys.clone());
    google.called.is_away.store(true, Ordering::Relaxed);
    assert_eq!(google.post(&right, push("two")).await.status, 200);
    assert_eq!(google.called.asked(), ["/certs"]);
}

#[tokio::test]
async fn concurrent_posts_wait_for_one_fetch_of_the_keys() {
    let google = PubsubFixture::new().await;
    let right = token(&google.signer, "k1", &claims());
    let posts = ["one", "two", "three"].map(|id| google.post(&right, push(id)));
    for answer in futures_util::future::join_all(posts).await {
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
    assert_eq!(google.called.asked(), ["/certs"]);
}
