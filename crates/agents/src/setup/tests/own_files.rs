//! Files that setup makes whole.

use std::path::Path;

use expect_test::expect;

use crate::AgentKind;
use crate::setup::{HookCommand, HookOwner, SetupError, SetupFileKind, recognise_hook};

#[test]
fn own_files_are_made_and_foreign_ones_left() {
    let command = HookCommand::new(Path::new("/a \"b\"/retake"), Some(Path::new("/h"))).unwrap();
    let plugin = SetupFileKind::Plugin.add(None, &command).unwrap();
    assert!(plugin.contains(r#"const PROGRAM = "/a \"b\"/retake""#), "{plugin}");
    assert!(plugin.contains(r#"const HOME = "/h""#) && !plugin.contains("__"), "{plugin}");
    assert_eq!(SetupFileKind::Plugin.add(Some(&plugin), &command).unwrap(), plugin);
    assert_eq!(SetupFileKind::Plugin.remove(&plugin, None, None).unwrap(), None);
    assert_eq!(SetupFileKind::Plugin.find(&plugin, None).unwrap().present, 1);
    assert!(SetupFileKind::Plugin.add(Some("export const Mine = 1\n"), &command).is_err());

    let form = SetupFileKind::Script("PreToolUse");
    let script = form.add(None, &command).unwrap();
    expect![[r#"
        #!/bin/sh
        # Made by `retake setup` (94ac3e3b63bdd4bb); `retake setup --remove cline` takes it away.
        RETAKE_HOME=/h '/a "b"/retake' hook cline PreToolUse || true
    "#]]
    .assert_eq(&script);
    assert_eq!(form.find(&script, None).unwrap().missing, 0);
    let foreign = "#!/bin/sh\nexit 0\n";
    let SetupError::Foreign { way_out } = form.add(Some(foreign), &command).unwrap_err() else {
        panic!("it is foreign");
    };
    let (_, line) = way_out.split_once("reads: ").unwrap();
    assert_eq!(recognise_hook(line, AgentKind::Cline, None), Some(HookOwner::Theirs), "{line}");
    // A person who followed the advice is set up, and their file is theirs.
    let advised = format!("#!/bin/sh\nINPUT=$(cat)\n{line}\n");
    assert_eq!(form.add(Some(&advised), &command).unwrap(), advised);
    assert_eq!(form.remove(&advised, None, None).unwrap().unwrap(), advised);
    assert_eq!(form.find(&advised, None).unwrap().present, 1);
}

/// A file that the person extended is theirs.
#[test]
fn what_a_person_added_is_never_overwritten() {
    let old = HookCommand::new(Path::new("/old/retake"), None).unwrap();
    let new = HookCommand::new(Path::new("/new/retake"), None).unwrap();
    let form = SetupFileKind::Script("Stop");
    let fresh = form.add(None, &old).unwrap();
    assert_eq!(form.add(Some(&fresh), &new).unwrap(), form.add(None, &new).unwrap());
    let mine = format!("{fresh}notify-send done\n");
    assert_eq!(form.add(Some(&mine), &new).unwrap(), mine);
    assert!(form.find(&mine, None).unwrap().is_edited);
    let removed = form.remove(&mine, None, None).unwrap().unwrap();
    assert_eq!(removed, "#!/bin/sh\nnotify-send done\n");

    let plugin = SetupFileKind::Plugin.add(None, &old).unwrap();
    assert_eq!(SetupFileKind::Plugin.find(&plugin, None).unwrap().calls, [old]);
    assert_eq!(
        SetupFileKind::Plugin.add(Some(&plugin), &new).unwrap(),
        SetupFileKind::Plugin.add(None, &new).unwrap()
    );
    let mine = plugin + "export const Mine = 1\n";
    assert_eq!(SetupFileKind::Plugin.add(Some(&mine), &new).unwrap(), mine);
    assert_eq!(SetupFileKind::Plugin.remove(&mine, None, None), Err(SetupError::Edited));
}

/// A path may hold what stands for another part of the plugin.
#[test]
fn placeholders_are_replaced_in_one_pass() {
    let odd = HookCommand::new(Path::new("/__HOME__/retake"), Some(Path::new("/h"))).unwrap();
    let plugin = SetupFileKind::Plugin.add(None, &odd).unwrap();
    assert_eq!(SetupFileKind::Plugin.find(&plugin, None).unwrap().calls, [odd]);
}
