//! Colour for people, and none for anybody else.

use expect_test::expect;

use crate::support::{World, ran};

const BEFORE: &str = "\
//! A shop.
/* a comment
   of several lines,
   that begins so far above
   what is going to change
   that no diff shows it,
   whose end says
   what it is */
fn total(prices: &[u32]) -> u32 {
    let sum = 0;
    prices.iter().sum()
}
";

fn shop() -> World {
    let world = World::with(&[("shop.rs", BEFORE), ("notes.xyz", "one two three\n")]);
    world.shell(
        "k1",
        r#"sed -i -e 's/let sum = 0/let rest = 0/' -e 's/whose/which/' shop.rs
        echo 'fn name() { "x" }' >> shop.rs
        echo 'one zwei three' > notes.xyz"#,
    );
    world
}

/// Colour codes as words: `<7 31>` until `<>`.
fn visible(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        let (code, after) = after.split_once('m').expect("every code ends");
        out.push_str(before);
        let code = if code == "0" { "" } else { code };
        out.extend(["<", code, ">"]);
        rest = after;
    }
    (out + rest).replace("><", " ").replace("< ", "<")
}

/// Text without the colour codes that we write.
fn stripped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        out.push_str(before);
        rest = after.split_once('m').expect("every code ends").1;
    }
    out + rest
}

fn without_ids(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !line.starts_with("index ")).collect()
}

#[test]
fn changed_words_stand_out_and_code_has_its_colours() {
    let world = shop();
    expect![[r#"
        <1>diff --git a/notes.xyz b/notes.xyz<>
        <1>--- a/notes.xyz<>
        <1>+++ b/notes.xyz<>
        <36>@@ -1 +1 @@<>
        <31>-one <7 31>two<31> three<>
        <32>+one <7 32>zwei<32> three<>
        <1>diff --git a/shop.rs b/shop.rs<>
        <1>--- a/shop.rs<>
        <1>+++ b/shop.rs<>
        <36>@@ -4,9 +4,10 @@<>
         <2>   that begins so far above<>
         <2>   what is going to change<>
         <2>   that no diff shows it,<>
        <31>-<2 31>   <7 31>whose<2 31> end says<>
        <32>+<2 32>   <7 32>which<2 32> end says<>
         <2>   what it is */<>
         <35>fn<> <36>total<>(prices: &[<35>u32<>]) -> <35>u32<> {
        <31>-    <35>let<31> <7 31>sum<31> = <33>0<31>;<>
        <32>+    <35>let<32> <7 32>rest<32> = <33>0<32>;<>
             prices.<36>iter<>().<36>sum<>()
         }
        <32>+<35>fn<32> <36>name<32>() { <33>"x"<32> }<>
    "#]]
    .assert_eq(&visible(&world.ok(&["diff", "--color", "always"])));
}

#[test]
fn lines_of_a_hunk_have_the_colours_of_a_difference() {
    let world = shop();
    let seen = visible(&world.ok(&["review", "shop.rs", "--color", "always"]));
    let hunk = seen.split("\n\n").nth(1).unwrap();
    expect![[r#"
        <2>   <>  <2>   that begins so far above<>
        <2>   <>  <2>   what is going to change<>
        <2>   <>  <2>   that no diff shows it,<>
        <2>  1<> <31>-<2 31>   <7 31>whose<2 31> end says<>
        <2>  1<> <32>+<2 32>   <7 32>which<2 32> end says<>
        <2>   <>  <2>   what it is */<>
        <2>   <>  <35>fn<> <36>total<>(prices: &[<35>u32<>]) -> <35>u32<> {
        <2>   <>      <35>let<> rest = <33>0<>;"#]]
    .assert_eq(hunk.split_once('\n').unwrap().1);
    for words in [&["review"][..], &["review", "shop.rs", "notes.xyz"], &["review", "--queue"]] {
        let coloured = world.ok(&[words, &["--color", "always"]].concat());
        assert_eq!(stripped(&coloured), world.ok(words), "{words:?}");
    }
}

#[test]
fn without_its_colours_it_is_the_plain_text() {
    let world = shop();
    let log = world.run(&["log", "--json"]).json();
    for change in log["changes"].as_array().unwrap() {
        let id = change["id"].as_str().unwrap();
        let coloured = world.ok(&["--color=always", "show", id]);
        assert!(coloured.contains("\u{1b}[7m"), "{coloured}");
        assert_eq!(stripped(&coloured), world.ok(&["show", id]));
    }
    let coloured = world.ok(&["diff", "--color", "always"]);
    assert_eq!(stripped(&coloured), without_ids(&world.ok(&["diff"])));
    assert_eq!(stripped(&world.ok(&["log", "--color", "always"])), world.ok(&["log"]));
    let Some(seen) = world.on_a_terminal(&["diff", "--color", "always"]) else { return };
    assert!(seen.contains("\u{1b}[7m"), "{seen}");
    assert_eq!(Some(stripped(&seen)), world.on_a_terminal(&["diff"]));
}

#[test]
fn each_side_is_read_in_its_own_language_until_both_mean_the_same() {
    let code = "let a = 1;\nlet b = 2;\nlet c = 3;\n";
    let world = World::with(&[("a.rs", &format!("/*\n{code}*/\n{code}"))]);
    world.shell("k1", "sed -i -e 1d -e 's/b = 2/b = 4/' a.rs");
    let diff = world.ok(&["diff", "--color", "always"]);
    expect![[r#"
        <1>diff --git a/a.rs b/a.rs<>
        <1>--- a/a.rs<>
        <1>+++ b/a.rs<>
        <36>@@ -1,8 +1,7 @@<>
        <31>-<2 31>/*<>
         <35>let<> a = <33>1<>;
        <31>-<2 31>let b = <7 31>2<2 31>;<>
        <32>+<35>let<32> b = <7 32>4<32>;<>
         <35>let<> c = <33>3<>;
         */
         <35>let<> a = <33>1<>;
        <31>-<35>let<31> b = <7 31>2<31>;<>
        <32>+<35>let<32> b = <7 32>4<32>;<>
         <35>let<> c = <33>3<>;
    "#]]
    .assert_eq(&visible(&diff));
}

#[test]
fn a_pipe_json_and_who_wants_none_get_none() {
    let world = shop();
    let plain = world.ok(&["diff"]);
    assert!(!plain.contains('\u{1b}'), "{plain}");
    assert_eq!(world.ok(&["diff", "--color", "never"]), plain);
    assert!(!world.ok(&["diff", "--json", "--color", "always"]).contains('\u{1b}'));
    let mut forced = world.command(&["diff", "--color", "never"]);
    assert_eq!(ran(forced.env("CLICOLOR_FORCE", "1").output().unwrap()).text(), plain);
    let mut refused = world.command(&["diff"]);
    assert_eq!(ran(refused.env("NO_COLOR", "1").output().unwrap()).text(), plain);
    assert_eq!(world.run(&["diff", "--color", "sometimes"]).code, 2);
}

#[test]
fn an_escape_inside_a_coloured_line_is_spelled_out() {
    let world = World::with(&[("a.rs", "let a = \"x\"; // y\n")]);
    world.shell(
        "k1",
        r#"printf 'let a = "\033[2J\302\233\342\200\256"; // \033]0;owned\007 y\n' > a.rs"#,
    );
    let coloured = world.ok(&["diff", "--color", "always"]);
    assert!(coloured.contains("\u{1b}[35mlet"), "it is coloured as Rust: {coloured}");
    let plain = stripped(&coloured);
    assert!(
        plain.contains(r#"+let a = "\x1b[2J\u{9b}\u{202e}"; // \x1b]0;owned\x07 y"#),
        "{plain}"
    );
    assert!(plain.chars().all(|c| c == '\n' || !c.is_control()), "{plain}");
}

#[test]
fn files_without_a_grammar_large_ones_and_links_have_words_only() {
    let filler = "let x = 1;\n".repeat(4000);
    let world = World::with(&[("large.rs", &filler), ("bad.rs", "let a = 1;\n")]);
    world.shell("k1", "echo 'fn f() {}' >> large.rs; ln -s fn.rs link.rs");
    world.shell("k2", r"printf 'let a = 2; \377\n' > bad.rs");
    let coloured = world.ok(&["diff", "--color", "always"]);
    assert!(!coloured.contains("\u{1b}[35m"), "{coloured}");
    assert!(coloured.contains("\u{1b}[32m+fn f() {}\u{1b}[0m\n"), "{coloured}");
    assert!(coloured.contains("\u{1b}[32m+let a = \u{1b}[0m\u{1b}[7m\u{1b}[32m2"), "{coloured}");
    assert!(stripped(&coloured).contains("; \\xff\n"), "{coloured}");
}

#[test]
fn show_numbers_the_places_of_a_change() {
    let lines: String =
        (1..=40).flat_map(|n| ["line ".to_owned(), n.to_string(), "\n".to_owned()]).collect();
    let world = World::with(&[("a.txt", &lines)]);
    world.shell("k1", "sed -i -e '3s/.*/three/' -e '20d' -e '40s/.*/forty\\nand more/' a.txt");
    let log = world.run(&["log", "--json"]).json();
    let change = &log["changes"][0];
    let numbers: Vec<_> =
        change["hunks"].as_array().unwrap().iter().map(|hunk| hunk["number"].as_u64()).collect();
    assert_eq!(numbers, [Some(1), Some(2), Some(3)]);
    let shown = world.ok(&["show", change["id"].as_str().unwrap()]);
    let facts: String = shown
        .split_inclusive('\n')
        .skip_while(|line| !line.starts_with("lines"))
        .take_while(|line| !line.starts_with("status"))
        .collect();
    expect![[r#"
        lines   +3 -3 in 3 places
        hunks   1  at line 3   +1  -1
                2  at line 20  +0  -1
                3  at line 39  +2  -1
    "#]]
    .assert_eq(&facts);
}
