use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::content::ContentSource;

#[derive(Debug)]
struct TestRow {
    id: String,
    flag: Option<bool>,
    list: Vec<String>,
    more: serde_json::Map<String, Value>,
}

impl RegisterRecord for TestRow {
    const COLUMNS: RegisterColumns = RegisterColumns {
        own: &["id", "flag", "list"],
        shared: &["expected_findings", "valid_until"],
        aliases: &[("until", "valid_until")],
    };
    const REQUIRED: &'static [&'static str] = &["id"];

    fn from_fields(fields: &RowFields<'_>) -> Result<Self, String> {
        Ok(Self {
            id: fields.required("id")?,
            flag: fields.boolean("flag")?,
            list: fields.list("list"),
            more: fields.extra_columns(),
        })
    }
}

fn read_table(text: &'static str) -> Result<Arc<Table<TestRow>>, String> {
    Register::<TestRow>::new(ContentSource::embedded("demo/rows", text)).get()
}

#[test]
fn csv_array_and_lines_read_alike() {
    let csv = "id,flag,List,rank\na,yes,x; y ;,7\nb,,,\n";
    let array = "[\n {\"id\": \"a\", \"flag\": true, \"list\": [\"x\", \"y\"], \"rank\": 7},\n {\"id\": \"b\", \"flag\": null}\n]";
    let lines = "{\"id\": \"a\", \"flag\": true, \"list\": [\"x\", \"y\"], \"rank\": 7}\n\n{\"id\": \"b\"}\n";
    assert_eq!(
        read_table("id,flag\na\n").unwrap().problems[0].what,
        "1 cells for 2 columns: the last ones are taken as empty"
    );
    for text in [csv, array, lines] {
        let table = read_table(text).unwrap();
        assert_eq!(table.problems, [], "{text}");
        let [first, second] = &table.records[..] else {
            panic!("{text}: {:?}", table.records);
        };
        assert_eq!(first.id, "a");
        assert_eq!(first.flag, Some(true));
        assert_eq!(first.list, ["x", "y"]);
        assert!(first.more.contains_key("rank"));
        assert_eq!((second.flag, second.list.len()), (None, 0));
    }
    assert_eq!(
        read_table(array).unwrap().records[0].more["rank"],
        json!(7),
        "numbers stay numbers"
    );
}

#[test]
fn bad_rows_are_told_with_their_line_and_the_rest_is_used() {
    let csv = "id,flag\na,yes\n,no\nc,perhaps\nd,no,too,many\n# a comment\ne,no\n";
    let table = read_table(csv).unwrap();
    let ids: Vec<&str> = table.records.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["a", "e"]);
    let lines: Vec<_> = table.problems.iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [Some(3), Some(4), Some(5)]);
    assert_eq!(
        table.problems[1].what,
        "`flag` is \"perhaps\": write true or false; the row is left out"
    );
    let array = "[\n{\"id\": \"a\"},\n{\"id\": \"\"},\n\"text\"\n]";
    let table = read_table(array).unwrap();
    let lines: Vec<_> = table.problems.iter().map(|problem| problem.line).collect();
    assert_eq!((table.records.len(), lines), (1, vec![Some(3), Some(4)]));
    let table = read_table("{\"id\": \"a\"}\n{broken\n").unwrap();
    assert_eq!(table.problems[0].line, Some(2));
}

#[test]
fn a_misspelt_column_is_told_and_an_own_one_is_not() {
    let table = read_table("id,expected_finding,cost_centre\na,x,9\n").unwrap();
    assert_eq!(
        table.problems,
        [Problem {
            line: Some(2),
            what: "unknown column `expected_finding`: is `expected_findings` meant?".to_owned()
        }]
    );
}

#[test]
fn a_table_without_what_it_needs_is_no_register() {
    for (text, message) in [
        ("name,flag\na,yes\n", "has no column `id`"),
        ("", "is empty"),
        ("[{\"id\": 1,]", "no JSON array"),
        (
            "[{\"instance_id\": \"i-1\", \"owner\": \"ana\"}]",
            "no row has a column `id`: the first has instance_id, owner",
        ),
        (
            "{\"assets\": [{\"id\": \"i-1\"}]}",
            "no row has a column `id`: the first has assets; write an array of rows",
        ),
        (
            "{\n\"assets\": [\n{\n\"id\": \"i-1\"}\n]}",
            "has no usable row: line 1: no JSON object",
        ),
        (
            "id,flag\n,no\nb,perhaps\n",
            "has no usable row: line 2: `id` is empty",
        ),
    ] {
        let error = read_table(text).unwrap_err();
        assert!(error.contains(message), "{error}");
        assert!(error.contains("demo/rows"), "{error}");
    }
}

#[test]
fn a_quote_that_is_not_closed_is_told_with_what_it_swallows() {
    let open = "id,flag,list\na,yes,x\n# don't\nb,no,\"y\nc,no,z\nd,no,z\n";
    let table = read_table(open).unwrap();
    assert_eq!((table.records.len(), table.left_out), (1, 3));
    assert_eq!(
        table.problems[0].to_string(),
        "line 4: a quote is not closed: this row spans 3 lines, all of which are left out"
    );
    let meant = "id,flag,list\na,yes,\"x;\ny\"\nb,no,z\n";
    let table = read_table(meant).unwrap();
    assert_eq!((table.records.len(), table.left_out), (2, 0));
    assert_eq!(
        table.problems[0].to_string(),
        "line 2: a cell spans 2 lines: if it should not, a quote is not closed, and what follows is no row"
    );
    assert_eq!(
        Value::Object(table.search_summary("rows")),
        json!({"register": "rows", "records": 2})
    );
    let table = read_table("id,flag\na,yes\nb,perhaps\n").unwrap();
    assert_eq!(table.search_summary("rows")["left_out"], 1);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[\\[{\"a-c:,;\\]} \n#é]{0,80}") {
        let content = ContentSource::Text { name: "x".into(), text: text.into() };
        let _ = Register::<TestRow>::new(content).get();
    }
}

#[tokio::test]
async fn short_cached_register_is_searched_inline_and_long_one_never() {
    for (rows, on_the_spot) in [(MAX_INLINE_RECORDS, true), (MAX_INLINE_RECORDS + 1, false)] {
        let ids: String = (0..rows).map(|row| format!("{row}\n")).collect();
        let text: &'static str = format!("id\n{ids}").leak();
        let register = Arc::new(Register::<TestRow>::new(ContentSource::embedded(
            "demo/rows",
            text,
        )));
        let here = std::thread::current().id();
        let is_here = || async {
            let searched = register.search(move |_, table| {
                let is_here = std::thread::current().id() == here;
                ToolOutput::from_body(json!([table.records.len(), is_here]))
            });
            searched.await.unwrap().body
        };
        assert_eq!(is_here().await, json!([rows, false]), "nobody looked");
        assert_eq!(is_here().await, json!([rows, on_the_spot]), "{rows}");
    }
}
