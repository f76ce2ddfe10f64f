//! Which files a log consists of.
//!
//! A folder means all log files below it; a glob is matched against the whole path. Symbolic links inside a folder are not
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
        Ok(_) => walk(path, 0, &mut files, &|_| true),
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
    files.paths.sort();
    if files.paths.len() > MAX_FILES {
        let more = files.paths.len() - MAX_FILES;
        files.problems.push(format!(
            "{more} files beyond the first {MAX_FILES} were not read: name fewer with a glob"
        ));
        files.paths.truncate(MAX_FILES);
    }
    if files.paths.is_empty() {
        let problems = files.problems.join("; ");
        return Err(format!(
            "{} holds no log files (.{}) {problems}",
            path.display(),
            ENDINGS.join(", .")
        )
        .trim_end()
        .to_owned());
    }
    Ok(files)
}

fn is_glob(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '[', '{'])
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
        let ending = path
            .extension()
            .map(|ending| ending.to_string_lossy().to_ascii_lowercase())
            .unwrap_or_default();
        if !kind.is_file() || !wanted(&path) {
            continue;
        }
        if ending == "gz" || ending == "zst" {
            let what = format!(
                "{} is compressed: unpack it to have it read",
                path.display()
            );
            files.problems.push(what);
        } else if ENDINGS.contains(&ending.as_str()) {
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
