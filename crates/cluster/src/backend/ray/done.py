"""What Ray has done for us, and what is to be answered because of it."""

import collections
import ctypes
import itertools
import queue
import threading

# How many answers are sent at once.
BATCH_MAX = 256


# Words that the call or host `whose` printed, to the standard output (0) or error (1).
Printed = collections.namedtuple("Printed", "node whose stream")


class Done:
    """Results: each with the number to which it is the answer, or with a function that makes
    several answers of it, each of those with its number, or with whose words they are."""

    def __init__(self):
        self.queue = queue.SimpleQueue()
        self.numbers = itertools.count()
        # Ray forgets what nobody holds.
        self.awaited = {}

    def put(self, whose, result):
        self.queue.put((None, whose, result))

    def when_ready(self, reference, whose):
        """Puts what Ray says when it is there."""
        number = next(self.numbers)

        def completed(result):
            keep_thread_state()
            self.queue.put((number, whose, result))

        self.awaited[number] = reference
        reference._on_completed(completed)

    def answers(self):
        """As many as there are, with their numbers; waits for one at least."""
        results = [self.queue.get()]
        while len(results) < BATCH_MAX and not self.queue.empty():
            results.append(self.queue.get())
        for number, whose, result in results:
            self.awaited.pop(number, None)
            if callable(whose):
                yield from whose(result)
            elif whose is not None:
                yield whose, result


STATE = threading.local()


def keep_thread_state():
    """Python makes a state for Ray's thread before each callback and drops it afterwards, at
    a seventh of this process's time; the thread keeps its first one from here on."""
    if not hasattr(STATE, "is_kept"):
        STATE.is_kept = True
        ctypes.pythonapi.PyGILState_Ensure()
