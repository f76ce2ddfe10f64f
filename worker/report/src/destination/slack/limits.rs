//! Defines Slack's limits and the part of them that is used. Lengths are counted in UTF-16 units, which are never fewer
//! than characters, however Slack counts.

/// The characters of a `header` block. Slack's limit is 150
/// (<https://docs.slack.dev/reference/block-kit/blocks/header-block>).
pub(super) const HEADER: usize = 150;
/// The characters of the text of one block. The limit of a section is 3,000
/// (<https://docs.slack.dev/reference/block-kit/blocks/section-block>); none is documented for rich text.
pub(super) const BLOCK: usize = 2_900;
/// The characters of all blocks of a message: the total that Slack documents for its markdown block
/// (<https://docs.slack.dev/reference/block-kit/blocks/markdown-block>). Slack refuses more as `msg_blocks_too_long`.
pub(super) const MESSAGE: usize = 12_000;
/// The blocks of a message. Slack's limit is 50 (<https://docs.slack.dev/reference/block-kit/blocks>).
pub(super) const BLOCKS: usize = 45;
/// The fields of a section. Slack's limit is 10 fields of 2,000 characters each.
pub(super) const FIELDS: usize = 10;
/// The characters of a field, its label included.
pub(super) const FIELD: usize = 160;
/// The characters of the text for notifications and screen readers. Slack recommends at most 4,000
/// (<https://docs.slack.dev/reference/methods/chat.postMessage>, "Truncating content").
pub(super) const FALLBACK: usize = 600;
/// The messages of a thread for one revision. The page of the case shows the rest.
pub(super) const THREAD_PARTS: usize = 8;
/// The characters of one sentence in the message. The thread has the whole sentence.
pub(super) const SENTENCE: usize = 340;

/// The characters of each part of a message. With header and buttons they fit into [`MESSAGE`] together.
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
