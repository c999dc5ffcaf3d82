//! Ignore rules against git itself, on random trees.
//!
//! Found this way: no difference between gix-ignore and git 2.47 on these
//! patterns. (Outside of them: gix-ignore also strips UTF-16 byte order marks.)

use std::collections::BTreeSet;

use fastrand::Rng;
use retake_model::ProjectPath;
use retake_workspace::{IgnoreRules, RuleSources, StatCache};

use crate::support::{Project, git, path};

/// 8,000 single trees were run once; these are for every day. Every other root
/// holds a tree under each of [`NAMES`], because starting git is what takes time.
const ROOTS: u64 = 60;

const NAMES: &[&str] = &[
    "a", "b", "ab", "abc", "c.log", "d.txt", "e.LOG", "foo", "bar", "build", "x y", "#h", "!n",
    "[x]", "x", "tr ", "s\\t", "\u{e9}", "foo.bar", ".hid", "a-b", "**", "*", "?", "\\", "$d",
];

const ATOMS: &[&str] = &[
    "*",
    "**",
    "?",
    "a*",
    "*b",
    "*.log",
    "*.*",
    "[ab]",
    "[!a]",
    "[^b]*",
    "[a-c]*",
    "[[:alpha:]]*",
    "[x]",
    "\\[x\\]",
    "\\#h",
    "\\!n",
    "tr\\ ",
    "tr ",
    "s\\\\t",
    "x\\ y",
    "f?o",
    "foo*bar",
    "*o*",
    "\\*",
    "\\?",
    "[",
    "[]",
    "[a",
    "a\\",
    "\\a",
    "[]x]*",
    "[*]",
    ".*",
    "*[!o]",
    "\\\\",
    "$d",
    "\\$d",
];

#[test]
fn scan_sees_what_git_sees() {
    let host = Project::new();
    host.git(&["init", "-q", "git"]);
    let git_dir = host.at("git/.git");
    let global = host.at("global");
    let mut ignored_somewhere = 0;
    for seed in 0..ROOTS {
        let mut rng = Rng::with_seed(seed);
        let project = Project::large();
        if seed % 2 == 0 {
            fill(&mut rng, &project, "", 0);
        } else {
            for name in NAMES {
                std::fs::create_dir(project.at(name)).unwrap();
                fill(&mut rng, &project, name, 0);
            }
        }
        let base = RuleSources {
            exclude: if rng.bool() { ignore_file(&mut rng) } else { Vec::new() },
            global: if rng.u8(..3) == 0 { ignore_file(&mut rng) } else { Vec::new() },
            ..RuleSources::default()
        };
        std::fs::write(git_dir.join("info/exclude"), &base.exclude).unwrap();
        std::fs::write(&global, &base.global).unwrap();

        let listed = git(
            project.root(),
            &[
                &format!("--git-dir={}", git_dir.display()),
                "--work-tree=.",
                "-c",
                &format!("core.excludesFile={}", global.display()),
                "ls-files",
                "-z",
                "--others",
                "--exclude-standard",
            ],
        );
        let theirs: BTreeSet<_> =
            listed.split(|&b| b == 0).filter(|p| !p.is_empty()).map(path).collect();
        let scan = project.scan(&StatCache::default(), &base);
        let ours: BTreeSet<_> = scan.suspects.into_iter().map(|suspect| suspect.path).collect();
        assert_eq!(scan.gaps, []);
        let only_git: Vec<_> = theirs.difference(&ours).collect();
        let only_us: Vec<_> = ours.difference(&theirs).collect();
        let sources: Vec<_> = scan
            .sources
            .ignore_files
            .iter()
            .map(|(folder, text)| {
                (folder.escape_ascii().to_string(), text.escape_ascii().to_string())
            })
            .collect();
        assert!(
            only_git.is_empty() && only_us.is_empty(),
            "seed {seed}: only git keeps {only_git:?}, only we keep {only_us:?}\n\
             exclude {:?}\nglobal {:?}\nfiles {sources:#?}",
            base.exclude.escape_ascii().to_string(),
            base.global.escape_ascii().to_string(),
        );
        ignored_somewhere += usize::from(scan.ignored_count > 0);

        // The rules as a value answer for every file as the walk did.
        let rules = IgnoreRules::new(scan.sources);
        for file in files_of(&project, "") {
            let ignored = rules.is_ignored(&file, false);
            assert_eq!(ignored, !ours.contains(&file), "seed {seed}: {file:?}");
        }
        for ignored in &scan.ignored {
            let why = rules.why_ignored(&ignored.path, ignored.is_dir);
            assert_eq!(why.as_ref(), Some(&ignored.by), "seed {seed}: {:?}", ignored.path);
        }
    }
    assert!(
        ignored_somewhere > ROOTS as usize / 2,
        "the patterns must matter: {ignored_somewhere}"
    );
}

/// All files of the project, whatever the rules say.
fn files_of(project: &Project, folder: &str) -> Vec<ProjectPath> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(project.at(folder)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let child = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        if entry.file_type().unwrap().is_dir() {
            files.extend(files_of(project, &child));
        } else {
            files.push(path(child));
        }
    }
    files
}

/// Fills a folder with random files, folders and an ignore file.
fn fill(rng: &mut Rng, project: &Project, folder: &str, depth: usize) {
    for _ in 0..rng.usize(1..6) {
        let name = *rng.choice(NAMES).unwrap();
        let child = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        if project.at(&child).symlink_metadata().is_ok() {
            continue;
        }
        match rng.u8(..10) {
            0..5 if depth < 4 => {
                std::fs::create_dir(project.at(&child)).unwrap();
                fill(rng, project, &child, depth + 1);
            }
            5 => std::os::unix::fs::symlink("a", project.at(&child)).unwrap(),
            _ => project.write(&child, ""),
        }
    }
    if rng.u8(..3) > 0 || depth == 0 {
        let content = ignore_file(rng);
        project
            .write([folder, ".gitignore"].join(if folder.is_empty() { "" } else { "/" }), content);
    }
}

fn ignore_file(rng: &mut Rng) -> Vec<u8> {
    let mut text = if rng.u8(..20) == 0 { "\u{feff}".to_owned() } else { String::new() };
    for _ in 0..rng.usize(0..5) {
        text.push_str(&line(rng));
        text.push_str(if rng.u8(..10) == 0 { "\r\n" } else { "\n" });
    }
    if rng.bool() {
        text.pop();
    }
    text.into_bytes()
}

fn line(rng: &mut Rng) -> String {
    match rng.u8(..20) {
        0 => return "# a".to_owned(),
        1 => {
            return rng.choice(["", " ", "!", "/", "//", "!/", "\\"]).unwrap().to_owned();
        }
        _ => {}
    }
    let mut parts = Vec::new();
    for _ in 0..=rng.usize(..4) / 2 {
        let atoms = if rng.bool() { ATOMS } else { NAMES };
        parts.push(*rng.choice(atoms).unwrap());
    }
    let prefix = rng.choice(["", "", "", "/", "!", "!", "!/", "**/"]).unwrap();
    let suffix = rng.choice(["", "", "", "/", "/*", "/**", " ", "  ", "\t", "//"]).unwrap();
    format!("{prefix}{}{suffix}", parts.join("/"))
}
