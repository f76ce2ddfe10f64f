//! Builds the description and advice of the product that made the finding, marked as the vendor's words.

use nightshift_pipeline::report::Report;

use super::{Block, Part, Section};
use crate::Language;
use crate::line::Line;

/// The maximum number of characters of a title.
const MOST_TITLE: usize = 512;
/// The maximum number of characters of a paragraph.
const MOST_PARAGRAPH: usize = 2_400;

/// Returns title, description and remediation, or `None` if the product gives only a title.
pub(super) fn section(report: &Report, language: Language) -> Option<Section> {
    let alert = &report.alert;
    let shown = |texts: Vec<&str>| -> Vec<Block> {
        let lines = texts.into_iter();
        lines
            .map(|text| Block::Text(Line::default().foreign(text, MOST_PARAGRAPH)))
            .collect()
    };
    let description = shown(alert.description_paragraphs());
    let advice = shown(alert.remediation_paragraphs());
    if description.is_empty() && advice.is_empty() {
        return None;
    }
    let title = Line::default().foreign(&alert.title, MOST_TITLE);
    let mut blocks = vec![Block::Labelled(language.pick("Title", "件名"), title)];
    blocks.extend(description);
    if !advice.is_empty() {
        let product = Line::from_name(&alert.product);
        blocks.push(Block::Text(match language {
            Language::En => Line::from_static("What ").then(&product).say(" advises:"),
            Language::Ja => product.say(" の推奨事項:"),
        }));
        blocks.extend(advice);
    }
    Some(Section {
        part: Part::Vendor,
        title: language.pick("In the vendor's words", "ベンダーの説明"),
        heading: language.pick("In the vendor's words", "ベンダーの説明"),
        blocks,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn advice_is_told_as_the_vendors() {
        let mut report = fixture::true_positive();
        report.alert.description = "First.\nSecond.".to_owned();
        report.alert.remediation = Some("Rotate the key.".to_owned());
        report.alert.product = "GuardDuty".to_owned();
        let told = |language| {
            let section = section(&report, language).unwrap();
            let lines = section.blocks.iter().map(|block| match block {
                Block::Text(line) => line.as_str().to_owned(),
                Block::Labelled(label, line) => format!("{label}: {}", line.as_str()),
                _ => String::new(),
            });
            lines.collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(told(Language::En), @"
        Title: Crypto miner
        First.
        Second.
        What GuardDuty advises:
        Rotate the key.
        ");
        insta::assert_snapshot!(told(Language::Ja), @"
        件名: Crypto miner
        First.
        Second.
        GuardDuty の推奨事項:
        Rotate the key.
        ");
    }
}
