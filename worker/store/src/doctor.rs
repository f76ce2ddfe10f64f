//! Probes a store before a worker relies on it: whether it is reachable, and whether its data is durable. A probe
//! creates, migrates and writes nothing, except for a blob that it removes again.

use nightshift_engine::doctor::HealthReport;
use nightshift_engine::error_chain::format_error_chain;
use nightshift_engine::port::Clock;
use nightshift_pipeline::blocking::run_blocking;
use nightshift_pipeline::port::DestinationBacklog;

use crate::blobs::{BlobOptions, BlobStore};
use crate::options::StoreOptions;
use crate::{StoreUrl, postgres, sqlite};

/// Probes the store of this address, its reports for destinations other than these, and the place of its large messages
/// if that is outside of the database.
pub async fn probe(
    url: &str,
    options: StoreOptions,
    destinations: &[String],
    blobs: Option<&BlobOptions>,
    clock: &dyn Clock,
) -> HealthReport {
    let is_shared = matches!(StoreUrl::parse(url), Some(StoreUrl::Postgres(_)));
    let mut checkup = HealthReport::default();
    let mut owed = database(url, options, clock, &mut checkup).await;
    owed.retain(|one| !destinations.contains(&one.destination));
    for one in &owed {
        gone(one, &mut checkup);
    }
    if let Some(blobs) = blobs {
        place(blobs, is_shared, &mut checkup).await;
    }
    checkup
}

/// Probes the place of large messages.
async fn place(options: &BlobOptions, is_shared: bool, checkup: &mut HealthReport) {
    let url = &options.url;
    if is_shared && options.folder().is_some() {
        checkup.add_warning(
            "store.blobs_on_one_host",
            format!("[blobs] url = {url:?} is a folder"),
            "a large message that could not be read can be read again only by workers that share the folder, and is gone with it",
            "name a bucket, mount one volume into all workers, or leave it empty to keep messages in the database",
        );
    }
    let usable = match BlobStore::open(options) {
        Ok(blobs) => blobs.probe().await,
        Err(error) => Err(format_error_chain(&error)),
    };
    match usable {
        Ok(()) => checkup.add_observation(format!("large messages in {url}")),
        Err(problem) => checkup.add_error(
            "store.blobs",
            format!("{url} cannot be used: {problem}"),
            "large messages stay in the database, up to 16 MiB of each, and those that are there cannot be read again",
            "let the worker write, read and remove objects there, or name another place in [blobs] url",
        ),
    }
}

/// Warns about pending reports for a destination that is not configured, because nobody delivers them.
fn gone(owed: &DestinationBacklog, checkup: &mut HealthReport) {
    let DestinationBacklog {
        destination,
        reports,
        since,
    } = owed;
    let since = since.format("%Y-%m-%d %H:%M UTC");
    checkup.add_warning(
        "destination.gone",
        format!(
            "no [[destination]] is called {destination:?}, and reports are owed to it: {reports}, since {since}"
        ),
        "nobody delivers them, and NightshiftOutboxStuck pages until they are gone by age; a worker with another configuration \
         may know the destination",
        format!(
            "give the [[destination]] its name back until they are shown, or give them up: `nightshift destinations drop {destination}`"
        ),
    );
}

/// Probes the database. Returns the pending reports by destination, or nothing if they cannot be read.
async fn database(
    url: &str,
    options: StoreOptions,
    clock: &dyn Clock,
    checkup: &mut HealthReport,
) -> Vec<DestinationBacklog> {
    match StoreUrl::parse(url) {
        Some(StoreUrl::Postgres(url)) => postgres::probe(url, options, clock, checkup).await,
        Some(StoreUrl::Sqlite(path)) => {
            let path = path.to_owned();
            let (looked, owed) = run_blocking(move || sqlite::probe(&path)).await;
            checkup.merge(looked);
            owed
        }
        None => {
            checkup.add_error(
                "store.unreachable",
                "[store] url names no store",
                "cases, journals and reports have nowhere to go",
                "write sqlite:PATH, the path of a file, or postgres://USER@HOST/DATABASE",
            );
            Vec::new()
        }
    }
}
