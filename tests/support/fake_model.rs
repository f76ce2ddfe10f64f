//! The fake model as a program, for benchmarks and for trying things by hand: it prints its address and answers until
//! it is ended. What it was asked is told on standard error then.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use nightshift_tests::model::{FakeModel, Provider, Script};

/// A strict fake of the model providers.
#[derive(Debug, Parser)]
#[command(name = "fake-model")]
struct Arguments {
    /// Where to listen.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// What it answers.
    #[arg(long, value_enum, default_value = "nonsense")]
    script: Kind,
    /// What its nonsense is drawn from.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How long every answer takes.
    #[arg(long, default_value_t = 0)]
    latency_ms: u64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    /// Values that fit the wanted schema.
    Nonsense,
    /// What the prompt's data orders.
    Obedient,
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let arguments = Arguments::parse();
    let script = match arguments.script {
        Kind::Nonsense => Script::nonsense(arguments.seed),
        Kind::Obedient => Script::obedient(),
    };
    let script = script
        .latency(Duration::from_millis(arguments.latency_ms))
        .forgetful();
    let fake = FakeModel::listen(script, arguments.listen).await?;
    for provider in Provider::ALL {
        println!("{provider:?} {}", fake.base_url(provider));
    }
    tokio::signal::ctrl_c().await?;
    eprintln!(
        "{} requests accepted, {} refused, {} in flight at the most",
        fake.accepted(),
        fake.refusals().len(),
        fake.most_in_flight()
    );
    for refusal in fake.refusals().iter().take(20) {
        eprintln!("refused: {}", refusal.trouble.message);
    }
    Ok(())
}
