//! The path of one alert: intake ▸ inbox ▸ triage ▸ outbox ▸ delivery.
//!
//! The crate has three loops and the rules between them. It contains no SQL and no vendor code: stores, sources and
//! destinations are behind the traits of `port`. The crate decides what a report says, and destinations decide how it
//! looks: see [`Report`].

mod admission;
mod budget;
mod canary;
mod case;
mod console;
mod delivery;
mod desk;
mod digest;
mod export;
mod feedback;
mod intake;
mod language;
mod look;
mod loops;
mod muted;
mod naming;
mod port;
mod probe;
mod profile;
mod recheck;
mod replay;
mod report;
mod route;
mod showing;
mod spans;
mod triage;
mod upkeep;

pub use admission::{
    Admission, AdmissionPolicy, Change, Ground, Known, Mute, Seen, SetAside, SightingTimes, Stage,
    Window, admit, compared as compared_alerts, triaged,
};
pub use budget::{Charge, DayBudget, DaySpent, Purse, is_urgent};
pub use canary::{CANARY_CLOSER, Canary, CanaryEnding, CanaryKeys, CanarySending};
pub use case::{
    Backlog, CalledOff, CaseFilter, CaseId, CaseRow, CaseStatus, CaseView, DeadLetter, DeliveryRow,
    Lane, Lease, Member, Sighting, Waited,
};
pub use console::console_link;
pub use delivery::{Delivery, deliver_due};
pub use desk::{ACT_NAME_CHARS, ACT_NOTE_CHARS, Act, ActKind, Desk, DeskStatus};
pub use digest::{DIGEST_ROWS, Digest, DigestMute, FeedDay, MOST_COUNTED, OpenCase};
pub use export::{
    ExportError, JOURNAL_SCHEMA, JournalHeader, JournalLine, VerifiedExport, VerifiedRevision,
    export, verify_export,
};
pub use feedback::{Decided, NewPersonVerdict, PersonVerdict, decided_subjects, decision_over};
pub use intake::{
    Arrival, Intake, IntakeError, Order, Received, UnknownSeverities, read_message,
    unreadable_alert,
};
pub use language::Language;
pub use look::in_thread;
pub use loops::{
    Delivering, DigestPlan, GivenUp, GivingUp, HandingOn, Heard, InboxRoom, ModelHealth, Outage,
    RegisterWatch, Taking, Triaging,
};
pub use muted::{MutePreview, MuteRow, NewMute, PlaceCount};
pub use port::{
    Accepted, Canaries, Cases, Claimed, Cleared, Closing, DeadLetters, DeliveryError, Destination,
    Digests, Doubt, Due, DueRecheck, Fate, Feedback, Inbox, Message, Mutes, Outbox, Outgoing, Owed,
    Owing, Places, Publish, PublishError, Rechecks, Sent, Settled, Source, SourceError, Spending,
    StoreError, Unsettled, Wake,
};
pub use probe::writable;
pub use profile::{Profile, Profiles};
pub use recheck::RECHECK_RESULTS;
pub use replay::{Difference, ReplayError, Replayed, Side, StepLine, compare, replay};
pub use report::{
    AlertFacts, Because, Call, Changed, DetailLine, Early, EvidenceEntry, FindingEntry, InsteadOf,
    Missed, NotShown, OtherCase, REPORT_SCHEMA, Reach, Report, Said, Sender, Signal, Since,
    SinceWords, StepEntry, Takeover, TimelineEntry, Told, ToldRecord, because,
    build as build_report, early_report, read_instead_of, sample_report, with_plain_times,
};
pub use route::{CanaryRoute, Match, Route, Routes, Samples};
pub use showing::{Showing, Shown};
pub use spans::accepted as trace_accepted;
pub use triage::{Triage, TriageError, Watcher};
pub use upkeep::{Kept, Purge, Upkeep};
