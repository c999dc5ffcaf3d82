//! An independent look at the seam: what strace sees of the child.
//!
//! Every system call that changes the project or Retake's home comes right after a step of the seam
//! that announced it, so no kill or error of a sweep jumps over one. And strace itself kills the child
//! at such calls and lets them fail, without the seam.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::process::{Command, Output};

use retake_engine::PurgeTarget;
use retake_testkit::machine::{self, MachineRequirement};
use retake_testkit::{TestProject, child, play, proof_counts};

use super::{prepared, tell_story, verify_story, with_files};

/// System calls that change something, or make it durable; of one, older ones of strace do not know.
const CALLS: &str = "write,pwrite64,writev,pwritev,pwritev2,sendfile,copy_file_range,splice,\
    truncate,ftruncate,fallocate,open,openat,openat2,creat,rename,renameat,renameat2,link,linkat,\
    symlink,symlinkat,unlink,unlinkat,mkdir,mkdirat,rmdir,mknod,mknodat,chmod,fchmod,fchmodat,\
    ?fchmodat2,chown,fchown,lchown,fchownat,utimensat,setxattr,lsetxattr,fsetxattr,fsync,fdatasync,\
    sync,syncfs,sync_file_range";

/// One system call.
struct Call {
    thread: String,
    name: String,
    text: String,
}

impl Call {
    fn parse(line: &str) -> Option<Self> {
        let (thread, rest) = line.split_once(' ')?;
        let (name, text) = rest.trim_start().split_once('(')?;
        Some(Self { thread: thread.into(), name: name.into(), text: text.into() })
    }

    /// Whether it changes what is beneath a folder.
    fn changes(&self, folder: &Path) -> bool {
        let opens = matches!(self.name.as_str(), "open" | "openat" | "openat2");
        let creates = self.text.contains("O_CREAT") || self.text.contains("O_TRUNC");
        // The index of SQLite's log lies in memory that is shared by means of a file: it is made
        // anew after a kill.
        let is_shared_memory = self.text.contains("retake.db-shm");
        let is_here = self.text.contains(folder.to_str().unwrap());
        is_here && !is_shared_memory && (!opens || creates)
    }

    /// SQLite syncs the folder of a file that it has made or removed, and gives the file its owner:
    /// neither changes what a killed process leaves.
    fn follows_in_sqlite(&self) -> bool {
        let is_database = self.text.contains("retake.db");
        match self.name.as_str() {
            "fchown" | "fchmod" => is_database,
            "fsync" | "fdatasync" => true,
            _ => false,
        }
    }
}

fn strace(role: &str, project: &TestProject, arguments: &[&str]) -> Command {
    let child = child::command(role);
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-y", "-s", "200", "-e", "signal=none"]).args(arguments);
    strace.arg(child.get_program()).args(child.get_args());
    for (name, value) in child.get_envs() {
        strace.env(name, value.unwrap());
    }
    strace.env(child::OUTER_VARIABLE, project.outer());
    strace
}

/// Everything that writes, in a short time. Agents write by a shell, which is another program.
const EVERYTHING: &str = "
    say d: go
    shell d s1: echo agent > f0.txt; mkdir g; echo new > g/new.txt; rm f1.txt; ln -s f0.txt link
    shell d s2: chmod 755 f0.txt; mv f2.txt h.txt; head -c 300000 /dev/urandom > large
    turn-end d
    checkpoint one
    undo
    redo
    reject call=s1
    accept call=s2
    restore one
    approve d
";

fn do_everything() {
    let project = child::project();
    project.init();
    play(&project, EVERYTHING);
    let (opened, at) = (project.open(), project.tick());
    opened.collect_garbage(at, &mut |_, _| {}).unwrap();
    opened.purge(&PurgeTarget::Path("large".parse().unwrap()), at).unwrap();
}

#[test]
fn every_call_that_strace_sees_is_announced_by_a_step() {
    if child::role().is_some() {
        return do_everything();
    }
    if !machine::has_all(&[MachineRequirement::Program("strace")]) {
        return;
    }
    let (project, aside) = (with_files(), tempfile::tempdir().unwrap());
    let (steps, seen) = (aside.path().join("steps"), aside.path().join("seen"));
    let trace = format!("trace=execve,{CALLS}");
    let output = strace("everything", &project, &["-e", &trace, "-o", seen.to_str().unwrap()])
        .env("RETAKE_COUNT_STEPS", &steps)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen = std::fs::read_to_string(seen).unwrap();
    let mut announced: HashMap<String, String> = HashMap::new();
    let (mut last, mut changing) = (String::new(), 0);
    let mut others: HashSet<String> = HashSet::new();
    for call in seen.lines().filter_map(Call::parse).skip(1) {
        if call.name == "execve" {
            others.insert(call.thread);
            continue;
        }
        if call.name == "write" && call.text.contains(steps.to_str().unwrap()) {
            last.clone_from(&call.text);
            announced.insert(call.thread, call.text);
            continue;
        }
        if others.contains(&call.thread) || !call.changes(project.outer()) {
            continue;
        }
        changing += 1;
        let step = announced.remove(&call.thread);
        let is_fine = step.is_some() || call.follows_in_sqlite() && last.contains("sqlite");
        assert!(is_fine, "nobody announced {}({}\nlast step: {last}", call.name, call.text);
    }
    assert!(changing > 300, "only {changing} calls: does strace see the child?");
    proof_counts::record_count("strace", "announced", "everything", changing);
}

/// Kills and errors at system calls themselves, by strace.
#[test]
fn strace_kills_at_calls_that_change_something() {
    if child::role().is_some() {
        return tell_story();
    }
    if !machine::has_all(&[MachineRequirement::Program("strace")]) {
        return;
    }
    let project = prepared();
    let kept = project.copy_all();
    let seen = project.outer().join("seen");
    let trace = format!("trace={CALLS}");
    let run =
        |arguments: &[&str]| -> Output { strace("record", &project, arguments).output().unwrap() };
    assert!(run(&["-e", &trace, "-o", seen.to_str().unwrap()]).status.success());
    let seen = std::fs::read_to_string(seen).unwrap();
    // strace counts the calls of a name for each thread by itself, whatever they change. The agent
    // of the story writes in the project, Retake only in its home.
    let mut counts: BTreeMap<String, (usize, Vec<usize>)> = BTreeMap::new();
    let calls: Vec<_> = seen.lines().filter_map(Call::parse).collect();
    let worker = &calls.iter().find(|call| call.changes(&project.home())).unwrap().thread;
    for call in calls.iter().filter(|call| call.thread == *worker) {
        let (count, changing) = counts.entry(call.name.clone()).or_default();
        *count += 1;
        if call.changes(&project.home()) {
            changing.push(*count);
        }
    }
    let mut tries = 0;
    for (name, (_, changing)) in &counts {
        for at in some_of(changing) {
            for how in ["signal=KILL", "error=EIO"] {
                project.restore_copy(&kept);
                let inject = format!("inject={name}:{how}:when={at}");
                let only = format!("trace={name}");
                let output = run(&["-e", &only, "-e", &inject, "-o", "/dev/null"]);
                verify_story(&project, &child::acknowledged(&output.stdout));
                tries += 1;
            }
        }
    }
    assert!(tries > 20, "only {tries} of {counts:?}");
    proof_counts::record_count("strace", "injected", "record", tries);
}

/// By default the first, the middle and the last.
fn some_of(places: &[usize]) -> Vec<usize> {
    match places.len() {
        many if many > 3 && !proof_counts::is_long_run() => {
            vec![places[0], places[many / 2], places[many - 1]]
        }
        _ => places.to_vec(),
    }
}
