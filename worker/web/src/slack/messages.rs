//! Writes texts for people who click, in the language of their workspace.

use chrono::{DateTime, Utc};
use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::case::{CaseId, CaseStatus, CaseView};
use nightshift_pipeline::feedback::PersonVerdict;
use nightshift_pipeline::language::Language;
use nightshift_pipeline::port::StoreError;
use tokio::time::error::Elapsed;

use super::action::ClickResponse;
use super::payload::ButtonTarget;

pub(super) const fn not_listed(language: Language) -> &'static str {
    language.pick(
        "You are not among those who may act on the reports of this channel, so nothing was changed. Whoever runs \
         Nightshift lists them under `analysts` of this destination.",
        "このチャンネルのレポートを操作できる担当者に含まれていないため、何も変更されていません。Nightshift の管理者が、この送信先の `analysts` に登録できます。",
    )
}

pub(super) const fn not_ours(language: Language) -> &'static str {
    language.pick(
        "This button belongs to no case that can be read; nothing was changed. Open the report instead.",
        "このボタンに対応するケースを読み取れません。何も変更されていません。代わりにレポートを開いてください。",
    )
}

/// Returns the text for a repeated request.
pub(super) const fn already_done(language: Language) -> &'static str {
    language.pick(
        "This was noted before; nothing was changed.",
        "すでに記録済みです。何も変更されていません。",
    )
}

pub(super) fn acknowledged(language: Language, case: &CaseId) -> String {
    match language {
        Language::En => format!("Noted: you have case {case}."),
        Language::Ja => format!("記録しました: ケース {case} の担当はあなたです。"),
    }
}

pub(super) fn closed(language: Language, case: &CaseId) -> String {
    match language {
        Language::En => format!("Noted: case {case} is closed."),
        Language::Ja => format!("記録しました: ケース {case} はクローズされました。"),
    }
}

pub(super) fn requeued(language: Language, case: &CaseId) -> String {
    match language {
        Language::En => format!("Case {case} is triaged again; its report comes here."),
        Language::Ja => {
            format!("ケース {case} を再びトリアージします。レポートはここに届きます。")
        }
    }
}

pub(super) fn muted(language: Language, until: DateTime<Utc>, name: &str) -> String {
    let until = until.format("%Y-%m-%d %H:%M UTC");
    match language {
        Language::En => {
            format!("Muted until {until}. `nightshift mutes remove {name}` takes it back.")
        }
        Language::Ja => format!(
            "{until} までミュートしました。`nightshift mutes remove {name}` で取り消せます。"
        ),
    }
}

pub(super) fn moved_on(language: Language, target: &ButtonTarget, latest: u32) -> String {
    let (case, seen) = (&target.case, target.revision);
    match language {
        Language::En => format!(
            "Case {case} has moved on: this was revision {seen}, its report is now of revision {latest}. Nothing was \
             noted; look at that one first."
        ),
        Language::Ja => format!(
            "ケース {case} は更新されています。これはリビジョン {seen} で、最新のレポートはリビジョン {latest} です。何も記録されていません。\
             先にそちらを確認してください。"
        ),
    }
}

pub(super) fn no_verdict_yet(language: Language, case: &CaseId) -> String {
    match language {
        Language::En => format!("Case {case} has no verdict yet; nothing was noted."),
        Language::Ja => {
            format!("ケース {case} にはまだ判定がありません。何も記録されていません。")
        }
    }
}

/// Returns the answer to an action.
pub(super) fn click_response(
    language: Language,
    done: Result<Result<ClickResponse, StoreError>, Elapsed>,
) -> ClickResponse {
    match done {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => ClickResponse::Message(store_failed(language, &error)),
        Err(_) => ClickResponse::Message(timed_out(language)),
    }
}

/// Returns why the store refused the action.
pub(super) fn store_failed(language: Language, error: &StoreError) -> String {
    match (language, error) {
        (_, StoreError::NoSuchCase(_)) => language
            .pick(
                "This case is not in the store any more; nothing was changed.",
                "このケースはもうストアにありません。何も変更されていません。",
            )
            .to_owned(),
        (Language::En, StoreError::NoVerdict(case)) => format!(
            "Case {case} has no verdict that one could agree with; nothing was noted. Disagree with a verdict of yours \
             once it is over."
        ),
        (Language::Ja, StoreError::NoVerdict(case)) => format!(
            "ケース {case} には同意できる判定がありません。何も記録されていません。終了した後で、ご自身の判定とともに「異議」を選んでください。"
        ),
        (Language::En, StoreError::NotOver(case, status)) => format!(
            "Case {case} is {} already; it is triaged anyway, and nothing was changed.",
            status.as_str()
        ),
        (Language::Ja, StoreError::NotOver(case, status)) => format!(
            "ケース {case} はすでに{}です。このままトリアージされるため、何も変更されていません。",
            if *status == CaseStatus::Running {
                "調査中"
            } else {
                "待機中"
            }
        ),
        (Language::En, StoreError::Unreadable(case, _)) => format!(
            "Case {case} was written by a newer version, which this one cannot read; nothing was changed."
        ),
        (Language::Ja, StoreError::Unreadable(case, _)) => format!(
            "ケース {case} は新しいバージョンが書いたもので、このバージョンでは読み取れません。何も変更されていません。"
        ),
        (_, error) => {
            tracing::error!(
                error = error as &dyn std::error::Error,
                "the store did not do what was asked for in Slack"
            );
            language
                .pick(
                    "The store does not answer, so this was not noted. Try again; the log of the worker says why.",
                    "ストアが応答しないため、記録されていません。もう一度お試しください。理由はワーカーのログにあります。",
                )
                .to_owned()
        }
    }
}

/// Returns the text for an unknown outcome.
pub(super) fn timed_out(language: Language) -> String {
    tracing::error!("the store did not answer a click in Slack in time");
    language
        .pick(
            "The store did not answer in time. Whether this was noted is not known: look at the case before you do it again.",
            "ストアが時間内に応答しませんでした。記録されたかどうかは分かりません。もう一度操作する前にケースを確認してください。",
        )
        .to_owned()
}

/// Returns the confirmation of a judgement.
pub(super) fn verdict_recorded(
    language: Language,
    target: &ButtonTarget,
    said: &PersonVerdict,
    view: &CaseView,
) -> String {
    let mut text = match language {
        Language::En => judgement(&target.case, said),
        Language::Ja => judgement_ja(&target.case, said),
    };
    if said.verdict.is_benign() {
        text.push_str(language.pick(" ", ""));
        text.push_str(&view.clearance_note(language));
    }
    if said.revision != target.revision {
        let latest = said.revision;
        text.push_str(&match language {
            Language::En => format!(
                " Revision {latest} came in between, and it stands beside that one: look at its report."
            ),
            Language::Ja => format!(
                "その間にリビジョン {latest} ができ、この判定はそちらに付きました。そのレポートを確認してください。"
            ),
        });
    }
    text
}

fn judgement(case: &CaseId, said: &PersonVerdict) -> String {
    let verdict = said.verdict.title().to_lowercase();
    let article = if said.verdict == Verdict::Inconclusive {
        ""
    } else {
        "a "
    };
    if said.agreed {
        format!("Noted: you agree that case {case} is {article}{verdict}.")
    } else {
        format!("Noted: for you case {case} is {article}{verdict}.")
    }
}

fn judgement_ja(case: &CaseId, said: &PersonVerdict) -> String {
    let verdict = Language::Ja.verdict(said.verdict);
    if said.agreed {
        format!("記録しました: ケース {case} の判定「{verdict}」に同意しました。")
    } else {
        format!("記録しました: ケース {case} に対するあなたの判定は「{verdict}」です。")
    }
}
