"""Rooms, which are processors and other resources that are reserved for us, and the workers for them.

A process needs most of a second to start. So it is apart from its room: it has no processors
of its own, waits for the next room on its node, and is there already when that is found.
"""

import contextlib
import re
import threading
import time

import heist_ray
import ray

from done import Printed
from nodes import Failure

# How long a worker without a room waits for one.
KEEP_S = 30
# How long the last words of a dead worker are waited for.
INQUEST_S = 10
# The least of a processor that a room has.
CPUS_MIN = 0.001


# Ray says so when a worker crashes; then follow stacks.
SIGNAL = re.compile(rb"\*\*\* (SIG[A-Z]+) received at ")
HOW = {
    "SIGABRT": "it aborted",
    "SIGBUS": "it made a bus error",
    "SIGFPE": "it made an arithmetic error",
    "SIGILL": "it met an illegal instruction",
    "SIGSEGV": "it made a segmentation fault",
}


class Worker:
    """An actor, and what it prints."""

    def __init__(self, actor, place, done):
        self.actor = actor
        self.place = place
        self.done = done
        self.name = None
        # How far the files have been heard into which it prints.
        self.heard = [0, 0]
        self.lock = threading.Lock()
        self.has_work = self.is_asked = self.is_killed = False
        # Those into which it prints, each with where that begins.
        self.files = []

    def learn(self):
        """Asks it for its name and files."""
        self.name, self.files = ray.get(self.actor.whereabouts.remote())

    def listen(self):
        """Has what it prints passed on while it has work."""
        with self.lock:
            self.has_work = True
            if not self.is_asked:
                self.is_asked = True
                self.ask()

    def ask(self):
        self.done.when_ready(self.actor.printed.remote(self.heard), self.told)

    def told(self, result):
        is_failed = isinstance(result, Exception)
        messages = [] if is_failed else self.take(result)
        with self.lock:
            self.is_asked = self.has_work and not is_failed
            if self.is_asked:
                self.ask()
        return messages

    def take(self, printed):
        """What of that was not heard before, as messages; only the thread that answers asks."""
        messages = []
        for number, end, whose, words in printed:
            if end > self.heard[number]:
                self.heard[number] = end
                messages.append((Printed(self.name, whose, number), words))
        return messages

    def kill(self):
        self.has_work = False
        self.is_killed = True
        ray.kill(self.actor)


class Witness:
    """A worker that reads what another one said before it died."""

    def __init__(self, rooms, dead, whose, told):
        self.rooms = rooms
        self.dead = dead
        self.whose = whose
        self.told = told
        self.worker = rooms.spare(dead.place) or rooms.start_worker(dead.place)

    def said(self, result):
        if isinstance(result, Exception):
            self.worker.kill()
            return self.tell([], None)
        self.rooms.keep(self.dead.place, self.worker)
        unheard, words = result
        messages = []
        for number, printed in enumerate(unheard):
            printed = SIGNAL.split(printed, 1)[0]
            if printed:
                messages.append((Printed(self.dead.name, self.whose, number), printed))
        crash = SIGNAL.search(words)
        if crash is None:
            return self.tell(messages, None)
        signal, words = crash[1].decode(), words[: crash.start()]
        kind = "node_died" if self.whose is None else "own_doing"
        message = f"the worker on {self.dead.name} is gone: {HOW.get(signal, 'it failed')} ({signal})"
        return self.tell(messages, Failure(kind, message, words))

    def is_late(self, _):
        return self.tell([], None)

    def tell(self, messages, failure):
        """Only the thread that answers does so."""
        told, self.told = self.told, None
        return [] if told is None else messages + told(failure)


class Rooms:
    """The workers that have no room at the moment, and how rooms are had."""

    def __init__(self, nodes, done):
        self.nodes = nodes
        self.done = done
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

    def reserve(self, cpus, place, needs=()):
        # Ray reserves no room of nothing.
        room = {"CPU": max(cpus, CPUS_MIN), **dict(needs)}
        if place is not None:
            # Of this Ray gives every node one.
            room[f"node:{self.nodes.find(place)['address']}"] = 0.001
        return ray.util.placement_group([room])

    def release(self, room):
        ray.util.remove_placement_group(room)

    def place_of(self, room):
        return ray.util.placement_group_table(room)["bundles_to_node_id"][0]

    def worker(self, place):
        """A worker on that node, which knows what the node is called."""
        while True:
            spare = self.spare(place)
            worker = spare or self.start_worker(place)
            try:
                worker.learn()
                return worker
            except Exception as error:
                worker.kill()
                # A spare one may have died in the meantime.
                if spare is None or not isinstance(error, ray.exceptions.RayActorError):
                    raise

    def is_mystery(self, worker, error):
        """Whether the worker has died, and perhaps has said why."""
        is_dead = isinstance(error, ray.exceptions.ActorDiedError)
        return is_dead and bool(worker.files) and not worker.is_killed

    def inquire(self, worker, whose, told):
        """Has another worker of that node read what a dead one said, and tells that to the
        thread that answers: as a failure, with messages before it; None if nobody can say. The
        dead one worked for `whose` alone, unless that is None."""
        witness = Witness(self, worker, whose, told)
        reference = witness.worker.actor.last_words.remote(worker.files, worker.heard)
        self.done.when_ready(reference, witness.said)
        # Ray may not know yet that the node is dead as well.
        late = threading.Timer(INQUEST_S, self.done.put, (witness.is_late, None))
        late.daemon = True
        late.start()

    def spare(self, place):
        with self.lock:
            spares = self.spares.get(place)
            return spares.pop()[0] if spares else None

    def keep(self, place, worker):
        """Has a worker wait for its next room."""
        worker.has_work = False
        with self.lock:
            self.spares.setdefault(place, []).append((worker, time.monotonic()))

    def keep_spares(self):
        """Sees that each living node has a worker for the next job, from now on."""
        self.has_jobs = True
        living = self.nodes.living()
        with self.lock:
            for place in living:
                if not self.spares.get(place):
                    worker = self.start_worker(place)
                    # Has it load the library now.
                    worker.actor.node.remote()
                    self.spares[place] = [(worker, time.monotonic())]

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
                    spares.pop(0)[0].kill()
                if not spares:
                    del self.spares[place]
                elif spares[0][1] < late:
                    spares[0] = (spares[0][0], time.monotonic())

    def start_worker(self, place):
        affinity = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        actor = self.host.options(
            num_cpus=0,
            max_restarts=0,
            # One is for what it prints.
            max_concurrency=9,
            scheduling_strategy=affinity(place, soft=False),
        ).remote()
        return Worker(actor, place, self.done)
