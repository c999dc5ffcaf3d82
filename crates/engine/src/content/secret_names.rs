//! Recognises files that usually hold secrets, by their names.

use retake_model::ProjectPath;

/// Suffixes of keys, certificates with keys, and key stores.
const SECRET_SUFFIXES: [&str; 10] =
    [".env", ".pem", ".key", ".p8", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk"];

const SECRET_FILE_NAMES: [&str; 16] = [
    ".envrc",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".htpasswd",
    ".pypirc",
    ".npmrc",
    ".dockercfg",
    "credentials",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "kubeconfig",
];

/// Suffixes with which files of such names are data, not code.
const DATA_SUFFIXES: [&str; 9] =
    [".json", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".properties", ".txt", ".xml"];
const SECRET_DATA_STEMS: [&str; 5] =
    ["credential", "credentials", "secret", "secrets", "service-account"];

/// Last words of names of samples.
const SAMPLE_WORDS: [&str; 4] = ["example", "sample", "template", "dist"];

/// Returns whether a file of this name usually holds secrets.
pub fn usually_holds_secrets(path: &ProjectPath) -> bool {
    let name = String::from_utf8_lossy(path.file_name()).to_ascii_lowercase();
    let is_sample = is_sample(path);
    let is_data = DATA_SUFFIXES.iter().filter_map(|ending| name.strip_suffix(ending));
    (name.starts_with(".env.") && !is_sample)
        || SECRET_FILE_NAMES.contains(&name.as_str())
        || SECRET_SUFFIXES.iter().any(|ending| name.ends_with(ending))
        || is_data.into_iter().any(|stem| SECRET_DATA_STEMS.contains(&stem))
}

/// Returns whether the name says that a file only shows what another one should hold.
pub(crate) fn is_sample(path: &ProjectPath) -> bool {
    let name = path.file_name().to_ascii_lowercase();
    SAMPLE_WORDS.iter().any(|word| name.ends_with(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_names() {
        let is = |path: &str| usually_holds_secrets(&path.parse().unwrap());
        for path in [
            ".env",
            "a/.env.local",
            "prod.env",
            "x/ID_RSA",
            "server.pem",
            "secrets.yml",
            "config/credentials.json",
            ".npmrc",
        ] {
            assert!(is(path), "{path}");
        }
        for path in [
            "id_rsa.pub",
            ".env.example",
            "key.rs",
            "secrets.rs",
            "credentials.ts",
            "keys.json",
            "secret/README.md",
        ] {
            assert!(!is(path), "{path}");
        }
    }
}
