//! Words of a simple command without expansions: literals and plain patterns.

/// One word of a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ShellArgument {
    /// It means itself.
    Literal(String),
    /// A glob that can only expand to paths: it begins with a letter, `.`, `/` or the home.
    Paths,
    /// Any other glob: it may also expand to an option.
    Pattern,
}

impl ShellArgument {
    /// Removes quotes; `None` if anything in the word is expanded, but for a plain pattern.
    pub(super) fn read(word: &str) -> Option<Self> {
        // Alone they are a command and the end of it, not a pattern.
        if matches!(word, "[" | "]") {
            return Some(Self::Literal(word.to_owned()));
        }
        let mut text = String::new();
        let mut is_pattern = false;
        let mut chars = word.chars();
        while let Some(c) = chars.next() {
            match c {
                '\'' => loop {
                    match chars.next()? {
                        '\'' => break,
                        inner => text.push(inner),
                    }
                },
                '"' => loop {
                    match chars.next()? {
                        '"' => break,
                        '$' | '`' => return None,
                        '\\' => text.push_str(&quoted_backslash(&mut chars)?),
                        inner => text.push(inner),
                    }
                },
                '\\' => text.push(chars.next().filter(|next| *next != '\n')?),
                '*' | '?' | '[' | ']' => {
                    is_pattern = true;
                    text.push(c);
                }
                '$' | '`' | '{' | '}' | '(' | ')' | '<' | '>' | '|' | '&' | ';' | '^' => {
                    return None;
                }
                // The home: a path, whatever its name.
                '~' if text.is_empty() && matches!(chars.clone().next(), None | Some('/')) => {
                    is_pattern = true;
                    text.push(c);
                }
                '~' | '=' | '#' if text.is_empty() => return None,
                c if c.is_whitespace() => return None,
                c => text.push(c),
            }
        }
        if !is_pattern {
            return Some(Self::Literal(text));
        }
        let begins_as_path =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '_' | '~');
        Some(if text.starts_with(begins_as_path) { Self::Paths } else { Self::Pattern })
    }

    pub(super) fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Paths | Self::Pattern => None,
        }
    }
}

/// Decodes a backslash and the next character in double quotes; `None` for a line continuation.
fn quoted_backslash(chars: &mut std::str::Chars<'_>) -> Option<String> {
    match chars.next()? {
        '\n' => None,
        next @ ('$' | '`' | '"' | '\\') => Some(next.to_string()),
        next => Some(format!("\\{next}")),
    }
}
