//! Provides a fixture: a server with an HTTP source, the real intake loop, and fakes of the store, SNS and Google.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, StatusCode, Uri};
use chrono::{DateTime, Utc};
use nightshift_alert::ReadOptions;
use nightshift_engine::measurement::Measurement;
use nightshift_engine::port::{Clock, Meter};
use nightshift_pipeline::admission::Admission;
use nightshift_pipeline::intake::{Arrival, BatchOrder, Intake};
use nightshift_pipeline::loops::{InboxCapacity, IngestLoop};
use nightshift_pipeline::port::{AcceptedAlert, Inbox, StoreError};
use rcgen::{
    CertificateParams, KeyPair, PKCS_RSA_SHA256, RsaKeySize, SigningKey as _, date_time_ymd,
};
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::sync::{Barrier, Semaphore};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::SigningKeyCache;
use crate::testing::{FakeStore, TestResponse, ask, server};
use crate::{HttpConfig, HttpIntake, HttpSource, Server, WebConfig};

pub(super) const TOKEN: &str = "0123456789abcdef-intake";
pub(super) const SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";
pub(super) const FINDING: &str =
    include_str!("../../../../../tests/fixtures/alerts/guardduty-finding.json");

struct IntakeClock;

impl Clock for IntakeClock {
    fn now(&self) -> DateTime<Utc> {
        now()
    }
}

pub(super) fn now() -> DateTime<Utc> {
    "2026-12-01T00:00:00Z".parse().unwrap()
}

/// A store that commits when permitted and signals each request.
pub(super) struct FakeInbox {
    /// Permits, one for each batch that may be committed.
    pub(super) may: Semaphore,
    pub(super) asked: Semaphore,
    pub(super) arrivals: Mutex<Vec<Arrival>>,
}

impl FakeInbox {
    fn new() -> Self {
        Self {
            may: Semaphore::new(10_000),
            asked: Semaphore::new(0),
            arrivals: Mutex::default(),
        }
    }
}

#[async_trait]
impl Inbox for FakeInbox {
    async fn accept(&self, batch: Arc<[Arrival]>) -> Result<Vec<AcceptedAlert>, StoreError> {
        self.asked.add_permits(1);
        self.may.acquire().await.unwrap().forget();
        self.arrivals.lock().unwrap().extend(batch.iter().cloned());
        let accepted = batch.iter().map(|arrival| AcceptedAlert {
            case_id: None,
            key: arrival.alert.key.to_string(),
            title: arrival.alert.title.clone(),
            feed: arrival.alert.feed.clone(),
            admission: Admission::New,
            dead_letter: arrival.unreadable.as_ref().map(|_| 1),
        });
        Ok(accepted.collect())
    }
}

#[derive(Default)]
struct MessageCounts(Mutex<BTreeMap<String, u64>>);

impl Meter for MessageCounts {
    fn count(&self, measure: &Measurement) {
        if let Measurement::Message { source, outcome } = measure {
            let mut counts = self.0.lock().unwrap();
            *counts.entry(format!("{source} {outcome}")).or_default() += 1;
        }
    }
}

/// The fixture. Secrets are read from `secrets` at the time of each request.
pub(super) struct IntakeFixture {
    pub(super) server: Server,
    pub(super) inbox: Arc<FakeInbox>,
    pub(super) room: Arc<InboxCapacity>,
    pub(super) secrets: Arc<Mutex<HashMap<String, String>>>,
    pub(super) stop: CancellationToken,
    counted: Arc<MessageCounts>,
    source: Arc<HttpSource>,
    taking: JoinSet<()>,
}

impl IntakeFixture {
    /// Creates a fixture with this source. The store commits every batch.
    pub(super) fn new(source: Value) -> Self {
        Self::knowing(source, SigningKeyCache::default())
    }

    /// Creates a fixture with these cached keys.
    pub(super) fn knowing(source: Value, keys: SigningKeyCache) -> Self {
        let secrets = [("env:TOKEN", TOKEN), ("env:SECRET", SECRET)];
        let secrets = secrets.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let secrets = Arc::new(Mutex::new(HashMap::from(secrets)));
        let config: HttpConfig = serde_json::from_value(source).unwrap();
        let feeds = (!config.feeds.is_empty()).then(|| config.feeds.clone());
        let room = Arc::new(InboxCapacity::new(1_000));
        room.update(0);
        let counted = Arc::new(MessageCounts::default());
        let read = Arc::clone(&secrets);
        let source = HttpSource::new(
            config,
            Arc::new(move |reference| {
                let found = read.lock().unwrap().get(reference).cloned();
                found
                    .map(SecretString::from)
                    .ok_or_else(|| "none".to_owned())
            }),
            Arc::clone(&room),
            counted.clone(),
        );
        let source = Arc::new(source.unwrap());
        let inbox = Arc::new(FakeInbox::new());
        let taking = IngestLoop {
            intake: Intake {
                inbox: inbox.clone(),
                clock: Arc::new(IntakeClock),
                meter: counted.clone(),
                options: ReadOptions {
                    feeds,
                    ..ReadOptions::default()
                },
                order: BatchOrder::default(),
                commit_timeout: Duration::MAX,
                canary: None,
                severities: Arc::default(),
            },
            source: source.clone(),
            capacity: Arc::clone(&room),
            batch: 100,
        };
        let stop = CancellationToken::new();
        let until = stop.clone();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { taking.run(&until).await });
        let intake =
            HttpIntake::new(vec![Arc::clone(&source)], Arc::new(IntakeClock), keys).unwrap();
        let web = WebConfig {
            tokens: vec!["env:PAGES".to_owned()],
            ..WebConfig::default()
        };
        Self {
            server: server(&web, Arc::new(FakeStore::default())).with_intake(intake),
            inbox,
            room,
            secrets,
            stop,
            counted,
            source,
            taking: tasks,
        }
    }

    /// Creates a fixture with bearer tokens and signatures.
    pub(super) fn plain() -> Self {
        Self::new(json!({"name": "in", "tokens": ["env:TOKEN"], "signing_secrets": ["env:SECRET"]}))
    }

    pub(super) async fn post(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> TestResponse {
        ask(&self.server, request(path, headers, body), "127.0.0.1:9").await
    }

    /// Posts with a valid token.
    pub(super) async fn send(&self, body: impl Into<Body>) -> TestResponse {
        let token = format!("Bearer {TOKEN}");
        self.post("/v1/alerts", &[("authorization", &token)], body)
            .await
    }

    /// Returns how many messages of the source had this outcome.
    pub(super) fn counted(&self, outcome: &str) -> u64 {
        let counts = self.counted.0.lock().unwrap();
        counts.get(&format!("in {outcome}")).copied().unwrap_or(0)
    }

    /// Returns the ids of committed findings, with "unreadable" for dead letters.
    pub(super) fn committed(&self) -> Vec<String> {
        let arrivals = self.inbox.arrivals.lock().unwrap();
        let ids = arrivals.iter().map(|one| match one.unreadable {
            Some(_) => "unreadable".to_owned(),
            None => one.alert.key.id.clone(),
        });
        ids.collect()
    }

    /// Returns the stored bytes of each arrival.
    pub(super) fn kept(&self) -> Vec<String> {
        let arrivals = self.inbox.arrivals.lock().unwrap();
        let bytes = arrivals
            .iter()
            .map(|one| String::from_utf8_lossy(&one.raw).into_owned());
        bytes.collect()
    }

    /// Waits until the store is called.
    pub(super) async fn until_asked(&self) {
        self.inbox.asked.acquire().await.unwrap().forget();
    }

    /// Stops the worker.
    pub(super) async fn end(&mut self) {
        self.stop.cancel();
        self.taking.join_next().await.unwrap().unwrap();
        assert!(nightshift_pipeline::port::Source::ready(self.source.as_ref()).is_err());
    }
}

pub(super) fn request(
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Request<Body> {
    let mut request = Request::post(path).header("host", "localhost:8080");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(body.into()).unwrap()
}

/// Returns a finding with this id.
pub(super) fn finding(id: &str) -> Value {
    let mut finding: Value = serde_json::from_str(FINDING).unwrap();
    let arn = format!("arn:aws:guardduty:eu-west-1:444455556666:detector/d/finding/{id}");
    finding["Id"] = id.into();
    finding["Arn"] = arn.into();
    finding
}

/// A signing key and its certificate.
pub(super) struct Signer {
    pub(super) key: KeyPair,
    pub(super) certificate: String,
}

impl Signer {
    pub(super) fn new() -> Self {
        Self::until(2030)
    }

    /// Creates a signer whose certificate is valid until this year.
    pub(super) fn until(year: i32) -> Self {
        let key = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048).unwrap();
        let mut params = CertificateParams::new(vec!["sns.amazonaws.com".to_owned()]).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(year, 1, 1);
        let certificate = params.self_signed(&key).unwrap().pem();
        Self { key, certificate }
    }

    pub(super) fn sign(&self, words: &str) -> Vec<u8> {
        self.key.sign(words.as_bytes()).unwrap()
    }
}

/// Calls that are answered at the same time.
#[derive(Clone)]
pub(super) struct CallBarrier {
    pub(super) four: Arc<Barrier>,
    /// Current and highest number of calls.
    pub(super) most: Arc<Mutex<(usize, usize)>>,
}

impl CallBarrier {
    async fn held(self) {
        {
            let mut most = self.most.lock().unwrap();
            most.0 += 1;
            most.1 = most.1.max(most.0);
        }
        self.four.wait().await;
        self.most.lock().unwrap().0 -= 1;
    }
}

/// A fake server that answers with its files and records its requests.
#[derive(Default)]
pub(super) struct FakeHttpServer {
    /// Contents by path.
    pub(super) files: Mutex<HashMap<String, String>>,
    pub(super) asked: Mutex<Vec<String>>,
    pub(super) is_away: AtomicBool,
    /// If set, four calls are answered together or none.
    pub(super) meets: Mutex<Option<CallBarrier>>,
    serving: Mutex<JoinSet<()>>,
}

impl FakeHttpServer {
    /// Starts the server and returns its URL.
    pub(super) async fn serve(self: &Arc<Self>) -> String {
        let router = Router::new()
            .fallback(Self::answer)
            .with_state(Arc::clone(self));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = async move { axum::serve(listener, router).await.unwrap() };
        self.serving.lock().unwrap().spawn(serving);
        format!("http://{address}")
    }

    pub(super) fn put(&self, path: &str, text: impl Into<String>) {
        self.files
            .lock()
            .unwrap()
            .insert(path.to_owned(), text.into());
    }

    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    async fn answer(State(called): State<Arc<Self>>, uri: Uri) -> (StatusCode, String) {
        called.asked.lock().unwrap().push(uri.to_string());
        let meeting = called.meets.lock().unwrap().clone();
        if let Some(meeting) = meeting {
            meeting.held().await;
        }
        if called.is_away.load(Ordering::Relaxed) {
            return (StatusCode::BAD_GATEWAY, String::new());
        }
        let found = called.files.lock().unwrap().get(&uri.to_string()).cloned();
        match found {
            Some(text) => (StatusCode::OK, text),
            None => (StatusCode::NOT_FOUND, String::new()),
        }
    }
}
