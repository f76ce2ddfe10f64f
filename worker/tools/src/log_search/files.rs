//! Finds the files that belong to a log.
//!
//! A folder means all log files below it, including rotated ones. A glob is matched against the whole path, and every
//! match is read regardless of its extension. Symbolic links below the path are not followed, so that a log never leads
//! outside of its folder. Unread files of a folder are reported, except companions of logs.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use globset::GlobBuilder;

use crate::content::read_error;

/// Maximum number of files of one search.
const MAX_FILES: usize = 2_000;

/// Deepest folder below the configured one.
const MAX_DEPTH: usize = 12;

/// Extensions of log files in a folder.
const LOG_EXTENSIONS: [&str; 5] = ["json", "jsonl", "ndjson", "log", "txt"];

/// Extensions of files that are decompressed while they are read.
const COMPRESSED_EXTENSIONS: [&str; 5] = ["gz", "zst", "zstd", "bz2", "zip"];

/// Extensions of rotated files.
const ROTATED_EXTENSIONS: [&str; 4] = ["old", "bak", "prev", "orig"];

/// Extensions and names of files that accompany logs and are none.
const COMPANION_FILES: [&str; 18] = [
    "md",
    "sha1",
    "sha256",
    "sha512",
    "md5",
    "sig",
    "asc",
    "sum",
    "offset",
    "pos",
    "lock",
    "pid",
    "swp",
    "readme",
    "license",
    "_success",
    "sha256sums",
    "checksums",
];

/// The files of a log, sorted by name.
#[derive(Debug, Default)]
pub(super) struct LogFiles {
    pub(super) paths: Vec<PathBuf>,
    /// Messages about files that cannot be read.
    pub(super) problems: Vec<String>,
}

impl LogFiles {
    /// Removes files last written before `since` when the log exceeds the limits of one search, unless nothing would
    /// remain.
    pub(super) fn skip_older(&mut self, since: SystemTime, max_bytes: u64) {
        let of = |path: &PathBuf| fs::metadata(path).ok();
        let bytes: u64 = self.paths.iter().filter_map(of).map(|it| it.len()).sum();
        if self.paths.len() <= MAX_FILES && bytes <= max_bytes {
            return;
        }
        let is_recent = |path: &PathBuf| {
            let written = of(path).and_then(|file| file.modified().ok());
            written.is_none_or(|written| written >= since)
        };
        if self.paths.iter().any(is_recent) {
            self.paths.retain(is_recent);
        }
    }

    /// Removes the files beyond the limit of one search and reports them.
    pub(super) fn limit_count(&mut self) {
        if self.paths.len() > MAX_FILES {
            let more = self.paths.len() - MAX_FILES;
            self.problems.push(format!(
                "{more} files beyond the first {MAX_FILES} were not read: name fewer with a glob"
            ));
            self.paths.truncate(MAX_FILES);
        }
    }
}

/// Finds the files of `path`: a file, a folder, or a glob.
///
/// # Errors
///
/// Fails when there is nothing to read.
pub(super) fn find_log_files(path: &Path) -> Result<LogFiles, String> {
    let mut files = LogFiles::default();
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {
            files.paths.push(path.to_owned());
            return Ok(files);
        }
        Ok(_) => FolderWalk::new(path, usize::MAX, &classify_file).into_files(&mut files),
        Err(error) if !is_glob(path) => return Err(read_error(path, &error)),
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
            // A `*` matches one folder, so nothing deeper can match.
            let levels = match path.to_string_lossy().contains("**") {
                true => usize::MAX,
                false => {
                    let below = path.components().count() - base.components().count();
                    below.saturating_sub(1)
                }
            };
            let base = if base.as_os_str().is_empty() {
                Path::new(".")
            } else {
                &base
            };
            let wanted = |file: &Path| match glob.is_match(file) {
                true => FileKind::Log,
                false => FileKind::Companion,
            };
            FolderWalk::new(base, levels, &wanted).into_files(&mut files);
        }
    }
    files
        .paths
        .sort_by_cached_key(|path| (is_rotated(path), path.clone()));
    if files.paths.is_empty() {
        let problems = files.problems.join("; ");
        let endings = match path.is_dir() {
            true => format!("(.{}) ", LOG_EXTENSIONS.join(", .")),
            false => String::new(),
        };
        let what = format!("{} has no log files {endings}", path.display());
        let what = what.trim_end();
        return Err(match problems.is_empty() {
            true => what.to_owned(),
            false => format!("{what}: {problems}"),
        });
    }
    Ok(files)
}

fn is_glob(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '[', '{'])
}

/// The kind of a file in a folder, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileKind {
    Log,
    /// A file of an unsupported kind that may hold a part of the log.
    Unsupported,
    Companion,
}

fn classify_file(path: &Path) -> FileKind {
    let name = unpacked_name(path);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    let is_companion = COMPANION_FILES.contains(&ending.unwrap_or(&name)) || name.starts_with('.');
    match ending {
        _ if is_companion => FileKind::Companion,
        None => FileKind::Log,
        Some(ending) if LOG_EXTENSIONS.contains(&ending) || is_rotated(path) => FileKind::Log,
        Some(_) if name.ends_with(".zip") => FileKind::Log,
        Some(_) => FileKind::Unsupported,
    }
}

/// Returns the name in lower case, without the extension of a compression. Archives keep theirs.
fn unpacked_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.to_ascii_lowercase();
    match name.rsplit_once('.') {
        Some((inner, ending)) if COMPRESSED_EXTENSIONS.contains(&ending) && ending != "zip" => {
            inner.to_owned()
        }
        _ => name,
    }
}

/// Returns whether the name is that of a rotated log: `auth.log.1`, `auth.log-20261122`, `app.jsonl.2026-11-22.gz`,
/// `messages.1`, `audit.old`.
fn is_rotated(path: &Path) -> bool {
    let name = unpacked_name(path);
    let behind_log = LOG_EXTENSIONS.iter().any(|ending| {
        let behind = name.split_once(&format!(".{ending}"));
        let behind = behind.and_then(|(_, rest)| rest.strip_prefix(['.', '-', '_']));
        behind.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    let is_put_aside = ending.is_some_and(|ending| {
        let is_number = ending.bytes().all(|c| c.is_ascii_digit() || c == b'-');
        (is_number && !ending.is_empty()) || ROTATED_EXTENSIONS.contains(&ending)
    });
    behind_log || is_put_aside
}

/// One walk through a folder and its subfolders.
struct FolderWalk<'a> {
    base: &'a Path,
    /// Number of levels below the base at which files can match.
    levels: usize,
    classify: &'a dyn Fn(&Path) -> FileKind,
    /// Files of unsupported kinds.
    unsupported: Vec<PathBuf>,
    /// Links to files that would otherwise be read.
    links: Vec<PathBuf>,
    /// True if some folders were too deep.
    is_too_deep: bool,
}

impl<'a> FolderWalk<'a> {
    fn new(base: &'a Path, levels: usize, wanted: &'a dyn Fn(&Path) -> FileKind) -> Self {
        Self {
            base,
            levels,
            classify: wanted,
            unsupported: Vec::new(),
            links: Vec::new(),
            is_too_deep: false,
        }
    }

    fn into_files(mut self, files: &mut LogFiles) {
        self.visit_folder(self.base, 0, files);
        if self.is_too_deep {
            let what = format!("folders more than {MAX_DEPTH} levels down were not read");
            files.problems.push(what);
        }
        if let Some(first) = self.unsupported.iter().min() {
            files.problems.push(format!(
                "{} files of kinds that are not read, such as {}: unpack them, or name the others with a glob",
                self.unsupported.len(),
                first.display()
            ));
        }
        self.links
            .retain(|link| points_outside(link, self.base, &files.paths));
        if let Some(first) = self.links.first() {
            files.problems.push(format!(
                "{} symbolic links are not followed, such as {}: name what they point to",
                self.links.len(),
                first.display()
            ));
        }
    }

    fn visit_folder(&mut self, folder: &Path, depth: usize, files: &mut LogFiles) {
        if depth > MAX_DEPTH {
            self.is_too_deep = true;
            return;
        }
        if files.paths.len() > 4 * MAX_FILES {
            return;
        }
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return files.problems.push(read_error(folder, &error)),
        };
        for entry in entries.flatten() {
            let (path, Ok(kind)) = (entry.path(), entry.file_type()) else {
                continue;
            };
            // That folder is used for repairs of the disk, and only root can read it.
            let is_way = depth < self.levels && entry.file_name() != "lost+found";
            if kind.is_dir() && is_way {
                self.visit_folder(&path, depth + 1, files);
                continue;
            }
            let wanted = (self.classify)(&path);
            let is_wanted = wanted != FileKind::Companion || (is_way && path.is_dir());
            match wanted {
                _ if kind.is_symlink() && is_wanted => self.links.push(path),
                FileKind::Log if kind.is_file() => files.paths.push(path),
                FileKind::Unsupported if kind.is_file() => self.unsupported.push(path),
                _ => {}
            }
        }
    }
}

/// Returns whether a link leads to a file or folder that is not read under its own path.
fn points_outside(link: &Path, base: &Path, read: &[PathBuf]) -> bool {
    let (target, base_itself) = match (fs::canonicalize(link), fs::canonicalize(base)) {
        (Err(error), _) => return error.kind() != ErrorKind::NotFound,
        (Ok(target), Ok(base)) => (target, base),
        (Ok(_), Err(_)) => return true,
    };
    let own_place = target.strip_prefix(base_itself).map(|rest| base.join(rest));
    match own_place {
        _ if !target.is_file() && !target.is_dir() => false,
        Ok(path) => !target.is_dir() && !read.contains(&path),
        Err(_) => true,
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
            "2026/d.parquet",
            "2026/README.md",
        ] {
            fs::write(root.join(name), "").unwrap();
        }
        let names = |files: LogFiles| {
            files
                .paths
                .iter()
                .map(|path| path.strip_prefix(root).unwrap().display().to_string())
                .collect::<Vec<_>>()
        };
        let files = find_log_files(root).unwrap();
        let told = files.problems.join("; ");
        assert!(
            told.starts_with("1 files of kinds that are not read"),
            "{told}"
        );
        assert!(told.contains("2026/d.parquet"), "{told}");
        assert_eq!(
            names(files),
            ["2026/03/a.jsonl", "2026/03/b.json", "2026/c.json.gz"]
        );
        let files = find_log_files(&root.join("2026/*/*.json")).unwrap();
        assert_eq!(names(files), ["2026/03/b.json"]);
        let files = find_log_files(&root.join("2026/03/a.jsonl")).unwrap();
        assert_eq!(names(files), ["2026/03/a.jsonl"]);
        assert!(
            find_log_files(&root.join("none"))
                .unwrap_err()
                .contains("cannot read")
        );
        assert!(
            find_log_files(&root.join("*.json"))
                .unwrap_err()
                .contains("has no log files")
        );
    }

    #[test]
    fn rotated_file_is_read_last_and_globs_match_any_ending() {
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
            "messages.1",
            "events.old",
            "trail.zip",
            "backup.tar.gz",
            "logs.tgz",
            ".DS_Store",
        ] {
            fs::write(root.join(name), "").unwrap();
        }
        let names = |files: &LogFiles| {
            let name = |path: &PathBuf| path.file_name().unwrap().display().to_string();
            files.paths.iter().map(name).collect::<Vec<_>>()
        };
        let files = find_log_files(root).unwrap();
        assert_eq!(
            names(&files),
            [
                "audit",
                "auth.log",
                "b.log",
                "trail.zip",
                "auth.log-20261122",
                "auth.log.1",
                "auth.log.2.gz",
                "events.old",
                "messages.1"
            ]
        );
        let told = files.problems.join("; ");
        assert!(told.starts_with("2 files of kinds"), "{told}");
        assert!(told.contains("backup.tar.gz"), "{told}");
        let files = find_log_files(&root.join("aud*")).unwrap();
        assert_eq!(names(&files), ["audit"]);
        let files = find_log_files(&root.join("auth.log*")).unwrap();
        assert_eq!(
            names(&files),
            [
                "auth.log",
                "auth.log.offset",
                "auth.log-20261122",
                "auth.log.1",
                "auth.log.2.gz"
            ]
        );
    }

    #[test]
    fn glob_descends_no_deeper_than_it_matches_and_reports_limits() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let deep = root.join(["d"; MAX_DEPTH + 1].join("/"));
        fs::create_dir_all(&deep).unwrap();
        fs::create_dir_all(root.join("lost+found")).unwrap();
        for path in [&deep, &root.join("lost+found"), &root.join("d"), root] {
            fs::write(path.join("a.json"), "").unwrap();
        }
        for (path, read, problems) in [
            ("*.json", 1, 0),
            ("*/*.json", 1, 0),
            ("{a,d/a}.json", 2, 0),
            ("**/*.json", 2, 1),
            ("", 2, 1),
        ] {
            let files = find_log_files(&root.join(path)).unwrap();
            let told = (files.paths.len(), files.problems.len());
            assert_eq!(told, (read, problems), "{path} {files:?}");
        }
        let problems = find_log_files(root).unwrap().problems;
        assert_eq!(problems, ["folders more than 12 levels down were not read"]);
    }

    #[test]
    fn beyond_the_limit_files_of_another_time_are_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let since = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000);
        let write = |name: &str, secs: u64| {
            let path = root.join(name);
            fs::write(&path, "1234").unwrap();
            let written = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(secs);
            let file = fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(written).unwrap();
            path
        };
        let (old, at, new) = (
            write("a.log", 999),
            write("b.log", 1_000),
            write("c.log", 2_000),
        );
        let read = |max_bytes| {
            let mut files = find_log_files(root).unwrap();
            files.skip_older(since, max_bytes);
            files.paths
        };
        assert_eq!(read(12), [old.clone(), at.clone(), new.clone()]);
        assert_eq!(read(11), [at.clone(), new.clone()]);
        for path in [&at, &new] {
            fs::remove_file(path).unwrap();
        }
        assert_eq!(read(3), [old]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed_and_those_leading_out_are_reported() {
        use std::os::unix::fs::symlink;
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (root, outside) = (folder.path(), outside.path());
        fs::write(outside.join("secret.json"), "{}").unwrap();
        symlink(outside.join("secret.json"), root.join("link.json")).unwrap();
        let error = find_log_files(root).unwrap_err();
        assert!(
            error.contains("link.json: name what they point to"),
            "{error}"
        );
        symlink(outside, root.join("link")).unwrap();
        fs::create_dir(root.join("2026")).unwrap();
        fs::write(root.join("2026/a.json"), "{}").unwrap();
        symlink(root.join("2026"), root.join("now")).unwrap();
        symlink("2026/a.json", root.join("a.json")).unwrap();
        symlink("gone.json", root.join("b.json")).unwrap();
        symlink("/dev/null", root.join("c.json")).unwrap();
        for (path, links) in [("", 2), ("**/*.json", 2), ("*/*.json", 1), ("2026/*", 0)] {
            let files = find_log_files(&root.join(path)).unwrap();
            assert_eq!(files.paths, [root.join("2026/a.json")], "{path}");
            let told = format!("{links} symbolic links are not followed, such as");
            let is_told = files.problems.iter().any(|what| what.starts_with(&told));
            assert_eq!(is_told, links > 0, "{path} {:?}", files.problems);
        }
    }
}
