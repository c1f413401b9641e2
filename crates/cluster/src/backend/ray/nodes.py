"""What is known about Ray's nodes, and why something cannot be done there."""

import time

import heist_ray
import ray

# How long what is known about the nodes is believed.
NODES_FRESH_S = 1


class Failure(Exception):
    """Something that cannot be done, and of what kind that is."""

    def __init__(self, kind, message, words=b""):
        super().__init__(message)
        self.kind = kind
        # The last that a dead process said.
        self.words = words


class Nodes:
    """What is known about Ray's nodes."""

    def __init__(self):
        self.read_at = float("-inf")
        self.nodes = []
        self.cpus_max = 0

    def list(self):
        """As the driver wants them: of each name the living node, if there is one."""
        self.refresh(NODES_FRESH_S)
        living = {node["id"] for node in self.nodes if node["is_alive"]}
        listed = [node for node in self.nodes if node["is_alive"] or node["id"] not in living]
        return list({node["id"]: node for node in listed}.values())

    def place(self, cpus, wanted, is_pinned):
        """The id of the wanted node, or None for any."""
        if wanted is not None:
            self.refresh(NODES_FRESH_S)
            node = self.find(wanted)
            if node is None:
                self.refresh(0)
                node = self.find(wanted)
            if node is not None and node["is_alive"] and node["cpus"] >= cpus:
                return node["ray"]
            if is_pinned and node is not None and not node["is_alive"]:
                raise Failure("node_died", f"{wanted} is gone")
            if is_pinned:
                raise Failure("impossible", self.too_much(cpus, wanted))
        if cpus > self.cpus_max:
            self.refresh(0)
            if cpus > self.cpus_max:
                raise Failure("impossible", self.too_much(cpus, "any node"))
        return None

    def slots(self, cpus, place):
        """How many times there are so many processors, there or anywhere."""
        self.refresh(NODES_FRESH_S)
        nodes = (node for node in self.nodes if node["is_alive"])
        return sum(int(node["cpus"] // cpus) for node in nodes if place in (None, node["ray"]))

    def living(self):
        self.refresh(NODES_FRESH_S)
        return {node["ray"] for node in self.nodes if node["is_alive"]}

    def find(self, wanted):
        found = [node for node in self.nodes if wanted in (node["id"], node["ray"])]
        return max(found, key=lambda node: node["is_alive"], default=None)

    def too_much(self, cpus, where):
        there = ", ".join(f"{node['id']} ({node['cpus']:g})" for node in self.list())
        return f"{cpus:g} processors were wanted on {where}; there are {there}"

    def refresh(self, fresh_s):
        if time.monotonic() - self.read_at < fresh_s:
            return
        nodes = ray.nodes()
        called = heist_ray.names(nodes)
        self.nodes = [
            {
                "ray": node["NodeID"],
                "address": node["NodeManagerAddress"],
                "id": called[node["NodeID"]],
                "is_alive": node["Alive"],
                "cpus": node["Resources"].get("CPU", 0.0),
                "memory_bytes": int(node["Resources"].get("memory", 0)),
            }
            for node in sorted(nodes, key=lambda node: called[node["NodeID"]])
        ]
        self.cpus_max = max((node["cpus"] for node in self.nodes), default=0)
        self.read_at = time.monotonic()


def reason(error):
    """Which kind of the driver's errors this is, and what it says."""
    if isinstance(error, Failure):
        return error.kind, str(error)
    errors = ray.exceptions
    cause = error.cause if isinstance(error, errors.RayTaskError) else error
    message = f"{type(cause).__name__}: {cause}"
    dead = (
        errors.ActorDiedError,
        errors.ActorUnschedulableError,
        errors.LocalRayletDiedError,
        errors.NodeDiedError,
        errors.OutOfMemoryError,
        errors.WorkerCrashedError,
    )
    if isinstance(cause, dead):
        return "node_died", message
    if is_of_library(error):
        return "impossible", f"the worker failed: {message}"
    return "lost", message


def is_of_library(error):
    """Whether a worker could not use the library; another will not fare better."""
    errors = ray.exceptions
    is_raised = isinstance(error, errors.RayTaskError)
    return is_raised and not isinstance(error.cause, errors.RayError)
