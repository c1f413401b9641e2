"""What is under way in Ray for the driver."""

import functools
import json
import os
import threading
import time
import traceback

import heist_ray
import ray

from calls import Call, Calls, Kind
from done import Done, Printed, told
from frames import frame, prefix
from nodes import Failure, Nodes, of_ray, reason
from rooms import Rooms

# How long a job waits for room on the node where it would rather be.
WISH_PATIENCE_S = 10
# How long the words of an error may be.
MESSAGE_MAX = 1 << 14
# How long it may take to remove the folder of this program when the driver has gone.
REMOVAL_S = 10


class Driver:
    """Does what messages ask for."""

    def __init__(self, stream):
        self.stream = stream
        # Held while something is sent.
        self.sending = threading.Lock()
        self.nodes = Nodes()
        self.done = Done(self.fail)
        self.rooms = Rooms(self.nodes, self.done)
        self.calls = Calls(self.nodes, self.rooms, self.done)
        self.objects = {}
        # The workers of jobs, each with its room.
        self.hosts = {}
        # By the id of a node, and those that have not answered yet.
        self.probes = {}
        self.silent = set()

    def take(self, header, payload):
        """Does what a message asks for, without waiting for Ray."""
        to = header.get("to")
        try:
            getattr(self, "do_" + header.pop("op"))(payload=payload, **header)
        except Exception as error:
            if to is None:
                # Processors stay in use, for which calls may wait.
                raise
            self.done.put(to, error)

    def close(self):
        """Ends all that it has begun in Ray."""
        ray.shutdown()

    def fail(self, error):
        """Ends this process, and tells the driver why: all that it waits for has failed."""
        traceback.print_exception(type(error), error, error.__traceback__)
        try:
            with self.sending:
                self.stream.sendall(frame({"ended": told(error)[:MESSAGE_MAX]}))
        except OSError:
            # The driver has gone. Another thread removes our folder, and then ends this process.
            time.sleep(REMOVAL_S)
        finally:
            # Ray tidies up after a process that has gone.
            os._exit(1)

    def answer(self):
        """Sends answers, as many at once as there are."""
        while True:
            frames = []
            for to, result in self.done.answers():
                try:
                    message, data = self.message(to, result)
                except Exception as error:
                    if isinstance(to, Printed):
                        raise
                    header = {"to": to, "error": "lost", "message": told(error)[:MESSAGE_MAX]}
                    message, data = frame(header), None
                frames.append(message)
                if data is not None:
                    with self.sending:
                        self.stream.sendall(b"".join(frames))
                        self.stream.sendall(data)
                    frames.clear()
            with self.sending:
                self.stream.sendall(b"".join(frames))

    def message(self, to, result):
        """A message with this result, and data that follow it, if there are some."""
        if isinstance(to, Printed):
            return frame({"printed": to._asdict()}, result), None
        if isinstance(result, Exception):
            kind, message = reason(result)
            words = getattr(result, "words", b"")
            # The driver reads no header without an end.
            header = {"to": to, "error": kind, "message": message[:MESSAGE_MAX]}
            return frame(header, words), None
        if isinstance(result, heist_ray.Block):
            return prefix({"to": to}, len(result.data)), result.data
        return frame({"to": to}, result), None

    def do_call(self, to, payload, cpus, priority, node=None, is_pinned=False, needs=None,
                objects=(), near=()):
        # Ray reserves no less than one.
        cpus, needs = max(cpus, 1), of_ray(needs)
        place = self.nodes.place(cpus, node, is_pinned, needs)
        kind = Kind(cpus, place, is_pinned and place is not None, needs, priority)
        references = [self.object(id) for id in objects]
        near = [self.object(id) for id in near]
        call = Call(to, heist_ray.block(payload), objects, references)
        self.calls.take(call, kind, near)

    def do_cancel(self, call, is_hard, payload):
        self.calls.cancel(call, is_hard, payload)

    def do_put(self, to, object, payload):
        self.objects[object] = ray.put(heist_ray.Block(payload))
        self.done.put(to, b"")

    def do_fetch(self, to, object, payload):
        self.done.when_ready(self.object(object), to)

    def do_forget(self, object, payload):
        self.objects.pop(object, None)

    def do_nodes(self, to, payload):
        self.done.put(to, json.dumps(self.nodes.list()).encode())

    def do_open(self, to, host, cpus, payload, node=None, is_pinned=False, needs=None,
                objects=()):
        needs = of_ray(needs)
        place = self.nodes.place(cpus, node, is_pinned, needs)
        # A job that uses one that is gone will say so.
        objects = {id: self.objects[id] for id in objects if id in self.objects}
        self.done.begin(self.open, to, host, cpus, node, place, is_pinned, needs, objects)

    def open(self, to, *opening):
        try:
            result = self.opened(*opening)
        except Exception as error:
            result = error
        self.done.put(to, result)

    def opened(self, host, cpus, node, place, is_pinned, needs, objects):
        """The name of the node, once a worker for a job is there."""
        self.calls.make_room()
        room = self.rooms.reserve(cpus, place, needs)
        worker = None
        try:
            with self.rooms.wish(place):
                late = time.monotonic() + WISH_PATIENCE_S
                while not room.wait(1):
                    if place is None:
                        continue
                    if is_pinned:
                        # Fails if the node is gone.
                        self.nodes.place(cpus, node, is_pinned, needs)
                    elif time.monotonic() > late:
                        self.rooms.release(room)
                        room, place = self.rooms.reserve(cpus, None, needs), None
            worker = self.rooms.worker(self.rooms.place_of(room))
            if objects:
                ray.get(worker.actor.offer.remote(list(objects), *objects.values()))
            worker.listen()
            self.rooms.keep_spares()
        except Exception:
            self.rooms.release(room)
            if worker is not None:
                worker.kill()
            raise
        self.hosts[host] = worker, room
        return worker.name.encode()

    def do_ask(self, to, host, payload):
        if host not in self.hosts:
            raise Failure("lost", f"there is no worker {host} any more")
        worker, _ = self.hosts[host]
        asked = functools.partial(self.asked, worker, host, to)
        request = heist_ray.block(payload)
        self.done.when_ready(worker.actor.job.remote(worker.heard, host, request), asked, [to])

    def asked(self, worker, host, to, result):
        if self.rooms.is_mystery(worker, result):
            self.rooms.inquire(worker, host, lambda found: [(to, found or result)])
            return []
        if isinstance(result, Exception):
            return [(to, result)]
        answer, printed = result
        return [*worker.take(printed), (to, answer)]

    def do_close(self, host, payload):
        worker, room = self.hosts.pop(host, (None, None))
        if worker is not None:
            worker.kill()
            self.rooms.release(room)

    def do_probe(self, to, node, payload):
        """Answers with a reading of a node, which a worker without processors takes there."""
        id = self.nodes.place(0, node, True)
        if id not in self.probes:
            self.probes[id] = self.rooms.start_worker(id)
        if id in self.silent:
            raise Failure("lost", f"{node} has not answered the reading before this one")
        self.silent.add(id)
        probed = functools.partial(self.probed, id, to)
        self.done.when_ready(self.probes[id].actor.answer.remote(payload), probed, [to])

    def probed(self, id, to, result):
        self.silent.discard(id)
        if isinstance(result, Exception):
            # The next reading is another worker's.
            self.probes.pop(id, None)
        return [(to, result)]

    def object(self, id):
        if id not in self.objects:
            raise Failure("lost", f"there is no object {id} any more")
        return self.objects[id]
