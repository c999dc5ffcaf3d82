//! The clipboard: through the program that the desktop has, else through the terminal.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::{Command, Stdio};

/// A program that takes the text for the clipboard from its input.
struct ClipboardProgram {
    name: &'static str,
    arguments: &'static [&'static str],
    /// The variable without which it has no desktop to talk to.
    needs: Option<&'static str>,
}

/// The programs, in the order in which they are tried.
const PROGRAMS: [ClipboardProgram; 4] = [
    ClipboardProgram { name: "wl-copy", arguments: &[], needs: Some("WAYLAND_DISPLAY") },
    ClipboardProgram {
        name: "xclip",
        arguments: &["-selection", "clipboard"],
        needs: Some("DISPLAY"),
    },
    ClipboardProgram {
        name: "xsel",
        arguments: &["--clipboard", "--input"],
        needs: Some("DISPLAY"),
    },
    ClipboardProgram { name: "pbcopy", arguments: &[], needs: None },
];

/// Maximum bytes that are passed through the terminal; many terminals drop more.
const MAX_OSC_BYTES: usize = 74_000;

/// Puts a text on the clipboard; returns how, none if there is no way.
pub(crate) fn copy_to_clipboard(text: &str) -> Option<&'static str> {
    let program = PROGRAMS.iter().find(|program| program.is_usable() && program.copy(text));
    program.map(|program| program.name).or_else(|| copy_through_terminal(text))
}

impl ClipboardProgram {
    fn is_usable(&self) -> bool {
        self.needs.is_none_or(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
    }

    /// Returns true if the program took the text. It may stay in the background to serve it, so it
    /// gets none of our streams.
    fn copy(&self, text: &str) -> bool {
        let mut command = Command::new(self.name);
        command.args(self.arguments).stdin(Stdio::piped());
        let Ok(mut child) = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn() else {
            return false;
        };
        let written =
            child.stdin.take().is_some_and(|mut pipe| pipe.write_all(text.as_bytes()).is_ok());
        child.wait().is_ok_and(|status| status.success()) && written
    }
}

/// Asks the terminal to do it (OSC 52). It does not say whether it did.
fn copy_through_terminal(text: &str) -> Option<&'static str> {
    let mut stderr = io::stderr().lock();
    if !stderr.is_terminal() || text.len() > MAX_OSC_BYTES {
        return None;
    }
    write!(stderr, "\x1b]52;c;{}\x07", base64(text.as_bytes())).ok()?;
    stderr.flush().ok()?;
    Some("the terminal")
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or_default());
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4_usize {
            let index = (group >> (18 - 6 * digit)) as usize & 63;
            let is_filled = digit <= chunk.len();
            out.push(if is_filled { char::from(DIGITS[index]) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::base64;

    /// The vectors of RFC 4648.
    #[test]
    fn base64_is_what_the_standard_says() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
