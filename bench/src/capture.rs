//! Agents' edits reported by hooks: the cost of each hook, of a rollback, and the disk space.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::cases::{self, DAEMON, JJ, RETAKE, SEEDED, SHADOW};
use crate::compare::{Comparison, edit_files, print_progress, read_contents};
use crate::fill::EditedText;
use crate::peers::{GitTuning, JjPeer, Peer, ReferenceCosts, RetakePeer, SeededGit, ShadowGit};
use crate::process::run;
use crate::trees::TreeTemplate;
use crate::{files, generate};

const CAPTURE_COUNT: usize = 100;
/// Number of contents that are compressed to estimate the space of all of them.
const SAMPLE_COUNT: u64 = 50;

/// Hooks, rollback and the space of captures on one tree.
pub(crate) fn measure_tree(
    arena: &mut Comparison<'_>,
    tree: &TreeTemplate,
    references: &mut ReferenceCosts,
    wants: &dyn Fn(&str) -> bool,
) -> Result<()> {
    let tools = arena.tools;
    let mut peers = Vec::new();
    for (name, daemon) in [(RETAKE, false), (DAEMON, true)] {
        let site = tree.copy(tools, &format!("agent {name}"))?;
        for (size, bytes) in cases::SIZES {
            let text = generate::text(11, bytes);
            files::write(&site.root.join(edited_file(size)), text.as_bytes())?;
        }
        let mut peer = RetakePeer::new(tools, name, site, daemon);
        peer.first_checkpoint()?;
        peers.push(peer);
    }
    if wants("hook") {
        hooks(arena, tree, &peers, references)?;
    }
    if wants("rollback") {
        rollbacks(arena, tree, &peers)?;
    }
    if wants("hook") {
        // Last, when everything else in this run has done its work.
        let bytes = peers[1].daemon_peak_kib().unwrap_or(0) * 1024;
        arena.book.add_bytes(&tree.facts.name, cases::DAEMON_MEMORY, DAEMON, bytes);
    }
    for mut peer in peers {
        peer.stop()?;
        files::remove(peer.root().parent().context("a copy has a folder")?)?;
    }
    if wants("space") { captures(arena, tree) } else { Ok(()) }
}

fn edited_file(size: &str) -> PathBuf {
    PathBuf::from(format!("edited_{}.rs", size.replace(' ', "_")))
}

fn hooks(
    arena: &mut Comparison<'_>,
    tree: &TreeTemplate,
    peers: &[RetakePeer],
    references: &mut ReferenceCosts,
) -> Result<()> {
    print_progress("  hooks");
    let mut agents: Vec<_> = peers.iter().map(|peer| (peer, peer.agent("hooks"))).collect();
    for round in 0..arena.rounds {
        for (size, _) in cases::SIZES {
            for (peer, agent) in &mut agents {
                let file = edited_file(size);
                let text = std::fs::read_to_string(peer.root().join(&file))?;
                let old = text.lines().rfind(|line| line.len() > 20).context("an edited line")?;
                let captured = agent.edit(&file, old, &format!("{old} // edit {round}"))?;
                let name = peer.name();
                let mut note =
                    |case: &str, run| arena.book.add_time(&tree.facts.name, case, name, run);
                note(&cases::hook_begin(size), captured.begin);
                note(&cases::hook_end(size), captured.end);
            }
        }
        arena.measure_references(tree, references, round)?;
    }
    for (peer, _) in &agents {
        let (there, expected) = (peer.recorded("hooks")?, arena.rounds * cases::SIZES.len());
        ensure!(there == expected, "{} has {there} of {expected} changes", peer.name());
    }
    Ok(())
}

fn rollbacks(arena: &mut Comparison<'_>, tree: &TreeTemplate, peers: &[RetakePeer]) -> Result<()> {
    print_progress("  rollbacks");
    let paths = &tree.editable[..10];
    for round in 0..arena.rounds {
        for peer in peers {
            let before = read_contents(peer.root(), paths)?;
            let dialog = format!("rollback-{round}");
            let mut agent = peer.agent(&dialog);
            for path in paths {
                let text = std::fs::read_to_string(peer.root().join(path))?;
                let old = text.lines().next().context("an edited file has lines")?;
                agent.edit(path, old, &format!("{old} // agent {round}"))?;
            }
            ensure!(read_contents(peer.root(), paths)? != before, "the agent changed nothing");
            files::sync_file_system(arena.scratch)?;
            let run = peer.roll_back(&dialog)?;
            ensure!(read_contents(peer.root(), paths)? == before, "the rollback is not complete");
            arena.book.add_time(&tree.facts.name, cases::ROLLBACK, peer.name(), run);
        }
    }
    Ok(())
}

/// Measures the space that one hundred captures of one changed file each add.
fn captures(arena: &mut Comparison<'_>, tree: &TreeTemplate) -> Result<()> {
    print_progress("  space of captures");
    let tools = arena.tools;
    let with_jj = arena.jj;
    let copy = |name: &str| tree.copy(tools, &format!("space {name}"));
    let mut note = |name: &str, bytes: u64| {
        arena.book.add_bytes(&tree.facts.name, cases::SPACE_CAPTURES, name, bytes);
    };
    let mut retake = RetakePeer::new(tools, RETAKE, copy(RETAKE)?, false);
    retake.first_checkpoint()?;
    let before = retake.space()?.own;
    let mut agent = retake.agent("captures");
    for round in 0..CAPTURE_COUNT {
        let path = &tree.editable[round % tree.editable.len()];
        let text = std::fs::read_to_string(retake.root().join(path))?;
        let old = text.lines().next().context("an edited file has lines")?;
        agent.edit(path, old, &format!("{old} // agent {round}"))?;
    }
    let untidy = retake.space_before_cleanup()?.own.saturating_sub(before);
    note("Retake, before its log was cut off", untidy);
    note(RETAKE, retake.space()?.own.saturating_sub(before));
    let shadow = ShadowGit::new(tools, SHADOW, copy(SHADOW)?, GitTuning::Plain);
    let seeded = SeededGit::new(tools, SEEDED, copy(SEEDED)?, GitTuning::ManyFiles);
    let mut others: Vec<Box<dyn Peer>> = vec![Box::new(shadow), Box::new(seeded)];
    if with_jj {
        others.push(Box::new(JjPeer::new(tools, JJ, copy(JJ)?, false)?));
    }
    for mut peer in others {
        peer.first_checkpoint()?;
        let before = peer.space()?.own;
        for round in 0..CAPTURE_COUNT {
            let path = &tree.editable[round % tree.editable.len()];
            edit_files(peer.root(), std::slice::from_ref(path), round)?;
            peer.checkpoint()?;
        }
        let added = peer.space()?.own.saturating_sub(before);
        note(peer.name(), added);
    }
    Ok(())
}

/// Measures the space of many small edits of one file of 1 MB, and of full copies of its contents.
pub(crate) fn many_edits(arena: &mut Comparison<'_>, edits: u64) -> Result<()> {
    let every = (edits / SAMPLE_COUNT).max(1);
    print_progress("small edits of a 1 MB file");
    let folder = arena.scratch.join("edits");
    let (home, root) = (folder.join("home"), folder.join("project"));
    let mut child = Command::new(std::env::current_exe()?);
    run(child.arg("fill-edits").arg(&home).arg(&root).arg(edits.to_string()))?;
    let mut tidy = arena.tools.command(&arena.tools.retake, &root);
    run(tidy.env("RETAKE_HOME", &home).env("RETAKE_NO_DAEMON", "1").arg("gc"))?;
    let ours = files::space(&home, None)?.own;
    let (mut zlib, mut zstd, mut text) = (0, 0, EditedText::new());
    for number in 0..edits {
        text.edit(number);
        if number % every == 0 {
            zlib += deflated(&text.content())?;
            zstd += zstd::encode_all(text.content().as_bytes(), 3)?.len() as u64;
        }
    }
    let case = cases::edits(edits);
    arena.book.add_bytes("", &case, RETAKE, ours);
    arena.book.add_bytes("", &case, "full copies, zlib", zlib * every);
    arena.book.add_bytes("", &case, "full copies, zstd", zstd * every);
    files::remove(&folder)
}

fn deflated(text: &str) -> Result<u64> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
    packed.write_all(text.as_bytes())?;
    Ok(packed.finish()?.len() as u64)
}
