"""Rooms, which are processors that are reserved for us, and the workers for them.

A process needs most of a second to start. So it is apart from its room: it has no processors
of its own, waits for the next room on its node, and is there already when that is found.
"""

import contextlib
import threading
import time

import heist_ray
import ray

# How long a worker without a room waits for one.
KEEP_S = 30


class Rooms:
    """The workers that have no room at the moment, and how rooms are had."""

    def __init__(self, nodes):
        self.nodes = nodes
        self.host = ray.remote(heist_ray.Host)
        # Workers and since when they wait, by the id of the node; the last one came last.
        self.spares = {}
        self.lock = threading.Lock()
        # Whether each node is to have one for the next job.
        self.has_jobs = False
        # Where jobs wait for a room: the id of a node, or None for any.
        self.wanted = []

    @contextlib.contextmanager
    def wish(self, place):
        """While a job waits for its room, calls make way."""
        self.wanted.append(place)
        try:
            yield
        finally:
            self.wanted.remove(place)

    def reserve(self, cpus, place):
        room = {"CPU": cpus}
        if place is not None:
            # Of this Ray gives every node one.
            room[f"node:{self.nodes.find(place)['address']}"] = 0.001
        return ray.util.placement_group([room])

    def release(self, room):
        ray.util.remove_placement_group(room)

    def place_of(self, room):
        return ray.util.placement_group_table(room)["bundles_to_node_id"][0]

    def worker(self, place):
        """A worker on that node, and what the node is called."""
        while spare := self.spare(place):
            try:
                return spare, ray.get(spare.node.remote())
            except ray.exceptions.RayActorError:
                # It has died in the meantime.
                pass
        actor = self.start_worker(place)
        return actor, ray.get(actor.node.remote())

    def spare(self, place):
        with self.lock:
            spares = self.spares.get(place)
            return spares.pop()[0] if spares else None

    def keep(self, place, actor):
        """Has a worker wait for its next room."""
        with self.lock:
            self.spares.setdefault(place, []).append((actor, time.monotonic()))

    def keep_spares(self):
        """Sees that each living node has a worker for the next job, from now on."""
        self.has_jobs = True
        living = self.nodes.living()
        with self.lock:
            for place in living:
                if not self.spares.get(place):
                    actor = self.start_worker(place)
                    # Has it load the library now.
                    actor.node.remote()
                    self.spares[place] = [(actor, time.monotonic())]

    def tidy(self):
        """Ends the workers that nobody has wanted for long."""
        late = time.monotonic() - KEEP_S
        with self.lock:
            if all(spares[0][1] >= late for spares in self.spares.values() if spares):
                return
            living = self.nodes.living()
            for place, spares in list(self.spares.items()):
                kept = 1 if self.has_jobs and place in living else 0
                while len(spares) > kept and spares[0][1] < late:
                    ray.kill(spares.pop(0)[0])
                if not spares:
                    del self.spares[place]
                elif spares[0][1] < late:
                    spares[0] = (spares[0][0], time.monotonic())

    def start_worker(self, place):
        affinity = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        return self.host.options(
            num_cpus=0,
            max_restarts=0,
            max_concurrency=8,
            scheduling_strategy=affinity(place, soft=False),
        ).remote()
