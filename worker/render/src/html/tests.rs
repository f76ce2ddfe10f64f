use super::*;
use crate::fixture;

fn page(report: &Report, language: Language) -> String {
    let page = render_html(report, language, fixture::now());
    format!("{}{}", page.head, page.body)
}

#[test]
fn page_has_every_section_of_the_document() {
    let report = fixture::true_positive();
    let document = document(&report, reader(Language::En, fixture::now()));
    let page = page(&report, Language::En);
    for section in &document.sections {
        let heading = format!("<h2 id=\"{}\">{}</h2>", id(section.part), section.title);
        assert!(
            section.part == Part::Head || page.contains(&heading),
            "{heading}"
        );
    }
}

#[test]
fn page_speaks_the_language_of_messages() {
    let report = fixture::true_positive();
    let page = page(&report, Language::Ja);
    for words in [
        "<h2 id=\"why\">根拠</h2>",
        "<dt>継続中か？</dt>",
        "<summary>JSON: E0</summary>",
        "引用元: <a href=\"#F1\">所見 1</a>",
    ] {
        assert!(page.contains(words), "no {words} in {page}");
    }
}

#[test]
fn page_counts_the_calls_and_arguments_that_it_leaves_out() {
    let mut report = fixture::true_positive();
    let step = report.steps.iter_mut().find(|step| !step.calls.is_empty());
    let calls = &mut step.unwrap().calls;
    let mut call = calls.remove(0);
    call.arguments = (0..20).map(|i| (format!("a{i:02}"), i.into())).collect();
    *calls = vec![call; 19];
    let page = page(&report, Language::En);
    assert!(page.contains("a15=15 and 4 more)"), "{page}");
    assert!(page.contains("<p class=\"below\">… and 3 more; the JSON report has them</p>"));
}

#[test]
fn case_without_a_report_names_its_alert_and_how_often_it_came() {
    let mut report = fixture::true_positive();
    report.status = CaseStatus::Failed;
    report.alert.first_seen = None;
    report.alert.last_seen = None;
    report.alert.count = 12;
    let page = render_early_html(&report, Language::En, fixture::now());
    assert!(page.title.starts_with("◌ Not triaged"), "{}", page.title);
    let key = format!("Alert {} of {}.", report.alert.key, report.alert.feed);
    for words in [key.as_str(), "<dt>Seen</dt><dd>12 times"] {
        assert!(page.body.contains(words), "no {words} in {}", page.body);
    }
}

#[test]
fn only_our_references_are_links() {
    let mut report = fixture::true_positive();
    let before = page(&report, Language::En).matches("<a ").count();
    report.summary = "see [E1] and /cases/k3f9-x2mq-7d1w, 2026-11-20 03:02 UTC".to_owned();
    let page = page(&report, Language::En);
    assert!(page.contains("see [E1] and /cases/k3f9-x2mq-7d1w, 2026-11-20 03:02 UTC"));
    assert_eq!(page.matches("<a ").count(), before);
}

#[test]
fn evidence_that_is_not_on_the_page_is_no_link() {
    let mut report = fixture::true_positive();
    assert!(page(&report, Language::En).contains("<a class=\"cite\" href=\"#E"));
    report.evidence.clear();
    let page = page(&report, Language::En);
    assert!(page.contains("<span class=\"cite\">[E") && !page.contains("href=\"#E"));
}

#[test]
fn the_title_and_the_bar_of_a_page() {
    let page = render_html(&fixture::benign(), Language::En, fixture::now());
    insta::assert_snapshot!(page.title, @"□ No action · Benign true positive · Low [PLAYBOOK] — Port scan from 203.0.113[.]50 on web-server-prod-01 (production-project-12345)");
    let page = render_html(&fixture::true_positive(), Language::Ja, fixture::now());
    insta::assert_snapshot!(page.bar, @r#"<span class="chip urgency now">今すぐ対応</span> <strong>真陽性</strong> · <strong>緊急</strong> · <span>確信度 高</span> <span class="mark">[PLAYBOOK]</span>"#);
}
