//! Secrets that are known by their form anywhere: tokens with a fixed prefix, credentials in
//! headers, URLs and connection strings, and on command lines.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::judge::{
    has_char, is_credential, is_opaque, is_password, is_strong_password, is_written_out,
};
use super::{MASK, mask_step};

/// Token formats with a fixed prefix. The beginning is enough: titles are cut.
const TOKEN_FORMS: &str = concat!(
    r"(?-u:\b)(?<secret>(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}(?-u:\b)",
    r"|gh[pousr]_[A-Za-z0-9]{10,}|github_pat_[0-9A-Za-z_]{10,}",
    r"|gl(?:pat|ptt|dt|rt|cbt|ft|soat|imt|agent)-[0-9A-Za-z_=-]{10,}|GR1348941[0-9A-Za-z_-]{10,}",
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[0-9A-Za-z-]{20,}",
    r"|sk-[0-9A-Za-z_-]{20,}|[rsp]k_(?:live|test|prod)_[0-9A-Za-z]{10,}|whsec_[0-9A-Za-z+/=]{16,}",
    r"|AIza[0-9A-Za-z_-]{30,}|ya29\.[0-9A-Za-z_-]{20,}|GOCSPX-[0-9A-Za-z_-]{20,}|1//0[0-9A-Za-z_-]{20,}",
    r"|npm_[A-Za-z0-9]{20,}|pypi-[0-9A-Za-z_-]{50,}|hf_[A-Za-z0-9]{30,}|do[opr]_v1_[a-f0-9]{32,}",
    r"|SG\.[0-9A-Za-z_-]{16,}\.[0-9A-Za-z_-]{16,}",
    r"|eyJ[0-9A-Za-z_-]{8,}\.eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}|eyJ[0-9A-Za-z_-]{16,}(?:\.[0-9A-Za-z_-]*){3,4}",
    r"|SK[0-9a-f]{32}(?-u:\b)|[0-9]{8,10}:[A-Za-z0-9_-]{35}(?-u:\b)|AGE-SECRET-KEY-1[0-9A-Z]{20,}",
    r"|[0-9A-Za-z_~.]{3}8Q~[0-9A-Za-z_~.-]{30,}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|sq0(?:atp|csp|idp)-[0-9A-Za-z_-]{20,}",
    r"|key-[0-9a-f]{32}(?-u:\b)|[0-9a-f]{32}-us[0-9]{1,2}(?-u:\b)|dapi[0-9a-f]{32}|lin_(?:api|oauth)_[0-9A-Za-z]{32,}",
    r"|ntn_[0-9A-Za-z]{30,}|pat[0-9A-Za-z]{14}\.[0-9a-f]{40,}|fig[du]_[0-9A-Za-z_-]{30,}|PMAK-[0-9a-f]{24}-[0-9a-f]{30,}",
    r"|gls?[ac]_[0-9A-Za-z+/=_]{30,}|hv[sbr]\.[0-9A-Za-z_-]{20,}|[0-9A-Za-z]{14}\.atlasv1\.[0-9A-Za-z_=-]{40,}",
    r"|dp\.(?:pt|st|ct|sa|scim|audit)\.[0-9A-Za-z._-]{30,}|pscale_(?:tkn|pw|oauth)_[0-9A-Za-z_.-]{30,}|sbp_[0-9a-f]{40}",
    r"|nfp_[0-9A-Za-z]{30,}|fm[12]_[0-9A-Za-z+/=_-]{40,}|NRAK-[0-9A-Z]{27}|sntry[su]_[0-9A-Za-z+/=_-]{40,}",
    r"|ATATT3[0-9A-Za-z_=-]{40,}|dckr_pat_[0-9A-Za-z_-]{20,}|rubygems_[0-9a-f]{40,}|sl\.[0-9A-Za-z_-]{60,}",
    r"|EAA[0-9A-Za-z]{60,}|r8_[0-9A-Za-z]{30,}|gsk_[0-9A-Za-z]{40,}|xai-[0-9A-Za-z]{40,}|pplx-[0-9a-zA-Z]{40,}",
    r"|tskey-[a-z]+-[0-9A-Za-z-]{16,}|ops_eyJ[0-9A-Za-z_-]{40,}|tfp_[0-9A-Za-z_-]{40,}|aio_[0-9A-Za-z]{28}",
    r"|[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}|cio[0-9A-Za-z]{32}(?-u:\b))",
);

/// Password hashes as `crypt` writes them.
const HASH_FORM: &str =
    r"(?<secret>\$(?:2[abxy]|[156y]|apr1|argon2(?:id|i|d))\$[A-Za-z0-9./+=,$-]{20,})";

/// Credentials in HTTP headers.
const HEADER_FORM: &str = concat!(
    r#"(?i)(?-u:\b)(?:(?:proxy-)?authorization\\?["']?\s*[:=,]\s*(?:[bf]?\\?["'`])?(?:(?:bearer|basic|token|apikey|digest|negotiate|aws4-hmac-sha256|key|bot|splunk|genie(?:key)?)\s+)?|bearer\s+)"#,
    r"(?<secret>[A-Za-z0-9._~+/-]{8,}=*)",
);

/// `scheme://user:password@host`; the password may hold signs that should have been escaped.
const URL_FORM: &str =
    r#"(?-u:\b)[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@"'`<>?#]*:(?<secret>[^\s/@"'`<>]+)@"#;
/// A token in the place of the user.
const URL_USER_FORM: &str =
    r"(?-u:\b)[A-Za-z][A-Za-z0-9+.-]*://(?<secret>[A-Za-z0-9_~.-]{16,})@[A-Za-z0-9]";
/// `user:password@tcp(host)/db`, as Go's driver for MySQL writes it.
const DSN_FORM: &str =
    r#"(?-u:\b)[A-Za-z0-9_.-]+:(?<secret>[^\s@"'`:]{3,})@(?:tcp|tcp6|unix|udp)\("#;
/// `user/password@host`, as Oracle writes it.
const ORACLE_FORM: &str = r#"(?i)(?:jdbc:oracle:[a-z0-9]+:|sqlplus\s+(?:-\w+\s+)*)[a-z0-9_$#]+/(?<secret>[^\s@"'`/]{3,})@"#;
/// Signatures and keys in the query of a URL, and secret parts of web hooks.
const QUERY_FORM: &str = r"(?i)[?&](?:sig|signature|x-amz-signature|x-amz-credential|x-goog-signature|key|code|access_token|api_?key|apikey|auth)=(?<secret>[A-Za-z0-9%_~.+/-]{16,}=*)";
const WEBHOOK_FORM: &str = r"(?i)(?:hooks\.slack\.com/(?:services|workflows)/|discord(?:app)?\.com/api/webhooks/[0-9]+/|outlook\.office\.com/webhook/|chat\.googleapis\.com/v1/spaces/)(?<secret>[A-Za-z0-9_/@-]{20,})";

/// Options of programs that take a password.
const PROGRAM_FORMS: [&str; 9] = [
    r#"(?-u:\b)(?:mysql|mysqldump|mysqladmin|mysqlimport|mariadb|mariadb-dump)(?-u:\b)[^\n;|]*?\s-p["']?(?<secret>[^\s"'`$-][^\s"'`]{3,})"#,
    r#"(?-u:\b)(?:mongo|mongosh|mongodump|mongorestore|mongoimport|sshpass|docker login|podman login|helm registry login|az login|ftp|lftp|psql)(?-u:\b)[^\n;|]*?\s-p\s?["']?(?<secret>[^\s"'`$-][^\s"'`]{3,})"#,
    r#"(?-u:\b)(?:curl|wget|http|https|xh)(?-u:\b)[^\n;|]*?\s(?:-u|--user|-U|--proxy-user|-a|--auth)[ =]?["']?[^\s:"'`@/]+:(?<secret>[^\s"'`]{3,})"#,
    r#"(?-u:\b)(?:redis-cli|valkey-cli)(?-u:\b)[^\n;|]*?\s-a\s+["']?(?<secret>[^\s"'`$-][^\s"'`]{3,})"#,
    r#"(?-u:\b)ldap[a-z]+(?-u:\b)[^\n;|]*?\s-w\s+["']?(?<secret>[^\s"'`$-][^\s"'`]{3,})"#,
    r#"(?-u:\b)(?:sqlcmd|bcp)(?-u:\b)[^\n;|]*?\s-P\s*["']?(?<secret>[^\s"'`$-][^\s"'`]{3,})"#,
    r#"(?-u:\b)smbclient(?-u:\b)[^\n;|]*?\s-U\s+["']?[^\s%"'`]+%(?<secret>[^\s"'`]{3,})"#,
    r#"(?-u:\b)-?pass(?:in|out)?\s+pass:(?<secret>[^\s"'`$]{3,})"#,
    r#"(?-u:\b)htpasswd\s+-[a-zA-Z]*b[a-zA-Z]*\s+\S+\s+\S+\s+["']?(?<secret>[^\s"'`$]{3,})"#,
];

/// Statements and calls that take a password by its place.
const PLACE_FORMS: [&str; 5] = [
    r"(?i)(?-u:\b)(?:identified\s+(?:with\s+\w+\s+)?by|(?:with\s+)?(?:encrypted\s+)?password)\s+'(?<secret>[^'\s]{4,})'",
    r"(?i)(?-u:\b)login\s+\S+\s+password\s+(?<secret>\S{3,})",
    r#"(?i)(?-u:\b)(?:auth\s*=\s*|(?:http)?basic_?auth(?:entication)?)\(\s*["'][^"'\n]*["']\s*,\s*["'](?<secret>[^"'\s]{4,})["']"#,
    r#"(?i)(?-u:\b)convertto-securestring\s+(?:-string\s+)?["'](?<secret>[^"'\s]{4,})["']"#,
    r#"(?im)^\s*(?:ENV|setenv|setx|set\s+-[a-z]+)\s+[a-z0-9_]*(?:password|passwd|pwd|secret|token|api_?key|access_?key)\s+["']?(?<secret>[^\s"'`$=][^\s"'`$]{3,})"#,
];

struct SecretForm {
    form: Regex,
    is_secret: fn(&str) -> bool,
}

impl SecretForm {
    fn new(form: &str, is_secret: fn(&str) -> bool) -> Self {
        Self { form: Regex::new(form).expect("the pattern is well formed"), is_secret }
    }

    fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.form.replace_all(text, |found: &Captures<'_>| {
            let whole = found.get_match();
            match found.name("secret").filter(|secret| (self.is_secret)(secret.as_str())) {
                None => whole.as_str().to_owned(),
                Some(secret) => {
                    let (before, after) =
                        (&text[whole.start()..secret.start()], &text[secret.end()..whole.end()]);
                    format!("{before}{MASK}{after}")
                }
            }
        })
    }
}

static SECRET_FORMS: LazyLock<Vec<SecretForm>> = LazyLock::new(|| {
    let mut forms = vec![
        SecretForm::new(TOKEN_FORMS, is_token),
        SecretForm::new(HASH_FORM, |_| true),
        SecretForm::new(HEADER_FORM, is_credential),
        SecretForm::new(URL_FORM, is_written_out),
        SecretForm::new(URL_USER_FORM, is_opaque),
        SecretForm::new(DSN_FORM, is_written_out),
        SecretForm::new(ORACLE_FORM, is_written_out),
        SecretForm::new(QUERY_FORM, is_opaque),
        SecretForm::new(WEBHOOK_FORM, is_written_out),
    ];
    forms.extend(PROGRAM_FORMS.map(|form| SecretForm::new(form, is_password)));
    forms.extend(PLACE_FORMS.map(|form| SecretForm::new(form, is_password)));
    forms
});

/// Masks what has the form of a secret.
pub(super) fn mask_forms(text: &str) -> Cow<'_, str> {
    let forms = SECRET_FORMS.iter();
    let masked = forms.fold(Cow::Borrowed(text), |text, form| mask_step(text, |t| form.mask(t)));
    mask_step(masked, mask_cookies)
}

/// Forms that begin like words need the look of a token.
fn is_token(text: &str) -> bool {
    let has_upper = has_char(text, char::is_ascii_uppercase);
    has_char(text, char::is_ascii_digit)
        && (!text.starts_with("sk-") || has_upper || text.len() >= 40)
        && !text.contains("EXAMPLE_")
}

/// Attributes of a cookie that are no secrets.
const COOKIE_ATTRIBUTES: [&str; 8] =
    ["path", "domain", "expires", "max-age", "samesite", "version", "comment", "priority"];

/// Masks the values of cookies in headers.
fn mask_cookies(text: &str) -> Cow<'_, str> {
    static HEADER: LazyLock<Regex> = LazyLock::new(|| {
        let header =
            r#"(?i)(?-u:\b)(?:set-)?cookie\\?["']?\s*[:=,]\s*\\?["']?(?<cookies>[^\n"'\\]+)"#;
        Regex::new(header).expect("the pattern is well formed")
    });
    static COOKIE: LazyLock<Regex> = LazyLock::new(|| {
        let cookie = r"(?<name>[^=;\s]+)=(?<secret>[^;\s,]+)";
        Regex::new(cookie).expect("the pattern is well formed")
    });
    HEADER.replace_all(text, |found: &Captures<'_>| {
        let (whole, cookies) = (found.get_match(), &found["cookies"]);
        let masked = COOKIE.replace_all(cookies, |cookie: &Captures<'_>| {
            let name = cookie["name"].to_ascii_lowercase();
            let (is_attribute, value) =
                (COOKIE_ATTRIBUTES.contains(&name.as_str()), &cookie["secret"]);
            let is_session = ["sess", "sid", "auth", "token", "jwt", "csrf", "xsrf", "remember"]
                .iter()
                .any(|word| name.contains(word));
            let is_secret = is_opaque(value) || is_session && is_strong_password(value);
            if is_attribute || !is_secret {
                cookie.get_match().as_str().to_owned()
            } else {
                format!("{}={MASK}", &cookie["name"])
            }
        });
        let head = &whole.as_str()[..whole.len() - cookies.len()];
        format!("{head}{masked}")
    })
}
