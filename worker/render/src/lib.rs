//! Renders reports: the view that people get of a case, made from the typed [`nightshift_pipeline::report::Report`].
//!
//! A report becomes a document with contents and order, and a writer adds the layout: `text` for the terminal,
//! `markdown` for files and tickets, `html` for pages, `slack` for blocks of Slack, `adf` and `outline` for other tickets.
//! `json` prints the report unchanged for machines. Every string of
//! an alert, tool or analyst is hostile and enters a document only through [`nightshift_alert::text::sanitize`]. Nothing
//! is judged or computed here that the report does not already contain.

pub mod adf;
pub mod document;
mod html;
mod json;
pub mod line;
mod links;
pub mod markdown;
pub mod outline;
pub mod slack;
mod text;
pub mod words;

#[cfg(test)]
#[expect(
    dead_code,
    unused_imports,
    reason = "what only the tests of worker/destinations ask for"
)]
mod fixture;
#[cfg(test)]
mod hostile;

pub use html::{HtmlReport, render_early_html, render_html, render_steps_html};
pub use json::render_json;
pub use line::Line;
pub use links::{Links, console};
pub use markdown::{render_markdown, render_markdown_in, render_short_markdown};
pub use nightshift_pipeline::language::Language;
pub use text::{TextOptions, render_short_text, render_text};
pub use words::{FormattedText, ago, cost, took};
