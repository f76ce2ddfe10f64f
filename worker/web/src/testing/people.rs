//! Implements the case workflow of the test store, which records every action.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_alert::TraceContext;
use nightshift_pipeline::admission::Mute;
use nightshift_pipeline::case::CaseId;
use nightshift_pipeline::case_workflow::{CaseAction, CaseWorkflow};
use nightshift_pipeline::feedback::{FeedbackRecord, NewPersonVerdict, PersonVerdict};
use nightshift_pipeline::mutes::{MutePreview, MuteRow, NewMute};
use nightshift_pipeline::port::{Feedback, Mutes, StoreError};

use super::FakeStore;

#[async_trait]
impl Feedback for FakeStore {
    async fn add_verdict(
        &self,
        id: &str,
        new: NewPersonVerdict,
    ) -> Result<PersonVerdict, StoreError> {
        let row = self.find_view(id)?.row;
        let no_verdict = || StoreError::NoVerdict(row.id.0.clone());
        let verdict = new.verdict.or(row.verdict).ok_or_else(no_verdict)?;
        self.judged
            .lock()
            .unwrap()
            .push((row.id.0.clone(), new.clone()));
        Ok(PersonVerdict {
            at: new.at,
            by: new.by,
            revision: row.revision,
            verdict,
            agreed: row.verdict == Some(verdict),
            note: new.note,
        })
    }

    async fn record_action(
        &self,
        id: &str,
        act: CaseAction,
    ) -> Result<(CaseId, CaseWorkflow), StoreError> {
        self.answering().await?;
        let row = self.find_view(id)?.row;
        let mut acts = self.acts.lock().unwrap();
        acts.push((row.id.0.clone(), act));
        let of_case = acts.iter().filter(|(case, _)| *case == row.id.0);
        Ok((
            row.id.clone(),
            CaseWorkflow::from_actions(of_case.map(|(_, act)| act.clone()).collect()),
        ))
    }

    async fn trace_context(&self, id: &CaseId, _: u32) -> Result<Option<TraceContext>, StoreError> {
        Ok(self.find_view(&id.0)?.alert.trace)
    }

    async fn verdicts_after(&self, _: i64, _: usize) -> Result<Vec<FeedbackRecord>, StoreError> {
        Err(StoreError::LeaseLost)
    }
}

#[async_trait]
impl Mutes for FakeStore {
    async fn mutes(&self) -> Result<Vec<MuteRow>, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn add_mute(&self, mute: NewMute, _: DateTime<Utc>) -> Result<Mute, StoreError> {
        self.answering().await?;
        self.muted.lock().unwrap().push(mute.clone());
        Ok(mute.named("m-1"))
    }

    async fn remove_mute(&self, _: &str, _: DateTime<Utc>) -> Result<(), StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn preview_mute(
        &self,
        mute: &NewMute,
        since: DateTime<Utc>,
    ) -> Result<MutePreview, StoreError> {
        self.answering().await?;
        if self.is_uncounted {
            std::future::pending::<()>().await;
        }
        self.previewed.lock().unwrap().push((mute.clone(), since));
        Ok(self.preview.clone())
    }
}

impl FakeStore {
    /// Waits indefinitely if the store is slow.
    async fn answering(&self) -> Result<(), StoreError> {
        if self.is_slow {
            std::future::pending::<()>().await;
        }
        self.check_available()
    }
}
