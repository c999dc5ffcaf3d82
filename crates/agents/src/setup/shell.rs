//! Tokenises a shell line, as far as needed to see which program it calls.

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShellToken {
    Word(String),
    /// What stands between words: `||`, `;`, `>`, a line end.
    Operator(String),
}

/// A line in its parts.
#[derive(Clone, Debug, Default)]
pub(super) struct ShellLine {
    pub(super) tokens: Vec<ShellToken>,
    /// Whether all words are literal: no variables, globs or comments.
    pub(super) is_plain: bool,
}

impl ShellLine {
    pub(super) fn parse(text: &str) -> Self {
        let mut line = Self { tokens: Vec::new(), is_plain: true };
        let mut word: Option<String> = None;
        let mut quote = None;
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            line.is_plain &= quote == Some('\'') || !expands(c, quote, word.is_none());
            match (quote, c) {
                (Some(open), _) if c == open => quote = None,
                (None | Some('"'), '\\') => word.get_or_insert_default().extend(chars.next()),
                (None, '\'' | '"') => {
                    quote = Some(c);
                    word.get_or_insert_default();
                }
                (None, '#') if word.is_none() => while chars.next_if(|c| *c != '\n').is_some() {},
                (None, ' ' | '\t') => line.tokens.extend(word.take().map(ShellToken::Word)),
                (None, _) if is_operator(c) => {
                    // In `2>file` the number belongs to the operator.
                    let is_number = |word: &String| word.bytes().all(|b| b.is_ascii_digit());
                    let word = word.take().filter(|word| !("<>".contains(c) && is_number(word)));
                    line.tokens.extend(word.map(ShellToken::Word));
                    let mut operator = String::from(c);
                    while let Some(c) = chars.next_if(|c| is_operator(*c)) {
                        operator.push(c);
                    }
                    line.tokens.push(ShellToken::Operator(operator));
                }
                _ => word.get_or_insert_default().push(c),
            }
        }
        line.tokens.extend(word.map(ShellToken::Word));
        line
    }

    /// The words of each command, without the files that it is redirected to.
    pub(super) fn commands(&self) -> Vec<Vec<&str>> {
        let mut all = vec![Vec::new()];
        let mut is_file = false;
        for token in &self.tokens {
            match token {
                ShellToken::Word(_) if is_file => is_file = false,
                ShellToken::Word(word) => all.last_mut().expect("one is there").push(word.as_str()),
                ShellToken::Operator(operator) => {
                    is_file =
                        ["<", ">", "<&", ">&", ">|"].iter().any(|end| operator.ends_with(end));
                    if !is_file {
                        all.push(Vec::new());
                    }
                }
            }
        }
        all
    }
}

fn is_operator(c: char) -> bool {
    "|&;()<>`\n\r".contains(c)
}

/// Returns whether the shell makes something else of a character that is not in single quotes.
fn expands(c: char, quote: Option<char>, at_start: bool) -> bool {
    let bare = quote.is_none();
    matches!(c, '$' | '`') || bare && ("*?[{".contains(c) || at_start && "~#".contains(c))
}
