"""What is known about Ray's nodes, and why something cannot be done there."""

import collections
import time

import heist_ray
import ray

# How long what is known about the nodes is believed.
NODES_FRESH_S = 1
# Our names of what Ray has a name of its own for.
OURS = {"GPU": "gpu"}


class Failure(Exception):
    """Something that cannot be done, and of what kind that is."""

    def __init__(self, kind, message, words=b""):
        super().__init__(message)
        self.kind = kind
        # The last that a dead process said.
        self.words = words


def of_ray(needs):
    """What is needed beside processors, by Ray's names."""
    found = collections.Counter()
    if needs is not None:
        found["memory"] = needs["memory_bytes"]
        for name, count in needs["named"].items():
            found["GPU" if name.lower() == "gpu" else name] += count
    return tuple(sorted((name, amount) for name, amount in found.items() if amount))


def amounts(resources):
    """Ray's resources that can be asked for; it has more for itself, and a node is lost that
    reserves some of its object store."""
    return {
        name: amount
        for name, amount in resources.items()
        if name != "object_store_memory" and ":" not in name and "_group_" not in name
    }


def of_heist(resources):
    """Those of them that only have a name, by ours."""
    return {
        OURS.get(name, name): int(amount)
        for name, amount in amounts(resources).items()
        if name not in ("CPU", "memory") and amount >= 1
    }


def in_words(cpus, amounts):
    """So many processors and other resources, as other backends say it."""
    words = [f"{cpus:.3f}".rstrip("0").rstrip(".")]
    for name, amount in amounts:
        if name == "memory":
            words.append(f"{int(-(-amount // (1 << 20)))} MiB of memory")
        else:
            words.append(f"{int(amount)} of {OURS.get(name, name)}")
    return words


def times(node, cpus, needs):
    """How many times a node has as much."""
    whole = int(node["cpus"] // cpus)
    return min([whole, *(int(node["amounts"].get(name, 0) // amount) for name, amount in needs)])


def has(node, cpus, needs):
    """Whether a node has as much."""
    return node["cpus"] >= cpus and all(
        node["amounts"].get(name, 0) >= amount for name, amount in needs
    )


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

    def place(self, cpus, wanted, is_pinned, needs=()):
        """The id of the wanted node, or None for any."""
        if wanted is not None:
            self.refresh(NODES_FRESH_S)
            node = self.find(wanted)
            if node is None:
                self.refresh(0)
                node = self.find(wanted)
            if node is not None and node["is_alive"] and has(node, cpus, needs):
                return node["ray"]
            if is_pinned and node is not None and not node["is_alive"]:
                raise Failure("node_died", f"{wanted} is gone")
            if is_pinned:
                raise Failure("impossible", self.too_much(cpus, wanted, needs))
        if not self.have(cpus, needs):
            self.refresh(0)
            if not self.have(cpus, needs):
                raise Failure("impossible", self.too_much(cpus, "any node", needs))
        return None

    def have(self, cpus, needs):
        """Whether a node has as much."""
        if not needs:
            return cpus <= self.cpus_max
        return any(has(node, cpus, needs) for node in self.nodes)

    def slots(self, cpus, place, needs=()):
        """How many times there is as much, there or anywhere."""
        self.refresh(NODES_FRESH_S)
        nodes = (node for node in self.nodes if node["is_alive"])
        return sum(times(node, cpus, needs) for node in nodes if place in (None, node["ray"]))

    def living(self):
        self.refresh(NODES_FRESH_S)
        return {node["ray"] for node in self.nodes if node["is_alive"]}

    def find(self, wanted):
        found = [node for node in self.nodes if wanted in (node["id"], node["ray"])]
        return max(found, key=lambda node: node["is_alive"], default=None)

    def too_much(self, cpus, where, needs):
        def there(node):
            amounts = [(name, node["amounts"].get(name, 0)) for name, _ in needs]
            return f"{node['id']} ({', '.join(in_words(node['cpus'], amounts))})"

        wanted = in_words(cpus, needs)
        wanted[0] += " processors"
        nodes = ", ".join(map(there, self.list()))
        return f"{', '.join(wanted)} were wanted on {where}; there are {nodes}"

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
                "resources": of_heist(node["Resources"]),
                "amounts": amounts(node["Resources"]),
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
