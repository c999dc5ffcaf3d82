//! A git repository in which everything that can execute something leaves a mark.
//!
//! The traps are what a hostile repository, or an agent that writes into one, can set: git's own
//! configuration and hooks, filters and drivers by attributes, submodules, names that are commands
//! to a shell, and files that other tools run. A mark is a file in the folder `marks`, or a file
//! called `pwned…` anywhere.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use retake_testkit::git;

use crate::support::World;

/// Every hook that git knows.
const HOOKS: [&str; 29] = [
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "reference-transaction",
    "push-to-checkout",
    "pre-auto-gc",
    "post-rewrite",
    "sendemail-validate",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-prepare-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "post-index-change",
    "query-watchman",
];

/// What a shell would do something about.
const NAMES: [&str; 9] = [
    "--upload-pack=touch pwned-upload",
    "-c",
    "-ccore.fsmonitor=touch pwned-option",
    "$(touch pwned-dollar)",
    "`touch pwned-backtick`",
    ";touch pwned-semicolon;",
    "|touch pwned-pipe",
    "a\ntouch pwned-newline\n",
    "' && touch pwned-quote && '",
];

/// A dialog, an agent, a message and a path that are commands.
pub(crate) const EVIL: &str = "$(touch pwned-word)`touch pwned-tick`;touch pwned-more;'\"";

/// The traps in a world, and what was caught.
pub(crate) struct Canary<'a> {
    world: &'a World,
}

impl<'a> Canary<'a> {
    /// Sets all traps in a world's project, which becomes a repository.
    pub(crate) fn set(world: &'a World) -> Self {
        let canary = Self { world };
        std::fs::create_dir_all(canary.marks()).unwrap();
        canary.write_program();
        canary.commit();
        canary.write_hooks();
        canary.write_configuration();
        canary.write_what_others_run();
        canary
    }

    fn marks(&self) -> PathBuf {
        self.world.outer().join("marks")
    }

    fn program(&self) -> PathBuf {
        self.world.outer().join("mark")
    }

    /// A command that leaves a mark of this name.
    fn mark(&self, name: &str) -> String {
        format!("{} {name}", self.program().display())
    }

    fn write_program(&self) {
        // A monitor that fails is not believed: otherwise git would see no change, and do less.
        let end = "case \"$1\" in *fsmonitor*) exit 1 ;; esac";
        let script = format!("#!/bin/sh\n: > '{}'/\"$1\"\n{end}\nexit 0\n", self.marks().display());
        write_executable(&self.program(), &script);
    }

    /// Two commits with files, attributes, names and a submodule; nothing is trapped yet.
    fn commit(&self) {
        let root = self.world.root();
        let run = |arguments: &[&str]| git::run(&root, arguments);
        run(&["init", "--quiet"]);
        self.world.write("a.txt", "one\ntwo\nthree\n");
        self.world.write("b.proc", "by a process\n");
        self.world.write("deep/c.txt", "deep\n");
        self.world.write(".gitignore", "ignored/\n");
        self.world.write("ignored/file", "ignored\n");
        run(&["add", "--all"]);
        run(&["commit", "--quiet", "-m", "first"]);
        run(&["branch", "other"]);
        let attributes = "* filter=x diff=x merge=x\n*.proc filter=p diff=p merge=p\n";
        self.world.write(".gitattributes", attributes);
        // The name ends in a carriage return, which git and its configuration read differently.
        let modules = "[submodule \"sub\r\"]\n\tpath = \"sub\\r\"\n\turl = ext::sh -c touch% pwned-submodule\n\tupdate = !touch pwned-update\n[submodule \"$(touch pwned-sub)\"]\n\tpath = ../x\n\turl = -u./x\n";
        self.world.write(".gitmodules", modules);
        for name in NAMES {
            self.world.write(name, "odd\n");
        }
        run(&["add", "--all"]);
        run(&["commit", "--quiet", "-m", "second"]);
        // As `git gc` leaves it: the packs are there to be borrowed.
        run(&["repack", "--quiet", "-ad"]);
    }

    fn write_hooks(&self) {
        let root = self.world.root();
        for (folder, prefix) in [(".git/hooks", "hook"), ("own-hooks", "own-hook")] {
            for hook in HOOKS {
                let script =
                    format!("#!/bin/sh\nexec {}\n", self.mark(&format!("{prefix}-{hook}")));
                write_executable(&root.join(folder).join(hook), &script);
            }
        }
    }

    fn write_configuration(&self) {
        let (root, person) = (self.world.root(), self.world.outer().join("person"));
        let mut config = std::fs::read_to_string(root.join(".git/config")).unwrap();
        config.push_str(&self.settings("repository", Some(&root.join("own-hooks"))));
        config.push_str("[include]\n\tpath = more.gitconfig\n");
        let _ = writeln!(
            config,
            "[includeIf \"gitdir:{0}/\"]\n\tpath = {0}/if.gitconfig\n[extensions]\n\tworktreeConfig = true",
            root.display()
        );
        // Files that never end, or that have no writer.
        let _ = writeln!(
            config,
            "[core]\n\texcludesFile = /dev/zero\n\tattributesFile = {}/fifo",
            self.world.outer().display()
        );
        std::fs::write(root.join(".git/config"), config).unwrap();
        let fifo = Command::new("mkfifo").arg(self.world.outer().join("fifo")).status();
        assert!(fifo.unwrap().success());
        for (file, name) in [
            (root.join(".git/more.gitconfig"), "included"),
            (root.join("if.gitconfig"), "included-if"),
            (root.join(".git/config.worktree"), "worktree"),
            (person.join(".gitconfig"), "person"),
        ] {
            std::fs::write(file, self.settings(name, None)).unwrap();
        }
    }

    /// Every setting of git that names a program.
    fn settings(&self, of: &str, hooks: Option<&Path>) -> String {
        let mark = |what: &str| {
            let command = self.mark(&format!("{of}-{what}"));
            format!("\"{}\"", command.replace('\\', "\\\\").replace('"', "\\\""))
        };
        let then_cat = |what: &str| {
            let command = self.mark(&format!("{of}-{what}"));
            format!("\"{command}; cat\"")
        };
        let mut text = format!("[core]\n\tfsmonitor = {}\n", mark("fsmonitor"));
        for name in ["sshCommand", "pager", "editor", "gitProxy", "askPass", "alternateRefsCommand"]
        {
            let _ = writeln!(text, "\t{name} = {}", mark(name));
        }
        if let Some(hooks) = hooks {
            let _ = writeln!(text, "\thooksPath = {}", hooks.display());
        }
        let _ = writeln!(
            text,
            "[filter \"x\"]\n\tclean = {}\n\tsmudge = {}\n[filter \"p\"]\n\tprocess = {}",
            then_cat("clean"),
            then_cat("smudge"),
            mark("process")
        );
        for driver in ["x", "p"] {
            let _ = writeln!(
                text,
                "[diff \"{driver}\"]\n\ttextconv = {}\n[merge \"{driver}\"]\n\tdriver = {}",
                mark("textconv"),
                mark("merge-driver")
            );
        }
        for (section, key) in [
            ("diff", "external"),
            ("credential", "helper"),
            ("gpg", "program"),
            ("uploadpack", "packObjectsHook"),
            ("sequence", "editor"),
            ("interactive", "diffFilter"),
            ("pager", "log"),
            ("pager", "status"),
            ("trailer \"x\"", "command"),
            ("submodule \"sub\"", "update"),
            ("remote \"origin\"", "uploadpack"),
            ("remote \"origin\"", "receivepack"),
            ("alias", "log"),
            ("alias", "hello"),
        ] {
            let name = format!("{}-{key}", section.split(' ').next().unwrap());
            let bang = if matches!(section, "alias") || section.starts_with("submodule") {
                "!"
            } else {
                ""
            };
            let _ = writeln!(
                text,
                "[{section}]\n\t{key} = {}",
                mark(&name).replacen('"', &format!("\"{bang}"), 1)
            );
        }
        let _ = writeln!(
            text,
            "[commit]\n\tgpgSign = true\n[log]\n\tshowSignature = true\n[protocol \"ext\"]\n\tallow = always\n\
             [remote \"origin\"]\n\turl = ext::{}\n[gc]\n\tauto = 1\n\tautoDetach = false",
            self.mark(&format!("{of}-remote")).replace(' ', "% ").replacen("% ", " ", 1)
        );
        text
    }

    /// What other tools run when they find it, and settings that look like Retake's own.
    fn write_what_others_run(&self) {
        let write = |name: &str, text: &str| self.world.write(name, text);
        write(".envrc", "touch pwned-envrc\n");
        write("Makefile", "all:\n\ttouch pwned-make\n");
        let scripts =
            r#"{"scripts":{"preinstall":"touch pwned-npm","postinstall":"touch pwned-npm"}}"#;
        write("package.json", scripts);
        write(
            ".claude/settings.json",
            r#"{"hooks":{},"statusLine":{"type":"command","command":"touch pwned-line"}}"#,
        );
        let settings = format!(
            "[hook]\ncommand = \"touch pwned-setting\"\n[summary]\nurl = \"http://127.0.0.1:9\"\n\
             model = \"m\"\n[shell]\nrun = \"{}\"\n",
            self.mark("workspace-setting")
        );
        for name in [
            "retake.toml",
            ".retake.toml",
            ".retake/config.toml",
            "config.toml",
            ".config/retake/config.toml",
        ] {
            write(name, &settings);
        }
        // Programs that are found first by a lookup in the current folder.
        for name in ["git", "sh", "less", "retake", "cat"] {
            let script = format!("#!/bin/sh\nexec {}\n", self.mark(&format!("local-{name}")));
            write_executable(&self.world.root().join(name), &script);
        }
    }

    /// What an agent, or the program that started it, may have put into the environment.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let root = self.world.root().display().to_string();
        let set = [
            ("GIT_CONFIG_COUNT", "2".to_owned()),
            ("GIT_CONFIG_KEY_0", "core.fsmonitor".to_owned()),
            ("GIT_CONFIG_VALUE_0", self.mark("env-fsmonitor")),
            ("GIT_CONFIG_KEY_1", "core.hooksPath".to_owned()),
            ("GIT_CONFIG_VALUE_1", format!("{root}/own-hooks")),
            ("GIT_CONFIG_PARAMETERS", format!("'core.fsmonitor={}'", self.mark("env-parameters"))),
            ("GIT_CONFIG_GLOBAL", format!("{root}/if.gitconfig")),
            ("GIT_CONFIG_SYSTEM", format!("{root}/if.gitconfig")),
            ("GIT_EXTERNAL_DIFF", self.mark("env-external-diff")),
            ("GIT_SSH_COMMAND", self.mark("env-ssh")),
            ("GIT_EDITOR", self.mark("env-git-editor")),
            ("GIT_ASKPASS", self.mark("env-askpass")),
            ("GIT_PROXY_COMMAND", self.mark("env-proxy")),
            ("GIT_TEMPLATE_DIR", format!("{root}/own-hooks")),
            ("GIT_DIR", format!("{root}/.git")),
            ("GIT_WORK_TREE", root),
            ("EDITOR", self.mark("env-editor")),
            ("VISUAL", self.mark("env-visual")),
            ("PAGER", self.mark("env-pager")),
            ("SHELL", self.mark("env-shell")),
        ];
        set.map(|(name, value)| (name.to_owned(), value)).into()
    }

    /// Every mark that is there.
    pub(crate) fn caught(&self) -> BTreeSet<String> {
        let mut caught = BTreeSet::new();
        let marks = self.marks();
        super::walk(&self.world.outer(), &mut |path, _| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.parent() == Some(&marks) || name.starts_with("pwned") {
                caught.insert(name);
            }
        });
        caught
    }

    /// git as a person runs it. Most of it fails because of the traps; what counts is what it ran.
    fn plain_git(&self, folder: &Path, arguments: &[&str]) {
        let mut git = Command::new("timeout");
        git.args(["20", "git"]).args(arguments).current_dir(folder).env_clear();
        git.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        git.env("HOME", self.world.outer().join("person"));
        git.envs([("GIT_AUTHOR_NAME", "x"), ("GIT_AUTHOR_EMAIL", "x@example.org")]);
        git.envs([("GIT_COMMITTER_NAME", "x"), ("GIT_COMMITTER_EMAIL", "x@example.org")]);
        git.output().unwrap();
    }

    /// Does in a copy of the project what people do, with plain git; gives the marks that are left
    /// by it, and removes them.
    pub(crate) fn control(&self) -> BTreeSet<String> {
        let copy = self.world.outer().join("copy");
        let copied = Command::new("cp").arg("-a").arg(self.world.root()).arg(&copy).status();
        assert!(copied.unwrap().success());
        // Without the files that never end: git would wait for them.
        let config = std::fs::read_to_string(copy.join(".git/config")).unwrap();
        let config = config.replace("/dev/zero", "/dev/null");
        let fifo = self.world.outer().join("fifo").display().to_string();
        std::fs::write(copy.join(".git/config"), config.replace(&fifo, "/dev/null")).unwrap();
        std::fs::write(copy.join("a.txt"), "changed\n").unwrap();
        self.plain_git(&copy, &["status"]);
        // The process that filters does not answer, at which git gives up: on without it.
        std::fs::write(copy.join(".gitattributes"), "* filter=x diff=x merge=x\n").unwrap();
        for arguments in [
            &["status"][..],
            &["diff"],
            &["add", "--all"],
            &["log", "-p", "-n", "1"],
            &["commit", "--no-gpg-sign", "-m", "control"],
            &["checkout", "--force", "other"],
            &["hello"],
            &["fetch", "origin"],
        ] {
            self.plain_git(&copy, arguments);
        }
        let shell = Command::new("sh")
            .args(["-c", "true $(touch pwned-control)"])
            .current_dir(&copy)
            .status();
        assert!(shell.unwrap().success());
        let caught = self.caught();
        std::fs::remove_dir_all(&copy).unwrap();
        std::fs::remove_dir_all(self.marks()).unwrap();
        std::fs::create_dir(self.marks()).unwrap();
        assert_eq!(self.caught(), BTreeSet::new(), "the traps are set again");
        caught
    }
}

fn write_executable(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
