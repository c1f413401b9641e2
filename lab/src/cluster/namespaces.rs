//! Machines as network namespaces with a switch between them, so that one can be cut off.
//!
//! The switch is a bridge in a namespace of its own, so nothing changes in the network of the
//! real machine, and a line can be cut from inside any of the namespaces.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context;
use xtask::steps::Line;

/// The namespace of the switch.
const SWITCH: &str = "heist-lan";
const NODES: usize = 3;

/// Whether a machine is connected with the switch.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cable {
    Cut,
    Whole,
}

/// The address of the machine with this number, counted from 1.
pub(super) fn address(number: usize) -> String {
    format!("10.77.0.{number}")
}

/// The start of a command line that runs on a machine.
pub(super) fn enter(number: usize) -> Vec<String> {
    let namespace = namespace(number);
    ["ip", "netns", "exec", &namespace]
        .map(str::to_owned)
        .to_vec()
}

/// A command that runs `program` on a machine.
pub(super) fn command(number: usize, program: &Path) -> Command {
    let line = enter(number);
    let mut command = Command::new(&line[0]);
    command.args(&line[1..]).arg(program);
    command
}

/// Makes the machines and the switch.
pub(super) fn create() -> anyhow::Result<()> {
    anyhow::ensure!(
        rustix::process::geteuid().is_root(),
        "could not make network namespaces: only root can"
    );
    ip(&format!("netns add {SWITCH}"))?;
    ip(&format!("-n {SWITCH} link add switch type bridge"))?;
    ip(&format!("-n {SWITCH} link set switch up"))?;
    for number in 1..=NODES {
        let namespace = namespace(number);
        let address = address(number);
        ip(&format!("netns add {namespace}"))?;
        ip(&format!(
            "-n {SWITCH} link add n{number} type veth peer name eth0 netns {namespace}"
        ))?;
        ip(&format!("-n {SWITCH} link set n{number} master switch up"))?;
        ip(&format!("-n {namespace} address add {address}/24 dev eth0"))?;
        ip(&format!("-n {namespace} link set eth0 up"))?;
        ip(&format!("-n {namespace} link set lo up"))?;
    }
    Ok(())
}

/// Removes what [`create`] made, or what is there of it.
pub(super) fn remove() -> anyhow::Result<()> {
    let nodes = (1..=NODES).map(namespace);
    for name in nodes.chain([SWITCH.to_owned()]) {
        if Path::new("/run/netns").join(&name).exists() {
            ip(&format!("netns delete {name}"))?;
        }
    }
    Ok(())
}

/// Cuts or mends the cable between the machine `name` and the switch. The machine itself goes on.
pub(super) fn set_cable(name: &str, state: Cable) -> anyhow::Result<()> {
    let state = match state {
        Cable::Cut => "down",
        Cable::Whole => "up",
    };
    ip(&format!("-n {SWITCH} link set {name} {state}"))
}

/// Whether this user may make network namespaces.
pub(super) fn can_isolate() -> bool {
    can_unshare("--net")
}

/// Whether this user may mount something for a process of its own.
pub(super) fn can_mount() -> bool {
    can_unshare("--mount")
}

fn can_unshare(kind: &str) -> bool {
    let mut probe = Command::new("unshare");
    probe.args([kind, "true"]).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

fn namespace(number: usize) -> String {
    format!("heist-n{number}")
}

fn ip(arguments: &str) -> anyhow::Result<()> {
    let mut command = Command::new("ip");
    command.args(arguments.split(' '));
    let output = command.output();
    let output = output.with_context(|| format!("could not start {}", Line(&command)))?;
    anyhow::ensure!(
        output.status.success(),
        "{} of: {}: {}",
        output.status,
        Line(&command),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(())
}
