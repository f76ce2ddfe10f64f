use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[test]
fn a_context_is_read_and_written_as_w3c_wants_it() {
    let context =
        TraceContext::parse(PARENT, Some("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE")).unwrap();
    assert_eq!(context.traceparent(), PARENT);
    assert_eq!(
        context.tracestate(),
        "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"
    );
    // A later version may have more fields. The known ones count.
    let later = TraceContext::parse(
        &PARENT.replacen("00", "cc", 1).replace("-01", "-01-more"),
        None,
    );
    assert_eq!(later.unwrap().traceparent(), PARENT);
    let json = serde_json::to_string(&context).unwrap();
    assert_eq!(
        serde_json::from_str::<TraceContext>(&json).unwrap(),
        context
    );
}

#[test]
fn what_is_malformed_is_no_context() {
    for bad in [
        "",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        "00-4bf92f3577b34da6a3ce929d0e0e473\u{1b}-00f067aa0ba902b7-01",
        "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    ] {
        assert_eq!(TraceContext::parse(bad, None), None, "{bad:?}");
    }
    assert_eq!(
        TraceContext::parse(&format!("{PARENT}{}", "-0".repeat(200)), None),
        None
    );
    for bad in [
        "a=b\n",
        "no-equals",
        "A=b",
        "=b",
        "a=",
        &format!("a={}", "b".repeat(600)),
        &"a=b,".repeat(40),
    ] {
        let context = TraceContext::parse(PARENT, Some(bad)).unwrap();
        assert!(bad == "a=b\n" || context.tracestate().is_empty(), "{bad:?}");
        assert!(!context.tracestate().contains('\n'));
    }
}

#[test]
fn x_rays_header_is_a_context_where_it_names_a_parent() {
    let read = TraceContext::parse_xray(
        "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1;Lineage=a:0",
    );
    assert_eq!(
        read.unwrap().traceparent(),
        "00-5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8-01"
    );
    for bad in [
        "Root=1-5759e988-bd862e3fe1be46a994272793",
        "Root=2-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8",
        "Parent=53995c3f42cd8ad8",
        "",
    ] {
        assert_eq!(TraceContext::parse_xray(bad), None, "{bad:?}");
    }
}

#[test]
fn the_first_well_formed_context_of_a_message_counts() {
    let of = |pairs: &[(&str, &str)]| {
        let attributes: BTreeMap<String, String> = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        TraceContext::from_attributes(&attributes).map(|context| context.traceparent())
    };
    let other = "00-11111111111111111111111111111111-2222222222222222-00";
    let xray = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";
    assert_eq!(
        of(&[("TraceParent", PARENT), ("ce-traceparent", other)]).as_deref(),
        Some(PARENT)
    );
    assert_eq!(
        of(&[("traceparent", "nonsense"), ("ce-traceparent", other)]).as_deref(),
        Some(other)
    );
    assert_eq!(
        of(&[("googclient_traceparent", other)]).as_deref(),
        Some(other)
    );
    assert!(of(&[("AWSTraceHeader", xray)]).is_some());
    assert_eq!(of(&[("other", PARENT)]), None);
}

#[test]
fn workers_derive_same_case_trace_and_one_per_revision() {
    let one = CaseTrace::new("k3f9-x2mq-7d1w", 1, None);
    assert_eq!(one, CaseTrace::new("k3f9-x2mq-7d1w", 1, None));
    assert_ne!(
        one.trace_id,
        CaseTrace::new("k3f9-x2mq-7d1w", 2, None).trace_id
    );
    assert_ne!(
        one.trace_id,
        CaseTrace::new("k3f9-x2mq-7d1x", 1, None).trace_id
    );
    let context = TraceContext::parse(PARENT, None).unwrap();
    let goes_on = CaseTrace::new("k3f9-x2mq-7d1w", 1, Some(&context));
    assert_eq!(goes_on.trace_id, context.trace_id());
    assert_eq!((goes_on.intake, goes_on.triage), (one.intake, one.triage));
    assert_eq!(CaseTrace::new("k3f9-x2mq-7d1w", 2, None).intake, None);
    assert_eq!(
        goes_on.traceparent(true),
        format!("00-4bf92f3577b34da6a3ce929d0e0e4736-{}-01", one.triage)
    );
}

#[test]
fn workers_derive_same_step_span_and_one_per_step_and_triage() {
    let case = |id, revision| CaseTrace::new(id, revision, None);
    let one = case("k3f9-x2mq-7d1w", 1);
    assert_eq!(
        one.step_span_id("s1"),
        case("k3f9-x2mq-7d1w", 1).step_span_id("s1")
    );
    let context = TraceContext::parse(PARENT, None).unwrap();
    let goes_on = CaseTrace::new("k3f9-x2mq-7d1w", 1, Some(&context));
    assert_eq!(one.step_span_id("s1"), goes_on.step_span_id("s1"));
    let others = [
        one.step_span_id("s2"),
        case("k3f9-x2mq-7d1w", 2).step_span_id("s1"),
        case("k3f9-x2mq-7d1x", 1).step_span_id("s1"),
        one.triage,
    ];
    assert!(others.iter().all(|other| *other != one.step_span_id("s1")));
}

#[test]
fn a_ratio_of_all_traces_is_recorded() {
    let traces = (0..2_000).map(|number| CaseTrace::new(&number.to_string(), 1, None));
    let tenth = traces.clone().filter(|trace| trace.is_sampled(0.1)).count();
    assert!((120..280).contains(&tenth), "{tenth}");
    assert!(
        traces
            .clone()
            .all(|trace| trace.is_sampled(1.0) && !trace.is_sampled(0.0))
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn whatever_a_message_says_a_context_is_two_short_plain_headers(parent in ".{0,80}", state in ".{0,700}", tail in "[0-9a-f-]{0,30}") {
        for parent in [parent, format!("{PARENT}{tail}")] {
            if let Some(context) = TraceContext::parse(&parent, Some(&state)) {
                prop_assert_eq!(context.traceparent().len(), 55);
                prop_assert!(context.tracestate().len() <= 512);
                prop_assert!(context.tracestate().bytes().all(|byte| (b' '..=b'~').contains(&byte)));
            }
            drop(TraceContext::parse_xray(&parent));
        }
    }
}
