"""The driver's end of Ray: does what heist's driver asks for, in the driver's own Python.

Both sides speak through a socket, which comes as the standard input. A message is a frame of
heist with a header in JSON; the payload is a request or an answer that only the program's
library understands, or data. The first message says what to connect to. When the driver has
gone, so does this process.
"""

import ctypes
import functools
import json
import os
import queue
import select
import shutil
import socket
import struct
import sys
import threading
import time

# How long the head of the cluster has to accept a connection.
REACH_PATIENCE_S = 10
# How long a job waits for room on the node where it would rather be.
WISH_PATIENCE_S = 10
# How long what is known about the nodes is believed.
NODES_FRESH_S = 1
# How long Ray may take to say goodbye.
GOODBYE_S = 3
# How many answers are sent at once.
BATCH_MAX = 256
# The beginning of a frame: its magic and the lengths of its header and payload.
MAGIC = b"HST1"
PREFIX = struct.Struct("<4sIQ")
# The oldest release of Ray that is tried.
OLDEST = (2, 40)


class Failure(Exception):
    """Something that cannot be done, and of what kind that is."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


def main():
    # Whatever Ray and others print must not get among the messages.
    stream = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    threading.Thread(target=end_with_driver, args=(stream,), daemon=True).start()
    messages = stream.makefile("rb", 1 << 16)
    header, hello = read(messages)
    try:
        answer = connect(header["address"], header["package"], hello)
    except Failure as failure:
        return stream.sendall(frame({"to": header["to"], "error": "setup", "message": str(failure)}))
    stream.sendall(frame({"to": header["to"]}, answer))
    driver = Driver(stream)
    threading.Thread(target=driver.answer, daemon=True).start()
    while message := read(messages):
        driver.take(*message)
    ray.shutdown()


def connect(address, package, hello):
    """Reaches Ray, and says what the library answers to `hello`."""
    global ray, heist_ray
    try:
        import ray
    except ImportError as error:
        message = f"the Python {sys.executable} cannot import ray: {error}"
        raise Failure("setup", f"{message}; install ray there, or name another Python")
    version = tuple(int(part) for part in ray.__version__.split(".")[:2])
    if version[0] != OLDEST[0] or version < OLDEST:
        message = f"the Python {sys.executable} has ray {ray.__version__}"
        raise Failure("setup", f"{message}; this needs 2.40 or a later 2.x")
    sys.path.insert(0, os.path.dirname(package))
    import heist_ray

    try:
        library = heist_ray.Library(heist_ray.LIBRARY)
    except (OSError, AttributeError) as error:
        raise Failure("setup", f"the library cannot be used: {error}; does it have export!()?")
    answer = heist_ray.data(library.answer(hello))
    if address != "auto":
        # Ray itself would try for more than a minute, and say less.
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), port), REACH_PATIENCE_S).close()
        except OSError as error:
            raise Failure("setup", f"nobody listens there: {error}")
    try:
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level="ERROR",
            runtime_env={"py_modules": [package]},
        )
    except Exception as error:
        raise Failure("setup", f"{type(error).__name__}: {error}")
    return answer


class Driver:
    """What is under way in Ray for the driver."""

    def __init__(self, stream):
        self.stream = stream
        self.nodes = Nodes()
        self.function = ray.remote(heist_ray.answer)
        self.host = ray.remote(heist_ray.Host)
        self.objects = {}
        # The workers of jobs, each with the processors that are reserved for it.
        self.hosts = {}
        # Workers that no job has yet, by the id of the node.
        self.spares = {}
        self.spares_lock = threading.Lock()
        # By the id of a node, and those that have not answered yet.
        self.probes = {}
        self.silent = set()
        # What is awaited, by the number to which it is the answer.
        self.awaited = {}
        # Results, each with what is to be done first, if anything is, and whom to answer.
        self.done = queue.SimpleQueue()

    def take(self, header, payload):
        """Does what a message asks for, without waiting for Ray."""
        to = header.get("to")
        try:
            getattr(self, "do_" + header.pop("op"))(payload=payload, **header)
        except Exception as error:
            self.done.put((None, to, error))

    def answer(self):
        """Sends answers, as many at once as there are."""
        while True:
            batch = [self.done.get()]
            while len(batch) < BATCH_MAX and not self.done.empty():
                batch.append(self.done.get())
            frames = []
            for handle, to, result in batch:
                if handle is not None:
                    result = self.handled(handle, to, result)
                if result is None or to is None:
                    continue
                self.awaited.pop(to, None)
                if isinstance(result, Exception):
                    kind, message = reason(result)
                    frames.append(frame({"to": to, "error": kind, "message": message}))
                elif isinstance(result, heist_ray.Block):
                    self.stream.sendall(b"".join([*frames, prefix({"to": to}, len(result.data))]))
                    self.stream.sendall(result.data)
                    frames.clear()
                else:
                    frames.append(frame({"to": to}, result))
            self.stream.sendall(b"".join(frames))

    def handled(self, handle, to, result):
        try:
            return handle(to, result)
        except Exception as error:
            return error

    def wait_for(self, to, reference, handle=None):
        def completed(result):
            keep_thread_state()
            self.done.put((handle, to, result))

        self.awaited[to] = reference
        reference._on_completed(completed)

    def do_call(self, to, payload, cpus, node=None, is_pinned=False, objects=(), near=()):
        place = self.nodes.place(cpus, node, is_pinned)
        function = self.function_at(cpus, place, is_pinned)
        payload = heist_ray.block(payload)
        if not objects and not near:
            return self.wait_for(to, function.remote(payload))
        ids = [*objects, *(id for id in near if id not in objects)]
        references = [self.object(id) for id in ids]
        self.wait_for(to, function.remote(payload, objects, *references))

    def do_cancel(self, call, is_hard, payload):
        reference = self.awaited.get(call)
        if reference is not None:
            ray.cancel(reference, force=is_hard)

    def do_put(self, to, object, payload):
        self.objects[object] = ray.put(heist_ray.Block(payload))
        self.done.put((None, to, b""))

    def do_fetch(self, to, object, payload):
        self.wait_for(to, self.object(object))

    def do_forget(self, object, payload):
        self.objects.pop(object, None)

    def do_nodes(self, to, payload):
        self.done.put((None, to, json.dumps(self.nodes.list()).encode()))

    def do_open(self, to, host, cpus, payload, node=None, is_pinned=False):
        place = self.nodes.place(cpus, node, is_pinned)
        opening = (to, host, cpus, node, place, is_pinned)
        threading.Thread(target=self.open, args=opening, daemon=True).start()

    def open(self, to, *opening):
        try:
            result = self.opened(*opening)
        except Exception as error:
            result = error
        self.done.put((None, to, result))

    def opened(self, host, cpus, node, place, is_pinned):
        """The name of the node, once a worker for a job is there.

        The processors are reserved apart from the worker, which therefore may have been
        started before: a process needs most of a second for that, and a job that moves would
        stand still meanwhile.
        """
        room = self.reserve(cpus, place)
        try:
            late = time.monotonic() + WISH_PATIENCE_S
            while not room.wait(1):
                if place is None:
                    continue
                if is_pinned:
                    # Fails if the node is gone.
                    self.nodes.place(cpus, node, is_pinned)
                elif time.monotonic() > late:
                    self.release(room)
                    room, place = self.reserve(cpus, None), None
            at = ray.util.placement_group_table(room)["bundles_to_node_id"][0]
            actor, name = self.worker(at)
        except Exception:
            self.release(room)
            raise
        self.hosts[host] = actor, room
        self.keep_spares()
        return name.encode()

    def reserve(self, cpus, place):
        room = {"CPU": cpus}
        if place is not None:
            # Of this Ray gives every node one.
            room[f"node:{self.nodes.find(place)['address']}"] = 0.001
        return ray.util.placement_group([room])

    def release(self, room):
        ray.util.remove_placement_group(room)

    def worker(self, place):
        """A worker on that node, and what the node is called."""
        spare = self.spares.pop(place, None)
        if spare is not None:
            try:
                return spare, ray.get(spare.node.remote())
            except ray.exceptions.RayActorError:
                # It has died in the meantime.
                pass
        actor = self.start_worker(place)
        return actor, ray.get(actor.node.remote())

    def keep_spares(self):
        """Sees that each living node has a worker for the next job."""
        living = self.nodes.living()
        with self.spares_lock:
            for place in self.spares.keys() - living:
                self.spares.pop(place, None)
            for place in living - self.spares.keys():
                spare = self.spares[place] = self.start_worker(place)
                # Has it load the library now.
                spare.node.remote()

    def start_worker(self, place):
        return self.host.options(
            num_cpus=0,
            max_restarts=0,
            max_concurrency=8,
            scheduling_strategy=strategy(place, True),
        ).remote()

    def do_ask(self, to, host, payload):
        if host not in self.hosts:
            raise Failure("lost", f"there is no worker {host} any more")
        actor, _ = self.hosts[host]
        self.wait_for(to, actor.answer.remote(heist_ray.block(payload)))

    def do_close(self, host, payload):
        actor, room = self.hosts.pop(host, (None, None))
        if actor is not None:
            ray.kill(actor)
            self.release(room)

    def do_probe(self, to, node, payload):
        """Answers with a reading of a node, which a worker without processors takes there."""
        id = self.nodes.place(0, node, True)
        if id not in self.probes:
            self.probes[id] = self.start_worker(id)
        if id in self.silent:
            raise Failure("lost", f"{node} has not answered the reading before this one")
        self.silent.add(id)
        probed = functools.partial(self.probed, id)
        self.wait_for(to, self.probes[id].answer.remote(payload), probed)

    def probed(self, id, to, result):
        self.silent.discard(id)
        if isinstance(result, Exception):
            # The next reading is another worker's.
            self.probes.pop(id, None)
        return result

    @functools.lru_cache(maxsize=256)
    def function_at(self, cpus, place, is_pinned):
        return self.function.options(
            num_cpus=cpus,
            # Whether a lost call may run again is the driver's to say.
            max_retries=0,
            # Ray's record of each task costs a seventh of the rate, and the driver has its own.
            enable_task_events=False,
            scheduling_strategy=strategy(place, is_pinned),
        )

    def object(self, id):
        if id not in self.objects:
            raise Failure("lost", f"there is no object {id} any more")
        return self.objects[id]


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


STATE = threading.local()


def keep_thread_state():
    """Python makes a state for Ray's thread before each callback and drops it afterwards, at
    a seventh of this process's time; the thread keeps its first one from here on."""
    if not hasattr(STATE, "is_kept"):
        STATE.is_kept = True
        ctypes.pythonapi.PyGILState_Ensure()


def strategy(place, is_pinned):
    """Ray's words for on that node and nowhere else, or elsewhere if there is no room."""
    if place is None:
        return "DEFAULT"
    affinity = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
    if is_pinned:
        return affinity(place, soft=False)
    return affinity(place, soft=True, _spill_on_unavailable=True)


def reason(error):
    """Which kind of the driver's errors this is, and what it says."""
    if isinstance(error, Failure):
        return error.kind, str(error)
    errors = ray.exceptions
    cause = error.cause if isinstance(error, errors.RayTaskError) else error
    message = f"{type(cause).__name__}: {cause}"
    if isinstance(cause, errors.TaskCancelledError):
        return "cancelled", message
    dead = (
        errors.ActorDiedError,
        errors.ActorUnschedulableError,
        errors.LocalRayletDiedError,
        errors.NodeDiedError,
        errors.OutOfMemoryError,
        errors.TaskUnschedulableError,
        errors.WorkerCrashedError,
    )
    if isinstance(cause, dead):
        return "node_died", message
    if isinstance(error, errors.RayTaskError) and not isinstance(cause, errors.RayError):
        # The worker cannot use the library; another will not fare better.
        return "impossible", f"the worker failed: {message}"
    return "lost", message


def read(messages):
    """The next message, or None if the driver has gone."""
    lengths = messages.read(PREFIX.size)
    if len(lengths) < PREFIX.size:
        return None
    _, header, payload = PREFIX.unpack(lengths)
    return json.loads(messages.read(header)), messages.read(payload)


def frame(header, payload=b""):
    return prefix(header, len(payload)) + payload


def prefix(header, payload_bytes):
    header = json.dumps(header).encode()
    return PREFIX.pack(MAGIC, len(header), payload_bytes) + header


def end_with_driver(stream):
    """Ends this process when the driver has gone, whatever Ray is waiting for."""
    gone = select.poll()
    gone.register(stream, select.POLLRDHUP)
    gone.poll()
    # The driver may have had no time for that.
    shutil.rmtree(os.path.dirname(os.path.abspath(__file__)), ignore_errors=True)
    time.sleep(GOODBYE_S)
    os._exit(0)


if __name__ == "__main__":
    main()
