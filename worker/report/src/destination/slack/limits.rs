//! What Slack takes, and how much of that is used. Lengths are counted in UTF-16 units, of which no character has fewer
//! than however Slack counts.

/// Characters of a `header` block: 150 (<https://docs.slack.dev/reference/block-kit/blocks/header-block>).
pub(super) const HEADER: usize = 150;
/// Characters of the text of one block. A section takes 3,000
/// (<https://docs.slack.dev/reference/block-kit/blocks/section-block>); for rich text no limit is told.
pub(super) const BLOCK: usize = 2_900;
/// Characters of all blocks of a message: what Slack takes of its own markdown block in all
/// (<https://docs.slack.dev/reference/block-kit/blocks/markdown-block>). More is refused as `msg_blocks_too_long`.
pub(super) const MESSAGE: usize = 12_000;
/// Blocks of a message: 50 (<https://docs.slack.dev/reference/block-kit/blocks>).
pub(super) const BLOCKS: usize = 45;
/// Fields of a section: 10 of 2,000 characters each; these are read at a glance or not at all.
pub(super) const FIELDS: usize = 10;
/// Characters of a field, its label included.
pub(super) const FIELD: usize = 160;
/// Characters of the text that notifications and screen readers have: 4,000 are advised
/// (<https://docs.slack.dev/reference/methods/chat.postMessage>, "Truncating content").
pub(super) const FALLBACK: usize = 600;
/// Messages of a thread that one revision may fill; what is left stands on the page of the case.
pub(super) const THREAD_PARTS: usize = 8;
/// Characters of one sentence in the message; in the thread it is whole.
pub(super) const SENTENCE: usize = 340;

/// Characters of the parts of a message; with header and buttons they fit into [`MESSAGE`] together.
pub(super) mod room {
    pub(in super::super) const CHANGED: usize = 600;
    pub(in super::super) const HEAD: usize = 2_100;
    pub(in super::super) const FIRST: usize = 2_700;
    pub(in super::super) const WHY: usize = 1_500;
    pub(in super::super) const AGAINST: usize = 1_200;
    pub(in super::super) const WOULD_DECIDE: usize = 700;
    pub(in super::super) const DESK: usize = 400;
    pub(in super::super) const CONTEXT: usize = 500;
}
