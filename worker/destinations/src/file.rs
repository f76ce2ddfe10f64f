//! Writes reports to a folder with one file per case and revision. The file of a canary is removed once it was seen.
//!
//! A report is written to a temporary file, synced, and renamed. A reader never sees half a report, and the same report
//! twice is one file. Old reports are not cleaned up.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use nightshift_engine::doctor::HealthReport;
use nightshift_pipeline::blocking::run_blocking;
use nightshift_pipeline::delivery_payload::DeliveryPayload;
use nightshift_pipeline::port::{DeliveryError, DeliveryReceipt, Destination};
use nightshift_pipeline::report::Report;
use nightshift_render::{TextOptions, render_json, render_markdown, render_text};
use schemars::JsonSchema;
use serde::Deserialize;

use super::case_id;
use super::checkup::folder;

/// The width of text in files, in columns.
const COLUMNS: usize = 100;

/// The format of a report in a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileFormat {
    #[default]
    Markdown,
    // As on a terminal, without colour.
    Text,
    // On one line.
    Json,
}

impl FileFormat {
    /// Returns the extension of the file name.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Text => "txt",
            Self::Markdown => "md",
            Self::Json => "json",
        }
    }
}

/// Writes reports into a folder, as `<case>.r<revision>.<md|txt|json>`.
#[derive(Debug, Clone)]
pub struct FileDestination {
    /// The name in configuration and metrics.
    pub name: String,
    /// The folder. It is created if missing.
    pub dir: PathBuf,
    /// The format. Times are relative to the end of the triage, because a file does not age.
    pub format: FileFormat,
}

#[async_trait]
impl Destination for FileDestination {
    fn name(&self) -> &str {
        &self.name
    }

    async fn probe(&self) -> HealthReport {
        let dir = self.dir.clone();
        run_blocking(move || {
            let mut checkup = HealthReport::default();
            checkup.add_observation(format!("the folder {}", dir.display()));
            folder(&dir, &mut checkup);
            checkup
        })
        .await
    }

    async fn deliver(&self, showing: &DeliveryPayload) -> Result<DeliveryReceipt, DeliveryError> {
        let report = &showing.report;
        let file = file_name(report, self.format)?;
        let is_spent = showing.is_spent_canary();
        let content = content(report, self.format);
        let dir = self.dir.clone();
        let path = dir.join(&file);
        let shown = path.display().to_string();
        let writing = move || match is_spent {
            true => remove(&dir.join(file)),
            false => write(&dir, &file, content.as_bytes()),
        };
        let written = tokio::task::spawn_blocking(writing)
            .await
            .unwrap_or_else(|stopped| Err(io::Error::other(stopped)));
        written.map_err(|error| self.later(&path, &error))?;
        Ok(DeliveryReceipt {
            remote_id: Some(shown),
        })
    }
}

impl FileDestination {
    /// Makes a retryable error. People can fix everything that a disk reports.
    fn later(&self, path: &Path, error: &io::Error) -> DeliveryError {
        let mend = match error.kind() {
            io::ErrorKind::PermissionDenied => "give nightshift the right to write there",
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room on the disk",
            io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
                "move the file away that stands where the folder should be"
            }
            _ => "make the folder writable",
        };
        DeliveryError::Transient {
            what: format!(
                "cannot write {}: {error}; {mend}, or set another path for destination {:?}",
                path.display(),
                self.name
            ),
            after_secs: None,
        }
    }
}

fn file_name(report: &Report, format: FileFormat) -> Result<String, DeliveryError> {
    let (id, extension) = (case_id(report)?, format.extension());
    Ok(format!("{id}.r{}.{extension}", report.revision))
}

fn content(report: &Report, format: FileFormat) -> String {
    let now = report.concluded_at;
    match format {
        FileFormat::Text => render_text(
            report,
            &TextOptions {
                width: COLUMNS,
                colour: false,
                now,
                local: None,
            },
        ),
        FileFormat::Markdown => render_markdown(report, now),
        FileFormat::Json => render_json(report) + "\n",
    }
}

fn write(dir: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    // One process serves a destination, so the name is unique. A leftover of a crash is overwritten.
    let beside = dir.join(format!(".{name}.part"));
    let mut file = File::create(&beside)?;
    file.write_all(content)?;
    file.sync_all()?;
    drop(file);
    fs::rename(&beside, dir.join(name))?;
    File::open(dir)?.sync_all()
}

/// Removes the file of a canary.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn destination(dir: &Path, format: FileFormat) -> FileDestination {
        FileDestination {
            name: "files".into(),
            dir: dir.into(),
            format,
        }
    }

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[tokio::test]
    async fn the_same_report_twice_is_one_file_and_a_revision_another() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("a/b");
        let mut report = fixture::true_positive();
        let to = destination(&dir, FileFormat::Markdown);
        let first = to
            .deliver(&DeliveryPayload::new(report.clone()))
            .await
            .unwrap();
        let again = to
            .deliver(&DeliveryPayload {
                remote_id: first.remote_id.clone(),
                ..DeliveryPayload::new(report.clone())
            })
            .await
            .unwrap();
        assert_eq!(first, again);
        report.revision = 2;
        to.deliver(&DeliveryPayload::new(report.clone()))
            .await
            .unwrap();
        assert_eq!(
            names(&dir),
            ["k3f9-x2mq-7d1w.r1.md", "k3f9-x2mq-7d1w.r2.md"]
        );
        let text = fs::read_to_string(dir.join("k3f9-x2mq-7d1w.r1.md")).unwrap();
        assert_eq!(
            text,
            render_markdown(&fixture::true_positive(), report.concluded_at)
        );
    }

    #[tokio::test]
    async fn a_canary_that_has_come_through_leaves_no_file_behind() {
        let home = tempfile::tempdir().unwrap();
        let to = destination(home.path(), FileFormat::Json);
        let mut showing = fixture::canary();
        let sent = to.deliver(&showing).await.unwrap();
        assert_eq!(names(home.path()), ["k3f9-x2mq-7d1w.r1.json"]);
        fixture::spend(&mut showing, sent.remote_id);
        assert!(to.wants(&showing));
        for _ in 0..2 {
            to.deliver(&showing).await.unwrap();
            assert_eq!(names(home.path()), [""; 0]);
        }
    }

    #[tokio::test]
    async fn each_format_has_its_name_and_what_a_crash_left_is_gone() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join(".k3f9-x2mq-7d1w.r1.json.part"), "{\"half").unwrap();
        let report = fixture::true_positive();
        for format in [FileFormat::Text, FileFormat::Json] {
            let to = destination(home.path(), format);
            to.deliver(&DeliveryPayload::new(report.clone()))
                .await
                .unwrap();
        }
        assert_eq!(
            names(home.path()),
            ["k3f9-x2mq-7d1w.r1.json", "k3f9-x2mq-7d1w.r1.txt"]
        );
        let text = fs::read_to_string(home.path().join("k3f9-x2mq-7d1w.r1.json")).unwrap();
        assert_eq!(text.lines().count(), 1);
    }

    #[tokio::test]
    async fn f26_killed_at_any_step_leaves_one_complete_file() {
        let report = fixture::true_positive();
        let whole = content(&report, FileFormat::Json);
        let (file, part) = ("k3f9-x2mq-7d1w.r1.json", ".k3f9-x2mq-7d1w.r1.json.part");
        let half = "{\"schema\":";
        // The process was killed before the write, during it, before the rename, and before the result was recorded.
        let left = [
            None,
            Some((part, half)),
            Some((part, whole.as_str())),
            Some((file, whole.as_str())),
        ];
        for left in left {
            let home = tempfile::tempdir().unwrap();
            if let Some((name, text)) = left {
                fs::write(home.path().join(name), text).unwrap();
            }
            let to = destination(home.path(), FileFormat::Json);
            to.deliver(&DeliveryPayload::new(report.clone()))
                .await
                .unwrap();
            assert_eq!(names(home.path()), [file]);
            assert_eq!(fs::read_to_string(home.path().join(file)).unwrap(), whole);
        }
    }

    #[tokio::test]
    async fn a_folder_that_cannot_be_made_is_tried_again_and_says_why() {
        let home = tempfile::tempdir().unwrap();
        let blocked = home.path().join("file");
        fs::write(&blocked, "").unwrap();
        let to = destination(&blocked, FileFormat::Text);
        let error = to
            .deliver(&DeliveryPayload::new(fixture::true_positive()))
            .await
            .unwrap_err();
        let DeliveryError::Transient { what, .. } = error else {
            panic!("{error:?}");
        };
        assert!(what.contains("file/k3f9-x2mq-7d1w.r1.txt"), "{what}");
        assert!(what.contains("os error"), "{what}");
        assert!(what.contains("move the file away"), "{what}");
    }

    #[test]
    fn a_permission_denied_says_so_and_is_tried_again() {
        let to = destination(Path::new("/reports"), FileFormat::Text);
        let error = to.later(
            Path::new("/reports/x.md"),
            &io::Error::from_raw_os_error(13),
        );
        assert_eq!(
            error.to_string(),
            "cannot write /reports/x.md: Permission denied (os error 13); give nightshift the right to write there, or set another path for destination \"files\""
        );
        assert!(matches!(error, DeliveryError::Transient { .. }));
    }

    #[tokio::test]
    async fn a_case_id_that_leaves_the_folder_is_refused_for_ever() {
        let home = tempfile::tempdir().unwrap();
        let mut report = fixture::true_positive();
        for id in ["../../etc/x", "", "a/b", "a\0b", ".hidden"] {
            report.case_id = id.into();
            let error = destination(home.path(), FileFormat::Text)
                .deliver(&DeliveryPayload::new(report.clone()))
                .await
                .unwrap_err();
            assert!(matches!(error, DeliveryError::Permanent { .. }), "{id:?}");
        }
        assert!(names(home.path()).is_empty());
    }
}
