//! Matches paths against the targets that a command destroys, erring towards a match.
//!
//! The folder that a command runs in may be misread (a `cd` that fails, a variable, a function), so
//! a target is matched against the end of every path: `build/*` is `build/x` in any folder. Globs
//! match more than any shell or git does: brackets and groups are any character or any text, case
//! is ignored, and `*` matches slashes, as in git. A target may also start above the project:
//! then the rest of it after the names of the project's own folders counts as well.

use std::path::{Component, Path};

use super::{CommandTarget, TargetEffect};

/// Substrings that mean destruction: text not followed that has one may destroy anything.
const DESTROYERS: &str = "append apply checkout clean copy delet drop dump edit empty erase exec extract git \
     gunzip gzip inplace install move open output patch pull purge put rebase remov renam replac reset \
     restor rsync save shred sponge stash switch system to_csv to_json trunc unlink unpack unzip updat \
     wipe writ xargs";
/// The same as whole words: as substrings these are too short.
const SHORT_DESTROYERS: &str = "cp dd ln mv rm rmdir rmtree sed tar tee zip";

/// Returns whether text that was not followed names anything that destroys files.
pub(super) fn mentions_destroyer(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
    text.contains('>')
        || DESTROYERS.split_ascii_whitespace().any(|part| text.contains(part))
        || words.any(|word| {
            // node calls them `rmSync` and the like.
            let word = word.strip_suffix("sync").unwrap_or(word);
            SHORT_DESTROYERS.split_ascii_whitespace().any(|known| known == word)
        })
}

/// Returns whether text that was not followed names git.
pub(super) fn mentions_git(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == "git")
}

/// Matches the paths that one target of a command may destroy, in any working folder.
#[derive(Debug)]
pub(crate) struct DangerMatcher {
    /// The possible readings of the target.
    patterns: Vec<DangerPattern>,
    /// A folder that matches is destroyed with its content.
    beneath: bool,
}

#[derive(Debug)]
enum DangerPattern {
    /// The folder itself: everything.
    Everything,
    /// This text, in lower case.
    Text(String),
    Glob(Vec<GlobPiece>),
}

/// A part of a glob, in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GlobPiece {
    Char(char),
    AnyChar,
    AnyText,
}

impl DangerMatcher {
    /// Creates the matcher of a target for the project at `root`.
    pub(crate) fn of(target: &CommandTarget, root: &Path) -> Self {
        let text = relative(&target.path).to_lowercase();
        let parts: Vec<_> = text.split('/').filter(|part| !part.is_empty()).collect();
        let mut patterns = vec![DangerPattern::of(&parts, target.glob)];
        let starts = starts_at_root(&parts, target, root);
        patterns.extend(starts.into_iter().map(|at| DangerPattern::of(&parts[at..], target.glob)));
        let writes = matches!(target.what, TargetEffect::Write | TargetEffect::Append);
        let beneath = target.recursive || target.glob || !writes;
        Self { patterns, beneath }
    }

    /// Returns whether a path, relative to the root and in lower case, may be destroyed.
    pub(crate) fn threatens(&self, path: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.threatens(path, self.beneath))
    }

    /// Returns whether a folder of this name, in lower case, is a component of the target.
    pub(crate) fn passes(&self, folder: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.passes(folder))
    }
}

impl DangerPattern {
    fn of(parts: &[&str], glob: bool) -> Self {
        match parts.join("/") {
            text if text.is_empty() => Self::Everything,
            text if glob => Self::Glob(pieces(&text)),
            text => Self::Text(text),
        }
    }

    fn threatens(&self, path: &str, beneath: bool) -> bool {
        match self {
            Self::Everything => true,
            Self::Text(text) => has_text(path, text, beneath),
            Self::Glob(pieces) => {
                // `x/` above the path, if the target takes what is in a folder.
                let ends = path.match_indices('/').map(|(at, _)| at).filter(|_| beneath);
                ends.chain([path.len()]).any(|end| {
                    let starts = path[..end].match_indices('/').map(|(at, _)| at + 1);
                    let mut starts = [0].into_iter().chain(starts);
                    starts.any(|start| matches(pieces, &path[start..end]))
                })
            }
        }
    }

    fn passes(&self, folder: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Text(text) => text.split('/').any(|part| part == folder),
            Self::Glob(pieces) => {
                let text: String = pieces.iter().map(|piece| piece.letter()).collect();
                text.split('/').any(|part| part == folder)
            }
        }
    }
}

/// Returns the indices of the target's components at which the project's root may end: those
/// before are the root's last folders, or the whole target is a folder above it.
fn starts_at_root(parts: &[&str], target: &CommandTarget, root: &Path) -> Vec<usize> {
    let folders = root.components().filter(|part| matches!(part, Component::Normal(_)));
    let folders: Vec<_> =
        folders.map(|part| part.as_os_str().to_string_lossy().to_lowercase()).collect();
    let is_same = |part: &&str, folder: &String| {
        *part == folder || (target.glob && matches(&pieces(part), folder))
    };
    let are_same = |parts: &[&str], folders: &[String]| {
        parts.iter().zip(folders).all(|(part, folder)| is_same(part, folder))
    };
    let is_above = target.path.starts_with('/')
        && parts.len() < folders.len()
        && are_same(parts, &folders[..parts.len()]);
    // `**` is any number of folders.
    let is_any = |at: usize| target.glob && parts[..at].iter().any(|part| part.contains("**"));
    let most = parts.len().min(folders.len());
    let ends =
        (1..=most).filter(|count| are_same(&parts[..*count], &folders[folders.len() - count..]));
    let above = is_above.then_some(parts.len());
    ends.chain(above).chain((1..parts.len()).filter(|at| is_any(*at))).collect()
}

/// Returns whether a name may match a part of a pattern.
pub(crate) fn name_matches(pattern: &str, name: &str) -> bool {
    matches(&pieces(&pattern.to_lowercase()), &name.to_lowercase())
}

/// Returns whether a path ends in these components, or lies beneath such a folder.
fn has_text(path: &str, text: &str, beneath: bool) -> bool {
    path.match_indices(text).any(|(at, found)| {
        let begins = at == 0 || path[..at].ends_with('/');
        let rest = &path[at + found.len()..];
        begins && (rest.is_empty() || (beneath && rest.starts_with('/')))
    })
}

impl GlobPiece {
    fn letter(self) -> char {
        match self {
            Self::Char(c) => c,
            Self::AnyChar => '?',
            Self::AnyText => '*',
        }
    }

    fn is(self, c: char) -> bool {
        match self {
            Self::Char(own) => own == c,
            Self::AnyChar => true,
            Self::AnyText => false,
        }
    }
}

/// Returns the part of a target that does not depend on its folder; empty is the folder itself.
fn relative(text: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            // The component before it may be a symlink.
            ".." => parts.clear(),
            // The text may have changed `HOME`.
            part if part.starts_with('~') && parts.is_empty() => {}
            part => parts.push(part),
        }
    }
    if text.starts_with('~') {
        parts.drain(..parts.len().saturating_sub(1));
    }
    parts.join("/")
}

fn pieces(text: &str) -> Vec<GlobPiece> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let mut used = c.len_utf8();
        let piece = match c {
            '\\' => {
                let next = rest[1..].chars().next();
                used += next.map_or(0, char::len_utf8);
                GlobPiece::Char(next.unwrap_or(c))
            }
            // `**/` is no folder, too.
            '*' => {
                let stars = rest.len() - rest.trim_start_matches('*').len();
                used = stars + usize::from(stars > 1 && rest[stars..].starts_with('/'));
                GlobPiece::AnyText
            }
            '?' => GlobPiece::AnyChar,
            // Shells disagree where brackets end, as classes contain brackets: the last one is
            // taken.
            '[' => match rest.rfind(']') {
                Some(end) => {
                    used = end + 1;
                    GlobPiece::AnyText
                }
                None => GlobPiece::AnyChar,
            },
            c => GlobPiece::Char(c),
        };
        rest = &rest[used..];
        // A star beside a star says nothing more.
        if pieces.last() != Some(&GlobPiece::AnyText) || piece != GlobPiece::AnyText {
            pieces.push(piece);
        }
    }
    pieces
}

/// Returns whether the glob matches the whole text; backtracks only to the last star.
fn matches(pattern: &[GlobPiece], text: &str) -> bool {
    let (mut at, mut rest) = (0, text.chars());
    let mut star = None;
    loop {
        let mut ahead = rest.clone();
        match (pattern.get(at), ahead.next()) {
            (Some(GlobPiece::AnyText), _) => {
                star = Some((at, rest.clone()));
                at += 1;
                continue;
            }
            (Some(piece), Some(c)) if piece.is(c) => {
                (at, rest) = (at + 1, ahead);
                continue;
            }
            (None, None) => return true,
            _ => {}
        }
        let Some((place, taken)) = &mut star else { return false };
        if taken.next().is_none() {
            return false;
        }
        (at, rest) = (*place + 1, taken.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether `target`, a pattern if it looks like one, threatens `path`.
    fn threatens(target: &str, path: &str) -> bool {
        let glob = target.contains(['*', '?', '[']);
        let (path_text, cwd, what) = (target.to_owned(), None, TargetEffect::Delete);
        let target = CommandTarget { path: path_text, cwd, glob, recursive: true, what };
        DangerMatcher::of(&target, Path::new("/w/Project")).threatens(&path.to_lowercase())
    }

    #[test]
    fn targets_threaten_what_they_may_mean_in_any_folder() {
        for (target, path) in [
            (".env", ".env"),
            (".env", "sub/.env"),
            ("./x/../.env", "sub/.env"),
            ("build", "a/build/b/c"),
            ("build/*", "a/build/b/c"),
            ("*.log", "a/b.log"),
            ("**/*.log", "b.log"),
            ("src/**/z.log", "src/z.log"),
            ("[a-z].log", "x.log"),
            ("[[:upper:]]*.log", "B.log"),
            ("[!]a].log", "B.log"),
            ("a[", "a["),
            ("A.LOG", "a.log"),
            ("src*log", "src/a/b.log"),
            ("*", "anything/at/all"),
            (".", "anything"),
            ("..", "anything"),
            ("sub/", "sub/x"),
            ("build/./x", "build/x"),
            ("../build/.", "build/x"),
            ("~/p/.env", ".env"),
            ("/w/project/*", "build/x.log"),
            ("/w/project/*.log", "sub/x.log"),
            ("/w/project/*/x.log", "build/x.log"),
            ("/w/project/x.lo?", "x.log"),
            ("/w/p*/build", "build/x.log"),
            ("/w/*", "build/x.log"),
            ("/*", "build/x.log"),
            ("/**/x.log", "x.log"),
            ("../project/*.log", "x.log"),
            ("../proj*", "x.log"),
            ("pro*/build/*", "build/x.log"),
            ("project/build", "build/x.log"),
            ("w/project/*.log", "x.log"),
        ] {
            assert!(threatens(target, path), "{target} {path}");
        }
        for (target, path) in [
            (".env", ".envrc"),
            ("build", "builds/x"),
            ("*.log", "a.txt"),
            ("a/b", "b"),
            ("/tmp/*.log", "x.log"),
            ("/w/other/*", "build/x"),
            ("/w/project/build/*", "x.log"),
            ("../other/*.log", "x.log"),
        ] {
            assert!(!threatens(target, path), "{target} {path}");
        }
    }

    #[test]
    fn text_that_was_not_followed_may_destroy_if_it_says_so() {
        assert!(mentions_destroyer("eval \"$X\"; rm -rf y"));
        assert!(mentions_destroyer("echo x > $f"));
        assert!(mentions_destroyer("python -c 'shutil.rmtree(\"d\")'"));
        assert!(!mentions_destroyer("make farm"));
        assert!(
            mentions_destroyer("node -e 'fs.rmSync(1)'") && !mentions_destroyer("rsyn farmsync")
        );
        assert!(mentions_destroyer("python -c 'shutil.copyfile(a, b)'"));
        assert!(mentions_git("echo 'git stash' | sh") && !mentions_git("cat .gitignore"));
    }
}
