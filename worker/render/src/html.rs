//! Renders the report as HTML, for the page of a case. Foreign text is escaped and never syntax. All links are made here:
//! to parts of the page, to other cases, and to the console of the alert's vendor.

mod evidence_json;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use chrono::{DateTime, SecondsFormat, Utc};
use nightshift_alert::text::sanitize;
use nightshift_engine::evidence::EvidenceId;
use nightshift_pipeline::case::CaseStatus;
use nightshift_pipeline::report::{Report, StepEntry};
use serde::Serialize;

use crate::Language;
use crate::document::{
    Block, Document, FindingItem, Part, Reader, Section, document, early_document, plan_step,
};
use crate::line::{Line, Target};
use crate::links::console;

/// The maximum number of characters of a title.
const TITLE: usize = 160;
/// The maximum number of findings that a piece of evidence links to.
const MOST_FINDINGS: usize = 20;

/// A report as parts of a page. All parts except `title` are HTML.
#[derive(Debug, Serialize)]
pub struct HtmlReport {
    /// The header as plain text, for the title of the page.
    pub title: String,
    /// The title of the case.
    pub heading: String,
    /// The urgency, which sets a colour.
    pub urgency: &'static str,
    /// The urgency, verdict, severity, confidence and marks in one line.
    pub bar: String,
    /// The first section, empty without a report.
    pub head: String,
    /// The other sections.
    pub body: String,
}

/// Renders the whole report.
#[must_use]
pub fn render_html(report: &Report, language: Language, now: DateTime<Utc>) -> HtmlReport {
    parts(&document(report, reader(language, now)), report, language)
}

/// Renders what the alert of a case without a report says.
#[must_use]
pub fn render_early_html(report: &Report, language: Language, now: DateTime<Utc>) -> HtmlReport {
    let document = early_document(report, reader(language, now));
    parts(&document, report, language)
}

/// Renders the steps of a plan that has not come to its end.
#[must_use]
pub fn render_steps_html(steps: &[StepEntry], language: Language, now: DateTime<Utc>) -> String {
    let reader = reader(language, now);
    let blocks: Vec<Block> = steps
        .iter()
        .flat_map(|step| plan_step(step, reader))
        .collect();
    let mut page = HtmlPage::new(&[], None, language);
    page.blocks(Part::Plan, &blocks);
    page.out
}

const fn reader(language: Language, now: DateTime<Utc>) -> Reader {
    Reader {
        now,
        local: None,
        language,
        is_kept: false,
        is_page: true,
    }
}

fn parts(document: &Document, report: &Report, language: Language) -> HtmlReport {
    let render = |is_wanted: fn(&&Section) -> bool| {
        let mut page = HtmlPage::new(&document.sections, Some(report), language);
        for section in document.sections.iter().filter(is_wanted) {
            page.section(section);
        }
        page.out
    };
    HtmlReport {
        title: document.header.as_str().to_owned(),
        heading: escape(&sanitize(&report.title, TITLE)),
        urgency: report.urgency.as_str(),
        bar: bar(report, language),
        head: render(|section| section.part == Part::Head),
        body: render(|section| section.part != Part::Head),
    }
}

fn bar(report: &Report, language: Language) -> String {
    let failed = match report.status {
        CaseStatus::Failed => {
            let words = language.pick("Not triaged", "未トリアージ");
            format!("<strong>{words}</strong> · ")
        }
        _ => String::new(),
    };
    let marks = report.marks().into_iter();
    let marks: String = marks
        .map(|mark| format!(" <span class=\"mark\">{mark}</span>"))
        .collect();
    format!(
        "<span class=\"chip urgency {}\">{}</span> {failed}<strong>{}</strong> · <strong>{}</strong> · <span>{}</span>{marks}",
        report.urgency.as_str(),
        language.urgency(report.urgency),
        language.verdict_of(report),
        language.severity(report.assessed_severity),
        language.confidence(report.confidence),
    )
}

/// Escapes text for elements and for attributes in quotes.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#x27;"),
            c => out.push(c),
        }
    }
    out
}

/// Sections as HTML.
struct HtmlPage<'a> {
    report: Option<&'a Report>,
    language: Language,
    /// The evidence and the findings that the page shows, and so can link to.
    evidence: BTreeSet<EvidenceId>,
    findings: BTreeSet<usize>,
    /// The bytes that are left for the JSON of evidence.
    room: usize,
    out: String,
}

impl<'a> HtmlPage<'a> {
    fn new(sections: &[Section], report: Option<&'a Report>, language: Language) -> Self {
        let (mut evidence, mut findings) = (BTreeSet::new(), BTreeSet::new());
        for block in sections.iter().flat_map(|section| &section.blocks) {
            match block {
                Block::Evidence(id, _) => _ = evidence.insert(*id),
                Block::Finding(finding) => _ = findings.insert(finding.number),
                _ => {}
            }
        }
        Self {
            report,
            language,
            evidence,
            findings,
            room: evidence_json::BYTES,
            out: String::new(),
        }
    }

    fn push(&mut self, html: &str) {
        self.out.push_str(html);
    }

    fn section(&mut self, section: &Section) {
        match section.part {
            Part::Head => self.push(&format!(
                "<section aria-label=\"{}\" class=\"summary\">\n",
                section.heading
            )),
            part => {
                let id = id(part);
                let title = section.title;
                self.push(&format!(
                    "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{title}</h2>\n"
                ));
            }
        }
        match section.part {
            Part::Vendor => self.prose(&section.blocks),
            part => self.blocks(part, &section.blocks),
        }
        if section.part == Part::Facts {
            self.console();
        }
        self.push("</section>\n");
    }

    /// Writes the link to the alert in its vendor's console.
    fn console(&mut self) {
        let link = self.report.and_then(console);
        let words = self.language.pick(
            "Open the alert in its own console",
            "アラートを検出元コンソールで開く",
        );
        if let Some(link) = link {
            let link = escape(&link);
            self.push(&format!(
                "<p><a href=\"{link}\" rel=\"noreferrer\">{words}</a></p>\n"
            ));
        }
    }

    /// Writes the vendor's words. Their paragraphs are lines of one element, so they cannot shape the page.
    fn prose(&mut self, blocks: &[Block]) {
        let (texts, other): (Vec<&Block>, Vec<&Block>) = blocks
            .iter()
            .partition(|block| matches!(block, Block::Text(_)));
        for block in other {
            self.blocks(Part::Vendor, std::slice::from_ref(block));
        }
        let texts = texts.into_iter().filter_map(|block| match block {
            Block::Text(line) => Some(self.line(line)),
            _ => None,
        });
        let text = texts.collect::<Vec<_>>().join("\n");
        self.push(&format!("<p class=\"prose\">{text}</p>\n"));
    }

    fn blocks(&mut self, part: Part, blocks: &[Block]) {
        let mut open: Option<List> = None;
        for (block, below) in Block::with_details(blocks) {
            let list = List::from_block(part, block);
            if list != open {
                if let Some(list) = open {
                    self.push(&format!("</{}>\n", list.tag));
                }
                if let Some(list) = list {
                    self.push(&list.opening(block));
                }
                open = list;
            }
            self.block(part, block, below);
        }
        if let Some(list) = open {
            self.push(&format!("</{}>\n", list.tag));
        }
    }

    fn block(&mut self, part: Part, block: &Block, below: &[Block]) {
        match block {
            Block::Text(line) => {
                let line = self.line(line);
                self.push(&format!("<p>{line}</p>\n"));
            }
            Block::Warning(line) => {
                let (label, line) = (self.language.pick("Warning:", "警告:"), self.line(line));
                self.push(&format!(
                    "<p class=\"warning\"><strong>{label}</strong> {line}</p>\n"
                ));
            }
            Block::Labelled(label, line) => {
                let line = self.line(line);
                self.push(&format!("<div><dt>{label}</dt><dd>{line}</dd></div>\n"));
            }
            Block::Facts(facts) => {
                self.push("<dl class=\"facts\">\n");
                for (name, line) in facts {
                    let line = self.line(line);
                    self.push(&format!("<div><dt>{name}</dt><dd>{line}</dd></div>\n"));
                }
                self.push("</dl>\n");
            }
            Block::Item(line) => {
                let line = match part {
                    Part::Timeline => self.event(line),
                    _ => self.line(line),
                };
                self.item("<li>", &line, below);
            }
            Block::Numbered(_, line) => {
                let line = self.line(line);
                self.item("<li>", &format!("<p>{line}</p>"), below);
            }
            Block::Step(result, line) => {
                let line = self.line(line);
                let begin = format!("<li class=\"step {result}\">");
                self.item(&begin, &format!("<p>{line}</p>"), below);
            }
            Block::Finding(finding) => {
                let line = format!("{}{}", self.line(&finding.line), self.quotes(finding));
                self.item(&format!("<li id=\"F{}\">", finding.number), &line, below);
            }
            Block::Evidence(id, line) => self.evidence(*id, line),
            Block::Below(_) | Block::Command(..) => self.details(std::slice::from_ref(block)),
        }
    }

    fn item(&mut self, begin: &str, html: &str, below: &[Block]) {
        self.push(begin);
        self.push(html);
        self.details(below);
        self.push("</li>\n");
    }

    /// Writes the details of a bullet.
    fn details(&mut self, below: &[Block]) {
        for block in below {
            match block {
                Block::Below(line) => {
                    let line = self.line(line);
                    self.push(&format!("<p class=\"below\">{line}</p>"));
                }
                Block::Command(label, lines) => {
                    let lines = escape(&lines.join("\n"));
                    self.push(&format!(
                        "<p class=\"below\">{label}</p><pre class=\"command\"><code>{lines}</code></pre>"
                    ));
                }
                _ => {}
            }
        }
    }

    /// Returns what a finding quotes, folded.
    fn quotes(&self, finding: &FindingItem) -> String {
        if finding.quotes.is_empty() {
            return String::new();
        }
        let count = u64::try_from(finding.quotes.len()).unwrap_or(u64::MAX);
        let count = Line::default().count(self.language, count, ["quote", "quotes", "件の引用"]);
        let quotes: String = finding
            .quotes
            .iter()
            .map(|quote| format!("<li>{}</li>\n", self.line(quote)))
            .collect();
        format!(
            "\n<details class=\"quoted\">\n<summary>{}</summary>\n<ul class=\"quotes\">\n{quotes}</ul>\n</details>\n",
            count.as_str()
        )
    }

    /// Writes a piece of evidence with its JSON, folded, and links to the findings that quote it.
    fn evidence(&mut self, id: EvidenceId, line: &Line) {
        let entry = self.report.and_then(|report| {
            let mut all = report.evidence.iter();
            all.find(|entry| entry.id == id)
        });
        let line = self.line(line);
        self.push(&format!(
            "<section class=\"evidence\" id=\"{id}\" aria-labelledby=\"{id}-name\">\n<h3 id=\"{id}-name\">{line}</h3>\n"
        ));
        if let Some(entry) = entry {
            let at = self.line(&Line::default().second(entry.at));
            let quoted = self.quoted_by(id);
            self.push(&format!("<p class=\"soft\">{at}{quoted}</p>\n"));
            let (body, is_shortened) = evidence_json::body(&entry.body.value(), &mut self.room);
            self.json(id, body, is_shortened);
        }
        self.push("</section>\n");
    }

    fn quoted_by(&self, id: EvidenceId) -> String {
        let findings = self.report.map_or(&[] as &[_], |report| &report.findings);
        let numbered = (1..).zip(findings);
        let links: Vec<String> = numbered
            .filter(|(number, _)| self.findings.contains(number))
            .filter(|(_, finding)| finding.evidence.iter().any(|quote| quote.id == id))
            .take(MOST_FINDINGS)
            .map(|(number, _)| {
                let words = self.language.pick("finding", "所見");
                format!("<a href=\"#F{number}\">{words} {number}</a>")
            })
            .collect();
        match links.is_empty() {
            true => String::new(),
            false => format!(
                "{}{}",
                self.language.pick(" · quoted by ", " · 引用元: "),
                links.join(", ")
            ),
        }
    }

    fn json(&mut self, id: EvidenceId, body: Option<String>, is_shortened: bool) {
        let language = self.language;
        let Some(body) = body else {
            let words = language.pick(
                "Too large for the page; the JSON of the case has it.",
                "このページには大きすぎます（ケースの JSON にあります）。",
            );
            self.push(&format!("<p class=\"soft\">{words}</p>\n"));
            return;
        };
        let words = language.pick("JSON of ", "JSON: ");
        self.push(&format!(
            "<details><summary>{words}{id}</summary>\n<pre class=\"json\"><code>{}</code></pre>\n",
            escape(&body)
        ));
        if is_shortened {
            let words = language.pick(
                "Shortened for the page; the JSON of the case has the whole.",
                "このページでは省略しました（全体はケースの JSON にあります）。",
            );
            self.push(&format!("<p class=\"soft\">{words}</p>\n"));
        }
        self.push("</details>\n");
    }

    /// Returns a line of the timeline: its time, and what happened in one element.
    fn event(&self, line: &Line) -> String {
        let parts = line.parts();
        match parts.split_first() {
            Some(((text, Some(target @ Target::Time(_))), rest)) => format!(
                "{} <span>{}</span>",
                self.part(text, Some(target)),
                rest.iter()
                    .map(|(text, target)| self.part(text, *target))
                    .collect::<String>()
            ),
            _ => format!("<span>{}</span>", self.line(line)),
        }
    }

    fn line(&self, line: &Line) -> String {
        let parts = line.parts().into_iter();
        parts
            .map(|(text, target)| self.part(text, target))
            .collect()
    }

    fn part(&self, text: &str, target: Option<&Target>) -> String {
        let text = escape(text);
        match target {
            None => text,
            Some(Target::Time(at)) => {
                let iso = at.to_rfc3339_opts(SecondsFormat::Secs, true);
                format!("<time datetime=\"{iso}\">{text}</time>")
            }
            Some(Target::Case(id)) => format!("<a href=\"/cases/{}\">{text}</a>", escape(id)),
            Some(Target::Evidence(id)) if self.evidence.contains(id) => {
                format!("<a class=\"cite\" href=\"#{id}\">{text}</a>")
            }
            Some(Target::Evidence(_)) => format!("<span class=\"cite\">{text}</span>"),
        }
    }
}

/// A list that consecutive blocks are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct List {
    tag: &'static str,
    class: &'static str,
}

impl List {
    fn from_block(part: Part, block: &Block) -> Option<Self> {
        let (tag, class) = match block {
            Block::Labelled(..) => ("dl", "lines"),
            Block::Numbered(..) => ("ol", "actions"),
            Block::Step(..) => ("ol", "steps"),
            Block::Item(_) | Block::Finding(_) => match part {
                Part::Timeline => ("ul", "timeline"),
                Part::Indicators => ("ul", "indicators"),
                _ => ("ul", "findings"),
            },
            _ => return None,
        };
        Some(Self { tag, class })
    }

    fn opening(self, first: &Block) -> String {
        let Self { tag, class } = self;
        match first {
            Block::Numbered(number, _) => format!("<{tag} class=\"{class}\" start=\"{number}\">\n"),
            _ => format!("<{tag} class=\"{class}\">\n"),
        }
    }
}

/// Returns the anchor of a part.
const fn id(part: Part) -> &'static str {
    match part {
        Part::Head => "summary",
        Part::First => "actions",
        Part::Facts => "facts",
        Part::Details => "details",
        Part::Vendor => "vendor",
        Part::Why => "why",
        Part::Against => "against",
        Part::WouldDecide => "decide",
        Part::Assessment => "assessment",
        Part::Ledger => "ledger",
        Part::Later => "later",
        Part::Further => "further",
        Part::Unverified => "unverified",
        Part::Timeline => "timeline",
        Part::Plan => "plan",
        Part::Evidence => "evidence",
        Part::Indicators => "indicators",
        Part::About => "about",
    }
}
