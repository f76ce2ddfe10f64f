//! Measures the CPU of a case's IO alone: as many requests of the same size to the same fake, and as many commits to
//! the same PostgreSQL, with the same two client libraries and no code of Nightshift. Any further CPU of a case is that
//! of Nightshift.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use futures_util::future::try_join_all;
use nightshift_llm::ModelProvider;
use serde_json::json;
use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls, Statement};

use super::{LIMITS, WARM_UP_CASES, spawn_and_join};
use crate::model::fake::FakeModelProcess;
use crate::model::script::CaseShape;
use crate::process::{cpu, runtime};
use crate::worker::Database;

/// Bytes of a request: the mean over the twelve of a case.
const PROMPT: usize = 19_200;
/// Bytes of a commit: all that a case sends to the database, divided by its twenty commits.
const ROW: usize = 5_500;
/// Number of connections to the database.
const CONNECTIONS: usize = 8;
/// Number of sequential calls of each of the four steps.
const STEPS: [usize; 4] = [2, 2, 3, 3];

/// One connection, and its prepared commit.
struct JournalConnection {
    client: Client,
    insert: Statement,
}

/// The clients that all cases share.
struct YardstickCalls {
    http: reqwest::Client,
    url: String,
    prompt: String,
    row: String,
    journals: Vec<JournalConnection>,
}

/// Returns the CPU of a case in milliseconds.
pub(super) fn cpu_ms(server: &str) -> anyhow::Result<f64> {
    let mut fake = FakeModelProcess::start(CaseShape::Twelve, LIMITS.latency, Duration::ZERO)?;
    let config = fake.config(ModelProvider::Anthropic);
    let origin = config.base_url.context("a fake has an address")?;
    let runtime = runtime()?;
    let ms = runtime.block_on(async {
        let database = Database::new(server).await?;
        let mut connections = JoinSet::new();
        let wire = Arc::new(YardstickCalls::new(&origin, &database.url, &mut connections).await?);
        spawn_and_join(arrive(Arc::clone(&wire), WARM_UP_CASES)).await?;
        let before = cpu()?.own_secs;
        spawn_and_join(arrive(wire, LIMITS.cases)).await?;
        anyhow::Ok((cpu()?.own_secs - before) * 1e3 / f64::from(LIMITS.cases))
    })?;
    let asked = fake.request_counts()?.accepted;
    ensure!(
        asked == 12 * (WARM_UP_CASES + LIMITS.cases),
        "{asked} requests"
    );
    Ok(ms)
}

async fn arrive(wire: Arc<YardstickCalls>, cases: u32) -> anyhow::Result<()> {
    let mut ticks = tokio::time::interval(LIMITS.every);
    let mut running = JoinSet::new();
    for case in 0..cases {
        ticks.tick().await;
        let wire = Arc::clone(&wire);
        running.spawn(async move { wire.case(usize::try_from(case)?).await });
    }
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    Ok(())
}

impl YardstickCalls {
    async fn new(
        origin: &str,
        database: &str,
        connections: &mut JoinSet<Result<(), tokio_postgres::Error>>,
    ) -> anyhow::Result<Self> {
        let mut journals = Vec::new();
        for _ in 0..CONNECTIONS {
            let (client, connection) = tokio_postgres::connect(database, NoTls).await?;
            connections.spawn(connection);
            if journals.is_empty() {
                let table = "CREATE TABLE journal (at bigserial PRIMARY KEY, body text NOT NULL)";
                client.batch_execute(table).await?;
            }
            let insert = client
                .prepare("INSERT INTO journal (body) VALUES ($1)")
                .await?;
            journals.push(JournalConnection { client, insert });
        }
        let words = "{\"name\": \"one value of many\"},\n".repeat(PROMPT / 30);
        let body = json!({
            "model": "claude-sonnet-4-5", "max_tokens": 2_000, "stream": true,
            "messages": [{"role": "user", "content": format!("{words}\n# Your task now: plan")}],
        });
        Ok(Self {
            http: reqwest::Client::builder().no_proxy().build()?,
            url: format!("{origin}/v1/messages"),
            prompt: body.to_string(),
            row: words.chars().take(ROW).collect(),
            journals,
        })
    }

    /// Runs a plan, four concurrent steps and a conclusion. The case commits after each call, and for the claim and the
    /// end.
    async fn case(&self, number: usize) -> anyhow::Result<()> {
        let journal = self
            .journals
            .get(number % self.journals.len())
            .context("there is a connection")?;
        for _ in 0..3 {
            self.commit(journal).await?;
        }
        self.calls(journal, 1).await?;
        try_join_all(STEPS.map(|many| self.calls(journal, many))).await?;
        self.calls(journal, 1).await?;
        for _ in 0..4 {
            self.commit(journal).await?;
        }
        Ok(())
    }

    async fn calls(&self, journal: &JournalConnection, many: usize) -> anyhow::Result<()> {
        for _ in 0..many {
            let mut answer = self
                .http
                .post(&self.url)
                .header("content-type", "application/json")
                .header("anthropic-version", "2023-06-01")
                .header("x-api-key", "a-key-of-the-fake")
                .body(self.prompt.clone())
                .send()
                .await?
                .error_for_status()?;
            while answer.chunk().await?.is_some() {}
            self.commit(journal).await?;
        }
        Ok(())
    }

    async fn commit(&self, journal: &JournalConnection) -> anyhow::Result<()> {
        journal
            .client
            .execute(&journal.insert, &[&self.row])
            .await?;
        Ok(())
    }
}
