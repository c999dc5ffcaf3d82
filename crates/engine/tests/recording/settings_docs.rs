//! The documentation tells the truth.

use retake_engine::settings::Settings;

#[test]
fn the_documented_settings_are_the_defaults() {
    let text = include_str!("../../../../docs/settings.md");
    let (_, rest) = text.split_once("```toml\n").expect("a block of settings");
    let (block, _) = rest.split_once("```").expect("the block ends");
    let documented: Settings = toml::from_str(block).expect("the block can be read");
    assert_eq!(documented, Settings::default());
}
