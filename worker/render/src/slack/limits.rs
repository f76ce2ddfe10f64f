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
/// The messages of a thread that have the report. The page of the case shows the rest.
pub(super) const THREAD_PARTS: usize = 8;
/// The characters of one sentence of a change, or of the first message.
pub(super) const SENTENCE: usize = 340;
/// The characters of a change.
pub(super) const CHANGED: usize = 600;
/// The characters of what people did.
pub(super) const PEOPLE: usize = 400;
