"""Calls: which worker answers which, when room for one is asked for and when it goes back.

A call runs in a process that is there already. Such a worker has a lease, processors that are
reserved for it, and keeps it while calls wait that it can answer and for a moment longer.
Long calls come to a worker one by one. Short ones come several at once, and the next of them
before the answers to the last are here; a worker hands back what it could not begin in time.
"""

import collections
import functools
import itertools
import math
import threading
import time

import ray

from nodes import Failure, is_of_library

# How long the processors of a worker stay reserved when it has nothing to do.
LINGER_S = 0.1
# How often it is looked whether something is due.
TICK_S = 0.05
# Calls that run for less than this on average are short.
SHORT_S = 0.005
# How long the short calls that a worker gets at once may run together, and how many they are.
BATCH_S = 0.01
BATCH_MAX = 64
# How often short calls are sent to a worker before the answers to the first are here.
DEPTH = 2
# The weight of the last call in the average.
WEIGHT = 0.3
# As much work waits for another worker to be worth its start.
START_S = 0.05
# How many rooms a kind of calls asks for at the same time.
STARTING_MAX = 16
# How long a lease lasts at least while others wait for room.
TENURE_S = 1
# After such a lease has ended, its kind asks for no room for so long.
TURN_S = 3
# How often a worker that cannot be reached is asked whether it is there; Ray lets a second
# pass each time.
VERDICTS_MAX = 8
# How often in a row workers may fail to start, before the calls that wait for them fail.
FAILURES_MAX = 3
# How often calls may be passed over by more urgent ones; those that travel together count once.
PASSED_MAX = 10
# For how long calls travel alone after one of several has ended its worker.
WARY_S = 10


# Calls that the same workers can answer: `place` is the id of a node, or None for any; priorities
# count from the most urgent.
Kind = collections.namedtuple("Kind", "cpus place is_pinned needs priority")


class Turns:
    """Which priority comes next: the most urgent, but none is passed over for ever."""

    def __init__(self):
        self.passed = collections.Counter()

    def order(self, priority):
        """What the kinds of this priority are sorted by."""
        return self.passed[priority] < PASSED_MAX, priority

    def begun(self, priority, waiting):
        """Notes that calls of this priority have begun while these others wait."""
        for other in self.passed.keys() - waiting:
            del self.passed[other]
        self.passed[priority] = 0
        for other in waiting:
            if other > priority:
                self.passed[other] += 1


class Call:
    """What is to be answered, and where it is."""

    def __init__(self, to, payload, objects, references):
        self.to = to
        self.payload = payload
        self.objects = objects
        self.references = references
        self.kind = None
        self.lease = None
        self.is_cancelled = False

    def is_light(self):
        """Whether it can travel with others."""
        return isinstance(self.payload, bytes) and not self.objects


class Pool:
    """Calls of a kind, which wait."""

    def __init__(self):
        self.waiting = collections.OrderedDict()
        self.starting = 0
        self.failures = 0
        self.ask_at = 0


class Lease:
    """A worker, and the room that is reserved for it."""

    def __init__(self, cpus, needs, place, worker, room):
        self.cpus = cpus
        self.needs = needs
        self.place = place
        self.worker = worker
        self.room = room
        # The calls under way, by the number under which they were sent.
        self.batches = {}
        # The call under way is not known to be short.
        self.is_alone = self.is_dead = False
        self.began_at = self.idle_at = self.sent_at = time.monotonic()

    def is_held_up(self):
        """Whether a call that was perhaps short is not."""
        return bool(self.batches) and self.is_alone and time.monotonic() > self.sent_at + SHORT_S

    def serves(self, kind):
        wanted = kind.cpus, kind.needs
        return wanted == (self.cpus, self.needs) and kind.place in (None, self.place)


class Calls:
    """All calls. What comes of them goes to `done`; see the side-car."""

    def __init__(self, nodes, rooms, done):
        self.nodes = nodes
        self.rooms = rooms
        self.done = done
        self.lock = threading.RLock()
        # By kind.
        self.pools = {}
        self.turns = Turns()
        self.calls = {}
        self.leases = set()
        self.idle = set()
        # How long calls run, by their processors.
        self.average_s = {}
        self.numbers = itertools.count()
        self.gave_way_at = self.wary_until = 0
        done.begin(self.tick)

    def take(self, call, kind, near):
        with self.lock:
            self.calls[call.to] = call
            call.kind = kind
            self.pools.setdefault(call.kind, Pool()).waiting[call.to] = call
            preferred = holders(near) if near and self.idle else ()
            try:
                self.dispatch(preferred)
            except Exception as error:
                # It is about all calls, and not about this one.
                self.done.fail(error)

    def cancel(self, to, is_hard, request):
        with self.lock:
            call = self.calls.get(to)
            if call is None:
                return
            call.is_cancelled = True
            if call.lease is None:
                for pool in self.pools.values():
                    pool.waiting.pop(to, None)
                self.end(call, Failure("cancelled", "it had not begun"))
            elif is_hard:
                call.lease.worker.kill()
                # No other call is to be sent to it.
                self.drop(call.lease)
            else:
                call.lease.worker.actor.answer.remote(request)

    def make_room(self):
        """Gives the room of idle workers back: something else wants it."""
        with self.lock:
            for lease in list(self.idle):
                self.give_back(lease)

    def tick(self):
        while True:
            time.sleep(TICK_S)
            with self.lock:
                has_waiting = any(pool.waiting for pool in self.pools.values())
                if has_waiting or self.rooms.wanted:
                    # No idle worker can answer what waits, so they are in its way.
                    self.dispatch()
                    self.make_room()
                late = time.monotonic() - LINGER_S
                for lease in [lease for lease in self.idle if lease.idle_at < late]:
                    self.give_back(lease)
                for kind, pool in list(self.pools.items()):
                    if not pool.waiting and not pool.starting and pool.ask_at < late:
                        del self.pools[kind]
            self.rooms.tidy()

    def dispatch(self, preferred=()):
        """Gives calls to idle workers, and asks for room for others."""
        for lease in sorted(self.idle, key=lambda lease: lease.place not in preferred):
            self.fill(lease)
        for kind in sorted(self.pools, key=lambda kind: self.turns.order(kind.priority)):
            if self.pools[kind].waiting:
                self.ask(kind, self.pools[kind])

    def fill(self, lease):
        """Sends a worker as much as it may have."""
        while kind := self.next_kind(lease):
            if not self.send(lease, self.pools[kind]):
                break
            waiting = {kind.priority for kind, pool in self.pools.items() if pool.waiting}
            self.turns.begun(kind.priority, waiting)
        if lease.batches:
            self.idle.discard(lease)
        elif lease in self.leases and lease not in self.idle:
            lease.idle_at = time.monotonic()
            lease.is_alone = False
            self.idle.add(lease)

    def next_kind(self, lease):
        """Calls for this worker; None if there are none, or others have a turn."""
        mine = [kind for kind, pool in self.pools.items() if pool.waiting and lease.serves(kind)]
        if not mine:
            return None
        # Among equally urgent calls those that only this node can answer come first.
        kind = min(mine, key=lambda kind: (self.turns.order(kind.priority), kind.place is None))
        now = time.monotonic()
        if now - max(lease.began_at, self.gave_way_at) > TENURE_S and self.is_in_the_way(lease):
            if not lease.batches:
                self.gave_way_at = now
                self.pools[kind].ask_at = now + TURN_S
                self.give_back(lease)
            return None
        return kind

    def is_in_the_way(self, lease):
        """Whether a job, or calls that nobody serves, could have the room of this worker."""
        places = list(self.rooms.wanted)
        for kind, pool in self.pools.items():
            if pool.waiting and not any(other.serves(kind) for other in self.leases):
                places.append(kind.place)
        return None in places or lease.place in places

    def send(self, lease, pool):
        """Sends a worker a call or several; False if it has enough."""
        average_s = self.average_s.get(lease.cpus, math.inf)
        count = 1
        is_wary = time.monotonic() < self.wary_until
        if average_s < SHORT_S and not is_wary:
            workers = sum(other.cpus == lease.cpus for other in self.leases)
            share = math.ceil(len(pool.waiting) / (DEPTH * workers))
            count = min(share, BATCH_MAX, int(BATCH_S / max(average_s, 1e-6)))
        elif lease.batches:
            return False
        if lease.is_alone and lease.batches or len(lease.batches) >= DEPTH:
            return False
        calls = []
        while pool.waiting and len(calls) < count:
            to, call = pool.waiting.popitem(last=False)
            if (calls or lease.batches) and not call.is_light():
                pool.waiting[to] = call
                pool.waiting.move_to_end(to, last=False)
                break
            calls.append(call)
            if not call.is_light():
                break
        if not calls:
            return False
        number = next(self.numbers)
        lease.is_alone = not lease.batches and len(calls) == 1
        lease.sent_at = time.monotonic()
        for call in calls:
            call.lease = lease
        if lease.is_alone:
            method = lease.worker.actor.call
            call = calls[0]
            arguments = (call.to, call.payload, call.objects, *call.references)
        else:
            method = lease.worker.actor.calls
            arguments = (number, [(call.to, call.payload) for call in calls])
        lease.batches[number] = calls
        self.begin(lease, number, method, arguments)
        return True

    def begin(self, lease, number, method, arguments):
        completed = functools.partial(self.completed, lease, number)
        try:
            self.done.when_ready(method.remote(lease.worker.heard, *arguments), completed)
        except Exception as error:
            self.done.put(completed, error)

    def completed(self, lease, number, result):
        """What is to be answered, now that a worker has done what it was sent."""
        with self.lock:
            calls = lease.batches.pop(number)
            try:
                answers = self.outcome(lease, number, calls, result)
            except Exception as error:
                # A worker that answers so, or cannot be asked, gets no more calls.
                self.drop(lease)
                lease.worker.kill()
                answers = [self.lost(call, error) for call in calls]
            for to, _ in answers:
                self.calls.pop(to, None)
            if lease in self.leases:
                self.fill(lease)
            self.dispatch()
            return answers

    def outcome(self, lease, number, calls, result):
        """What a worker makes of calls: answers now, or later."""
        if isinstance(result, ray.exceptions.ActorUnavailableError):
            self.drop(lease)
            self.ask_again(lease, calls, result, VERDICTS_MAX)
            return []
        if self.rooms.is_mystery(lease.worker, result):
            self.drop(lease)
            self.inquire(lease, calls, result)
            return []
        if isinstance(result, Exception):
            if not is_of_library(result):
                self.drop(lease)
                lease.worker.kill()
            return [self.lost(call, result) for call in calls]
        took_s, answered, is_running, printed = result
        if answered or is_running:
            before_s = self.average_s.get(lease.cpus, took_s)
            self.average_s[lease.cpus] = before_s + WEIGHT * (took_s - before_s)
        ended = list(zip((call.to for call in calls), answered))
        answers = lease.worker.take(printed) + ended
        left = calls[len(answered) :]
        if is_running:
            lease.is_alone = True
            lease.batches[number] = [left.pop(0)]
            self.begin(lease, number, lease.worker.actor.rest, (number,))
        return answers + self.wait_again(left)

    def ask_again(self, lease, calls, error, left):
        """Ray could not reach a worker, and will know whether it is dead."""
        judged = functools.partial(self.judged, lease, calls, error, left)
        owed = [call.to for call in calls]
        self.done.when_ready(lease.worker.actor.node.remote(), judged, owed)

    def judged(self, lease, calls, error, left, result):
        with self.lock:
            if isinstance(result, ray.exceptions.ActorUnavailableError) and left > 1:
                self.ask_again(lease, calls, error, left - 1)
                return []
            lease.worker.kill()
            if isinstance(result, Exception):
                error = result
            for call in calls:
                self.calls.pop(call.to, None)
            return [self.lost(call, error) for call in calls]

    def inquire(self, lease, calls, error):
        """A worker has died, and perhaps has said why."""
        is_alone = len(calls) == 1 and not lease.batches and not lease.is_dead
        lease.is_dead = True
        if not is_alone:
            self.wary_until = time.monotonic() + WARY_S

        def told(found):
            with self.lock:
                for call in calls:
                    self.calls.pop(call.to, None)
                return [self.lost(call, found or error) for call in calls]

        self.rooms.inquire(lease.worker, calls[0].to if is_alone else None, told)

    def wait_again(self, calls):
        """Puts calls that have not begun before the others; says which are cancelled."""
        answers = []
        for call in reversed(calls):
            if call.is_cancelled:
                answers.append((call.to, Failure("cancelled", "it had not begun")))
                continue
            call.lease = None
            pool = self.pools.setdefault(call.kind, Pool())
            pool.waiting[call.to] = call
            pool.waiting.move_to_end(call.to, last=False)
        return answers

    def lost(self, call, error):
        if call.is_cancelled:
            error = Failure("cancelled", "it was made to end")
        return call.to, error

    def end(self, call, result):
        self.calls.pop(call.to, None)
        self.done.put(call.to, result)

    def forget_wish(self, kind, pool):
        anywhere = kind._replace(place=None, is_pinned=False)
        for call in pool.waiting.values():
            call.kind = anywhere
        self.pools.setdefault(anywhere, Pool()).waiting.update(pool.waiting)
        pool.waiting.clear()

    def give_back(self, lease):
        """Ends the lease of an idle worker, whose process may have another."""
        self.leases.discard(lease)
        self.idle.discard(lease)
        self.rooms.release(lease.room)
        self.rooms.keep(lease.place, lease.worker)

    def drop(self, lease):
        """Ends the lease of a worker that has failed."""
        if lease in self.leases:
            self.leases.discard(lease)
            self.idle.discard(lease)
            lease.worker.has_work = False
            self.rooms.release(lease.room)

    def ask(self, kind, pool):
        """Asks for room, for as many workers as have something to do."""
        cpus = kind.cpus
        if pool.ask_at > time.monotonic():
            return
        serving = sum(lease.serves(kind) for lease in self.leases)
        count = len(pool.waiting)
        average_s = self.average_s.get(cpus, math.inf)
        is_soon_free = any(
            lease.serves(kind) and not lease.is_held_up() for lease in self.leases
        )
        if is_soon_free and average_s < SHORT_S:
            count = int(count * average_s / START_S)
        count = min(count, self.nodes.slots(cpus, kind.place, kind.needs) - serving, STARTING_MAX)
        if not serving:
            # The waiter itself reports a request that can never be met.
            count = max(count, 1)
        for _ in range(pool.starting, count):
            self.done.begin(self.start, kind, pool)
            # The thread counts down, under the lock that is held here.
            pool.starting += 1

    def start(self, kind, pool):
        lease = error = None
        try:
            lease = self.opened(kind, pool)
        except Exception as raised:
            error = raised
        with self.lock:
            pool.starting -= 1
            if lease is not None:
                pool.failures = 0
                self.leases.add(lease)
                self.idle.add(lease)
                lease.worker.listen()
            if error is not None:
                self.not_started(kind, pool, error)
            self.dispatch()

    def not_started(self, kind, pool, error):
        pool.failures += 1
        pool.ask_at = time.monotonic() + pool.failures
        is_hopeless = isinstance(error, Failure) or is_of_library(error)
        is_hopeless |= isinstance(error, ray.exceptions.RuntimeEnvSetupError)
        has_others = any(lease.serves(kind) for lease in self.leases)
        if (is_hopeless or pool.failures >= FAILURES_MAX) and not has_others:
            pool.failures = pool.ask_at = 0
            while pool.waiting:
                self.end(pool.waiting.popitem()[1], error)

    def opened(self, kind, pool):
        """A worker with room, or None if nobody waits for it any more."""
        cpus, place, is_pinned, needs, _ = kind
        room = self.rooms.reserve(cpus, place, needs)
        try:
            while not room.wait(1):
                if place is None or is_pinned:
                    # Fails if there is no such room any more.
                    self.nodes.place(cpus, place, is_pinned, needs)
                with self.lock:
                    if place is not None and not is_pinned:
                        # It was only a wish.
                        self.forget_wish(kind, pool)
                    if not pool.waiting:
                        self.rooms.release(room)
                        return None
            at = self.rooms.place_of(room)
            worker = self.rooms.worker(at)
        except Exception:
            self.rooms.release(room)
            raise
        return Lease(cpus, needs, at, worker, room)


def holders(references):
    """The ids of the nodes where one of the objects is known to lie."""
    known = ray.experimental.get_local_object_locations(references)
    return {node for found in known.values() for node in found["node_ids"]}
