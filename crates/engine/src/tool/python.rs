//! Python literals: `{'file_path': 'a', 'replace_all': True, 'x': None}`.
//!
//! Some frameworks hand over `str(dict)`. Only what `repr` prints is read: dicts, lists, tuples,
//! strings with escapes, numbers, `True`, `False`, `None`. Depth is limited, so is the stack.

use serde_json::{Map, Number, Value};

/// Maximum nesting of a literal.
const MAX_DEPTH: usize = 64;

/// Parses one literal that takes up the whole text.
pub(super) fn parse(text: &str) -> Option<Value> {
    let mut reader = PythonReader { rest: text };
    let value = reader.value(0)?;
    reader.space();
    reader.rest.is_empty().then_some(value)
}

struct PythonReader<'a> {
    rest: &'a str,
}

impl PythonReader<'_> {
    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.space();
        match self.rest.chars().next()? {
            '{' => self.dict(depth),
            '[' => self.items(']', depth),
            '(' => self.items(')', depth),
            '\'' | '"' => self.strings().map(Value::String),
            'r' | 'u' | 'b' if self.rest[1..].starts_with(['\'', '"']) => self.prefixed(),
            _ => self.atom(),
        }
    }

    fn dict(&mut self, depth: usize) -> Option<Value> {
        self.skip(1);
        let mut object = Map::new();
        loop {
            if self.eat('}') {
                return Some(Value::Object(object));
            }
            let key = match self.value(depth + 1)? {
                Value::String(key) => key,
                other => other.to_string(),
            };
            if !self.eat(':') {
                return None;
            }
            object.insert(key, self.value(depth + 1)?);
            if !self.eat(',') && !self.ahead('}') {
                return None;
            }
        }
    }

    fn items(&mut self, close: char, depth: usize) -> Option<Value> {
        self.skip(1);
        let mut items = Vec::new();
        loop {
            if self.eat(close) {
                return Some(Value::Array(items));
            }
            items.push(self.value(depth + 1)?);
            if !self.eat(',') && !self.ahead(close) {
                return None;
            }
        }
    }

    /// Adjacent strings are one string, as in Python.
    fn strings(&mut self) -> Option<String> {
        let mut all = self.string(false)?;
        loop {
            self.space();
            if !self.rest.starts_with(['\'', '"']) {
                return Some(all);
            }
            all.push_str(&self.string(false)?);
        }
    }

    fn prefixed(&mut self) -> Option<Value> {
        let raw = self.rest.starts_with('r');
        self.skip(1);
        self.string(raw).map(Value::String)
    }

    fn string(&mut self, raw: bool) -> Option<String> {
        let quote = self.rest.chars().next()?;
        let triple: String = std::iter::repeat_n(quote, 3).collect();
        let close = if self.rest.starts_with(&triple) { triple } else { quote.to_string() };
        self.skip(close.len());
        let mut text = String::new();
        loop {
            if self.rest.starts_with(&close) {
                self.skip(close.len());
                return Some(text);
            }
            let c = self.rest.chars().next()?;
            self.skip(c.len_utf8());
            match c {
                '\\' if raw => text.push('\\'),
                '\\' => self.escape(&mut text)?,
                _ => text.push(c),
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Option<()> {
        let c = self.rest.chars().next()?;
        self.skip(c.len_utf8());
        match c {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            'a' => text.push('\u{7}'),
            'b' => text.push('\u{8}'),
            'f' => text.push('\u{c}'),
            'v' => text.push('\u{b}'),
            '\\' | '\'' | '"' => text.push(c),
            '\n' => {}
            'x' => text.push(self.code(2)?),
            'u' => text.push(self.code(4)?),
            'U' => text.push(self.code(8)?),
            '0'..='7' => text.push(self.octal(c)?),
            other => text.extend(['\\', other]),
        }
        Some(())
    }

    fn code(&mut self, digits: usize) -> Option<char> {
        let hex = self.rest.get(..digits)?;
        self.skip(digits);
        char::from_u32(u32::from_str_radix(hex, 16).ok()?)
    }

    fn octal(&mut self, first: char) -> Option<char> {
        let mut code = first.to_digit(8)?;
        for _ in 0..2 {
            let Some(digit) = self.rest.chars().next().and_then(|c| c.to_digit(8)) else {
                break;
            };
            code = code * 8 + digit;
            self.skip(1);
        }
        char::from_u32(code)
    }

    fn atom(&mut self) -> Option<Value> {
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+-._".contains(c)));
        let word = &self.rest[..end.unwrap_or(self.rest.len())];
        let value = match word {
            "True" | "true" => Value::Bool(true),
            "False" | "false" => Value::Bool(false),
            "None" | "null" => Value::Null,
            _ => match word.parse::<i64>() {
                Ok(number) => Value::Number(number.into()),
                Err(_) => Value::Number(Number::from_f64(word.parse().ok()?)?),
            },
        };
        self.skip(word.len());
        Some(value)
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn ahead(&mut self, c: char) -> bool {
        self.space();
        self.rest.starts_with(c)
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.ahead(c);
        if found {
            self.skip(c.len_utf8());
        }
        found
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }
}
