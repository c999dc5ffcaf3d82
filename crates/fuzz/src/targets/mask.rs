//! Bytes as texts with secrets.

use retake_engine::model::ProjectPath;
use retake_service::Masking;

use crate::input::choose;

/// Dictionary of what secrets stand beside.
pub const DICTIONARY: &[&str] = &[
    "password",
    "token",
    "secret",
    "api_key",
    " = ",
    ": ",
    "=",
    "\"",
    "'",
    "\\\"",
    "`",
    "&quot;",
    "Authorization: Bearer ",
    "Cookie: sid=",
    "://u:",
    "@host",
    concat!("-----BEG", "IN "),
    concat!("-----E", "ND "),
    "PRIVATE KEY-----",
    concat!("Private-Li", "nes: 2"),
    "kind: Secret",
    "data:",
    "---",
    "|",
    "\n",
    "\r\n",
    "\n  ",
    "#",
    "//",
    "•••",
    "•",
    "hunter2x",
    "a1B2c3D4e5F6",
    "${X}",
    "é",
    "<",
    ">",
    "</password>",
    "<password>",
    "value",
    ",",
    "(",
    ")",
    "[",
    "]",
    "--password ",
    "mysql -p",
    "export ",
    "\t",
];

/// Kinds of files: of secrets, of configuration, of code.
const NAMES: [&str; 6] = [".env", "a.yml", "a.ini", "a.rs", "secrets.json", "id_rsa"];

/// Every line stays in its place, a text hardly grows, and masking it again changes nothing.
pub fn mask(data: &[u8]) {
    let (name, rest) = choose(&NAMES, data);
    let path: ProjectPath = name.parse().unwrap();
    let text = String::from_utf8_lossy(rest);
    check(&text, |text| Masking::On.mask_content(&path, text).into_owned());
    check(&text, |text| Masking::On.mask_text(text).into_owned());
    assert_eq!(Masking::Off.mask_content(&path, &text), text);
}

fn check(text: &str, mask: impl Fn(&str) -> String) {
    let masked = mask(text);
    let lines = |text: &str| text.split('\n').count();
    assert_eq!(lines(&masked), lines(text), "{text:?} became {masked:?}");
    // A mask is three signs, and a line has one that is longer than what it hides.
    let most = text.chars().count() + 3 * lines(text);
    assert!(masked.chars().count() <= most, "{text:?} became {masked:?}");
    assert_eq!(mask(&masked), masked, "of {text:?}");
}
