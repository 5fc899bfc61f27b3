// What the crate pkg-config does: asks the program of that name, and gives its answer to the linker.
use std::process::Command;

fn main() {
    let output = Command::new("pkg-config")
        .args(["--libs", "tokenkeep"])
        .output()
        .expect("pkg-config runs");
    assert!(output.status.success(), "pkg-config finds tokenkeep");
    let words = String::from_utf8(output.stdout).expect("pkg-config answers in UTF-8");
    // pkg-config escapes white space in paths.
    for word in words.replace("\\ ", "\u{0}").split_whitespace() {
        let word = word.replace('\u{0}', " ");
        if let Some(directory) = word.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={directory}");
        } else if let Some(library) = word.strip_prefix("-l") {
            println!("cargo:rustc-link-lib={library}");
        }
    }
}
