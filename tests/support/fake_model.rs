//! Runs the fake model as a program, for benchmarks and manual tests. The program prints its address and answers until
//! it is stopped. It then prints a summary of its requests to standard error.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use nightshift_tests::model::{FakeModel, Provider, Script};

/// A strict fake of the model providers.
#[derive(Debug, Parser)]
#[command(name = "fake-model")]
struct CliArguments {
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// The script by which requests are answered.
    #[arg(long, value_enum, default_value = "nonsense")]
    script: ScriptKind,
    /// Seed of the nonsense.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Latency of every answer.
    #[arg(long, default_value_t = 0)]
    latency_ms: u64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ScriptKind {
    /// Random values that fit the requested schema.
    Nonsense,
    /// The answer that the data of the prompt orders.
    Obedient,
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let arguments = CliArguments::parse();
    let script = match arguments.script {
        ScriptKind::Nonsense => Script::nonsense(arguments.seed),
        ScriptKind::Obedient => Script::obedient(),
    };
    let script = script
        .with_latency(Duration::from_millis(arguments.latency_ms))
        .without_recording();
    let fake = FakeModel::listen(script, arguments.listen).await?;
    for provider in Provider::ALL {
        println!("{provider:?} {}", fake.base_url(provider));
    }
    tokio::signal::ctrl_c().await?;
    eprintln!(
        "{} requests accepted, {} refused, {} in flight at the most",
        fake.accepted(),
        fake.refusals().len(),
        fake.max_in_flight()
    );
    for refusal in fake.refusals().iter().take(20) {
        eprintln!("refused: {}", refusal.error.message);
    }
    Ok(())
}
