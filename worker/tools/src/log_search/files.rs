//! Which files a log consists of.
//!
//! A folder means all log files below it, those that were rotated last; a glob is matched against the whole path, and what
//! matches is read whatever its ending. Symbolic links inside a folder are not
//! followed, so that a log folder never leads out of itself.

use std::fs;
use std::path::{Path, PathBuf};

use globset::GlobBuilder;

use crate::content::unreadable;

/// Most files of one search.
const MAX_FILES: usize = 2_000;

/// Deepest folder below the configured one.
const MAX_DEPTH: usize = 12;

/// Endings of what is taken for a log in a folder.
const ENDINGS: [&str; 5] = ["json", "jsonl", "ndjson", "log", "txt"];

/// Endings of what would have to be unpacked first.
const COMPRESSED: [&str; 4] = ["gz", "zst", "bz2", "xz"];

/// The files of a log, in the order of their names.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) paths: Vec<PathBuf>,
    /// What was found and cannot be read, in words.
    pub(super) problems: Vec<String>,
}

/// The files of `path`: a file, a folder, or a glob.
///
/// # Errors
///
/// When there is nothing to read.
pub(super) fn find(path: &Path) -> Result<Files, String> {
    let mut files = Files::default();
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {
            files.paths.push(path.to_owned());
            return Ok(files);
        }
        Ok(_) => walk(path, 0, &mut files, &|file| {
            is_log(file) || is_rotated(file) || is_compressed(file)
        }),
        Err(error) if !is_glob(path) => return Err(unreadable(path, &error)),
        Err(_) => {
            let glob = GlobBuilder::new(&path.to_string_lossy())
                .literal_separator(true)
                .build()
                .map_err(|error| format!("{} is no glob: {error}", path.display()))?
                .compile_matcher();
            let base: PathBuf = path
                .components()
                .take_while(|part| !is_glob(Path::new(part.as_os_str())))
                .collect();
            let base = if base.as_os_str().is_empty() {
                Path::new(".")
            } else {
                &base
            };
            walk(base, 0, &mut files, &|file| glob.is_match(file));
        }
    }
    files
        .paths
        .sort_by_cached_key(|path| (is_rotated(path), path.clone()));
    if files.paths.len() > MAX_FILES {
        let more = files.paths.len() - MAX_FILES;
        files.problems.push(format!(
            "{more} files beyond the first {MAX_FILES} were not read: name fewer with a glob"
        ));
        files.paths.truncate(MAX_FILES);
    }
    if files.paths.is_empty() {
        let problems = files.problems.join("; ");
        let endings = match path.is_dir() {
            true => format!("(.{}) ", ENDINGS.join(", .")),
            false => String::new(),
        };
        let what = format!("{} holds no log files {endings}{problems}", path.display());
        return Err(what.trim_end().to_owned());
    }
    Ok(files)
}

fn is_glob(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '[', '{'])
}

/// In lower case; empty where it has none.
fn ending(path: &Path) -> String {
    path.extension()
        .map(|ending| ending.to_string_lossy().to_ascii_lowercase())
        .unwrap_or_default()
}

fn is_log(path: &Path) -> bool {
    ENDINGS.contains(&ending(path).as_str())
}

fn is_compressed(path: &Path) -> bool {
    COMPRESSED.contains(&ending(path).as_str())
}

/// Whether it is named as logs are once they are put aside: `auth.log.1`, `auth.log-20261122`, `app.jsonl.2026-11-22.gz`.
fn is_rotated(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.to_ascii_lowercase();
    ENDINGS.iter().any(|ending| {
        let behind = name.split_once(&format!(".{ending}"));
        let behind = behind.and_then(|(_, rest)| rest.strip_prefix(['.', '-', '_']));
        behind.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    })
}

fn walk(folder: &Path, depth: usize, files: &mut Files, wanted: &dyn Fn(&Path) -> bool) {
    if depth > MAX_DEPTH || files.paths.len() > 4 * MAX_FILES {
        return;
    }
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return files.problems.push(unreadable(folder, &error)),
    };
    for entry in entries.flatten() {
        let (path, Ok(kind)) = (entry.path(), entry.file_type()) else {
            continue;
        };
        if kind.is_dir() {
            walk(&path, depth + 1, files, wanted);
            continue;
        }
        if !kind.is_file() || !wanted(&path) {
            continue;
        }
        if is_compressed(&path) {
            let what = format!(
                "{} is compressed: unpack it to have it read",
                path.display()
            );
            files.problems.push(what);
        } else {
            files.paths.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_a_glob_and_a_file_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("2026/03")).unwrap();
        for name in [
            "2026/03/b.json",
            "2026/03/a.jsonl",
            "2026/c.json.gz",
            "2026/d.bin",
        ] {
            fs::write(root.join(name), "").unwrap();
        }
        let names = |files: Files| {
            files
                .paths
                .iter()
                .map(|path| path.strip_prefix(root).unwrap().display().to_string())
                .collect::<Vec<_>>()
        };
        let files = find(root).unwrap();
        assert!(files.problems[0].contains("c.json.gz is compressed"));
        assert_eq!(names(files), ["2026/03/a.jsonl", "2026/03/b.json"]);
        let files = find(&root.join("2026/*/*.json")).unwrap();
        assert_eq!(names(files), ["2026/03/b.json"]);
        let files = find(&root.join("2026/03/a.jsonl")).unwrap();
        assert_eq!(names(files), ["2026/03/a.jsonl"]);
        assert!(
            find(&root.join("none"))
                .unwrap_err()
                .contains("cannot be read")
        );
        assert!(
            find(&root.join("*.json"))
                .unwrap_err()
                .contains("holds no log files")
        );
    }

    #[test]
    fn what_was_rotated_is_read_last_and_what_a_glob_matches_whatever_its_ending() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in [
            "auth.log",
            "auth.log.1",
            "auth.log.2.gz",
            "auth.log.offset",
            "auth.log-20261122",
            "b.log",
            "audit",
        ] {
            fs::write(root.join(name), "").unwrap();
        }
        let names = |files: &Files| {
            let name = |path: &PathBuf| path.file_name().unwrap().display().to_string();
            files.paths.iter().map(name).collect::<Vec<_>>()
        };
        let files = find(root).unwrap();
        assert_eq!(
            names(&files),
            ["auth.log", "b.log", "auth.log-20261122", "auth.log.1"]
        );
        assert_eq!(files.problems.len(), 1, "{:?}", files.problems);
        assert!(files.problems[0].contains("auth.log.2.gz is compressed"));
        let files = find(&root.join("aud*")).unwrap();
        assert_eq!(names(&files), ["audit"]);
        let files = find(&root.join("auth.log*")).unwrap();
        assert_eq!(
            names(&files),
            [
                "auth.log",
                "auth.log.offset",
                "auth.log-20261122",
                "auth.log.1"
            ]
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_in_a_folder_are_not_followed() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("secret.json"), "{}").unwrap();
        std::os::unix::fs::symlink(outside.path(), folder.path().join("link")).unwrap();
        std::os::unix::fs::symlink(
            outside.path().join("secret.json"),
            folder.path().join("link.json"),
        )
        .unwrap();
        assert!(find(folder.path()).is_err());
    }
}
