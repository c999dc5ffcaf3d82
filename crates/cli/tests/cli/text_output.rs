//! What people see.

use std::path::PathBuf;

use expect_test::expect;

use crate::support::World;

fn story() -> World {
    let world = World::with(&[
        ("a.txt", "one\ntwo\n"),
        ("b.txt", "b\n"),
        (".gitignore", "*.log\n"),
        ("x.log", "x\n"),
    ]);
    world.write("a.txt", "one\ntwo\nmine\n");
    world.ok(&["log"]);
    world.shell("k1", "echo agent >> a.txt");
    world.shell("k2", "rm b.txt; echo new > src.txt");
    world
}

#[test]
fn init_tells_what_is_tracked_and_where_the_record_is() {
    let world = World::new();
    world.write("a.txt", "one\n");
    let first = world.ok(&["init"]);
    expect![[r#"
        Now tracking [WORLD]/project
          tracked  1 file
          gaps     none: everything tracked is protected
          record   [STORE] (SIZE)
        Recording: no agent that Retake knows is installed (see `retake setup --status`)
    "#]]
    .assert_eq(&world.normal(&first));
    world.write("a.txt", "two\n");
    let again = world.ok(&["init"]);
    expect![[r#"
        Already tracking [WORLD]/project
          tracked    1 file
          caught up  1 change since the last scan (see `retake log --all`)
          gaps       none: everything tracked is protected
          record     [STORE] (SIZE)
        Recording: no agent that Retake knows is installed (see `retake setup --status`)
    "#]]
    .assert_eq(&world.normal(&again));
}

#[test]
fn log_and_status_say_who_changed_what() {
    let world = story();
    expect![[r#"
        ●  DATE TIME  d1  3 files  +2  -1  c9 c8 c5
    "#]]
    .assert_eq(&world.normal(&world.ok(&["log"])));
    expect![[r#"
        Project [WORLD]/project
        Recording: no agent that Retake knows is installed (see `retake setup --status`)

        3 files that agents changed wait for your review:

        d1  DATE TIME
          M  a.txt    +1  -0  c5
          D  b.txt    +0  -1  c8
          A  src.txt  +1  -0  c9

          retake diff     see what agents changed
          retake review   keep it or take it back place by place
          retake undo     take back the last turn; your own edits stay
          retake approve  keep it

        3 files tracked · 4 changes on record · record SIZE · 1 name ignored
    "#]]
    .assert_eq(&world.normal(&world.ok(&["status"])));
    expect![[r#"
        x.log  .gitignore:1 *.log
    "#]]
    .assert_eq(&world.normal(&world.ok(&["status", "--ignored"])));
    expect![[r#"
        DIALOG  TURNS  LAST ACTIVE          STATE    AGENTS
        d1          0  DATE TIME  working  -
    "#]]
    .assert_eq(&world.normal(&world.ok(&["dialogs"])));
}

#[test]
fn show_and_diff_say_what_changed() {
    let world = story();
    expect![[r#"
        change  c5
        path    a.txt
        what    modify by command
        when    DATE TIME
        actor   d1 (window: only this call was running)
        dialog  d1
        agent   main
        call    k1 (Bash)
        before  f5d499ee4794555c03f5264f8066b8b35495b97e file 0644 13 bytes
        after   24ac6bf74f851c76e15679048486f3a1699d65ed file 0644 19 bytes
        lines   +1 -0 in 1 place
        status  pending

        diff --git a/a.txt b/a.txt
        --- a/a.txt
        +++ b/a.txt
        @@ -1,3 +1,4 @@
         one
         two
         mine
        +agent
    "#]]
    .assert_eq(&world.normal(&world.ok(&["show", "c5"])));
    expect![[r#"
        diff --git a/a.txt b/a.txt
        index f5d499ee4794555c03f5264f8066b8b35495b97e..24ac6bf74f851c76e15679048486f3a1699d65ed
        --- a/a.txt
        +++ b/a.txt
        @@ -1,3 +1,4 @@
         one
         two
         mine
        +agent
        diff --git a/b.txt b/b.txt
        deleted file mode 100644
        index 61780798228d17af2d34fce4cfbdf35556832472..0000000000000000000000000000000000000000
        --- a/b.txt
        +++ /dev/null
        @@ -1 +0,0 @@
        -b
        diff --git a/src.txt b/src.txt
        new file mode 100644
        index 0000000000000000000000000000000000000000..3e757656cf36eca53338e520d134963a44f793f8
        --- /dev/null
        +++ b/src.txt
        @@ -0,0 +1 @@
        +new
    "#]]
    .assert_eq(&world.ok(&["diff"]));
    expect![[r#"
         a.txt    +1  -0  +
         b.txt    +0  -1  -
         src.txt  +1  -0  +
         3 files changed, +2 -1
    "#]]
    .assert_eq(&world.ok(&["diff", "--stat"]));
    expect![[r#"
        diff --git a/a.txt b/a.txt
        index 814f4a422927b82f5f8a43f8fab6d3839e3983f2..24ac6bf74f851c76e15679048486f3a1699d65ed
        --- a/a.txt
        +++ b/a.txt
        @@ -1,2 +1,4 @@
         one
         two
        +mine
        +agent
    "#]]
    .assert_eq(&world.ok(&["diff", "--all", "--file", "a.txt"]));
    assert_eq!(world.ok(&["show", "c5", "--before"]), "one\ntwo\nmine\n");
    assert_eq!(world.ok(&["show", "c5", "--after"]), "one\ntwo\nmine\nagent\n");
}

#[test]
fn filters_let_through_what_fits() {
    let world = story();
    let paths = |arguments: &[&str]| -> Vec<String> {
        let mut all = vec!["log", "--json"];
        all.extend(arguments);
        let document = world.run(&all).json();
        let path = |change: &serde_json::Value| change["path"].as_str().unwrap().to_owned();
        document["changes"].as_array().unwrap().iter().map(path).collect()
    };
    assert_eq!(paths(&["--actor", "user"]), ["a.txt"]);
    assert_eq!(paths(&["--file", "a.txt"]), ["a.txt", "a.txt"]);
    assert_eq!(paths(&["--dialog", "d", "-n", "1", "--oldest-first"]), ["a.txt"]);
    assert_eq!(paths(&["--agent", "main", "--status", "pending"]), ["src.txt", "b.txt", "a.txt"]);
    assert_eq!(paths(&["--since", "1h"]).len(), 4);
    assert!(paths(&["--until", "1h"]).is_empty());
    assert!(paths(&["--agent", "nobody"]).is_empty());
    assert_eq!(paths(&["--file", "."]).len(), 4);
    world.write("late.txt", "");
    assert_eq!(paths(&["--no-look"]).len(), 4);
    assert_eq!(paths(&[]).len(), 5);
}

#[test]
fn a_project_without_agents_says_so() {
    let world = World::with(&[("a", "1\n")]);
    expect![[r#"
        Project [WORLD]/project
        Recording: no agent that Retake knows is installed (see `retake setup --status`)

        No agent has changed anything yet.

        1 file tracked · 0 changes on record · record SIZE
    "#]]
    .assert_eq(&world.normal(&world.ok(&["status"])));
    assert_eq!(world.ok(&["log"]), "Nothing has changed since this project was initialised.\n");
    assert!(world.ok(&["dialogs"]).starts_with("No agent"));
    assert_eq!(world.ok(&["diff"]), "");
}

#[test]
fn errors_name_the_thing_and_what_to_do() {
    let world = World::new();
    let error = |arguments: &[&str]| {
        let ran = world.run(arguments);
        format!("{} {}", ran.code, ran.stderr.replace(world.outer().to_str().unwrap(), "[WORLD]"))
    };
    expect!["0 "].assert_eq(&error(&["status"]));
    expect![[r"
        1 error: [WORLD]/person is your home folder, and tracking all of it is almost never meant
        hint: go to the project's own folder, or pass --anywhere to `retake init`
    "]]
    .assert_eq(&error(&["init", "../person"]));
    assert!(error(&["init", "/"]).starts_with("1 error: / is the root of the file system"));
    assert!(error(&["init", "../tmp"]).contains("the folder for temporary files"));
    assert!(error(&["init", "nowhere"]).starts_with("1 error: nowhere cannot be opened"));
    world.ok(&["init", "../person", "--anywhere"]);
    world.ok(&["init"]);
    assert!(error(&["show", "c77"]).starts_with("1 error: there is no change c77"));
    assert!(error(&["show", "x1"]).starts_with("1 error: no change of x1 is on record"));
    assert!(error(&["log", "--dialog", "d9"]).starts_with("1 error: there is no dialog 'd9'"));
    assert!(
        error(&["log", "--file", "/etc/passwd"]).starts_with("1 error: /etc/passwd is outside")
    );
    for usage in [
        &["undo", "x1"][..],
        &["log", "--since", "soon"],
        &["dance"],
        &["diff", "c1", "--file", "a"],
    ] {
        assert!(error(usage).starts_with("2 error:"), "{usage:?}");
    }
}

#[test]
fn demo_tells_its_story_and_gives_back_what_was_deleted() {
    let world = World::new();
    let text = world.ok(&["demo"]);
    for part in [
        "+tea 4",
        "Retake saw:  you changed prices.txt",
        "the agent deleted .env",
        "Undid turn 1 of demo",
        "Later edits of yours in prices.txt stay.",
        "notes.txt   Ask Anna about the new oven.  is back",
        ".env        TOKEN=only-copy-of-this       is back",
        "prices.txt  bread 3.50                    your price stays",
        "prices.txt  milk 2                        and the tea is gone",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(std::fs::read_dir(world.outer().join("tmp")).unwrap().count(), 0);
    let kept = world.ok(&["demo", "--keep"]);
    let command = kept.lines().last().unwrap().trim().strip_prefix("retake ").unwrap().to_owned();
    let mut words: Vec<_> = command.split(' ').collect();
    let log = world.ok(&words);
    assert!(log.contains("Greet people"), "{log}");
    let root = PathBuf::from(words[3]);
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    assert_eq!((words[2], read("prices.txt").as_str()), ("--project", "bread 3.50\nmilk 2\n"));
    *words.last_mut().unwrap() = "redo";
    world.ok(&words);
    assert_eq!(read("prices.txt"), "bread 3.50\nmilk 2\ntea 4\n");
    assert!(!root.join("notes.txt").exists() && !root.join(".env").exists());
}

#[test]
fn completions_exist_for_every_shell() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(world.ok(&["completions", shell]).contains("retake"), "{shell}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    use std::io::Read as _;
    use std::process::Stdio;
    let world = World::new();
    for number in 0..3000 {
        world.write(&format!("a-file-with-a-rather-long-name-{number}.txt"), "x\n");
    }
    world.ok(&["init"]);
    std::fs::remove_dir_all(world.root()).unwrap();
    std::fs::create_dir(world.root()).unwrap();
    world.ok(&["init", "--same"]);
    let mut command = world.command(&["log"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn doctor_names_what_is_wrong_and_exits_with_1() {
    let world = story();
    expect![[r#"
        ok  database    its structure is sound
        ok  references  every content on record is there (4 changes, 8 objects)
        ok  contents    8 of 8 objects read, each is what its name says
        ok  spool       no event waits
        ok  folder      it is the recorded one
        ok  space       SIZE free, the record takes SIZE
        ok  access      only you can reach Retake's own folder

        Healthy: everything recorded can be restored.
    "#]]
    .assert_eq(&world.normal(&world.ok(&["doctor", "--read-data"])));
    std::fs::write(world.store().join("spool.jsonl"), "{cut o").unwrap();
    let ran = world.run(&["doctor"]);
    assert_eq!(ran.code, 1);
    assert!(ran.text().contains("a line cannot be understood"), "{}", ran.text());
}
