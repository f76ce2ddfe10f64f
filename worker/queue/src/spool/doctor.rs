//! Runs the doctor checks of a spool directory.

use std::ffi::OsStr;
use std::fs::DirEntry;
use std::path::Path;

use nightshift_engine::doctor::HealthReport;
use nightshift_pipeline::probe::check_writable;

use super::SpoolConfig;

/// Folders that a source creates.
const FOLDERS: [&str; 3] = ["new", "tmp", "cur"];

/// Checks a directory. The call blocks.
pub(crate) fn probe(config: &SpoolConfig) -> HealthReport {
    let mut checkup = HealthReport::default();
    let dir = config.dir.as_path();
    checkup.add_observation(format!("the directory {}", dir.display()));
    if let Some(waiting) = count_waiting_files(&dir.join("new")) {
        checkup.add_observation(format!("{waiting} files wait"));
    } else {
        checkup.add_observation("made at the first start");
    }
    let beside = count_misplaced_files(dir);
    if beside > 0 {
        let files = match beside {
            1 => "1 file lies",
            _ => &format!("{beside} files lie"),
        };
        checkup.add_warning(
            "source.beside",
            format!("{files} beside new/, in {} itself", dir.display()),
            "only files in new/ are read: alerts elsewhere are not triaged",
            format!("move alert files: mv {0}/FILE {0}/new/", dir.display()),
        );
    }
    for folder in [dir.to_owned()]
        .into_iter()
        .chain(FOLDERS.map(|one| dir.join(one)))
    {
        if let Err(error) = check_writable(&folder) {
            checkup.add_error(
                "source.folder",
                format!("{} cannot be written: {error}", folder.display()),
                "files are taken by renaming them, so nothing can be taken",
                "make it a folder that the user of the worker may write, or set another dir",
            );
            break;
        }
    }
    checkup
}

/// Returns how many files are in the directory itself, where they are not read. Hidden files are never messages.
pub(super) fn count_misplaced_files(dir: &Path) -> usize {
    let is_file = |one: &DirEntry| one.file_type().is_ok_and(|kind| kind.is_file());
    // A file in the place of one of these folders is reported separately.
    let is_ours = |name: &OsStr| FOLDERS.iter().any(|folder| name == *folder);
    let is_hidden = |name: &OsStr| name.as_encoded_bytes().starts_with(b".");
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter(|one| {
            let name = one.file_name();
            is_file(one) && !is_hidden(&name) && !is_ours(&name)
        })
        .count()
}

fn count_waiting_files(new: &Path) -> Option<usize> {
    Some(std::fs::read_dir(new).ok()?.count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(dir: &Path) -> Vec<&'static str> {
        let text = format!("name = 'files'\ndir = '{}'", dir.display());
        let config: SpoolConfig = toml::from_str(&text).unwrap();
        probe(&config)
            .failed_checks
            .iter()
            .map(|one| one.check)
            .collect()
    }

    #[test]
    fn a_folder_that_is_none_is_told_and_nothing_is_left_behind() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(found(&dir.path().join("spool")), Vec::<&str>::new());
        assert_eq!(found(dir.path()), Vec::<&str>::new());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        std::fs::write(dir.path().join(".keep"), "").unwrap();
        assert_eq!(found(dir.path()), Vec::<&str>::new());
        std::fs::write(dir.path().join("alert.json"), "{}").unwrap();
        assert_eq!(found(dir.path()), ["source.beside"]);
        std::fs::remove_file(dir.path().join("alert.json")).unwrap();
        std::fs::write(dir.path().join("new"), "").unwrap();
        assert_eq!(found(dir.path()), ["source.folder"]);
        assert_eq!(found(&dir.path().join("new")), ["source.folder"]);
    }
}
