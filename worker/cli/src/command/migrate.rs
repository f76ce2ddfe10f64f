//! `nightshift migrate`: updates the database schema and prints its migrations. Every command updates the schema when
//! it opens the store.

use crate::args::JsonFlag;
use crate::exit::Exit;
use crate::output::{print, print_json};
use crate::wiring::App;

pub(super) async fn run(app: &App, json: JsonFlag) -> Result<(), Exit> {
    let names = app.store.migrations().await?;
    if json.json {
        return print_json(&names);
    }
    print(&format!(
        "{} is up to date: {}",
        nightshift_store::redact_password(&app.config.store.url),
        names.join(", ")
    ))
}
