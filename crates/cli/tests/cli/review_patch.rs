//! `retake review --patch`: git takes what the person kept, and what it cannot take is named.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use expect_test::expect;
use retake_testkit::git;
use serde_json::Value;

use crate::support::{Ran, World};

const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";

/// The agent has edited, moved and made files; of `entangled.txt` the person has changed the first of
/// two places since.
fn worked() -> World {
    let world = World::new();
    for name in ["plain.txt", "moved.txt", "entangled.txt", "private.txt", "run.sh"] {
        world.write(name, format!("{name}\n{LINES}"));
    }
    let large = "a line of a large file\n".repeat(60_000);
    for name in ["large.txt", "large-moved.txt"] {
        world.write(name, format!("{name}\n{large}"));
    }
    for name in ["image.bin", "moved.bin", "gone.bin", "renamed.bin"] {
        world.write(name, format!("{name}\0"));
    }
    let root = world.root();
    std::fs::set_permissions(root.join("private.txt"), Permissions::from_mode(0o644)).unwrap();
    git::run(&root, &["init", "-q"]);
    git::run(&root, &["add", "-A"]);
    git::run(&root, &["commit", "-qm", "before"]);
    world.ok(&["init"]);
    world.say("d1", "go");
    world.shell(
        "k1",
        "sed -i 's/^2$/two/; s/^9$/nine/' plain.txt
         mv moved.txt elsewhere.txt; sed -i 's/^5$/five/' elsewhere.txt
         sed -i 's/^2$/two/; s/^11$/eleven/' entangled.txt
         chmod 600 private.txt; sed -i 's/^3$/three/' private.txt
         chmod 755 run.sh
         echo more >> large.txt; mv large-moved.txt large-elsewhere.txt
         printf 'x\\0y' > image.bin; mv moved.bin elsewhere.bin; printf 'x\\0y' >> elsewhere.bin
         rm gone.bin; printf 'new\\0' > new.bin; echo new > new.txt; chmod 755 new.bin",
    );
    world.shell("k2", "mv renamed.bin after.bin");
    world.shell("k3", "printf 'x\\0y' >> after.bin");
    let mine = world.read("entangled.txt").replace("two", "TWO of mine");
    world.write("entangled.txt", mine);
    world
}

fn hunks(world: &World) -> Vec<Value> {
    let review = world.run(&["review", "--json"]).json();
    let files = review["contents"].as_array().unwrap().iter();
    files.flat_map(|file| file["hunks"].as_array().unwrap()).cloned().collect()
}

fn keep_all(world: &World) {
    let hunks_before = hunks(world);
    let ids = hunks_before.iter().map(|hunk| hunk["id"].as_str().unwrap());
    world.ok(&["accept"].into_iter().chain(ids).collect::<Vec<_>>());
    let kinds: BTreeSet<_> = hunks_before.iter().map(|hunk| hunk["kind"].to_string()).collect();
    assert!(kinds.contains("\"entangled\""), "{kinds:?}");
    assert!(hunks(world).iter().all(|hunk| hunk["reviewed"] == true));
}

/// Stages the patch with git.
fn stage(world: &World) -> Ran {
    let patch = world.run(&["review", "--patch"]);
    assert_eq!(patch.code, 0, "{}", patch.stderr);
    let file = world.outer().join("kept.patch");
    std::fs::write(&file, &patch.stdout).unwrap();
    git::run(&world.root(), &["apply", "--cached", file.to_str().unwrap()]);
    patch
}

#[test]
fn git_stages_what_was_kept_and_the_rest_is_named() {
    let world = worked();
    keep_all(&world);
    let patch = stage(&world);
    expect![[r#"
        note: not in the patch: after.bin (binary content)
        note: not in the patch: elsewhere.bin (binary content)
        note: not in the patch: entangled.txt (a place that later changes build on)
        note: not in the patch: gone.bin (binary content)
        note: not in the patch: image.bin (binary content)
        note: not in the patch: large.txt (content that is too large to compare)
        note: not in the patch: moved.bin (binary content)
        note: not in the patch: new.bin (binary content)
        note: not in the patch: private.txt (permissions that git does not know)
    "#]]
    .assert_eq(&patch.stderr);
    let staged = git::run(&world.root(), &["diff", "--cached", "-M", "--numstat", "--summary"]);
    expect![[r#"
        -	-	renamed.bin => after.bin
        1	1	moved.txt => elsewhere.txt
        1	1	entangled.txt
        0	0	large-moved.txt => large-elsewhere.txt
        1	0	new.txt
        2	2	plain.txt
        1	1	private.txt
        0	0	run.sh
         rename renamed.bin => after.bin (100%)
         rename moved.txt => elsewhere.txt (87%)
         rename large-moved.txt => large-elsewhere.txt (100%)
         create mode 100644 new.txt
         mode change 100644 => 100755 run.sh
    "#]]
    .assert_eq(&(staged + "\n"));
    let staged = |name: &str| git::run(&world.root(), &["show", &format!(":{name}")]) + "\n";
    for name in ["plain.txt", "elsewhere.txt", "private.txt", "new.txt"] {
        assert_eq!(staged(name), world.read(name));
    }
    let entangled = format!("entangled.txt\n{LINES}").replace("11", "eleven");
    assert_eq!(staged("entangled.txt"), entangled, "neither the agent's place nor the person's");
}

#[test]
fn a_patch_of_nothing_that_git_can_take_is_empty_and_says_why() {
    let world = World::with(&[("private.txt", "1\n"), ("image.bin", "\0")]);
    world.say("d1", "go");
    let before = world.run(&["review", "--patch"]);
    assert!(before.stderr.contains("no hunk of this is kept yet"), "{}", before.stderr);
    world.shell("k1", "chmod 600 private.txt; echo more >> image.bin");
    for hunk in hunks(&world) {
        world.ok(&["accept", hunk["id"].as_str().unwrap()]);
    }
    expect![[r#"
        note: not in the patch: image.bin (binary content)
        note: not in the patch: private.txt (permissions that git does not know)
        exit 0
    "#]]
    .assert_eq(&world.seen(&["review", "--patch"]));
}
