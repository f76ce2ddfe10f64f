//! Builds the only links in reports: the case's own page, and the finding in its vendor's console.
//!
//! Links are made from the configuration, the case id and templates. Typed facts of the alert are inserted
//! percent-encoded if they have the vendor's form. No address from an alert, a tool or an analyst becomes a link.

use nightshift_pipeline::report::Report;
use url::Url;

/// The longest link. Longer ones are left out. Slack accepts 3,000 characters in a button.
const LONGEST: usize = 2_000;

/// The configuration of links.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Links {
    /// The address of Nightshift's pages for readers, such as `https://nightshift.example.com`. Without it there is no
    /// link to them.
    pub public_url: Option<String>,
}

impl Links {
    /// Checks whether the address can be linked to.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the address.
    pub fn check(&self) -> Result<(), String> {
        match &self.public_url {
            Some(text) => base(text).map(|_| ()),
            None => Ok(()),
        }
    }

    /// Returns the address of a case's page.
    #[must_use]
    pub fn case_url(&self, case_id: &str) -> Option<String> {
        let base = base(self.public_url.as_deref()?).ok()?;
        let is_id = !case_id.is_empty() && has_only(case_id, "-_");
        fits(format!(
            "{}/cases/{case_id}",
            base.as_str().trim_end_matches('/')
        ))
        .filter(|_| is_id)
    }
}

/// Parses the address of the pages, without query or fragment.
fn base(text: &str) -> Result<Url, String> {
    let url = Url::parse(text)
        .map_err(|error| format!("is no URL ({error}): write https://HOST, as readers reach it"))?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
    let is_plain = url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    match (is_web, is_plain) {
        (true, true) => Ok(url),
        (false, _) => Err("is not a web address: use https://HOST".to_owned()),
        (true, false) => {
            Err("holds a user, a query or a fragment: write https://HOST/PATH".to_owned())
        }
    }
}

/// Returns the address of the finding in its vendor's console, or `None` if the alert's facts do not identify it.
#[must_use]
pub fn console(report: &Report) -> Option<String> {
    nightshift_pipeline::console::console_link(&report.alert)
}

fn has_only(text: &str, more: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_alphanumeric() || more.contains(c))
}

fn fits(link: String) -> Option<String> {
    (link.len() <= LONGEST).then_some(link)
}

#[cfg(test)]
mod tests {
    use nightshift_alert::CloudProvider;
    use proptest::prelude::*;

    use super::*;
    use crate::fixture;

    fn console_for(
        feed: &str,
        key: &str,
        provider: CloudProvider,
        region: &str,
        account: &str,
    ) -> Option<String> {
        let mut report = fixture::true_positive();
        report.alert.feed = feed.into();
        report.alert.key = key.into();
        report.alert.provider = provider;
        report.alert.region = Some(region.into());
        report.alert.account = Some(account.into());
        console(&report)
    }

    #[test]
    fn findings_are_found_in_their_own_console() {
        let aws = |feed, key, region| {
            console_for(feed, key, CloudProvider::Aws, region, "111122223333").unwrap()
        };
        insta::assert_snapshot!(aws("guardduty", "guardduty/111122223333/0ab1", "eu-west-1"),
            @"https://console.aws.amazon.com/guardduty/home?region=eu-west-1#/findings?search=id%3D0ab1");
        insta::assert_snapshot!(aws("guardduty", "guardduty/111122223333/0ab1", "us-gov-west-1"),
            @"https://console.amazonaws-us-gov.com/guardduty/home?region=us-gov-west-1#/findings?search=id%3D0ab1");
        insta::assert_snapshot!(aws("security_hub", "macie/111122223333/arn:aws:x/y z", "eu-west-1"),
            @"https://console.aws.amazon.com/securityhub/home?region=eu-west-1#/findings?search=Id%3D%255Coperator%255C%253AEQUALS%255C%253Aarn%253Aaws%253Ax%252Fy%2520z");
        insta::assert_snapshot!(console_for("scc", "scc/prod-1/b9", CloudProvider::Gcp, "", "prod-project-1").unwrap(),
            @"https://console.cloud.google.com/security/command-center/findingsv2?project=prod-project-1");
    }

    /// Returns the link of a finding whose whole id is part of the link.
    fn whole(feed: &str, key: &str, region: &str, id: &str) -> Option<String> {
        let mut report = fixture::true_positive();
        report.alert.feed = feed.into();
        report.alert.key = key.into();
        report.alert.provider = CloudProvider::Azure;
        report.alert.region = Some(region.into());
        report.alert.account = Some("prod-project-1".into());
        report.alert.finding_id = Some(id.into());
        console(&report)
    }

    #[test]
    fn a_finding_is_opened_by_its_whole_id() {
        let arn = "arn:aws:securityhub:eu-west-1:111122223333:security-control/S3.8/finding/0f1e";
        let hub =
            |feed, id| whole(feed, "security_hub/111122223333/0f1e", "westeurope", id).unwrap();
        insta::assert_snapshot!(hub("security_hub", arn), @"https://console.aws.amazon.com/securityhub/home?region=eu-west-1#/findings?search=Id%3D%255Coperator%255C%253AEQUALS%255C%253Aarn%253Aaws%253Asecurityhub%253Aeu-west-1%253A111122223333%253Asecurity-control%252FS3.8%252Ffinding%252F0f1e");
        insta::assert_snapshot!(hub("ocsf", arn), @"https://console.aws.amazon.com/securityhub/v2/home?region=eu-west-1#/findings?search=finding_info.uid%3D%255Coperator%255C%253AEQUALS%255C%253Aarn%253Aaws%253Asecurityhub%253Aeu-west-1%253A111122223333%253Asecurity-control%252FS3.8%252Ffinding%252F0f1e");
        let europe = "arn:aws-eusc:securityhub:eusc-de-east-1:1:security-control/S3.8/finding/0f1e";
        insta::assert_snapshot!(hub("ocsf", europe), @"https://console.amazonaws-eusc.eu/securityhub/v2/home?region=eusc-de-east-1#/findings?search=finding_info.uid%3D%255Coperator%255C%253AEQUALS%255C%253Aarn%253Aaws-eusc%253Asecurityhub%253Aeusc-de-east-1%253A1%253Asecurity-control%252FS3.8%252Ffinding%252F0f1e");
        let china = "arn:aws-cn:guardduty:cn-north-1:1:detector/d/finding/0ab1";
        insta::assert_snapshot!(whole("ocsf", "guardduty/1/0ab1", "", china).unwrap(), @"https://console.amazonaws.cn/guardduty/home?region=cn-north-1#/findings?search=id%3D0ab1");
        let name = "organizations/1/sources/2/locations/global/findings/b9";
        insta::assert_snapshot!(whole("scc", "scc/1/b9", "", name).unwrap(), @"https://console.cloud.google.com/security/command-center/findingsv2;name=organizations%2F1%2Fsources%2F2%2Flocations%2Fglobal%2Ffindings%2Fb9?project=prod-project-1");
        assert_eq!(
            whole("ocsf", "prowler/1/x", "eu-west-1", "prowler-aws-s3-x"),
            None
        );
        let secret = "arn:aws-iso:securityhub:us-iso-east-1:1:finding/0f1e";
        assert_eq!(
            whole("security_hub", "security_hub/1/0f1e", "", secret),
            None
        );
    }

    #[test]
    fn what_is_not_known_has_no_link() {
        for (feed, key, provider, region, account) in [
            ("generic", "edr/-/1", CloudProvider::Aws, "eu-west-1", "1"),
            (
                "guardduty",
                "guardduty/1/a b",
                CloudProvider::Aws,
                "eu-west-1",
                "1",
            ),
            (
                "guardduty",
                "guardduty/1/ab",
                CloudProvider::Aws,
                "evil.com/#",
                "1",
            ),
            (
                "guardduty",
                "guardduty",
                CloudProvider::Aws,
                "eu-west-1",
                "1",
            ),
            ("scc", "scc/1/b9", CloudProvider::Gcp, "", "123456789012"),
            ("scc", "scc/1/b9", CloudProvider::Gcp, "", "a/../../evil"),
        ] {
            assert_eq!(
                console_for(feed, key, provider, region, account),
                None,
                "{feed} {key}"
            );
        }
    }

    #[test]
    fn a_case_has_a_page_where_a_public_address_is_known() {
        let page = |url: &str, id: &str| {
            let links = Links {
                public_url: Some(url.into()),
            };
            links.case_url(id)
        };
        let leads = Some("https://ns.example.com/cases/k3f9-x2mq".to_owned());
        assert_eq!(page("https://ns.example.com", "k3f9-x2mq"), leads);
        assert_eq!(page("https://ns.example.com/", "k3f9-x2mq"), leads);
        let below = "https://ns.example.com/triage/cases/k3f9".to_owned();
        assert_eq!(page("https://ns.example.com/triage/", "k3f9"), Some(below));
        assert_eq!(Links::default().case_url("k3f9"), None);
        for (url, id) in [
            ("javascript:alert(1)", "k"),
            ("https://u:p@x.com", "k"),
            ("https://x.com/?a=b", "k"),
            ("nonsense", "k"),
            ("https://x.com", "../k"),
            ("https://x.com", ""),
        ] {
            assert_eq!(page(url, id), None, "{url} {id}");
        }
        let links = Links {
            public_url: Some("nonsense".into()),
        };
        assert!(links.check().unwrap_err().contains("https://HOST"));
    }

    proptest! {
        #[test]
        fn a04_no_alert_says_where_a_link_leads(key in "\\PC{0,60}", region in "\\PC{0,30}", account in "\\PC{0,40}") {
            let product = format!("guardduty/{key}");
            let links = ["guardduty", "security_hub", "ocsf", "scc"].into_iter().flat_map(|feed| {
                let arn = format!("arn:aws:securityhub:{region}:{key}");
                let name = format!("organizations/1/sources/{account}/findings/{key}");
                [
                    console_for(feed, &product, CloudProvider::Aws, &region, &account),
                    whole(feed, "hub/1/x", &region, &arn),
                    whole(feed, &product, &region, &arn),
                    whole(feed, "scc/1/x", &region, &name),
                ]
            });
            for link in links.flatten() {
                {
                    let url = Url::parse(&link).unwrap();
                    prop_assert!(url.host_str().unwrap().starts_with("console."));
                    prop_assert_eq!(url.scheme(), "https");
                    prop_assert!(link.bytes().all(|byte| byte.is_ascii_graphic()));
                    prop_assert!(!link.contains(['"', '<', '>', '|']));
                }
            }
        }
    }
}
