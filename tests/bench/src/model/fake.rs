//! Runs the fake model in a separate process, so that its CPU time is not counted as Nightshift's.
//!
//! This program starts itself again as the fake. The child prints its address and answers each line on its standard
//! input with its counters. It exits when its input ends.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use nightshift_engine::key::KeyRef;
use nightshift_llm::{ModelConfig, ModelProvider};
use nightshift_tests::model::{FakeModel, Provider as Wire};

use super::script::CaseShape;

/// The argument that makes this program the fake.
pub(crate) const ARGUMENT: &str = "fake-model";

/// A fake in a child process.
pub(crate) struct FakeModelProcess {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    origin: String,
}

/// The counters of a fake.
pub(crate) struct RequestCounts {
    pub(crate) accepted: u32,
    /// Requests that a provider would have refused.
    pub(crate) refused: u32,
    /// Requests that are being answered.
    pub(crate) in_flight: u32,
}

impl FakeModelProcess {
    /// Starts a fake with this latency, and `last` more for the conclusion.
    pub(crate) fn start(
        shape: CaseShape,
        latency: Duration,
        last: Duration,
    ) -> anyhow::Result<Self> {
        let millis = |time: Duration| time.as_millis().to_string();
        let mut child = Command::new(std::env::current_exe()?)
            .args([ARGUMENT, shape.name(), &millis(latency), &millis(last)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().context("its output is piped")?;
        let mut fake = Self {
            input: child.stdin.take(),
            output: BufReader::new(output),
            child,
            origin: String::new(),
        };
        fake.origin = fake.line()?;
        Ok(fake)
    }

    /// Returns the counters. The call fails if the fake refused a request.
    pub(crate) fn request_counts(&mut self) -> anyhow::Result<RequestCounts> {
        let input = self.input.as_mut().context("the fake is at its end")?;
        input.write_all(b"\n")?;
        let line = self.line()?;
        let mut numbers = line.split(' ').map(str::parse);
        let mut next = || anyhow::Ok(numbers.next().context("a number is missing")??);
        let counted = RequestCounts {
            accepted: next()?,
            refused: next()?,
            in_flight: next()?,
        };
        ensure!(
            counted.refused == 0,
            "{} requests were refused",
            counted.refused
        );
        Ok(counted)
    }

    /// Returns the configuration of this model.
    pub(crate) fn config(&self, provider: ModelProvider) -> ModelConfig {
        config(provider, &self.origin)
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        ensure!(!line.is_empty(), "the fake model ended early");
        Ok(line.trim().to_owned())
    }
}

impl Drop for FakeModelProcess {
    fn drop(&mut self) {
        // The child exits when its input ends.
        drop(self.input.take());
        drop(self.child.wait());
    }
}

/// Returns the configuration of a model of this provider at the address of a fake.
pub(crate) fn config(provider: ModelProvider, origin: &str) -> ModelConfig {
    let (model, path) = match provider {
        ModelProvider::Openai => ("gpt-4.1", "/v1"),
        _ => ("claude-sonnet-4-5", ""),
    };
    let mut config = ModelConfig::new(provider, model);
    config.base_url = Some(format!("{origin}{path}"));
    config.api_key = Some(KeyRef::from("a-key-of-the-fake"));
    config.proxy = Some("none".to_owned());
    config
}

/// Runs as the fake until the input ends.
pub(crate) fn serve(arguments: &[String]) -> anyhow::Result<()> {
    let [shape, latency, last] = arguments else {
        anyhow::bail!("the fake takes a shape and two times in milliseconds");
    };
    let latency = Duration::from_millis(latency.parse()?);
    let last = Duration::from_millis(last.parse()?);
    let script = CaseShape::parse(shape)?
        .script(last)
        .with_latency(latency)
        .without_recording();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let fake = runtime.block_on(FakeModel::start(script))?;
    println!("{}", fake.base_url(Wire::Anthropic));
    for line in std::io::stdin().lines() {
        line?;
        let refusals = fake.refusals();
        for refusal in refusals.iter().take(3) {
            eprintln!("refused: {}", refusal.error.message);
        }
        println!(
            "{} {} {}",
            fake.accepted(),
            refusals.len(),
            fake.in_flight()
        );
    }
    runtime.shutdown_background();
    Ok(())
}
