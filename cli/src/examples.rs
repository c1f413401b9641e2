//! The examples at the end of each command's long help.

use clap::Command;

/// Calls of each command, with all it takes to try them.
const EXAMPLES: [(&str, &[&str]); 20] = [
    (
        "run",
        &[
            "heist run",
            "heist run files --input ~/src --repeat 5",
            "heist run uts --workers 2 --report page.html --trace trace.json",
        ],
    ),
    (
        "doctor",
        &["heist doctor", "heist doctor --manifest path/to/Cargo.toml"],
    ),
    (
        "profile",
        &[
            "heist profile -- path/to/the/program its arguments",
            "heist profile --runs 5 --workers 1,4 --html page.html -- program",
        ],
    ),
    (
        "report",
        &[
            "HEIST_PROFILE=run path/to/the/program",
            "heist report run.json --html page.html",
            "HEIST_TIMELINE=run path/to/the/program",
            "heist report run.timeline.json --html page.html --trace trace.json",
        ],
    ),
    (
        "top",
        &[
            "HEIST_LIVE=1 path/to/the/program &",
            "heist top",
            "heist top 4711 --json",
        ],
    ),
    (
        "schedule search",
        &[
            "heist schedule search -- path/to/the/program its arguments",
            "heist schedule search -n 10000 --limit 5 --save hang -- program",
            "heist schedule search --depth 16 -- program",
        ],
    ),
    (
        "schedule replay",
        &["heist schedule replay found.schedule --times 100 -- program"],
    ),
    (
        "schedule shrink",
        &["heist schedule shrink found.schedule -- program"],
    ),
    (
        "plan",
        &["heist plan fleet.json", "heist plan --watch --hot 90"],
    ),
    (
        "sim run",
        &["heist sim run fib:25 --workers 1,64,4096 --policy continuation,central"],
    ),
    (
        "sim compare",
        &["heist sim compare --bag growing --workers 64 --grain 10,1000"],
    ),
    (
        "sim replay",
        &[
            "HEIST_DAG=run path/to/the/program",
            "heist sim replay run.dag.json",
            "heist sim replay run.dag.json --html page.html",
            "heist sim replay run.dag.json --workers 16 --site merge=/4 --slow 3=0.5",
        ],
    ),
    (
        "sim fleet",
        &[
            "heist sim fleet hotspot,herd",
            "heist sim fleet synthetic --nodes 1000 --jobs 100000 --rule ours,none",
            "heist sim fleet --trace alibaba:batch_task.csv --for 2h --limit 20000",
        ],
    ),
    ("sim validate", &["heist sim validate"]),
    (
        "cluster run",
        &[
            "heist cluster run jobs.toml --nodes 2 --report page.html",
            "heist cluster run --resume ~/.local/state/heist/runs/2026-11-24-120000",
        ],
    ),
    ("cluster top", &["heist cluster top"]),
    (
        "cluster report",
        &["heist cluster report --output page.html"],
    ),
    (
        "completions",
        &["heist completions bash > ~/.local/share/bash-completion/completions/heist"],
    ),
    ("man", &["heist man | man -l -"]),
    ("", &["heist run", "heist doctor", "heist profile --help"]),
];

/// The command with its examples, and those below it with theirs.
pub(crate) fn added(program: Command) -> Command {
    below(program, "")
}

fn below(command: Command, path: &str) -> Command {
    let names = command.get_subcommands().map(|it| it.get_name().to_owned());
    let names: Vec<String> = names.collect();
    let mut command = names.into_iter().fold(command, |command, name| {
        let path = format!("{path} {name}");
        command.mut_subcommand(name, |it| below(it, path.trim_start()))
    });
    if let Some((_, calls)) = EXAMPLES.iter().find(|(of, _)| *of == path) {
        let mut text = command.get_after_long_help().map(ToString::to_string);
        if let Some(text) = &mut text {
            text.push_str("\n\n");
        }
        let mut text = text.unwrap_or_default() + "Examples:";
        for call in *calls {
            text.push_str("\n  ");
            text.push_str(call);
        }
        command = command.after_long_help(text);
    }
    command
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::Program;

    #[test]
    fn every_command_has_examples_and_each_is_understood() {
        fn check(command: &Command) {
            let help = command.get_after_long_help().map(ToString::to_string);
            let is_group = command.has_subcommands() && command.get_name() != "heist";
            let examples = help
                .as_deref()
                .and_then(|it| it.split("Examples:\n").nth(1));
            assert!(is_group || examples.is_some(), "{}", command.get_name());
            for line in examples.unwrap_or_default().lines() {
                let call = line.split(['|', '>']).next().unwrap_or_default().trim();
                if !call.starts_with("heist ") {
                    continue;
                }
                let parsed = added(Program::command()).try_get_matches_from(call.split(' '));
                if let Err(error) = parsed {
                    assert!(!error.use_stderr(), "{call}: {error}");
                }
            }
            command.get_subcommands().for_each(check);
        }
        check(&added(Program::command()));
    }
}
