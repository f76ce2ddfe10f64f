//! Tests reports where people see them. The worker delivers cases to strict fakes of Slack, Jira, ServiceNow,
//! PagerDuty and GitHub, from the early post until people close the case.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use nightshift_tests::model::FakeModel;
use nightshift_tests::{RunningProgram, Sandbox};
use serde_json::Value;
use tokio::task::JoinSet;
use tokio_postgres::NoTls;

use super::fixture::{cases, put};
use super::production::database;
use super::resume::{HANGS, hanging};
use crate::models::example;
use crate::models::providers::ANTHROPIC;
use crate::vendors::{
    CHANNEL, Fake, Fault, Instance, Repo, Service, Site, Slack, SlackFault, TOKEN, Tickets,
};

/// An alert about a miner on a production server.
const MINER: &str = "scc-crypto-miner";
/// The destinations that show a true positive.
const EVERYWHERE: [&str; 5] = ["soc", "jira", "snow", "pager", "issues"];

/// The database of the worker, in which the test lets time pass.
enum StoreLocation {
    Sqlite(PathBuf),
    Postgres(String),
}

impl StoreLocation {
    async fn execute(&self, sqlite: &str, postgres: &str) {
        match self {
            Self::Sqlite(path) => {
                let connection = rusqlite::Connection::open(path).unwrap();
                connection.busy_timeout(Duration::from_secs(30)).unwrap();
                connection.execute_batch(sqlite).unwrap();
            }
            Self::Postgres(url) => {
                let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
                let mut tasks = JoinSet::new();
                tasks.spawn(connection);
                client.batch_execute(postgres).await.unwrap();
            }
        }
    }

    /// Makes all postponed deliveries due and moves ambiguous sends back far enough for every vendor to have settled.
    async fn advance_time(&self) {
        self.execute(
            "UPDATE deliveries SET retry_at = NULL;
             UPDATE deliveries SET begun_at = strftime('%Y-%m-%dT%H:%M:%f000Z', begun_at, '-400 seconds')
             WHERE begun_at > strftime('%Y-%m-%dT%H:%M:%f000Z', 'now', '-300 seconds')",
            "UPDATE deliveries SET retry_at = NULL;
             UPDATE deliveries SET begun_at = begun_at - interval '400 seconds'
             WHERE begun_at > clock_timestamp() - interval '300 seconds'",
        )
        .await;
    }
}

/// The real time, for the vendor that checks it.
struct SystemClock;

impl nightshift_engine::port::Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the program under test has the real clock too"
    )]
    fn now(&self) -> chrono::DateTime<chrono::Utc> {
        chrono::Utc::now()
    }
}

/// The fakes of all vendors.
struct Vendors {
    slack: Slack,
    jira: Fake<Site>,
    /// A Jira that only gets false positives.
    cleared: Fake<Site>,
    snow: Fake<Instance>,
    pager: Fake<Service>,
    issues: Fake<Repo>,
}

impl Vendors {
    async fn start() -> Self {
        Self {
            slack: Slack::start(Arc::new(SystemClock)).await,
            jira: Fake::start(Site::new(0)).await,
            cleared: Fake::start(Site::new(0)).await,
            snow: Fake::start(Instance::new()).await,
            pager: Fake::start(Service::default()).await,
            issues: Fake::start(Repo::new()).await,
        }
    }

    fn config(&self) -> String {
        let jira =
            "kind = \"jira\"\nemail = \"maria@example.com\"\ntoken = \"hush\"\nproject = \"SEC\"";
        let of = |name: &str, rest: &str, url: &str| {
            format!("[[destination]]\nname = \"{name}\"\n{rest} = \"{url}\"\n")
        };
        [
            of("soc", &format!("kind = \"slack\"\nchannel = \"{CHANNEL}\"\ntoken = \"{TOKEN}\"\napi_url"), &self.slack.url),
            of("jira", &format!("{jira}\ndone_transition = \"Done\"\nurl"), &self.jira.url),
            of("cleared", &format!("{jira}\nverdicts = [\"false_positive\"]\nurl"), &self.cleared.url),
            of(
                "snow",
                "kind = \"servicenow\"\nuser = \"maria@example.com\"\nsecret = \"hush\"\n\
                 resolve = { state = \"6\", close_code = \"Solved\" }\nurl",
                &self.snow.url,
            ),
            of("pager", "kind = \"pagerduty\"\nrouting_key = \"0123456789abcdef0123456789abcdef\"\nurl", &self.pager.url),
            of("issues", "kind = \"github\"\ntoken = \"hush\"\nrepo = \"acme/soc\"\nurl", &self.issues.url),
            "[[route]]\ndestinations = [\"soc\", \"jira\", \"cleared\", \"snow\", \"pager\", \"issues\"]\n".to_owned(),
        ]
        .concat()
    }

    /// Makes every vendor perform its next post, ticket or page and then close the connection.
    fn hang_up_once(&self) {
        let mut is_first = true;
        self.slack.breaks(move |method, _| {
            let breaks = is_first && method == "chat.postMessage";
            is_first &= !breaks;
            breaks.then_some(SlackFault::LostAfter)
        });
        self.jira.breaks([Fault::Done]);
        self.snow.breaks([Fault::Done]);
        self.pager.breaks([Fault::Done]);
        // The first write creates the label of the case.
        self.issues.breaks([Fault::None, Fault::Done]);
    }

    fn message(&self, case: &str) -> crate::vendors::PostedMessage {
        let mut all = self.slack.channel();
        all.retain(|one| one.key("case") == case);
        assert_eq!(all.len(), 1, "{case}: {all:#?}");
        all.remove(0)
    }

    /// Checks that each vendor has one ticket in this state, and PagerDuty one page.
    fn check(&self, case: &str, is_open: bool) {
        let tickets = [
            self.jira.with(|site| site.tickets_of(case)),
            self.snow.with(|instance| instance.tickets_of(case)),
            self.issues.with(|repo| repo.tickets_of(case)),
        ];
        for of_vendor in tickets {
            let states: Vec<bool> = of_vendor.iter().map(|one| one.is_open).collect();
            assert_eq!(states, [is_open], "{case}: {of_vendor:#?}");
        }
        assert_eq!(self.cleared.with(|site| site.tickets_of(case)).len(), 0);
        let page = self.pager.with(|service| service.alerts[case].clone());
        let state = if is_open { "triggered" } else { "resolved" };
        assert_eq!((page.incidents, page.state), (1, state), "{page:?}");
    }
}

/// Waits until each of these destinations has logged the text.
fn until_each(worker: &mut RunningProgram, text: &str, names: &[&str]) {
    let mut left: BTreeSet<&str> = names.iter().copied().collect();
    while !left.is_empty() {
        let line = worker.wait_for_line(text);
        left.retain(|name| !line.contains(&format!(" destination.name={name} ")));
    }
}

/// A worker with a model that hangs at its first conclusion, and all vendors.
struct DeliveryFixture {
    vendors: Vendors,
    model: Arc<FakeModel>,
    hangs: Receiver<()>,
    place: Sandbox,
    store: StoreLocation,
}

impl DeliveryFixture {
    async fn new(postgres: Option<String>) -> Self {
        let (told, hangs) = channel();
        let model = Arc::new(FakeModel::start(hanging(told)).await.unwrap());
        let vendors = Vendors::start().await;
        let mut place = Sandbox::new().unwrap();
        let store = postgres.as_ref().map_or_else(String::new, |url| {
            format!("store = {{ url = \"{url}\" }}\n")
        });
        let config = format!(
            "log = {{ level = \"warn,nightshift_pipeline=info\", format = \"text\" }}\n\
             web = {{ listen = \"127.0.0.1:0\" }}\n{store}\
             [[source]]\nname = \"drop\"\nkind = \"spool\"\ndir = \"spool\"\n{}{}{}",
            vendors.config(),
            example::logs(&place),
            ANTHROPIC.table(&model, ""),
        );
        place.write_file("nightshift.toml", config).unwrap();
        place.set_env("NO_COLOR", "1");
        let file = place.path().join("nightshift-data/nightshift.db");
        Self {
            vendors,
            model,
            hangs,
            place,
            store: postgres.map_or(StoreLocation::Sqlite(file), StoreLocation::Postgres),
        }
    }

    /// Returns the only case that is not among these.
    fn other_case(&self, known: &[&str]) -> String {
        let mut ids = Vec::new();
        for case in cases(&self.place) {
            let id = case["id"].as_str().unwrap().to_owned();
            if !known.contains(&id.as_str()) {
                ids.push(id);
            }
        }
        assert_eq!(ids.len(), 1, "{ids:?}");
        ids.remove(0)
    }

    /// Returns whether no delivery of a case is pending.
    fn is_all_shown(&self, case: &str) -> bool {
        let ran = self.place.run(&["cases", "show", case, "--json"]).unwrap();
        let view: Value = serde_json::from_str(&ran.stdout).unwrap();
        let deliveries = view["deliveries"].as_array().unwrap();
        assert_eq!(deliveries.len(), EVERYWHERE.len() + 1, "{view}");
        let is_left = |one: &Value| one["sent"].as_u64() < one["wanted"].as_u64();
        !deliveries.iter().any(is_left)
    }

    /// Lets time pass until no delivery of a case is pending.
    async fn until_all_is_shown(&self, case: &str) {
        for _ in 0..HANGS.as_secs() {
            self.store.advance_time().await;
            if self.is_all_shown(case) {
                return;
            }
        }
        panic!("{case} is not shown everywhere");
    }

    /// Checks a case that is triaged, reported, seen again and closed, with each update at each vendor.
    async fn goes_well(&self, worker: &mut RunningProgram) -> String {
        let soc = &self.vendors;
        put(&self.place, MINER, "s1");
        self.hangs.recv_timeout(HANGS).unwrap();
        until_each(worker, "report shown", &["soc"]);
        let case = self.other_case(&[]);
        let early = soc.message(&case);
        assert!(early.text().contains("Investigating"), "{}", early.text());
        assert_eq!(
            soc.jira.with(|site| site.tickets_of(&case)).len(),
            0,
            "not yet"
        );

        self.model.release();
        until_each(worker, "report shown", &EVERYWHERE);
        let report = soc.message(&case);
        assert_eq!(report.ts, early.ts, "the post is edited");
        assert!(report.text().contains("True positive"), "{}", report.text());
        soc.check(&case, true);
        let edits = report.edits;

        put(&self.place, MINER, "s1");
        worker.wait_for_line("messages accepted");
        self.store.advance_time().await;
        until_each(worker, "report shown", &["soc"]);
        let seen = soc.message(&case);
        assert!(seen.edits > edits, "{seen:?}");
        assert!(
            seen.body["blocks"].to_string().contains("1 repeat"),
            "{seen:?}"
        );
        let says = |comments: usize| {
            soc.jira
                .with(|site| site.tickets_of(&case)[0].comments.len())
                == comments
        };
        assert!(says(0), "a ticket is not told of a count");

        let close = ["cases", "close", &case, "--by", "ana", "--note", "rebuilt"];
        assert_eq!(self.place.run(&close).unwrap().code, Some(0));
        until_each(worker, "report shown", &EVERYWHERE);
        let closed = soc.message(&case);
        assert!(
            closed.body["blocks"].to_string().contains("ana"),
            "{closed:?}"
        );
        soc.check(&case, false);
        assert!(says(1), "who closed it");
        // A delivery that a destination skips counts as shown once it was considered.
        self.until_all_is_shown(&case).await;
        soc.check(&case, false);
        case
    }

    /// Checks a case for which every vendor performs the request and then closes the connection.
    async fn answers_are_lost(&self, worker: &mut RunningProgram, known: &str) {
        self.vendors.hang_up_once();
        put(&self.place, MINER, "s2");
        until_each(worker, "cannot deliver report", &EVERYWHERE);
        let case = self.other_case(&[known]);
        // All are looked up except the page, because PagerDuty deduplicates it.
        self.until_all_is_shown(&case).await;
        self.vendors.check(&case, true);
        let message = self.vendors.message(&case);
        assert!(
            message.text().contains("True positive"),
            "{}",
            message.text()
        );
    }
}

async fn told_once_and_all_of_it(postgres: Option<String>) {
    let night = DeliveryFixture::new(postgres).await;
    let mut worker = night.place.start(&["worker"]).unwrap();
    worker.wait_for_line("started:");
    let first = night.goes_well(&mut worker).await;
    night.answers_are_lost(&mut worker, &first).await;
    worker.signal("TERM");
    assert_eq!(worker.wait_for_exit().0.code(), Some(0));
    assert_eq!(
        night.vendors.slack.channel().len(),
        2,
        "a message for each case"
    );
    assert_eq!(night.model.refusals(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f26_a_case_is_told_once_wherever_people_look_and_to_its_end() {
    told_once_and_all_of_it(None).await;
}

#[cfg_attr(
    not(has_services),
    ignore = "needs PostgreSQL and RabbitMQ: run tests/services"
)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f26_case_is_shown_once_at_each_destination_from_postgresql() {
    told_once_and_all_of_it(Some(database().await)).await;
}
