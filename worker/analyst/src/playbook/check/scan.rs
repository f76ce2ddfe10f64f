//! Splits an expression into words with their places. This is enough to find the names in use, without the grammar.

/// A token of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Word(&'a str),
    /// The inside of a string.
    Text(&'a str),
    /// Any other character except blanks.
    Sign(char),
}

/// Returns the tokens of an expression, each with its byte offset.
pub(super) fn scan_expression(source: &str) -> Vec<(usize, Token<'_>)> {
    let mut tokens = Vec::new();
    let mut chars = source.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\'' || c == '"' {
            let mut end = source.len();
            while let Some((here, inner)) = chars.next() {
                if inner == '\\' {
                    chars.next();
                } else if inner == c {
                    end = here;
                    break;
                }
            }
            let inside = source.get(at + 1..end).unwrap_or_default();
            tokens.push((at + 1, Token::Text(inside)));
        } else if c.is_alphabetic() || c == '_' {
            let mut end = at + c.len_utf8();
            while let Some((here, next)) = chars.peek().copied() {
                if !next.is_alphanumeric() && next != '_' {
                    break;
                }
                end = here + next.len_utf8();
                chars.next();
            }
            tokens.push((at, Token::Word(source.get(at..end).unwrap_or_default())));
        } else if !c.is_whitespace() {
            tokens.push((at, Token::Sign(c)));
        }
    }
    tokens
}

/// Returns the tokens inside `{{ … }}` and `{% … %}` of a template.
pub(super) fn scan_template(source: &str) -> Vec<(usize, Token<'_>)> {
    let mut tokens = Vec::new();
    let mut from = 0;
    while let Some((open, close)) = next_delimiter(source, from) {
        let begin = open + 2;
        let end = source
            .get(begin..)
            .and_then(|rest| rest.find(close))
            .map_or(source.len(), |length| begin + length);
        let inside = source.get(begin..end).unwrap_or_default();
        tokens.extend(
            scan_expression(inside)
                .into_iter()
                .map(|(at, token)| (begin + at, token)),
        );
        from = end;
    }
    tokens
}

fn next_delimiter(source: &str, from: usize) -> Option<(usize, &'static str)> {
    let rest = source.get(from..)?;
    [("{{", "}}"), ("{%", "%}")]
        .into_iter()
        .filter_map(|(open, close)| rest.find(open).map(|at| (from + at, close)))
        .min_by_key(|(at, _)| *at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_strings_and_signs_keep_their_places() {
        assert_eq!(
            scan_expression("each('pools') | x"),
            vec![
                (0, Token::Word("each")),
                (4, Token::Sign('(')),
                (6, Token::Text("pools")),
                (12, Token::Sign(')')),
                (14, Token::Sign('|')),
                (16, Token::Word("x")),
            ]
        );
        assert_eq!(
            scan_template("a {{ b }} c {% if d %}"),
            vec![
                (5, Token::Word("b")),
                (15, Token::Word("if")),
                (18, Token::Word("d")),
            ]
        );
        assert_eq!(scan_expression("'open"), vec![(1, Token::Text("open"))]);
    }
}
