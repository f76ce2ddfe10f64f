//! Provides a folder with a worker's configuration, its source and its destination.

use std::path::PathBuf;

use nightshift_tests::{Sandbox, sample_finding};
use serde_json::Value;

/// Returns a place whose worker reads files from `spool/` and writes reports to `reports/`.
pub(crate) fn place(more: &str) -> Sandbox {
    place_with(|_| more.to_owned())
}

/// Returns such a place when the further configuration needs files.
pub(crate) fn place_with(more: impl FnOnce(&Sandbox) -> String) -> Sandbox {
    let mut place = Sandbox::new().unwrap();
    let more = more(&place);
    let config = format!(
        "log = {{ level = \"warn,nightshift_pipeline=info,nightshift_pipeline::canary=debug\", format = \"text\" }}\n\
         web = {{ listen = \"127.0.0.1:0\" }}\n\
         [[source]]\nname = \"drop\"\nkind = \"spool\"\ndir = \"spool\"\n\
         [[destination]]\nname = \"files\"\nkind = \"file\"\npath = \"reports\"\nformat = \"json\"\n\
         [[route]]\ndestinations = [\"files\"]\n{more}"
    );
    place.write_file("nightshift.toml", config).unwrap();
    place.set_env("NO_COLOR", "1");
    place
}

/// Puts a sample with another id into the source, as `docs/sources.md` says.
pub(crate) fn put(place: &Sandbox, sample: &str, id: &str) {
    put_message(place, id, &sample_finding(sample, id).unwrap());
}

pub(crate) fn put_message(place: &Sandbox, id: &str, message: &Value) {
    let name = format!("{}.json", id.replace(['/', ':'], "-"));
    let written = place
        .write_file(&format!("spool/tmp/{name}"), message.to_string())
        .unwrap();
    let new = place.path().join("spool/new");
    std::fs::create_dir_all(&new).unwrap();
    std::fs::rename(written, new.join(name)).unwrap();
}

/// Returns the reports at the destination.
pub(crate) fn reports(place: &Sandbox) -> Vec<PathBuf> {
    let Ok(folder) = std::fs::read_dir(place.path().join("reports")) else {
        return Vec::new();
    };
    let files = folder.map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|kind| kind == "json"))
        .collect()
}

/// Returns all cases from `cases list --json`.
pub(crate) fn cases(place: &Sandbox) -> Vec<Value> {
    let ran = place
        .run(&["cases", "list", "--json", "--limit", "1000"])
        .unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines = ran.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Configures the feed of messages with `vendor` and reads all dead letters again.
pub(crate) fn read_again_knowing_vendor(place: &Sandbox) {
    let config = std::fs::read_to_string(place.path().join("nightshift.toml")).unwrap();
    let feed = "[[feed]]\nname = \"edr\"\nmatch = \"/vendor\"\nfields = { id = \"/vendor/id\", type = \"/vendor/rule\", \
                title = \"/vendor/title\", severity = \"/vendor/level\" }\n";
    place
        .write_file("nightshift.toml", format!("{config}\n{feed}"))
        .unwrap();
    let read = place.run(&["dead-letters", "retry", "--all"]).unwrap();
    assert_eq!(read.code, Some(0), "{read:?}");
    assert!(
        read.stderr.contains("1 read again, 0 still cannot"),
        "{read:?}"
    );
}
